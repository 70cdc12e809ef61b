"""Sensors of sleeping trees, which keep their last reading."""

import functools

import numpy as np

from mjjax.core.enums import ObjType, SensorType
from mjjax.model.data import Data
from mjjax.model.structure import Structure
from mjjax.sleep.members import members
from mjjax.sleep.stages import any_awake
from mjjax.xla.namespace import Array, where

# These sensors are read in every step, because they depend on more than their objects.
_ALWAYS = (
    SensorType.RANGEFINDER,
    SensorType.CLOCK,
    SensorType.E_POTENTIAL,
    SensorType.E_KINETIC,
    SensorType.USER,
)


@functools.lru_cache(maxsize=64)
def sensor_trees(s: Structure) -> np.ndarray:
    """Trees (nsensor, ntree) of sensors; a sensor is read if one of its trees is awake, or if none.

    The trees are those of the sensor's object and of its reference, if it has one. Some sensors
    have no tree and are always read: those whose only object is static, those with an object that
    the user moves (mocap), and contact sensors that are restricted to a site.
    """
    found = np.zeros((s.nsensor, s.ntree), bool)
    for i, kind in enumerate(s.sensor_type):
        zone = kind == SensorType.CONTACT and s.sensor_objtype[i] == ObjType.SITE
        if kind in _ALWAYS or zone:
            continue
        one = _trees(s, s.sensor_objtype[i], s.sensor_objid[i])
        two = _trees(s, s.sensor_reftype[i], s.sensor_refid[i])
        if one is not None and two is not None:
            found[i] = one | two
    return found


def _trees(s: Structure, kind: int, index: int) -> np.ndarray | None:
    """Trees (ntree,) of an object, `None` if it is moved by the user."""
    none, of = np.zeros(s.ntree, bool), members(s)
    if index < 0 or kind == ObjType.UNKNOWN:
        return none
    if kind == ObjType.TENDON:
        return of.tendon[index]
    if kind == ObjType.ACTUATOR:
        return of.actuator[index]
    owners = {
        ObjType.JOINT: s.jnt_bodyid,
        ObjType.GEOM: s.geom_bodyid,
        ObjType.SITE: s.site_bodyid,
        ObjType.CAMERA: s.cam_bodyid,
        ObjType.BODY: np.arange(s.nbody),
        ObjType.XBODY: np.arange(s.nbody),
    }
    if kind not in owners:
        return none
    body = owners[ObjType(kind)][index]
    if s.body_treeid[body] < 0 <= s.body_mocapid[s.body_rootid[body]]:
        return None
    return np.arange(s.ntree) == s.body_treeid[body]


def keep_asleep(data: Data, ids: np.ndarray, values: Array, old: Array) -> Array:
    """Readings of sensors, one after the other; sensors that sleep have their old readings."""
    s = data.structure
    owner = np.repeat(np.arange(len(ids)), s.sensor_dim[ids])
    return where(any_awake(data, sensor_trees(s)[ids])[owner], values, old)
