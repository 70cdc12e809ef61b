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

from mjjax.collision.convex.convex_shape import ShapePair
from mjjax.collision.convex.simplex import FAR, plane_weights, project_plane, same_sign
from mjjax.collision.convex.support import Corner, Support
from mjjax.collision.shape.vectors import (
    Vec,
    choose,
    combine,
    cross,
    det,
    dot,
    norm,
    normalize,
    put,
    row,
    rows_of,
)
from mjjax.core.constants import MINVAL
from mjjax.xla.kernel_code import subroutine
from mjjax.xla.loops import switch, while_loop
from mjjax.xla.namespace import where

# Corners of the faces of the first polytopes. Of the segment 0 1 with the triangle 2 3 4 around it;
# of the triangle 0 1 2 with an apex on each side, 4 and 3; of the tetrahedron, twice its first two.
AROUND_SEGMENT = ((0, 2, 3), (0, 4, 2), (0, 3, 4), (1, 3, 2), (1, 2, 4), (1, 4, 3))
ON_TRIANGLE = ((4, 0, 1), (4, 2, 0), (4, 1, 2), (3, 1, 0), (3, 0, 2), (3, 2, 1))
TETRAHEDRON = ((0, 1, 2), (0, 3, 1), (0, 2, 3), (3, 2, 1))
FACES = np.array([AROUND_SEGMENT, ON_TRIANGLE, TETRAHEDRON + TETRAHEDRON[:2]], np.int32)
SINE = 0.86602540378  # of 120 degrees, with MuJoCo's digits


class Faces(NamedTuple):
    """Triangles in S slots. Half-edge 3 i + k of triangle i leads from its corner k to the next.

    Attributes:
        origin: (3 S,) corners at which the half-edges begin.
        twin: (3 S,) half-edges that run along the same edges in the opposite direction.
        foot: (S,) projections of the origin on the planes, which are also their normals; zero in
            free slots.
        square: (S,) their squared lengths; `FAR` if the face cannot be the nearest one.
        used: (S,) which slots are not free.
    """

    origin: jax.Array
    twin: jax.Array
    foot: Vec
    square: jax.Array
    used: jax.Array

    def corners_of(self, face: jax.Array) -> jax.Array:
        """The corners (3,) of a face."""
        return row(self.origin.reshape(-1, 3), face)


@subroutine
def foot_of(a: Vec, b: Vec, c: Vec) -> tuple[Vec, jax.Array]:
    """Projection of the origin on a face, and its squared length; zero if there is no plane."""
    foot, flat = project_plane(c, b, a)
    return foot, where(flat, 0, dot(foot, foot))


class _Start(NamedTuple):
    """What the first polytope begins with, and the polytope.

    Attributes:
        todo: whether there is no polytope yet.
        count: number of corners of the simplex.
        corners: 5 corners.
        faces: the faces, in 6 slots.
        valid: whether the polytope contains the origin as it should.
    """

    todo: jax.Array
    count: jax.Array
    corners: Corner
    faces: Faces
    valid: jax.Array


def first_polytope(
    support: Support, pair: ShapePair, simplex: Corner, count: jax.Array, hint: jax.Array
) -> tuple[Corner, Faces, jax.Array]:
    """A polytope around the origin.

    Args:
        support: the support functions.
        pair: the shapes.
        simplex: 4 points of the Minkowski difference.
        count: number of points in use; fewer than two give no polytope.
        hint: (2,) vertices to start searches at.

    Returns:
        The 5 points of the polytope, of which a tetrahedron does not use the last; its faces in 6
        slots; whether there is a polytope.
    """
    near = jnp.maximum(pair.rounding(), MINVAL)

    def body(s: _Start) -> _Start:
        directions = _directions(s.corners.point, s.count)
        added = where(s.count == 2, 3, where(s.count == 3, 2, 0))

        def add(state: tuple[jax.Array, Corner]) -> tuple[jax.Array, Corner]:
            k, corners = state
            new = support.of_pair(pair, Vec.of(row(directions, k)), hint)
            return k + 1, put(corners, s.count + k, new)

        start = jnp.int32(0), s.corners
        _, corners = while_loop(lambda state: state[0] < added, add, start)
        return _build(s, corners, near)

    slots = FACES.shape[1]
    dtype, number = simplex.point.dtype, jnp.zeros(3 * slots, jnp.int32)
    none = jnp.zeros(slots, dtype)
    faces = Faces(number, number, Vec(none, none, none), none, none > 0)
    five = jax.tree.map(lambda x: jnp.concatenate([x, x[:1]]), simplex)
    start = _Start(count > 1, count, five, faces, count > count)
    end = while_loop(lambda s: s.todo, body, start)
    return end.corners, end.faces, end.valid


@subroutine
def _directions(points: jax.Array, count: jax.Array) -> jax.Array:
    """Where to look for up to three more points (3, 3): around a segment, or off both sides of a
    triangle.

    Around the segment the three are 120 degrees apart.
    """
    p = rows_of(points)
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
    chosen = [choose(count == 2, a, b) for a, b in zip(around, off, strict=True)]
    return jnp.stack([normalize(d).joined() for d in chosen])


def _build(s: _Start, corners: Corner, near: jax.Array) -> _Start:
    """The polytope of the points; or the triangle to begin anew with.

    Args:
        s: the state.
        corners: the 5 points.
        near: distance up to which the origin counts as on a face [m].
    """
    four = s.count == 4
    triangles = row(jnp.asarray(FACES), s.count - 2)
    foot, square = foot_of(*(Vec.of(corners.point[triangles[:, k]]) for k in range(3)))
    used = np.arange(len(triangles), dtype=np.int32) < where(four, len(TETRAHEDRON), len(triangles))
    touches = used & (square < near * near)
    touched = jnp.any(touches)
    tests = [_convex, _off_triangle, _around]
    valid = switch(s.count - 2, [lambda test=test: test(corners.point) for test in tests])
    faces = Faces(
        triangles.reshape(-1),
        row(jnp.asarray(_TWINS), s.count - 2),
        choose(used, foot, jax.tree.map(jnp.zeros_like, foot)),
        where(used, square, FAR),
        used,
    )
    # the origin is on a face: begin anew with that
    again = (s.count != 3) & touched
    triangle = row(triangles, jnp.argmax(touches).astype(jnp.int32))
    order = jnp.concatenate([triangle, np.arange(3, 5, dtype=np.int32)])
    return _Start(
        again,
        where(again, 3, s.count),
        choose(again, jax.tree.map(lambda x: x[order], corners), corners),
        faces,
        valid & ~touched,
    )


def _twins(faces: Sequence[tuple[int, int, int]]) -> np.ndarray:
    """`Faces.twin` of a closed surface in 6 slots."""
    edges = {
        (face[k], face[(k + 1) % 3]): 3 * i + k for i, face in enumerate(faces) for k in range(3)
    }
    table = np.zeros(FACES[0].size, np.int32)
    for (a, b), edge in edges.items():
        table[edge] = edges[b, a]
    return table


_TWINS = np.stack([_twins(AROUND_SEGMENT), _twins(ON_TRIANGLE), _twins(TETRAHEDRON)])


def _around(points: jax.Array) -> jax.Array:
    """Whether the origin is inside of the tetrahedron of points 0 to 3."""
    p = rows_of(points[:4])
    inside = jnp.asarray(True)
    for i in range(4):
        a, b, c, d = (p[(i + k) % 4] for k in range(4))
        normal = cross(b - a, c - a)
        inside &= same_sign(dot(normal, d - a), dot(normal, -a))
    return inside


def _convex(points: jax.Array) -> jax.Array:
    """Whether the line of points 0 and 1 goes through the triangle of points 2, 3, 4."""
    p = rows_of(points)
    line = p[1] - p[0]
    a, b, c = (p[k] - p[0] for k in (2, 3, 4))
    x, y, z = det(a, b, line), det(b, c, line), det(c, a, line)
    return ((x >= 0) & (y >= 0) & (z >= 0)) | ((x <= 0) & (y <= 0) & (z <= 0))


def _off_triangle(points: jax.Array) -> jax.Array:
    """Whether the triangle of points 0, 1, 2 is proper and points 3 and 4 do not lie in it."""
    p = rows_of(points)
    proper = norm(cross(p[1] - p[0], p[2] - p[0])) >= MINVAL
    for apex in p[3:5]:
        area, parts = plane_weights(points[:3], apex)
        weight = [x / area for x in parts]
        foot = combine(weight, p[:3])
        within = (weight[0] >= 0) & (weight[1] >= 0) & (weight[2] >= 0)
        proper &= ~(within & (norm(foot - apex) < MINVAL))
    return proper
