"""Frames and velocities of objects that may have sensors: bodies, geoms, sites, cameras."""

import numpy as np

from mjjax.core.convert import whole_number
from mjjax.core.enums import ObjType
from mjjax.math import quat
from mjjax.math.quat import cross
from mjjax.math.spatial import mat3
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import NAMED, Structure
from mjjax.model.view import element_id
from mjjax.xla.indexing import gather
from mjjax.xla.linalg import matvec3
from mjjax.xla.namespace import Array, namespace, where

# Types in the order of the joined tables, with the size that counts them. A body stands for its
# inertial frame, an xbody for its own frame.
_COUNTS = {
    ObjType.XBODY: "nbody",
    ObjType.BODY: "nbody",
    ObjType.GEOM: "ngeom",
    ObjType.SITE: "nsite",
    ObjType.CAMERA: "ncam",
}


def object_rows(s: Structure, objtype: np.ndarray, objid: np.ndarray) -> np.ndarray:
    """Rows (n,) of objects in the joined tables below."""
    start, total = {}, 0
    for kind, size in _COUNTS.items():
        start[kind] = total
        total += s.sizes[size]
    return np.array([start[ObjType(t)] + i for t, i in zip(objtype, objid, strict=True)], int)


def object_bodies(s: Structure, objtype: np.ndarray, objid: np.ndarray) -> np.ndarray:
    """Bodies (n,) that objects belong to."""
    body = np.arange(s.nbody)
    owner = np.concatenate([body, body, s.geom_bodyid, s.site_bodyid, s.cam_bodyid]).astype(int)
    return owner[object_rows(s, objtype, objid)]


def object_frames(
    s: Structure, data: Data, objtype: np.ndarray, objid: np.ndarray
) -> tuple[Array, Array]:
    """World positions (n, 3) and rotations (n, 3, 3) of objects."""
    xp = namespace(data.xpos)
    index = object_rows(s, objtype, objid)
    names = ("xpos", "xipos", "geom_xpos", "site_xpos", "cam_xpos")
    pos = xp.concatenate([getattr(data, name) for name in names])
    mats = ("xmat", "ximat", "geom_xmat", "site_xmat", "cam_xmat")
    mat = xp.concatenate([getattr(data, name) for name in mats])
    frame = gather(xp.concatenate([pos, mat], axis=1), index)
    return frame[:, :3], mat3(frame[:, 3:])


def object_quats(model: Model, data: Data, objtype: np.ndarray, objid: np.ndarray) -> Array:
    """World orientations (n, 4) of objects, from the orientations of their bodies as in MuJoCo."""
    s = model.structure
    xp = namespace(data.xquat)
    unit = xp.broadcast_to(xp.asarray([1.0, 0, 0, 0], dtype=data.xquat.dtype), data.xquat.shape)
    local = [unit, model.body_iquat, model.geom_quat, model.site_quat, model.cam_quat]
    turn = gather(xp.concatenate(local), object_rows(s, objtype, objid))
    return quat.mul(gather(data.xquat, object_bodies(s, objtype, objid)), turn)


def moved_to(data: Data, s: Structure, motion: Array, body: np.ndarray, pos: Array) -> Array:
    """Motion vectors (n, 6) of bodies about points `pos` (n, 3) instead of the root's centre.

    Args:
        data: data with `subtree_com`.
        s: structure.
        motion: (nbody, 6) velocities or accelerations about the centres of mass of the roots.
        body: (n,) bodies.
        pos: (n, 3) world points.
    """
    about = gather(motion, body)
    arm = pos - gather(data.subtree_com, s.body_rootid[body])
    ang = about[:, :3]
    return namespace(motion).concatenate([ang, about[:, 3:] + cross(ang, arm)], axis=-1)


def object_motion(
    model: Model, data: Data, objtype: np.ndarray, objid: np.ndarray, acceleration: bool = False
) -> Array:
    """Velocities or accelerations (n, 6) of objects: rotation and translation, world axes.

    An acceleration is that of a point that is fixed to the body, as an accelerometer measures it:
    it has the centripetal term, and gravity is an upward acceleration. Static bodies have none.
    """
    s = model.structure
    xp = namespace(data.cvel)
    body = object_bodies(s, objtype, objid)
    pos, _ = object_frames(s, data, objtype, objid)
    velocity = moved_to(data, s, data.cvel, body, pos)
    if not acceleration:
        return velocity
    acc = moved_to(data, s, data.cacc, body, pos)
    turning = cross(velocity[:, :3], velocity[:, 3:])
    acc = xp.concatenate([acc[:, :3], acc[:, 3:] + turning], axis=-1)
    return where((s.body_weldid[body] == 0)[:, None], 0, acc)


def _single(
    model: Model, data: Data, objtype: int, objid: int | str, local: bool, acceleration: bool
) -> Array:
    who = "object_acceleration" if acceleration else "object_velocity"
    wanted = whole_number(objtype, f"{who}: objtype is a mjjax.ObjType")
    if wanted not in list(_COUNTS):
        known = ", ".join(f"ObjType.{kind.name}" for kind in _COUNTS)
        raise ValueError(f"{who}: objtype must be one of {known}, not {wanted}")
    of = element_id(model.structure, NAMED[ObjType(wanted)], objid, who)
    kind, index = np.array([wanted]), np.array([of])
    motion = object_motion(model, data, kind, index, acceleration)
    if local:
        _, mat = object_frames(model.structure, data, kind, index)
        turn = namespace(mat).swapaxes(mat, 1, 2)
        parts = [matvec3(turn, motion[:, :3]), matvec3(turn, motion[:, 3:])]
        motion = namespace(mat).concatenate(parts, axis=-1)
    return motion[0]


def object_velocity(
    model: Model, data: Data, objtype: ObjType | int, objid: int | str, flg_local: bool = False
) -> Array:
    """Velocity (6,) of an object: rotation [rad/s], translation [m/s] (`mj_objectVelocity`).

    Derivatives are exact.

    Args:
        model: model.
        data: data with `cvel`.
        objtype: body (its inertial frame), xbody, geom, site or camera; static.
        objid: id or name of the object; static.
        flg_local: whether the result is along the axes of the object instead of the world's.

    Raises:
        ValueError: objects of this type have no velocity.
        LookupError: the model has no such object.
    """
    return _single(model, data, objtype, objid, flg_local, acceleration=False)


def object_acceleration(
    model: Model, data: Data, objtype: ObjType | int, objid: int | str, flg_local: bool = False
) -> Array:
    """Acceleration (6,) of an object, including gravity, rotation first (`mj_objectAcceleration`).

    It works like `object_velocity`, but needs data with `cacc`.

    Raises:
        ValueError: `data.cacc` is empty.
    """
    if not data.cacc.shape[0]:
        raise ValueError("data.cacc is empty: call rne_postconstraint(model, data) first")
    return _single(model, data, objtype, objid, flg_local, acceleration=True)
