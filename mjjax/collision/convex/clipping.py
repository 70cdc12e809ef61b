"""Makes several contacts of two boxes or meshes from one, by clipping the faces that touch."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.convex.convex_shape import ShapePair
from mjjax.collision.convex.epa import Depth
from mjjax.collision.convex.faces import (
    ALIGNED,
    Candidates,
    against,
    edges_from,
    faces_around,
    feature_of,
    first_pair,
    polygon_of,
    quad_area,
)
from mjjax.collision.shape.shapes import Pools
from mjjax.collision.shape.vectors import Vec, choose, cross, dot, norm, put, row
from mjjax.core.constants import MINVAL
from mjjax.xla.kernel_code import subroutine
from mjjax.xla.loops import while_loop
from mjjax.xla.namespace import where

SQUARE = 0.00159999931  # sine of 1.6e-3 rad
POLYGON_POINTS = 4


class Clipped(NamedTuple):
    """Contacts of a pair in 4 slots.

    Attributes:
        count: number of contacts, 0 if nothing was clipped.
        two: (4, 3) points of geom 2 [m].
        step: vector from the points of geom 1 to the points of geom 2 [m].
    """

    count: jax.Array
    two: jax.Array
    step: Vec


def clip(pools: Pools, pair: ShapePair, deep: Depth) -> Clipped:
    """Contacts of two faces, or a face and an edge, that lie flat against each other.

    Args:
        pools: the pools.
        pair: boxes or meshes.
        deep: their depth; the features that touch are those of the three points in it.
    """
    one, two = pair.one, pair.two
    f1 = feature_of(deep.corners.label[:, 0], deep.corners.one)
    f2 = feature_of(deep.corners.label[:, 1], deep.corners.two)
    step = deep.two - deep.one
    n1 = faces_around(pools, one, f1, -step)
    n2 = faces_around(pools, two, f2, step)
    i, j, flat = first_pair(against(n1, n2) < -ALIGNED)

    # a face and an edge: the edge of the side whose feature is the smaller
    first = ~flat & (f1.dim < 3) & (f1.dim <= f2.dim)
    second = ~flat & ~first & (f2.dim < 3)
    e1, e2 = edges_from(pools, one, f1), edges_from(pools, two, f2)
    face2, end1, fits1 = _square(n2, e1)
    face1, end2, fits2 = _square(n1, e2)
    first, second = first & fits1, second & fits2
    i, j = where(second, face1, i), where(first, face2, j)

    p1, c1 = polygon_of(pools, one, row(n1.id, i))
    p2, c2 = polygon_of(pools, two, row(n2.id, j))
    normal1, normal2 = row(n1.direction, i), row(n2.direction, j)
    segment1 = _segment(f1.point[0], row(e1.end, end1), p1)
    segment2 = _segment(f2.point[0], row(e2.end, end2), p2)
    window, sides_of_window = where(first, p2, p1), where(first, c2, c1)
    subject = where(first, segment1, where(second, segment2, p2))
    number = where(first | second, 2, c2)
    normal = choose(first, normal2, normal1)
    step = choose(second, -normal1, normal2) * norm(step)
    polygon, number = clip_polygon(window, sides_of_window, subject, number, normal)
    count, points = _chosen(polygon, where(flat | first | second, number, 0))
    return Clipped(count, points, step)


def _square(face: Candidates, edge: Candidates) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The first face and edge that are parallel, and whether there are such."""
    cosine = jnp.abs(against(face, edge))
    return first_pair((cosine < SQUARE) & face.on[:, None] & edge.on[None])


def _segment(start: jax.Array, end: Vec, like: jax.Array) -> jax.Array:
    return _grown(jnp.stack([start, end.joined()]), len(like))


def _grown(polygon: jax.Array, rows: int) -> jax.Array:
    return jnp.pad(polygon, ((0, rows - len(polygon)), (0, 0)))


def clip_polygon(
    window: jax.Array, sides: jax.Array, subject: jax.Array, count: jax.Array, normal: Vec
) -> tuple[jax.Array, jax.Array]:
    """Clips a polygon by the planes through the sides of another one (Sutherland, Hodgman).

    Args:
        window: (P, 3) convex polygon, clockwise seen against `normal`.
        sides: number of its vertices.
        subject: (P, 3) polygon to be clipped.
        count: number of its vertices.
        normal: direction along the planes.

    Returns:
        The remaining polygon (2 P + 1, 3) and the number of its vertices.
    """

    def body(state: tuple[jax.Array, jax.Array, jax.Array]):
        k, polygon, count = state
        a = Vec.of(row(window, k))
        b = Vec.of(row(window, where(k + 1 == sides, 0, k + 1)))
        return k + 1, *_clip_once(polygon, count, a, cross(b - a, normal))

    state = jnp.int32(0), _grown(subject, 2 * len(window) + 1), count
    _, polygon, count = while_loop(lambda s: s[0] < sides, body, state)
    return polygon, count


def _clip_once(
    polygon: jax.Array, count: jax.Array, start: Vec, plane: Vec
) -> tuple[jax.Array, jax.Array]:
    """What of a polygon (M, 3) lies on the positive side of a plane through `start`."""
    room = len(polygon) - 1  # the last row takes what is not kept

    def body(
        state: tuple[jax.Array, jax.Array, jax.Array],
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        k, new, number = state
        here, following = row(polygon, k), row(polygon, where(k + 1 == count, 0, k + 1))
        cut, meets, kept = _crossing(Vec.of(here), Vec.of(following), start, plane)
        new = put(new, number, cut)
        number = jnp.minimum(number + meets.astype(jnp.int32), room)
        new = put(new, number, following)
        return k + 1, new, jnp.minimum(number + kept.astype(jnp.int32), room)

    begin = jnp.int32(0), polygon, jnp.int32(0)
    return while_loop(lambda s: s[0] < count, body, begin)[1:]


@subroutine
def _crossing(
    here: Vec, following: Vec, start: Vec, plane: Vec
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Where (3,) a side meets a plane, whether it does, and whether its end is to be kept."""
    inside = dot(here - start, plane) > -MINVAL
    inside_next = dot(following - start, plane) > -MINVAL
    edge = following - here
    slope = dot(plane, edge)
    t = (dot(plane, start) - dot(plane, here)) / where(slope == 0, 1, slope)
    meets = (inside != inside_next) & (slope != 0) & (t >= 0) & (t <= 1)
    return (here + edge * t).joined(), meets, inside_next


def _chosen(polygon: jax.Array, number: jax.Array) -> tuple[jax.Array, jax.Array]:
    """At most four vertices: of more, a quadrilateral as large as MuJoCo finds it."""
    many = number > POLYGON_POINTS
    corner = _largest_quad(polygon, where(many, number, 0))
    points = polygon[where(many, corner, np.arange(POLYGON_POINTS, dtype=np.int32))]
    # without repeated ones, in their order
    count, kept, fresh = jnp.int32(0), points, []
    for k in range(POLYGON_POINTS):
        new = k < number
        for j in range(k):
            same = jnp.all(jnp.abs(points[k] - points[j]) < MINVAL)
            new &= ~(same & fresh[j]) | many
        fresh.append(new)
        place = where(new, count, POLYGON_POINTS - 1)
        kept = put(kept, place, where(new, points[k], kept[-1]))
        count = count + new.astype(jnp.int32)
    return count, kept


class _Quad(NamedTuple):
    """A quadrilateral of vertices of a polygon that goes once around it.

    Attributes:
        corner: (4,) its vertices.
        turn: which corner is pushed on.
        area: the largest area so far [m^2].
        best: (4,) the vertices with this area.
    """

    corner: jax.Array
    turn: jax.Array
    area: jax.Array
    best: jax.Array


def _largest_quad(polygon: jax.Array, number: jax.Array) -> jax.Array:
    """Vertices (4,) of a large quadrilateral in a polygon with `number` vertices, 0: none.

    Calipers: corner 0 goes once around; corners 3, 2 and 1 are pushed on while the area grows.
    """

    def following(k: jax.Array) -> jax.Array:
        return where(k == number - 1, 0, k + 1)

    def area(corner: jax.Array) -> jax.Array:
        return quad_area(*(Vec.of(row(polygon, corner[k])) for k in range(POLYGON_POINTS)))

    def body(s: _Quad) -> _Quad:
        turning = np.arange(POLYGON_POINTS, dtype=np.int32) == s.turn
        pushed = where(turning, following(s.corner), s.corner)
        grown = area(pushed)
        better = grown > s.area
        # corner 3 grows: then 2, until it stops, then 1, until it stops, then 3 again
        after = where(s.turn == 2, 1, 3)
        turn = where(better, jnp.minimum(s.turn, 2), after)
        move = ~better & (s.turn == 3)
        a, b, c, d = (where(better, pushed[k], s.corner[k]) for k in range(POLYGON_POINTS))
        push = move & (b == a)
        b = where(push, following(b), b)
        push &= c == b
        c = where(push, following(c), c)
        d = where(push & (d == c), following(d), d)
        return _Quad(
            jnp.stack([a + move.astype(jnp.int32), b, c, d]),
            turn,
            where(better, grown, s.area),
            where(better, pushed, s.best),
        )

    corner = jnp.arange(POLYGON_POINTS, dtype=jnp.int32)
    start = _Quad(corner, jnp.int32(3), area(corner), corner)
    return while_loop(lambda s: s.corner[0] < number, body, start).best
