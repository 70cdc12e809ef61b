"""The polytope of the expanding-polytope algorithm: its faces, and the first one.

The first polytope is made of the simplex with which the search for the nearest point ended. This is
a tetrahedron, or a triangle or segment that contains the origin, to which support points are added.
If MuJoCo gives up, this module gives up as well, and the pair has no contact.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.convex.corners import Corners
from mjjax.collision.convex.simplex import FAR, plane_weights, project_plane, same_sign
from mjjax.collision.convex.support import Sides, both_ways, support
from mjjax.collision.shape.lanes import (
    Vec,
    combine,
    cross,
    det,
    dot,
    keep,
    look_up,
    norm,
    normalize,
    when_any,
)
from mjjax.collision.shape.shapes import Pools
from mjjax.core.constants import MINVAL
from mjjax.xla.loops import while_loop
from mjjax.xla.namespace import where

# Faces of the first polytopes (k, 3) by vertex and the faces across their edges, by place of the
# edge: [0, 1], [1, 2], [2, 0]. Of the tetrahedron; of the segment 0 1 with the triangle 2 3 4
# around it; of the triangle 0 1 2 with an apex on each side, 4 and 3.
TETRAHEDRON = ((0, 1, 2), (0, 3, 1), (0, 2, 3), (3, 2, 1))
AROUND_SEGMENT = ((0, 2, 3), (0, 4, 2), (0, 3, 4), (1, 3, 2), (1, 2, 4), (1, 4, 3))
ON_TRIANGLE = ((4, 0, 1), (4, 2, 0), (4, 1, 2), (3, 1, 0), (3, 0, 2), (3, 2, 1))
INDEX_BITS = 10  # of an index in a packed triple


def pack(a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
    """Three indices in one integer: one table instead of three."""
    return a | (b << INDEX_BITS) | (c << (2 * INDEX_BITS))


def unpack(word: jax.Array, place: jax.Array | int) -> jax.Array:
    """Index `place` (0, 1 or 2) of packed ones."""
    return (word >> (INDEX_BITS * place)) & ((1 << INDEX_BITS) - 1)


class Faces(NamedTuple):
    """Faces of polytopes in S slots. Edge k of a face leads from its vertex k to the next.

    Attributes:
        plane: (4, S, N) first the squared distance of the face's plane from the origin, `FAR` if
            the face cannot be the nearest one or the slot is free. Then the projection of the
            origin on the plane, which is also its normal; zero if the slot is free.
        across: (3, S, N) the face across each edge: `edge * S + face`, with the number that the
            edge has in that face.
        vertex: (S, N) the three vertices, packed.
    """

    plane: jax.Array
    across: jax.Array
    vertex: jax.Array

    @property
    def foot(self) -> Vec:
        """(S, N) projections of the origin."""
        return Vec.of(self.plane[1:])


def foot_of(a: Vec, b: Vec, c: Vec) -> tuple[Vec, jax.Array]:
    """Projection of the origin on faces, and its squared length; zero if there is no plane."""
    foot, flat = project_plane(c, b, a)
    return foot, where(flat, 0, dot(foot, foot))


class _Start(NamedTuple):
    todo: jax.Array
    count: jax.Array
    corners: Corners
    faces: Faces
    valid: jax.Array


def first_polytope(
    pools: Pools, sides: Sides, simplex: Corners, count: jax.Array, hint: jax.Array
) -> tuple[Corners, Faces, jax.Array]:
    """Polytopes around the origin.

    Args:
        pools: the pools.
        sides: shapes of both sides.
        simplex: 4 points of the Minkowski difference.
        count: (N,) number of points in use; fewer than two give no polytope.
        hint: (2 N,) vertices to start searches at.

    Returns:
        The 5 points of the polytope, of which a tetrahedron does not use the last; its faces in 6
        slots; whether there is a polytope (N,).
    """
    n = count.shape[0]
    tripled = sides.repeat(3)
    hint = jnp.tile(hint.reshape(2, n), (1, 3)).ravel()

    def ask(s: _Start) -> Corners:
        direction = _directions(s.corners.points(3), s.count)
        both = both_ways(jax.tree.map(lambda *x: jnp.concatenate(x), *direction))
        on = jnp.tile(s.todo & (s.count < 4), 6)
        point, label = support(pools, tripled, both, hint, jnp.zeros_like(on), on)
        ends = point.joined().reshape(3, 2, 3, n)
        return _with_points(s, Corners(ends, label.reshape(2, 3, n)))

    def body(s: _Start) -> _Start:
        return _build(s, when_any(s.todo, ask, s), sides.rounding())

    word = jnp.zeros((4, SLOTS, n), jnp.int32)
    faces = Faces(word.astype(simplex.ends.dtype), word[:3], word[0])
    five = jax.tree.map(lambda x: jnp.concatenate([x, x[..., :1, :]], axis=-2), simplex)
    start = _Start(count > 1, count, five, faces, count > count)
    end = while_loop(lambda s: jnp.any(s.todo), body, start)
    return end.corners, end.faces, end.valid


def _directions(p: list[Vec], count: jax.Array) -> list[Vec]:
    """Where to look for up to three more points: around a segment, or off both sides of a triangle.

    Around the segment the three are 120 degrees apart.
    """
    side = p[1] - p[0]
    x, y, z = (jnp.abs(v) for v in side)
    axis = where(y < x, where(z < y, 2, 1), where(z < x, 2, 0))
    unit = Vec(*((axis == k).astype(x.dtype) for k in range(3)))
    length = norm(side)
    along = side / where(length > 0, length, 1)
    around = [cross(unit, side)]
    for _ in range(2):
        d = around[-1]
        lengthwise = along * (1.5 * dot(along, d))
        around.append(d * -0.5 + lengthwise + cross(along, d) * SINE)
    normal = cross(side, p[2] - p[0])
    off = [-normal, normal, normal]
    pairs = zip(around, off, strict=True)
    return [normalize(keep(count == 2, a, b)) for a, b in pairs]


SINE = 0.86602540378  # of 120 degrees, with MuJoCo's digits


def _with_points(s: _Start, new: Corners) -> Corners:
    """The simplex, and behind it up to three new points."""

    def joined(old: jax.Array, extra: jax.Array) -> jax.Array:
        two = jnp.concatenate([old[..., :2, :], extra], axis=-2)
        three = jnp.concatenate([old[..., :3, :], extra[..., :2, :]], axis=-2)
        return keep(s.count == 2, two, keep(s.count == 3, three, old))

    return jax.tree.map(joined, s.corners, new)


def _build(s: _Start, corners: Corners, rounding: jax.Array) -> _Start:
    """The polytope of the points; or the triangle to begin anew with."""
    four, three = s.count == 4, s.count == 3
    words = [jnp.asarray(w, jnp.int32)[:, None] for w in _WORDS]
    vertex = keep(four, words[2], keep(three, words[1], words[0]))
    table = corners.point
    a, b, c = (look_up(table, unpack(vertex, i)) for i in range(3))
    foot, square = foot_of(a, b, c)
    live = jnp.arange(6, dtype=jnp.int32)[:, None] < where(four, 4, 6)[None]
    near = jnp.maximum(rounding, MINVAL)
    on_face = live & (square < (near * near)[None])
    face = jnp.argmax(on_face, axis=0).astype(jnp.int32)
    touched = jnp.any(on_face, axis=0)

    # the origin is on a face: begin anew with that
    again = s.todo & ~three & touched
    p = [table[k] for k in range(5)]
    valid = where(four, _around(p), where(three, _off_triangle(p), _convex(p)))
    across = [jnp.asarray(t.reshape(3, SLOTS, 1), jnp.int32) for t in (ACROSS_FOUR, ACROSS_SIX)]
    plane = jnp.stack([where(live, square, FAR), *(where(live, x, 0) for x in foot)])
    faces = Faces(plane, keep(four, *across), vertex)

    word = look_up(vertex, face)
    rows = jnp.stack([unpack(word, i) for i in range(3)] + [jnp.full_like(word, k) for k in (3, 4)])
    kept = keep(again, look_up(corners, rows), corners)
    return _Start(
        again,
        where(again, 3, s.count),
        keep(s.todo, kept, s.corners),
        keep(s.todo, faces, s.faces),
        where(s.todo, valid & ~touched, s.valid),
    )


SLOTS = 6  # of the first polytope
# The vertices of its faces, packed.
_TABLES = (AROUND_SEGMENT, ON_TRIANGLE, TETRAHEDRON + TETRAHEDRON[:2])
_WORDS = [[a | b << INDEX_BITS | c << 2 * INDEX_BITS for a, b, c in table] for table in _TABLES]


def _across(faces: Sequence[tuple[int, int, int]]) -> np.ndarray:
    """Rows of `Faces.across` of a closed surface in 6 slots."""
    edges = {
        (face[k], face[(k + 1) % 3]): k * SLOTS + i
        for i, face in enumerate(faces)
        for k in range(3)
    }
    table = np.zeros(3 * SLOTS, np.int32)
    for (a, b), row in edges.items():
        table[row] = edges[b, a]
    return table


ACROSS_FOUR, ACROSS_SIX = _across(TETRAHEDRON), _across(AROUND_SEGMENT)


def _around(p: list[Vec]) -> jax.Array:
    """Whether the origin is inside of the tetrahedron of the first four points."""
    inside = jnp.ones_like(p[0].x, bool)
    for i in range(4):
        a, b, c, d = (p[(i + k) % 4] for k in range(4))
        normal = cross(b - a, c - a)
        inside &= same_sign(dot(normal, d - a), dot(normal, -a))
    return inside


def _convex(p: list[Vec]) -> jax.Array:
    """Whether the line of points 0 and 1 goes through the triangle of points 2, 3, 4."""
    line = p[1] - p[0]
    a, b, c = (p[k] - p[0] for k in (2, 3, 4))
    x, y, z = det(a, b, line), det(b, c, line), det(c, a, line)
    return ((x >= 0) & (y >= 0) & (z >= 0)) | ((x <= 0) & (y <= 0) & (z <= 0))


def _off_triangle(p: list[Vec]) -> jax.Array:
    """Whether the triangle is proper and points 3 and 4 do not lie in it."""
    proper = norm(cross(p[1] - p[0], p[2] - p[0])) >= MINVAL
    for apex in p[3:5]:
        area, parts = plane_weights(p[:3], apex)
        weight = [x / area for x in parts]
        foot = combine(weight, p[:3])
        within = (weight[0] >= 0) & (weight[1] >= 0) & (weight[2] >= 0)
        proper &= ~(within & (norm(foot - apex) < MINVAL))
    return proper
