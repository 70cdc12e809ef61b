"""Distances between geoms: the smallest that the narrow phase finds, up to a limit."""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.convex.contacts import convex_distance
from mjjax.collision.convex.gjk import Settings
from mjjax.collision.convex.motion import motion
from mjjax.collision.plan.search import hulls_among
from mjjax.collision.plan.table import CONVEX, EVERY, NEVER_COLLIDE, Collider
from mjjax.collision.queue.scene import CollisionScene, pools_in, shapes
from mjjax.collision.shape.contact_set import NO_CONTACT, ContactSet
from mjjax.collision.shape.shapes import Pools, Shape, float_pools
from mjjax.core.enums import DisableBit, GeomType
from mjjax.math.spatial import mat3
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.xla.indexing import gather
from mjjax.xla.namespace import Array, where
from mjjax.xla.worlds import Leaf, over_worlds

Types = tuple[GeomType, GeomType]
_SEPARATION = Collider(convex_distance, 1, None, motion)


class Separation(NamedTuple):
    """The distance between two surfaces, with their nearest points.

    Attributes:
        dist: (...,) signed distance [m], or the limit if the surfaces are further apart.
        start, end: (..., 3) nearest points of the first and the second surface, world [m]; zero if
            the surfaces are further apart than the limit.
    """

    dist: Array
    start: Array
    end: Array


def types_of(s: Structure, pair: tuple[int, int]) -> tuple[Types, bool]:
    """Types of two geoms, the lower type first, and whether this order swaps the geoms."""
    a, b = (GeomType(s.geom_type[g]) for g in pair)
    return ((b, a), True) if b < a else ((a, b), False)


def by_optimization(types: Types, native: bool) -> bool:
    """Whether the distance of geoms of two types is computed by `convex_distance`.

    MuJoCo uses this algorithm for boxes as well, and passes the geoms in the order of the caller.
    Without flag `nativeccd` all distances are those of contacts, with the limit as margin.
    """
    return native and (types in CONVEX or types == (GeomType.BOX, GeomType.BOX))


def slots_of(types: Types, native: bool) -> int:
    """Number of candidates of a pair of geoms; 0 if MuJoCo has no distance for their types."""
    return 0 if types in NEVER_COLLIDE else _collider(types, native).ncon


def _collider(types: Types, native: bool) -> Collider:
    return _SEPARATION if by_optimization(types, native) else EVERY[types]


def candidates(
    model: Model, data: Data, types: Types, geoms: np.ndarray, swap: np.ndarray, limit: Array
) -> Array:
    """Distances and nearest points (n, slots, 7) of pairs of geoms of two types.

    Args:
        model: model.
        data: data with the poses of the geoms.
        types: types of geoms, the lower first.
        geoms: (n, 2) pairs, with their types in this order.
        swap: (n,) whether the points are returned in the other order.
        limit: (n,) distances beyond which nothing is sought.
    """
    native = not model.opt.disabled(DisableBit.NATIVECCD)
    collider = _collider(types, native)
    if by_optimization(types, native):
        geoms, swap = np.where(swap[:, None], geoms[:, ::-1], geoms), np.zeros_like(swap)
    if collider.batched:
        opt = model.opt
        sdf = opt.sdf_initpoints, opt.sdf_iterations
        task = _Task(model.structure, geoms, collider, native, opt.ccd_iterations, sdf)
        touch = _of_shapes(model, data, task, limit)
    else:
        mat = mat3(data.geom_xmat)
        arguments = [gather(x, g) for g in geoms.T for x in (data.geom_xpos, mat, model.geom_size)]
        touch = jax.vmap(collider.function)(*arguments, limit)
    half = 0.5 * touch.dist[..., None] * touch.normal
    ends = [touch.pos - half, touch.pos + half]
    other = swap[:, None, None]
    ends = [where(other, ends[1 - k], ends[k]) for k in range(2)]
    return jnp.concatenate([touch.dist[..., None], *ends], axis=-1)


@dataclasses.dataclass(frozen=True, eq=False)
class _Task:
    """Pairs of geoms (n, 2) of a structure whose distances one batched kernel computes.

    `native` is the flag `nativeccd`; `sdf` has `sdf_initpoints` and `sdf_iterations`.
    """

    structure: Structure
    geoms: np.ndarray
    collider: Collider
    native: bool
    iterations: int
    sdf: tuple[int, int]

    @property
    def meshes(self) -> tuple[int, ...]:
        return hulls_among(self.structure, self.geoms)

    def sides(self, scene: CollisionScene, world: Array) -> tuple[Pools, Shape, Shape]:
        """The pools, and the two geoms of all pairs in their worlds (W n,)."""
        geom = np.tile(self.geoms, (len(world) // len(self.geoms), 1))
        one, two = shapes(self.structure, scene, world, jnp.asarray(geom, jnp.int32))
        return pools_in(self.structure, self.meshes, False, scene), one, two


def _of_shapes(model: Model, data: Data, task: _Task, limit: Array) -> ContactSet:
    """Contacts (n, slots) that a batched kernel finds."""
    scene = CollisionScene(
        pos=data.geom_xpos,
        mat=data.geom_xmat,
        size=model.geom_size,
        margin=None,
        pair_margin=None,
        o_margin=None,
        pools=float_pools(model, task.meshes, faces=False),
        tolerance=model.opt.ccd_tolerance,
    )
    found = over_worlds(functools.partial(_found, task), (scene, limit))
    return _moving(task, scene, limit, found)


def _found(task: _Task, worlds: int, tree: tuple[CollisionScene, Leaf]) -> tuple[ContactSet, Array]:
    """Contacts (W, n, slots) and their certificates."""
    scene, limit = tree
    n = len(task.geoms)
    world = jnp.asarray(np.repeat(np.arange(worlds), n), jnp.int32)
    pair = jnp.asarray(np.tile(np.arange(n), worlds), jnp.int32)
    tolerance = jnp.broadcast_to(scene.tolerance.of(world), world.shape)
    settings = Settings(task.iterations, tolerance, False, *task.sdf, task.native)
    sides, reach = task.sides(scene, world), jnp.asarray(limit.at(world, pair))
    found = task.collider.function(*sides, reach, settings)
    return jax.tree.map(lambda x: x.reshape(worlds, n, *x.shape[1:]), found)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _moving(
    task: _Task, scene: CollisionScene, limit: Array, found: tuple[ContactSet, Array]
) -> ContactSet:
    """The contacts (n, slots) as functions of the scene; the limit has no influence."""
    del task, scene, limit
    return found[0]


@_moving.defjvp
def _moving_jvp(task, primals, tangents):
    scene, limit, (_, certificate) = primals
    touch = _moving(task, *primals)

    def moved(scene: CollisionScene) -> ContactSet:
        alone = jax.tree.map(lambda x: Leaf(x[None], (1,), (False,)), scene)
        pools, one, two = task.sides(alone, jnp.zeros(len(task.geoms), jnp.int32))
        move = functools.partial(task.collider.motion, pools)
        slots = jax.vmap(move, (None, None, None, 0, 0))
        return jax.vmap(slots)(one, two, limit, touch, certificate)

    return touch, jax.jvp(moved, (scene,), (tangents[0],))[1]


def closest(table: Array, limit: Array) -> Separation:
    """The nearest of `candidates` (n, k, 7), within limits (n,)."""
    first = jnp.argmin(table[:, :, 0], axis=1)
    best = jnp.take_along_axis(table, first[:, None, None], axis=1)[:, 0]
    met = (best[:, 0] < NO_CONTACT) & (best[:, 0] <= limit)
    points = where(met[:, None], best[:, 1:], 0)
    return Separation(where(met, best[:, 0], limit), points[:, :3], points[:, 3:])


def geom_distance(
    model: Model, data: Data, geom1: int, geom2: int, distmax: Array | float
) -> tuple[Array, Array]:
    """Signed distance between two geoms, and the segment (6,) between them (`mj_geomDistance`).

    If the geoms are further apart than `distmax`, the distance is `distmax` and the segment zero.
    As in MuJoCo, an SDF gives this result with every other geom but a plane, unless the two
    penetrate. Without the flag `nativeccd`, the distance between convex geoms that do not touch is
    not exact. The derivative is exact for the nearest features.

    Args:
        model: model.
        data: data with `geom_xpos` and `geom_xmat`.
        geom1: geom from which the segment starts; static.
        geom2: geom at which it ends; static.
        distmax: largest distance of interest [m].
    """
    types, swap = types_of(model.structure, (geom1, geom2))
    limit = jnp.broadcast_to(jnp.asarray(distmax, data.geom_xpos.dtype), (1,))
    if types in NEVER_COLLIDE:
        return limit[0], jnp.zeros(6, limit.dtype)
    geoms = np.array([[geom1, geom2][:: -1 if swap else 1]])
    found = closest(candidates(model, data, types, geoms, np.array([swap]), limit), limit)
    return found.dist[0], jnp.concatenate([found.start[0], found.end[0]])
