"""Contact sensors: which contacts match, which of them are reported, and with what data."""

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.collision.shape.contact_set import NO_CONTACT
from mjjax.constraint.reaction import contact_forces
from mjjax.core.enums import ObjType
from mjjax.dynamics.tree import ancestors
from mjjax.math import safe
from mjjax.math.quat import cross
from mjjax.math.spatial import mat3
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.sensor.zone import inside_sites
from mjjax.xla.linalg import matvec3
from mjjax.xla.namespace import Array, where

NONE, MINDIST, MAXFORCE, NETFORCE = range(4)  # `reduce`
WIDTH = 17
# Columns of a contact's table, for each bit of the data: found, force, torque, dist, pos, normal,
# tangent.
_COLUMNS = ((0,), (1, 2, 3), (4, 5, 6), (7,), (8, 9, 10), (11, 12, 13), (14, 15, 16))
# Columns that change sign if the sensor's first object is the contact's second object: the normal,
# the first tangent, and with them the components along the second tangent.
_FLIP = np.where(np.isin(np.arange(1, WIDTH), [3, 6, 11, 12, 13, 14, 15, 16]), -1.0, 1.0)


@dataclasses.dataclass(frozen=True)
class Matching:
    """Static half of the contact sensors.

    Attributes:
        one, two: (n, ngeom) geoms that match the first and the second condition.
        zone: places of those sensors whose contacts must be in a site, and the sites.
        reduce: (n,) how contacts are selected.
        most: largest number of contacts that a sensor reports.
        reading: entries of the flattened (n, most, 17) table, in the order of the readings.
    """

    one: np.ndarray
    two: np.ndarray
    zone: tuple[np.ndarray, np.ndarray]
    reduce: np.ndarray
    most: int
    reading: np.ndarray


def _matched(s: Structure, kind: int, index: int) -> np.ndarray:
    """Geoms (ngeom,) that a condition admits."""
    if kind == ObjType.GEOM:
        return np.arange(s.ngeom) == index
    if kind == ObjType.BODY:
        return s.geom_bodyid == index
    if kind == ObjType.XBODY:
        return ancestors(s.body_parentid)[s.geom_bodyid, index]
    return np.ones(s.ngeom, bool)


@functools.lru_cache(maxsize=64)
def _matching(s: Structure, ids: tuple[int, ...]) -> Matching:
    index = list(ids)
    one = [_matched(s, s.sensor_objtype[i], s.sensor_objid[i]) for i in index]
    two = [_matched(s, s.sensor_reftype[i], s.sensor_refid[i]) for i in index]
    zone = np.flatnonzero(s.sensor_objtype[index] == ObjType.SITE)
    bits, reduce, num = s.sensor_intprm[index].T
    most = int(num.max())
    reading = []
    for place in range(len(ids)):
        columns = [c for k, group in enumerate(_COLUMNS) if bits[place] >> k & 1 for c in group]
        slot = place * most + np.arange(num[place])
        reading.append((WIDTH * slot[:, None] + np.array(columns, int)).ravel())
    return Matching(
        np.array(one),
        np.array(two),
        (zone, s.sensor_objid[index][zone]),
        reduce,
        most,
        np.concatenate(reading),
    )


def contact(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Readings of contact sensors; their derivative takes the choice of contacts as fixed."""
    plan = _matching(model.structure, tuple(int(i) for i in ids))
    forces = contact_forces(model, data)
    match, flip = _matches(model, data, plan)
    count = jnp.sum(match, axis=1, dtype=jnp.int32)
    total = _selected(data, plan, forces, match, flip, count)
    net = plan.reduce == NETFORCE
    if net.any():
        sums = _net(data, forces, match, flip, count)
        rest = jnp.zeros((len(ids), plan.most - 1, WIDTH), sums.dtype)
        whole = jnp.concatenate([sums[:, None], rest], axis=1)
        total = where(net[:, None, None], whole, total)
    return total.ravel()[plan.reading]


def _matches(model: Model, data: Data, plan: Matching) -> tuple[Array, Array]:
    """Whether each contact matches each sensor (n, nconmax), and whether with swapped objects."""
    geom = data.contact.geom
    first, second = jnp.maximum(geom[:, 0], 0), jnp.maximum(geom[:, 1], 0)
    one, two = jnp.asarray(plan.one), jnp.asarray(plan.two)
    straight = one[:, first] & two[:, second]
    match = straight | (one[:, second] & two[:, first])
    match = match & (geom[None, :, 0] >= 0)
    place, site = plan.zone
    if len(place):
        within = inside_sites(model, data, site, data.contact.pos[None])
        row = np.full(len(plan.reduce), len(place))
        row[place] = np.arange(len(place))
        within = jnp.concatenate([within, jnp.ones((1, within.shape[1]), bool)])
        match = match & within[row]
    return match, ~straight


def _selected(
    data: Data, plan: Matching, forces: Array, match: Array, flip: Array, count: Array
) -> Array:
    """Tables (n, most, 17) of the contacts that are nearest, strongest, or first."""
    contact, real = data.contact, forces.dtype
    table = jnp.concatenate(
        [forces, contact.dist[:, None], contact.pos, contact.frame[:, :6]], axis=1
    )
    strength = jnp.sum(forces[:, :3] ** 2, axis=1)
    reduce = plan.reduce[:, None]
    key = where(
        reduce == MINDIST,
        contact.dist[None],
        where(reduce == MAXFORCE, -strength[None], 0),
    )
    key = lax.stop_gradient(where(match, key, NO_CONTACT))
    missing = max(0, plan.most - key.shape[1])
    key = jnp.pad(key, ((0, 0), (0, missing)), constant_values=2 * NO_CONTACT)
    _, index = lax.top_k(-key, plan.most)
    sign = where(flip[:, :, None], jnp.asarray(_FLIP, real)[None, None], 1)
    values = jnp.pad(sign * table[None], ((0, 0), (0, missing), (0, 0)))
    chosen = jnp.take_along_axis(values, index[:, :, None], axis=1)
    filled = np.arange(plan.most, dtype=np.int32)[None] < count[:, None]
    found = jnp.broadcast_to(count[:, None], filled.shape).astype(real)
    chosen = jnp.concatenate([found[:, :, None], chosen], axis=2)
    return where(filled[:, :, None], chosen, 0)


def _net(data: Data, forces: Array, match: Array, flip: Array, count: Array) -> Array:
    """Total wrench (n, 17) at the mean point weighted by force, in the world frame."""
    contact, real = data.contact, forces.dtype
    turn = jnp.swapaxes(mat3(contact.frame), 1, 2)
    force, torque = matvec3(turn, forces[:, :3]), matvec3(turn, forces[:, 3:])
    sign = where(match, where(flip, -1.0, 1.0), 0).astype(real)[:, :, None]
    weight = where(match, safe.norm(forces[:, :3])[None], 0)
    total = jnp.sum(weight, axis=1, keepdims=True)
    point = jnp.sum(weight[:, :, None] * contact.pos[None], axis=1)
    point = safe.divide(point, jnp.broadcast_to(total, point.shape))
    arm = contact.pos[None] - point[:, None]
    pull = sign * force[None]
    spin = jnp.sum(sign * torque[None] + cross(arm, pull), axis=1)
    axes = jnp.broadcast_to(jnp.asarray([[1.0, 0, 0, 0, 1, 0]], real), (len(count), 6))
    dist = jnp.zeros((len(count), 1), real)
    return jnp.concatenate(
        [count[:, None].astype(real), jnp.sum(pull, axis=1), spin, dist, point, axes], axis=1
    )
