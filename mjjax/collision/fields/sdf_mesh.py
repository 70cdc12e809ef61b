"""Meshes against SDF geoms: finds the deepest points of each triangle in the distance field.

MuJoCo walks through the mesh's tree of boxes. On every triangle that may be inside the field it
runs the algorithm of Frank and Wolfe from `sdf_initpoints` starts. The first 50 results count, and
only the first of equal results. The first step of a run always ends at a corner of the triangle, so
three runs are enough here. If some triangles are deep, they use up all 50 results, so that a mesh
can have contacts on one side only.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.collision.fields.field import octree, octree_slope
from mjjax.collision.fields.sdf_pair import halton, known, listed
from mjjax.collision.shape.contact_set import NO_CONTACT, ContactSet, tolerance
from mjjax.collision.shape.shapes import Pools, Shape
from mjjax.core.constants import MAXCONPAIR, MINVAL
from mjjax.math import safe
from mjjax.math.quat import cross
from mjjax.xla.linalg import dot, matmul3, matvec3
from mjjax.xla.loops import fori_loop, while_loop
from mjjax.xla.namespace import Array, where

_OFFSET = 0.1  # height of the fourth point over the triangle, relative to the distance
_LEAST = 0.1  # height of that point below which the triangle's circumcircle decides [m]


class _TreeWalk(NamedTuple):
    """State of N walks: the next box, and the number, points and distances of results so far."""

    node: Array
    count: Array
    point: jax.Array
    value: jax.Array


def mesh_sdf(
    pools: Pools, one: Shape, two: Shape, margin: Array, settings: Any
) -> tuple[ContactSet, Array]:
    """Contacts (N, 50) of meshes with SDF geoms; the certificates are empty.

    Args:
        pools: octrees, triangles and their boxes.
        one: meshes.
        two: SDF geoms.
        margin: (N,) not used, as in MuJoCo.
        settings: settings with `sdf_initpoints` and `sdf_iterations`.
    """
    n, dtype = margin.shape[0], two.pos.dtype
    turn = matmul3(two.mat.mT, one.mat)
    offset = matvec3(two.mat.mT, one.pos - two.pos)
    wide = two._replace(
        asset=two.asset[:, None], field=None if two.field is None else two.field[:, None]
    )
    tables, mesh = pools.fields, jnp.maximum(one.asset, 0)
    end = jnp.asarray(tables.node_end)[mesh]
    weights = jnp.asarray(_weights(max(settings.sdf_initpoints, 1)), dtype)

    def visit(walk: _TreeWalk) -> _TreeWalk:
        node = _next_leaf(pools, one, two, turn, offset, end, walk)
        on = (node < end) & (walk.count < MAXCONPAIR)
        corner = jnp.asarray(tables.corner)[where(on, node, 0)] + one.offset[:, None]
        corner = matvec3(turn[:, None], pools.vert[corner]) + offset[:, None]
        on &= _may_touch(pools, wide, corner)
        x, value = _deepest(pools, wide, corner, weights, settings.sdf_iterations)
        deep = on[:, None] & (value < 0)
        upto = jnp.cumsum(deep, axis=1, dtype=jnp.int32)
        place = walk.count[:, None] + upto - 1
        place = where(
            deep & (place < MAXCONPAIR), place, MAXCONPAIR
        )  # the last place takes all further results
        row = np.arange(n)[:, None]
        return _TreeWalk(
            where(node < end, node + 1, node),
            jnp.minimum(walk.count + upto[:, -1], MAXCONPAIR),
            walk.point.at[row, place].set(x),
            walk.value.at[row, place].set(value),
        )

    walk = _TreeWalk(
        jnp.asarray(tables.node_adr)[mesh],
        jnp.zeros(n, jnp.int32),
        jnp.zeros((n, MAXCONPAIR + 1, 3), dtype),
        jnp.full((n, MAXCONPAIR + 1), NO_CONTACT, dtype),
    )
    walk = while_loop(lambda w: jnp.any((w.node < end) & (w.count < MAXCONPAIR)), visit, walk)
    x, value = walk.point[:, :MAXCONPAIR], walk.value[:, :MAXCONPAIR]
    exists = np.arange(MAXCONPAIR, dtype=np.int32)[None] < walk.count[:, None]
    exists &= ~known(x, exists, tolerance(jnp.max(two.size, axis=-1))[:, None])
    gradient = octree_slope(pools, wide, x)[1]
    outward, length = safe.normalize(gradient)
    exists &= length[..., 0] >= MINVAL
    return listed(two, x, value, outward, exists)


def _weights(count: int) -> np.ndarray:
    """Barycentric coordinates (count, 3) of the starts: Halton points, folded into the triangle."""
    index = np.arange(1, count + 1)
    uv = np.stack([halton(index, 2), halton(index, 3)], axis=1)
    uv = np.where(uv.sum(axis=1, keepdims=True) > 1, 1 - uv, uv)
    return np.concatenate([1 - uv.sum(axis=1, keepdims=True), uv], axis=1)


def _next_leaf(
    pools: Pools, one: Shape, two: Shape, turn: Array, offset: Array, end: Array, walk: _TreeWalk
) -> Array:
    """The next boxes (N,) whose triangle may be in the field; `end` if there is none."""
    tables = pools.fields
    skip, leaf = jnp.asarray(tables.skip), jnp.asarray(tables.leaf)
    first = 0 if one.field is None else one.field

    def step(state: tuple[Array, Array]) -> tuple[Array, Array]:
        node, going = state
        at = where(going, node, 0)
        ball = pools.balls[at + first]
        near = octree(pools, two, matvec3(turn, ball[:, :3]) + offset)[0] < ball[:, 3]
        found = near & leaf[at]
        node = where(going & ~found, where(near, node + 1, skip[at]), node)
        return node, going & ~found & (node < end)

    going = (walk.node < end) & (walk.count < MAXCONPAIR)
    return while_loop(lambda s: jnp.any(s[1]), step, (walk.node, going))[0]


def _may_touch(pools: Pools, two: Shape, corner: Array) -> Array:
    """Whether triangles (N, 3, 3) may be in the field, by MuJoCo's test.

    MuJoCo takes the sphere through the triangle's corners and a point above or below the triangle.
    The distance at the centre of this sphere must be less than its radius. Near the surface the
    distance at the triangle's centroid must be less than the radius of its circumcircle instead.
    """

    def distance(p: Array) -> Array:
        return octree(pools, two, p[:, None])[0][:, 0]

    v0, v1, v2 = (corner[:, k] for k in range(3))
    middle = v0 / 3 + v1 / 3 + v2 / 3
    away = distance(middle)
    a, b, c = (safe.norm(x) for x in (v1 - v0, v2 - v1, v0 - v2))
    s = 0.5 * (a + b + c)
    area = safe.sqrt(s * (s - a) * (s - b) * (s - c))
    close = away < a * b * c / (4 * jnp.maximum(area, MINVAL))
    normal = safe.normalize(cross(v1 - v0, v2 - v0))[0]
    top = middle + _OFFSET * away[:, None] * normal
    p, q, r = v0 - top, v1 - top, v2 - top
    sides = cross(q, r), cross(r, p), cross(p, q)
    centre = sum(dot(x, x)[:, None] * side for x, side in zip((p, q, r), sides, strict=True))
    volume = 2 * dot(p, sides[0])
    flat = jnp.abs(volume) < MINVAL
    centre = centre / where(flat, 1, volume)[:, None]
    far = where(flat, away < a, distance(centre + top) < safe.norm(centre))
    return where(jnp.abs(_OFFSET * away) < _LEAST, close, far)


def _deepest(
    pools: Pools, two: Shape, corner: Array, weights: Array, iterations: int
) -> tuple[Array, Array]:
    """Deepest points (N, S, 3) of triangles (N, 3, 3), found from S starts, and their distances.

    In step k the point goes 2 / (k + 2) of the way to the corner that is lowest along the gradient.
    """

    def lowest(x: Array) -> Array:
        height = dot(octree_slope(pools, two, x)[1][:, :, None], corner[:, None])
        return jnp.argmin(height, axis=2)

    row = np.arange(len(corner))[:, None]

    def step(k: Array, x: Array) -> Array:
        part = 2.0 / (k.astype(x.dtype) + 2.0)
        return x + part * (corner[row, lowest(x)] - x)

    x = dot(weights[None, :, None], corner.mT[:, None])
    if not iterations:
        return x, octree(pools, two, x)[0]
    start = lowest(x)
    x = fori_loop(1, iterations, step, corner)
    value = octree(pools, two, x)[0]
    return x[row, start], value[row, start]


def mesh_sdf_motion(
    pools: Pools,
    one: Shape,
    two: Shape,
    margin: Array,
    contact: ContactSet,
    certificate: Array,
) -> ContactSet:
    """A function of the shapes that has the derivative of one contact; its value is not used.

    The point moves with the mesh, and the normal turns with the SDF geom.
    """
    del margin, certificate
    middle = contact.pos + 0.5 * contact.dist * contact.normal
    local = lax.stop_gradient(matvec3(one.mat.mT, middle - one.pos))
    outward = lax.stop_gradient(-matvec3(two.mat.mT, contact.normal))
    point = matvec3(one.mat, local) + one.pos
    dist = octree(pools, two, matvec3(two.mat.mT, point - two.pos))[0]
    normal = -matvec3(two.mat, outward)
    pos = point - 0.5 * dist * normal
    return ContactSet(dist, pos, normal, jnp.zeros_like(pos))
