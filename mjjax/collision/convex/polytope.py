"""The polytope of the expanding-polytope algorithm: its faces, and the first one.

The first polytope is made of what the search for the nearest point ended with: a tetrahedron, or a
triangle or segment that the origin lies on, to which support points are added. Where MuJoCo gives
up, so does this: the pair then has no contact.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.collision.convex.gjk import Corners
from mjjax.collision.convex.lanes import (
    combine,
    cross,
    det,
    dot,
    keep,
    norm,
    normalize,
    pick,
    rows_of,
)
from mjjax.collision.convex.simplex import plane_weights, project_plane, same_sign
from mjjax.collision.convex.support import Sides, support
from mjjax.collision.shapes import Pools
from mjjax.core.constants import MINVAL

# Faces of the first polytopes (k, 3) by vertex and the faces across their edges, by place of the
# edge: [0, 1], [1, 2], [2, 0]. Of the tetrahedron; of the segment 0 1 with the triangle 2 3 4
# around it; of the triangle 0 1 2 with an apex on each side, 4 and 3.
TETRAHEDRON = ((0, 1, 2), (0, 3, 1), (0, 2, 3), (3, 2, 1))
AROUND_SEGMENT = ((0, 2, 3), (0, 4, 2), (0, 3, 4), (1, 3, 2), (1, 2, 4), (1, 4, 3))
ON_TRIANGLE = ((4, 0, 1), (4, 2, 0), (4, 1, 2), (3, 1, 0), (3, 0, 2), (3, 2, 1))
BITS = 10  # of an index in a packed triple


def pack(a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
    """Three indices in one integer: one write instead of three."""
    return a | (b << BITS) | (c << (2 * BITS))


def unpack(word: jax.Array, place: jax.Array | int) -> jax.Array:
    """Index `place` (0, 1 or 2) of packed ones."""
    return (word >> (BITS * place)) & ((1 << BITS) - 1)


def replaced(word: jax.Array, place: jax.Array, value: jax.Array) -> jax.Array:
    """Packed indices with another one in one place."""
    shift = BITS * place
    return (word & ~(((1 << BITS) - 1) << shift)) | (value << shift)


class Faces(NamedTuple):
    """Faces of polytopes in S slots.

    Attributes:
        foot: (S, 3, N) projection of the origin on the plane of the face, also its normal.
        square: (S, N) squared distance of the plane from the origin.
        vertex: (S, N) its three vertices, packed.
        across: (S, N) the slots of the faces across its edges, packed.
        alive: (S, N) whether the slot is in use.
        open: (S, N) whether the face may be the nearest one.
    """

    foot: jax.Array
    square: jax.Array
    vertex: jax.Array
    across: jax.Array
    alive: jax.Array
    open: jax.Array


def foot_of(a: jax.Array, b: jax.Array, c: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Projection of the origin on faces with vertices (..., 3, N), and its squared length.

    The length is zero where there is no plane.
    """
    foot, flat = project_plane(c, b, a)
    return foot, jnp.where(flat, 0, dot(foot, foot))


class _Start(NamedTuple):
    todo: jax.Array
    count: jax.Array
    corners: Corners
    faces: Faces
    valid: jax.Array


def first_polytope(
    pools: Pools, sides: Sides, simplex: Corners, count: jax.Array, hint: jax.Array
) -> tuple[Corners, Faces, jax.Array, jax.Array]:
    """Polytopes around the origin.

    Args:
        pools: the pools.
        sides: shapes of both sides.
        simplex: 4 points of the Minkowski difference.
        count: (N,) how many of them count, 2 at least; fewer give no polytope.
        hint: (2 N,) vertices to start searches at.

    Returns:
        Its 5 points; its faces in 6 slots; the number of points (N,); whether there is one (N,).
    """
    n = count.shape[0]
    tripled = jax.tree.map(lambda x: jnp.concatenate([x] * 3, axis=-1), sides)
    hint = jnp.concatenate([hint] * 3)

    def body(s: _Start) -> _Start:
        direction = _directions(s.corners.point, s.count)
        both = jnp.concatenate([v for d in direction for v in (d, -d)], axis=-1)
        on = jnp.concatenate([s.todo & (s.count < 4)] * 6)
        point, label = support(pools, tripled, both, hint, jnp.zeros_like(on), on)
        point, label = point.reshape(3, 3, 2, n), label.reshape(3, 2, n)
        new = Corners(point[:, :, 0].swapaxes(0, 1), point[:, :, 1].swapaxes(0, 1), label)
        return _build(s, new, sides.rounding())

    none = jnp.zeros((6, 3, n), simplex.one.dtype)
    word, flag = jnp.zeros((6, n), jnp.int32), jnp.zeros((6, n), bool)
    faces = Faces(none, none[:, 0], word, word, flag, flag)
    five = jax.tree.map(lambda x: jnp.concatenate([x, x[:1]]), simplex)
    start = _Start(count > 1, count, five, faces, flag[0])
    end = lax.while_loop(lambda s: jnp.any(s.todo), body, start)
    return end.corners, end.faces, jnp.where(end.count == 4, 4, 5), end.valid


def _directions(p: jax.Array, count: jax.Array) -> list[jax.Array]:
    """Where to look for up to three more points: around a segment, or off both sides of a triangle.

    Around the segment the three are 120 degrees apart.
    """
    side = p[1] - p[0]
    size = jnp.abs(side)
    axis = jnp.where(
        size[1] < size[0],
        jnp.where(size[2] < size[1], 2, 1),
        jnp.where(size[2] < size[0], 2, 0),
    )
    unit = (np.arange(3, dtype=np.int32)[:, None] == axis[None]).astype(p.dtype)
    length = norm(side)
    along = side / jnp.where(length > 0, length, 1)[None]
    around = [cross(unit, side)]
    for _ in range(2):
        d = around[-1]
        lengthwise = along * (1.5 * dot(along, d))[None]
        around.append(-0.5 * d + lengthwise + SINE * cross(along, d))
    normal = cross(side, p[2] - p[0])
    off = [-normal, normal, normal]
    pairs = zip(around, off, strict=True)
    return [normalize(keep(count == 2, a, b)) for a, b in pairs]


SINE = 0.86602540378  # of 120 degrees, with MuJoCo's digits


def _build(s: _Start, new: Corners, rounding: jax.Array) -> _Start:
    """The polytope of the simplex and the new points; or the triangle to begin anew with."""

    def joined(old: jax.Array, extra: jax.Array) -> jax.Array:
        two = jnp.concatenate([old[:2], extra])
        three = jnp.concatenate([old[:3], extra[:2]])
        return keep(s.count == 2, two, keep(s.count == 3, three, old))

    corners = jax.tree.map(joined, s.corners, new)
    p = corners.point
    four, three = s.count == 4, s.count == 3
    words = [jnp.asarray(w, jnp.int32)[:, None] for w in _WORDS]
    vertex = keep(four, words[2], keep(three, words[1], words[0]))
    a, b, c = (rows_of(p, unpack(vertex, i)) for i in range(3))
    foot, square = foot_of(a, b, c)
    live = jnp.arange(6, dtype=jnp.int32)[:, None] < jnp.where(four, 4, 6)[None]
    near = jnp.maximum(rounding, MINVAL)
    on_face = live & (square < (near * near)[None])
    face = jnp.argmax(on_face, axis=0).astype(jnp.int32)
    touched = jnp.any(on_face, axis=0)

    # the origin is on a face: begin anew with that
    again = s.todo & ~three & touched
    valid = jnp.where(four, _around(p), jnp.where(three, _off_triangle(p), _convex(p)))
    faces = Faces(foot, square, vertex, keep(four, words[4], words[3]), live, live)

    word = pick(vertex, face)
    rows = jnp.stack([unpack(word, i) for i in range(3)] + [jnp.full_like(word, k) for k in (3, 4)])
    restart = jax.tree.map(lambda t: rows_of(t, rows), corners)
    kept = jax.tree.map(lambda x, y: keep(again, x, y), restart, corners)
    return _Start(
        again,
        jnp.where(again, 3, s.count),
        jax.tree.map(lambda x, y: keep(s.todo, x, y), kept, s.corners),
        jax.tree.map(lambda x, y: keep(s.todo, x, y), faces, s.faces),
        jnp.where(s.todo, valid & ~touched, s.valid),
    )


ACROSS_SIX = ((1, 3, 2), (2, 4, 0), (0, 5, 1), (5, 0, 4), (3, 1, 5), (4, 2, 3))
ACROSS_FOUR = ((1, 3, 2), (2, 3, 0), (0, 3, 1), (2, 0, 1))
_TABLES = (AROUND_SEGMENT, ON_TRIANGLE, TETRAHEDRON + TETRAHEDRON[:2])
_WORDS = [
    [a | b << BITS | c << 2 * BITS for a, b, c in table]
    for table in (*_TABLES, ACROSS_SIX, ACROSS_FOUR + ACROSS_FOUR[:2])
]


def _around(p: jax.Array) -> jax.Array:
    """Whether the origin is inside of the tetrahedron of the first four points."""
    inside = jnp.ones(p.shape[-1], bool)
    for i in range(4):
        a, b, c, d = (p[(i + k) % 4] for k in range(4))
        normal = cross(b - a, c - a)
        inside &= same_sign(dot(normal, d - a), dot(normal, -a))
    return inside


def _convex(p: jax.Array) -> jax.Array:
    """Whether the line of points 0 and 1 goes through the triangle of points 2, 3, 4."""
    line = p[1] - p[0]
    a, b, c = (p[k] - p[0] for k in (2, 3, 4))
    volume = jnp.stack([det(a, b, line), det(b, c, line), det(c, a, line)])
    return jnp.all(volume >= 0, axis=0) | jnp.all(volume <= 0, axis=0)


def _off_triangle(p: jax.Array) -> jax.Array:
    """Whether the triangle is proper and points 3 and 4 do not lie in it."""
    proper = norm(cross(p[1] - p[0], p[2] - p[0])) >= MINVAL
    corners, apex = [p[k, None] for k in range(3)], p[3:5]
    area, parts = plane_weights([jnp.broadcast_to(c, apex.shape) for c in corners], apex)
    weight = [x / area for x in parts]
    foot = combine(weight, corners)
    within = (weight[0] >= 0) & (weight[1] >= 0) & (weight[2] >= 0)
    return proper & ~jnp.any(within & (norm(foot - apex) < MINVAL), axis=0)
