"""Makes several contacts of boxes and meshes from one, by clipping the faces that touch."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.convex.epa import Depth
from mjjax.collision.convex.faces import (
    ALIGNED,
    against,
    edges_from,
    faces_around,
    feature_of,
    first_pair,
    polygon_of,
    quad_area,
)
from mjjax.collision.convex.support import Sides
from mjjax.collision.shape.lanes import Vec, cross, dot, keep, look_up, norm
from mjjax.collision.shape.shapes import Pools
from mjjax.core.constants import MINVAL
from mjjax.xla.loops import while_loop
from mjjax.xla.namespace import where

SQUARE = 0.00159999931  # sine of 1.6e-3 rad
POLYGON_POINTS = 4


class Clipped(NamedTuple):
    """Contacts of N pairs in 4 slots.

    Attributes:
        count: (N,) number of contacts, 0 if nothing was clipped.
        two: (4, N) points of geom 2 [m].
        step: (N,) vector from the points of geom 1 to the points of geom 2 [m].
    """

    count: jax.Array
    two: Vec
    step: Vec


def clip(pools: Pools, sides: Sides, deep: Depth) -> Clipped:
    """Contacts of two faces, or a face and an edge, that lie flat against each other.

    Args:
        pools: the pools.
        sides: boxes and meshes.
        deep: their depths; the features that touch are those of the three points in it.
    """
    n = deep.depth.shape[0]
    one, two = (jax.tree.map(lambda x, h=h: x[..., h], sides) for h in (slice(n), slice(n, None)))
    f1 = feature_of(deep.corners.label[0], deep.corners.one)
    f2 = feature_of(deep.corners.label[1], deep.corners.two)
    step = deep.two - deep.one
    n1 = faces_around(pools, one, f1, -step)
    n2 = faces_around(pools, two, f2, step)
    i, j, flat = first_pair(against(n1, n2) < -ALIGNED)

    # a face and an edge: the edge of the side whose feature is the smaller
    first = ~flat & (f1.dim < 3) & (f1.dim <= f2.dim)
    second = ~flat & ~first & (f2.dim < 3)
    e1, e2 = edges_from(pools, one, f1), edges_from(pools, two, f2)

    def square(face, edge):
        cosine = jnp.abs(dot(face.direction[:, None], edge.direction[None]))
        return first_pair((cosine < SQUARE) & face.on[:, None] & edge.on[None])

    face2, end1, fits1 = square(n2, e1)
    face1, end2, fits2 = square(n1, e2)
    first, second = first & fits1, second & fits2
    i, j = where(second, face1, i), where(first, face2, j)

    p1, c1 = polygon_of(pools, one, look_up(n1.id, i))
    p2, c2 = polygon_of(pools, two, look_up(n2.id, j))
    normal1, normal2 = look_up(n1.direction, i), look_up(n2.direction, j)
    segment1 = _segment(f1.point[0], look_up(e1.end, end1), p1)
    segment2 = _segment(f2.point[0], look_up(e2.end, end2), p2)
    window, sides_of_window = keep(first, p2, p1), where(first, c2, c1)
    subject = keep(first, segment1, keep(second, segment2, p2))
    number = where(first | second, 2, c2)
    normal = keep(first, normal2, normal1)
    depth = norm(step)
    step = keep(second, -normal1, normal2) * depth
    polygon, number = clip_polygon(window, sides_of_window, subject, number, normal)
    number = where(flat | first | second, number, 0)
    count, points = _chosen(polygon, number)
    return Clipped(count, points, step)


def _segment(start: Vec, end: Vec, like: Vec) -> Vec:
    pair = jax.tree.map(lambda *x: jnp.stack(x), start, end)
    return _grown(pair, len(like.x))


def _grown(polygon: Vec, rows: int) -> Vec:
    return jax.tree.map(lambda x: jnp.pad(x, [(0, rows - len(x)), (0, 0)]), polygon)


def clip_polygon(
    window: Vec, sides: jax.Array, subject: Vec, count: jax.Array, normal: Vec
) -> tuple[Vec, jax.Array]:
    """Clips polygons by the planes through the sides of other polygons (Sutherland, Hodgman).

    Args:
        window: (P, N) convex polygons, clockwise seen against `normal`.
        sides: (N,) numbers of their vertices.
        subject: (P, N) polygons to be clipped.
        count: (N,) numbers of vertices of these polygons.
        normal: (N,) direction along the planes.

    Returns:
        The remaining polygons (2 P, N) and the numbers of their vertices (N,).
    """
    room = len(window.x)

    def body(state: tuple[jax.Array, Vec, jax.Array]):
        k, polygon, count = state
        a = window[k]
        b = keep(k + 1 == sides, window[0], window[(k + 1) % room])
        new, number = _clip_once(polygon, count, a, cross(b - a, normal))
        on = k < sides
        return k + 1, keep(on, new, polygon), where(on, number, count)

    state = jnp.int32(0), _grown(subject, 2 * room), count
    _, polygon, count = while_loop(lambda s: s[0] < jnp.max(sides), body, state)
    return polygon, count


def _clip_once(polygon: Vec, count: jax.Array, start: Vec, plane: Vec) -> tuple[Vec, jax.Array]:
    """What of polygons (M, N) lies on the positive side of planes through `start` (N,)."""
    room = len(polygon.x)
    place = np.arange(room, dtype=np.int32)[:, None]
    valid = place < count[None]
    rolled = jax.tree.map(lambda x: jnp.roll(x, -1, axis=0), polygon)
    following = keep(place == count[None] - 1, polygon[:1], rolled)
    inside = dot(polygon - start, plane) > -MINVAL
    inside_next = dot(following - start, plane) > -MINVAL
    edge = following - polygon
    slope = dot(plane, edge)
    t = (dot(plane, start)[None] - dot(plane, polygon)) / where(slope == 0, 1, slope)
    meets = valid & (inside != inside_next) & (slope != 0) & (t >= 0) & (t <= 1)
    kept = valid & inside_next
    cut = polygon + edge * t
    kept_here = kept.astype(jnp.int32)
    here = jnp.cumsum(meets.astype(jnp.int32) + kept_here, axis=0, dtype=jnp.int32)
    # each row of the new polygon is the cut before a vertex, or the vertex
    row = np.arange(room, dtype=np.int32)[:, None]
    source = jnp.sum(here[None] <= row[:, None], axis=1, dtype=jnp.int32)
    source = jnp.minimum(source, room - 1)
    is_cut = row < look_up(here - kept_here, source)
    new = keep(is_cut, look_up(cut, source), look_up(following, source))
    return new, jnp.minimum(here[-1], room)


def _chosen(polygon: Vec, number: jax.Array) -> tuple[jax.Array, Vec]:
    """At most four vertices: of more, a quadrilateral as large as MuJoCo finds it."""
    corner = _largest_quad(polygon, where(number > POLYGON_POINTS, number, 0))
    many = number > POLYGON_POINTS
    rows = [where(many, corner[k], k) for k in range(POLYGON_POINTS)]
    points = look_up(polygon, jnp.stack(rows))
    # without repeated ones, in their order
    fresh = []
    for k in range(POLYGON_POINTS):
        new = k < number
        for j in range(k):
            x, y, z = (jnp.abs(v) < MINVAL for v in points[k] - points[j])
            new &= ~(x & y & z & fresh[j]) | many
        fresh.append(new)
    flags = jnp.stack(fresh)
    rank = jnp.cumsum(flags, axis=0, dtype=jnp.int32) - 1
    rows = [
        sum(where(flags[k] & (rank[k] == slot), k, 0) for k in range(POLYGON_POINTS))
        for slot in range(POLYGON_POINTS)
    ]
    kept = look_up(points, jnp.stack([jnp.asarray(row) for row in rows]))
    return jnp.sum(flags, axis=0, dtype=jnp.int32), kept


class _Quad(NamedTuple):
    on: jax.Array
    corner: jax.Array
    turn: jax.Array
    area: jax.Array
    best: jax.Array


def _largest_quad(polygon: Vec, number: jax.Array) -> jax.Array:
    """Vertices (4, N) of large quadrilaterals in polygons with `number` (N,) vertices, 0: none.

    Calipers: corner 0 goes once around; corners 3, 2 and 1 are pushed on while the area grows.
    """
    n = number.shape[0]
    last = number - 1

    def following(k: jax.Array) -> jax.Array:
        return where(k == last, 0, k + 1)

    def area(corner: list[jax.Array]) -> jax.Array:
        return quad_area([look_up(polygon, k) for k in corner])

    def body(s: _Quad) -> _Quad:
        pushed = [where(s.turn == k, following(x), x) for k, x in enumerate(s.corner)]
        grown = area(pushed)
        better = grown > s.area
        # corner 3 grows: then 2, until it stops, then 1, until it stops, then 3 again
        after = where(s.turn == 2, 1, 3)
        turn = where(better, jnp.minimum(s.turn, 2), after)
        move = ~better & (s.turn == 3)
        a, b, c, d = (where(better, p, x) for p, x in zip(pushed, s.corner, strict=True))
        push = move & (b == a)
        b = where(push, following(b), b)
        push &= c == b
        c = where(push, following(c), c)
        d = where(push & (d == c), following(d), d)
        corner = keep(s.on, jnp.stack([a + move.astype(jnp.int32), b, c, d]), s.corner)
        on = s.on & (corner[0] < number)
        return _Quad(
            on,
            corner,
            where(s.on, turn, s.turn),
            where(s.on & better, grown, s.area),
            keep(s.on & better, jnp.stack(pushed), s.best),
        )

    corner = jnp.broadcast_to(
        np.arange(POLYGON_POINTS, dtype=np.int32)[:, None], (POLYGON_POINTS, n)
    )
    start = _Quad(number > 0, corner, jnp.full(n, 3, jnp.int32), area(list(corner)), corner)
    return while_loop(lambda s: jnp.any(s.on), body, start).best
