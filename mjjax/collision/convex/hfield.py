"""Height fields: prisms under their triangles, each tested as a convex shape.

A pair of a height field and another geom becomes one item for each triangle under the geom's box.
The items are treated in chunks, in MuJoCo's order: by row, column and triangle. As in MuJoCo they
are treated in the frame of the height field, in which the walls of the prisms are upright without a
rounding error. The choice between two equally deep corners depends on this.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.convex.contacts import convex
from mjjax.collision.convex.convex_shape import hfield_size, prism_of, shape_pair
from mjjax.collision.convex.each_pair import each_pair
from mjjax.collision.convex.gjk import Settings
from mjjax.collision.convex.motion import motion
from mjjax.collision.convex.support import Support
from mjjax.collision.shape.contact_set import NO_CONTACT, ContactSet
from mjjax.collision.shape.shapes import Pools, Shape
from mjjax.collision.shape.vectors import Vec, dot, put, row
from mjjax.core.constants import MAXCONPAIR
from mjjax.core.enums import GeomType
from mjjax.xla.linalg import matmul3, matvec3
from mjjax.xla.loops import fori_loop, while_loop
from mjjax.xla.namespace import where

PRISMS_AT_ONCE = 64  # prisms that are tested together


class Cells(NamedTuple):
    """Triangles to test for N pairs: rows of `per_row` triangles each, from the first one on.

    Attributes:
        first: (N,) first triangle, counted over the whole height field.
        per_row: (N,) triangles of a row.
        stride: (N,) triangles of a row of the height field.
        count: (N,) triangles in all.
    """

    first: jax.Array
    per_row: jax.Array
    stride: jax.Array
    count: jax.Array


def hfield(
    pools: Pools, one: Shape, two: Shape, margin: jax.Array, settings: Settings
) -> tuple[ContactSet, jax.Array]:
    """Contacts (N, 50) of height fields with convex shapes, and their certificates (N, 50, 7).

    A certificate consists of that of the convex pair and the triangle of the height field.

    Args:
        pools: vertices and heights.
        one: height fields.
        two: other shapes.
        margin: (N,) [m].
        settings: options of the convex collisions.
    """
    upright, local = _in_field(one, two)
    low, high = _bounds(pools, upright, local)
    cells = _cells(pools, one, low, high, margin)
    end = jnp.cumsum(cells.count, dtype=jnp.int32)
    n, dtype = margin.shape[0], margin.dtype
    # one more row takes what is left out
    empty = ContactSet(
        jnp.full((n * MAXCONPAIR + 1,), NO_CONTACT, dtype),
        *(jnp.zeros((n * MAXCONPAIR + 1, 3), dtype) for _ in range(3)),
    )
    blank = jnp.full((n * MAXCONPAIR + 1, 7), -1, jnp.int32)
    tolerance = jnp.broadcast_to(settings.tolerance, margin.shape)
    start = (jnp.int32(0), jnp.zeros(n, jnp.int32), empty, blank)

    def body(state: tuple[jax.Array, jax.Array, ContactSet, jax.Array]) -> tuple:
        begin, filled, found, certificate = state
        item = begin + jnp.arange(PRISMS_AT_ONCE, dtype=jnp.int32)
        pair = jnp.minimum(jnp.searchsorted(end, item, side="right"), n - 1).astype(jnp.int32)
        place = item - (end[pair] - cells.count[pair])
        per_row = jnp.maximum(cells.per_row[pair], 1)
        cell = cells.first[pair] + place // per_row * cells.stride[pair] + place % per_row
        on = item < end[-1]
        cell = where(on, cell, 0)
        field, other = jax.tree.map(lambda x: x[pair], (upright, local))
        field = field._replace(cell=cell)
        prisms = jax.vmap(functools.partial(prism_of, pools))(field.asset, cell, field.offset)
        on &= jnp.max(prisms[:, 3:, 2], axis=1) + margin[pair] >= low[pair, 2]
        chosen = settings._replace(tolerance=tolerance[pair], used=on)
        touch, label = convex(pools, field, other, margin[pair], chosen)
        on &= touch.dist[:, 0] < NO_CONTACT
        before = jnp.cumsum(on, dtype=jnp.int32) - on.astype(jnp.int32)
        own = jnp.clip(end[pair] - cells.count[pair] - begin, 0, PRISMS_AT_ONCE - 1)
        slot = filled[pair] + before - before[own]
        row = where(on & (slot < MAXCONPAIR), pair * MAXCONPAIR + slot, n * MAXCONPAIR)
        touch = _in_world(one.pos[pair], one.mat[pair], touch, margin[pair])
        found = jax.tree.map(lambda t, x: t.at[row].set(x[:, 0]), found, touch)
        label = jnp.concatenate([label[:, 0, :6], cell[:, None]], axis=1)
        certificate = certificate.at[row].set(label)
        filled = filled.at[pair].add(on.astype(jnp.int32))
        return begin + PRISMS_AT_ONCE, filled, found, certificate

    _, _, found, certificate = while_loop(lambda s: s[0] < end[-1], body, start)
    shaped = ContactSet(*(x[:-1].reshape(n, MAXCONPAIR, *x.shape[1:]) for x in found))
    return shaped, certificate[:-1].reshape(n, MAXCONPAIR, 7)


def hfield_motion(
    pools: Pools,
    one: Shape,
    two: Shape,
    margin: jax.Array,
    contact: ContactSet,
    certificate: jax.Array,
) -> ContactSet:
    """A function with the derivative of one contact of a height field; see `convex/motion.py`.

    The prism was raised by the margin, and the other geom inflated by half of it.
    """
    field = one._replace(cell=jnp.maximum(certificate[6], 0))
    up = margin * one.mat[:, 2]
    other = two._replace(pos=two.pos - up, cell=jnp.zeros_like(certificate[6]))
    bare = contact._replace(
        dist=contact.dist + 0.5 * margin, pos=contact.pos - up + 0.25 * margin * contact.normal
    )
    found = motion(pools, field, other, margin, bare, certificate[:6])
    return found._replace(
        dist=found.dist - 0.5 * margin, pos=found.pos + up - 0.25 * margin * found.normal
    )


def _in_field(one: Shape, two: Shape) -> tuple[Shape, Shape]:
    """Height fields and the other shapes in the frames of the height fields."""
    turned = jnp.swapaxes(one.mat, 1, 2)
    eye = jnp.broadcast_to(jnp.eye(3, dtype=one.mat.dtype), one.mat.shape)
    local = two._replace(pos=matvec3(turned, two.pos - one.pos), mat=matmul3(turned, two.mat))
    return one._replace(pos=jnp.zeros_like(one.pos), mat=eye), local


def _in_world(pos: jax.Array, mat: jax.Array, touch: ContactSet, margin: jax.Array) -> ContactSet:
    """Contacts (N, m) in frames at positions (N, 3), rotated by (N, 3, 3), in that of the world.

    Unlike that of other pairs, MuJoCo's distance is that of the inflated shapes.
    """
    return touch._replace(
        dist=touch.dist - margin[:, None],
        pos=matvec3(mat[:, None], touch.pos) + pos[:, None],
        normal=matvec3(mat[:, None], touch.normal),
    )


def _bounds(pools: Pools, one: Shape, two: Shape) -> tuple[jax.Array, jax.Array]:
    """Bounds (N, 3) of the other shapes in the frames of the height fields, low and high [m]."""
    one, two = one._replace(cell=None), two._replace(cell=None)
    axes = np.concatenate([np.eye(3), -np.eye(3)])

    def reach(pools: Pools, one: Shape, two: Shape) -> jax.Array:
        shape = shape_pair(pools, one, two, jnp.zeros((), two.pos.dtype)).two
        support, axis = Support(pools), jnp.asarray(axes, two.pos.dtype)

        def along(k: jax.Array, found: jax.Array) -> jax.Array:
            direction = Vec.of(row(axis, k))
            point, _ = support.of_shape(shape, direction, jnp.int32(-1), jnp.asarray(False))
            return put(found, k, dot(point, direction))

        return fori_loop(0, len(axes), along, jnp.zeros(len(axes), two.pos.dtype))

    found = each_pair(reach, jnp.asarray(two.kind > GeomType.PLANE), pools, one, two)
    return -found[:, 3:], found[:, :3]


def _cells(pools: Pools, one: Shape, low: jax.Array, high: jax.Array, margin: jax.Array) -> Cells:
    """Triangles under the box; none where it is apart from the height field's box."""
    size = jax.vmap(functools.partial(hfield_size, pools))(one.asset, one.offset)
    nrow, ncol = (
        jnp.asarray(t, jnp.int32)[one.asset] for t in (pools.hfield_nrow, pools.hfield_ncol)
    )
    half = jnp.concatenate([size[:, :3], size[:, :2], size[:, 3:]], axis=1)
    apart = (low - margin[:, None] > half[:, :3]) | (high + margin[:, None] < -half[:, 3:])
    last = jnp.stack([ncol, nrow], axis=1) - 1
    scale = last.astype(size.dtype) / (2 * size[:, :2])

    def line(rounded: jax.Array) -> jax.Array:
        return jnp.clip(rounded, 0, last.astype(size.dtype)).astype(jnp.int32)

    first = line(jnp.floor((low[:, :2] + size[:, :2]) * scale))
    end = line(jnp.ceil((high[:, :2] + size[:, :2]) * scale))
    per_row = jnp.maximum(2 * (end[:, 0] - first[:, 0]), 0)
    rows = jnp.maximum(end[:, 1] - first[:, 1], 0)
    stride = 2 * last[:, 0]
    count = where(jnp.any(apart, axis=1), 0, per_row * rows)
    return Cells(first[:, 1] * stride + 2 * first[:, 0], per_row, stride, count)
