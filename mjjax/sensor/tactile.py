"""Tactile sensors: how deep vertices of a mesh are inside geoms, and how fast they slide there."""

import dataclasses
import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from mjjax.collision.fields.field import octree
from mjjax.collision.fields.sdf import DISTANCE
from mjjax.collision.shape.shapes import Shape, pools_of
from mjjax.core.enums import GeomType
from mjjax.dynamics.objects import moved_to
from mjjax.math import quat
from mjjax.math.spatial import mat3
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.sensor.position import transposed
from mjjax.xla.indexing import gather
from mjjax.xla.linalg import dot, matvec3
from mjjax.xla.namespace import Array, where

FELT = [*DISTANCE, GeomType.MESH]
SOFTNESS = 0.05  # depth scale of the pressure [m]


@dataclasses.dataclass(frozen=True)
class Taxels:
    """Static half of n tactile sensors with up to V taxels.

    Attributes:
        vertex: (n, V) rows of `mesh_vert`; shorter sensors repeat their last one.
        tangent: (n, V, 2) rows of `mesh_normal` that hold the tangents.
        framed: (n,) whether the mesh has tangents.
        felt: type -> ids (n, K) of the geoms that each sensor may feel.
        reading: entries of the flattened (n, 3, V) table, in the order of the readings.
    """

    vertex: np.ndarray
    tangent: np.ndarray
    framed: np.ndarray
    felt: dict[GeomType, np.ndarray]
    reading: np.ndarray


class TactileSkin(NamedTuple):
    """Taxels of n sensors, world frame.

    Attributes:
        point: (n, V, 3) positions [m].
        velocity: (n, V, 3) velocities [m/s].
        tangent: (n, V, 2, 3) directions along which sliding is felt, zero where there are none.
        contact: (n, ngeom) first contact slot of the sensor's body with each geom, or -1.
    """

    point: Array
    velocity: Array
    tangent: Array
    contact: Array


def unfelt_types(s: Structure, pairs: np.ndarray, sensor: int) -> set[GeomType]:
    """Types of geoms that a sensor may meet but cannot feel; MuJoCo stops with an error there.

    Args:
        s: structure.
        pairs: (P, 2) geoms that may collide.
        sensor: sensor id.
    """
    weld = s.body_weldid[s.geom_bodyid]
    own = weld[pairs] == weld[s.sensor_refid[sensor]]
    geoms = pairs[own[:, ::-1]]
    return set(map(GeomType, s.geom_type[geoms])) - set(DISTANCE) - {GeomType.MESH}


def _felt_geoms(s: Structure, sensor: int) -> np.ndarray:
    """Geoms of other bodies that can have contacts, including contacts of the user's callbacks.

    A mesh counts only if it has an octree, that is if some geom of type sdf has the same mesh.
    """
    weld = s.body_weldid[s.geom_bodyid]
    collides = (s.geom_contype | s.geom_conaffinity) != 0
    body = np.bincount(s.geom_bodyid, collides, s.nbody) > 0
    listed = np.isin(np.arange(s.ngeom), [s.pair_geom1, s.pair_geom2])
    mesh = s.geom_type == GeomType.MESH
    known = np.append(s.mesh_octnum, 1)[np.where(mesh, s.geom_dataid, -1)] > 0
    apart = weld != weld[s.sensor_refid[sensor]]
    return np.flatnonzero(apart & known & (body[s.geom_bodyid] | listed))


@functools.lru_cache(maxsize=64)
def _taxels(s: Structure, ids: tuple[int, ...]) -> Taxels:
    mesh = s.sensor_objid[list(ids)]
    count = s.mesh_vertnum[mesh]
    number = np.minimum(np.arange(count.max()), count[:, None] - 1)
    framed = s.mesh_normalnum[mesh] == 3 * count
    tangent = s.mesh_normaladr[mesh][:, None, None] + 3 * number[..., None] + [1, 2]
    table = np.arange(3 * number.size).reshape(len(ids), 3, -1)
    felt = [_felt_geoms(s, i) for i in ids]
    return Taxels(
        s.mesh_vertadr[mesh][:, None] + number,
        np.where(framed[:, None, None], tangent, 0),
        framed,
        {kind: _padded([g[s.geom_type[g] == kind] for g in felt]) for kind in FELT},
        np.concatenate([t[:, :n].ravel() for t, n in zip(table, count, strict=True)]),
    )


def _padded(lists: list[np.ndarray]) -> np.ndarray:
    """Lists of ids as rows of a table, with -1 at the end of the shorter ones."""
    table = np.full((len(lists), max(map(len, lists))), -1)
    for row, ids in zip(table, lists, strict=True):
        row[: len(ids)] = ids
    return table


def tactile(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Pressures at all taxels, then speeds of sliding along both tangents.

    A sensor feels the geoms in contact with its body. If a taxel is inside several of them, it
    feels the one whose contact is last in the list. Derivatives are exact for a fixed choice of
    geoms.
    """
    plan = _taxels(model.structure, tuple(int(i) for i in ids))
    if not data.contact.dist.shape[0] or not any(other.size for other in plan.felt.values()):
        return jnp.zeros(len(plan.reading), data.qpos.dtype)
    skin = _skin(model, data, plan, ids)
    parts = [_felt(model, data, skin, *item) for item in plan.felt.items() if item[1].size]
    ranks, readings = (jnp.concatenate(x, axis=2) for x in zip(*parts, strict=True))
    last = jnp.argmax(ranks, axis=2)[..., None]
    felt = jnp.take_along_axis(ranks, last, axis=2) >= 0
    reading = jnp.take_along_axis(readings, last[..., None], axis=2)[:, :, 0]
    return jnp.swapaxes(where(felt, reading, 0), 1, 2).ravel()[plan.reading]


def _skin(model: Model, data: Data, plan: Taxels, ids: np.ndarray) -> TactileSkin:
    s = model.structure
    geom, mesh = s.sensor_refid[ids], s.sensor_objid[ids]
    turn = mat3(gather(data.geom_xmat, geom))[:, None]
    point = gather(data.geom_xpos, geom)[:, None] + matvec3(turn, model.mesh_vert[plan.vertex])
    body = np.repeat(s.geom_bodyid[geom], point.shape[1])
    motion = moved_to(data, s, data.cvel, body, point.reshape(-1, 3))
    # As in MuJoCo, the tangents turn with the mesh but not with the geom.
    axes = gather(model.mesh_quat, mesh)[:, None, None]
    tangent = quat.rotate(axes, model.mesh_normal[plan.tangent])
    return TactileSkin(
        point,
        motion[:, 3:].reshape(point.shape),
        where(plan.framed[:, None, None, None], tangent, 0),
        _first_contacts(s, data, geom),
    )


def _first_contacts(s: Structure, data: Data, geom: np.ndarray) -> Array:
    """First slot (n, ngeom) in which the body of each geom (n,) touches each other geom, or -1.

    Bodies that are welded to this body count as parts of it.
    """
    pair = data.contact.geom
    weld = s.body_weldid[s.geom_bodyid].astype(np.int32)
    body = where(pair >= 0, jnp.asarray(weld)[pair], -1)
    own = (body[None] == weld[geom][:, None, None])[..., None]
    hit = pair[None, :, :, None] == np.arange(s.ngeom, dtype=np.int32)[None, None, None]
    touches = jnp.any(own & hit[:, :, ::-1], axis=2)
    first = jnp.argmax(touches, axis=1).astype(jnp.int32)
    return where(jnp.any(touches, axis=1), first, -1)


def _felt(
    model: Model, data: Data, skin: TactileSkin, kind: GeomType, other: np.ndarray
) -> tuple[Array, Array]:
    """Ranks (n, V, K) and readings (n, V, K, 3) of geoms `other` (n, K) of one type.

    A geom that is not felt has rank -1. Its velocity is that of its centre, as in MuJoCo.
    """
    s = model.structure
    away = transposed(mat3(gather(data.geom_xmat, other)))[:, None]
    at = matvec3(away, skin.point[:, :, None] - gather(data.geom_xpos, other)[:, None])
    depth = jnp.minimum(_distance(model, kind, other, at), 0)
    motion = moved_to(data, s, data.cvel, s.geom_bodyid, data.geom_xpos)[:, 3:]
    relative = skin.velocity[:, :, None] - gather(motion, other)[:, None]
    speed = jnp.abs(dot(skin.tangent[:, :, None], relative[:, :, :, None]))
    reading = jnp.concatenate([(depth / (SOFTNESS - depth))[..., None], speed], axis=-1)
    rank = where(other >= 0, skin.contact[np.arange(len(other))[:, None], other], -1)
    return where(depth < 0, rank[:, None], -1), reading


def _distance(model: Model, kind: GeomType, other: np.ndarray, at: Array) -> Array:
    """Signed distances (n, V, K) of points (n, V, K, 3) from geoms `other` (n, K) of one type."""
    if kind != GeomType.MESH:
        return DISTANCE[kind](at, gather(model.geom_size, other)[:, None])
    mesh = jnp.asarray(model.structure.geom_dataid[other], jnp.int32)[:, None]
    nothing = jnp.zeros((), at.dtype)
    shape = Shape(nothing, nothing, nothing, mesh, mesh, jnp.zeros_like(mesh))
    return octree(pools_of(model, ()), shape, at)[0]
