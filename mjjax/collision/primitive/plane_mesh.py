"""Planes against meshes: the lowest vertex of the hull, and two of its neighbours.

MuJoCo climbs down over the hull from its first vertex. The neighbours of the vertex where the climb
ends make contacts too, in the order in which the hull lists them, unless they are near this vertex.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.shape.contact_set import NO_CONTACT, ContactSet
from mjjax.collision.shape.shapes import Pools, Shape
from mjjax.xla.item_by_item import item_by_item
from mjjax.xla.linalg import dot, matvec3, matvec3_t, row_sum
from mjjax.xla.loops import while_loop
from mjjax.xla.namespace import Array, where

MESH_SLOTS = 3
NEAR_RADIUS = 0.3  # closer neighbours make no contact; relative to the bounding radius


class _VertexClimb(NamedTuple):
    """State of N climbs; `best` is the lowest of `vertex` and its neighbours seen so far."""

    vertex: Array
    best: Array
    height: Array
    block: Array
    left: Array


class _Scan(NamedTuple):
    """Neighbours (N, 2) found so far, -1 for none."""

    found: Array
    block: Array
    left: Array


def plane_mesh(
    pools: Pools, one: Shape, two: Shape, margin: Array, settings: Any
) -> tuple[ContactSet, Array]:
    """Contacts (N, 3) of planes with meshes, and the vertices (N, 3, 1) that touch, -1 for none.

    Args:
        pools: vertices of the meshes.
        one: planes.
        two: meshes.
        margin: (N,) [m].
        settings: options, of which only `used` matters.
    """
    used = jnp.ones(len(margin), bool) if settings.used is None else settings.used

    def single(pair: tuple[Shape, Shape, Array], floats: Sequence[Array]) -> Any:
        found = _contacts(pools.with_floats(floats), *jax.tree.map(lambda x: x[None], pair))
        return jax.tree.map(lambda x: x[0], found)

    return item_by_item(single, used, (one, two, margin), list(pools.floats))


def _contacts(pools: Pools, one: Shape, two: Shape, margin: Array) -> tuple[ContactSet, Array]:
    """`plane_mesh`, side by side."""
    lowest = _lowest(pools, one, two)
    first = jax.vmap(_contact, (None, 0, 0, 0))(pools, one, two, lowest)
    touching = first.dist <= margin
    others = _neighbours(pools, one, two, lowest, first.pos, margin, touching)
    vertex = jnp.concatenate([where(touching, lowest, -1)[:, None], others], axis=1)
    each = jax.vmap(jax.vmap(_contact, (None, None, None, 0)), (None, 0, 0, 0))
    found = each(pools, one, two, jnp.maximum(vertex, 0))
    return found._replace(dist=where(vertex >= 0, found.dist, NO_CONTACT)), vertex[..., None]


def plane_mesh_motion(
    pools: Pools,
    one: Shape,
    two: Shape,
    margin: Array,
    contact: ContactSet,
    certificate: Array,
) -> ContactSet:
    """The contact of vertex `certificate` (1,), which has the derivative of one contact."""
    del margin, contact
    return _contact(pools, one, two, jnp.maximum(certificate[0], 0))


def _contact(pools: Pools, one: Shape, two: Shape, vertex: Array) -> ContactSet:
    """Contact of one plane and a vertex of one mesh, at any distance."""
    offset = matvec3(two.mat, pools.vert[vertex + _first(pools, two)]) + (two.pos - one.pos)
    normal = one.mat[:, 2]
    dist = dot(normal, offset)
    pos = one.pos + offset - 0.5 * dist * normal
    return ContactSet(dist, pos, normal, jnp.zeros_like(pos))


def _first(pools: Pools, two: Shape) -> Array:
    """Place of the first vertex of a mesh in the pool."""
    return _table(pools.hulls.vert_adr)[jnp.maximum(two.asset, 0)] + two.offset


def _lowest(pools: Pools, one: Shape, two: Shape) -> Array:
    """Vertices (N,) at which the climbs end; of equally low ones the first that was met is kept."""
    hulls, mesh = pools.hulls, jnp.maximum(two.asset, 0)
    normal = matvec3_t(two.mat, one.mat[:, :, 2])
    first, own = _first(pools, two), _table(hulls.vert_adr)[mesh]
    adr, num, blocks = (_table(t) for t in (hulls.near_adr, hulls.near_num, hulls.blocks))

    def height(vertex: Array) -> Array:
        return dot(pools.vert[vertex + first], normal)

    def step(s: _VertexClimb) -> _VertexClimb:
        going = s.left > 0
        best, least = s.best, s.height
        for near in blocks[where(going, s.block, 0)].T:
            near = where(going, near, 0)
            lower = height(near) < least
            best, least = where(lower, near, best), where(lower, height(near), least)
        ends = s.left == 1
        move = ends & (best != s.vertex)
        vertex = where(move, best, s.vertex)
        block = where(move, adr[vertex + own], s.block + 1)
        left = where(move, num[vertex + own], s.left - 1)
        new = _VertexClimb(vertex, best, least, block, left)
        return jax.tree.map(lambda a, b: where(going, a, b), new, s)

    start = _table(hulls.start)[mesh]
    climb = _VertexClimb(start, start, height(start), adr[start + own], num[start + own])
    return while_loop(lambda s: jnp.any(s.left > 0), step, climb).vertex


def _neighbours(
    pools: Pools,
    one: Shape,
    two: Shape,
    lowest: Array,
    first: Array,
    margin: Array,
    touching: Array,
) -> Array:
    """First two neighbours (N, 2) within the margin and not near `first` (N, 3); -1 for none."""
    hulls = pools.hulls
    own = _table(hulls.vert_adr)[jnp.maximum(two.asset, 0)] + lowest
    blocks = _table(hulls.blocks)
    apart = NEAR_RADIUS * jnp.sqrt(row_sum(two.size * two.size))
    each = jax.vmap(jax.vmap(_contact, (None, None, None, 0)), (None, 0, 0, 0))

    def step(s: _Scan) -> _Scan:
        near = blocks[where(s.left > 0, s.block, 0)]
        near = where(s.left[:, None] > 0, near, 0)
        contact = each(pools, one, two, near)
        point = contact.pos + 0.5 * contact.dist[..., None] * contact.normal
        way = point - first[:, None]
        good = jnp.sqrt(dot(way, way)) >= apart
        good &= (contact.dist < margin[:, None]) & (s.left[:, None] > 0)
        # Blocks are filled up with copies of their last entry, which must not count twice.
        good &= jnp.pad(near[:, 1:] != near[:, :-1], ((0, 0), (1, 0)), constant_values=True)
        good &= near != lowest[:, None]
        had = jnp.sum(s.found >= 0, axis=1, keepdims=True, dtype=jnp.int32)
        rank = had + jnp.cumsum(good, axis=1, dtype=jnp.int32) - 1
        slots = np.arange(MESH_SLOTS - 1, dtype=np.int32)[None, :, None]
        pick = good[:, None] & (rank[:, None] == slots)
        new = jnp.max(where(pick, near[:, None], -1), axis=-1)
        left = where(jnp.all(s.found >= 0, axis=1), 0, s.left - 1)
        return _Scan(jnp.maximum(s.found, new), s.block + 1, left)

    left = where(touching, _table(hulls.near_num)[own], 0)
    none = jnp.full((len(own), MESH_SLOTS - 1), -1, jnp.int32)
    start = _Scan(none, _table(hulls.near_adr)[own], left)
    return while_loop(lambda s: jnp.any(s.left > 0), step, start).found


def _table(table: np.ndarray) -> jax.Array:
    return jnp.asarray(table, jnp.int32)
