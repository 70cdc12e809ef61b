"""Penetration without flag `nativeccd`: Minkowski portal refinement.

If two convex shapes overlap, the origin lies in their Minkowski difference. A ray from the
difference of their centres through the origin leaves the Minkowski difference through a triangle of
three of its points, the portal. The portal is moved outward until no point lies beyond it by more
than the tolerance. The depth is its distance from the origin. This is not the least depth: it
depends on the centres, and differs from that of the polytope if the shapes are deep in each other.

As in the other searches, results are not converged, so start, tests and stopping rules are those of
MuJoCo's library (libccd). Every trip of the loop computes one support point.
"""

import functools
import operator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.convex.convex_shape import ShapePair
from mjjax.collision.convex.polish import FeatureTouch
from mjjax.collision.convex.round_normal import round_normal
from mjjax.collision.convex.simplex import FAR, TRIANGLE_SIDES
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
from mjjax.xla.kernel_code import subroutine
from mjjax.xla.loops import while_loop
from mjjax.xla.namespace import where

# What the next support point is: corner 1, 2 or 3 of the first portal; one beyond the portal, which
# must get behind the origin, or which is behind it. At the end: apart, touching along the ray
# itself, or through a portal.
FIRST, SECOND, THIRD, REFINE, DEEPEN, APART, RAY, PORTAL = np.arange(8, dtype=np.int32)
NOWHERE = 4  # row of a corner that is not kept
SPARE = 64  # trips of a search that does not end, beyond four times the iterations: MuJoCo's hangs


class _PortalState(NamedTuple):
    """A search.

    Attributes:
        mode: what the next support point is, or the end.
        direction: where it is sought.
        corners: difference of the centres, and the portal; the last row is for corners not kept.
        deep: steps with the origin behind the portal.
        hint: (2,) label of the last corner, at which searches over meshes begin.
        trip: trips of the loop.
    """

    mode: jax.Array
    direction: Vec
    corners: Corner
    deep: jax.Array
    hint: jax.Array
    trip: jax.Array


def portal(
    support: Support, pair: ShapePair, tolerance: jax.Array, iterations: int
) -> FeatureTouch:
    """Depth of a pair; the distance is 0 if the shapes do not overlap.

    Args:
        support: the support functions without flag `nativeccd`.
        pair: the shapes.
        tolerance: length by which the difference may reach beyond the portal [m].
        iterations: number of steps with the origin behind the portal.
    """
    one, two = (shape.centre() for shape in (pair.one, pair.two))
    eps = float(jnp.finfo(tolerance.dtype).eps)
    x, y, z = (jnp.abs(v) < eps for v in one - two)
    one = Vec(one.x + where(x & y & z, 10 * eps, 0), one.y, one.z)
    none = jnp.full(2, -1, jnp.int32)
    centre = Corner((one - two).joined(), one.joined(), two.joined(), none)
    corners = jax.tree.map(lambda x: jnp.stack([x] * (NOWHERE + 1)), centre)
    zero = jnp.int32(0)
    start = _PortalState(jnp.int32(FIRST), normalize(two - one), corners, zero, none, zero)

    def body(s: _PortalState) -> _PortalState:
        new = support.of_pair(pair, s.direction, s.hint)
        place, swap, mode = _decide(iterations, s, new.point, tolerance)
        corners = put(s.corners, where(swap, 2, NOWHERE), row(s.corners, 1))
        corners = put(corners, place, new)
        mode, direction = _aim(mode, corners.point)
        deep = s.deep + (s.mode == DEEPEN).astype(jnp.int32)
        return _PortalState(mode, direction, corners, deep, new.label, s.trip + 1)

    limit = 4 * iterations + SPARE
    return _touch(pair, while_loop(lambda s: (s.mode < APART) & (s.trip < limit), body, start))


def _decide(
    iterations: int, s: _PortalState, point: jax.Array, tolerance: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Row of a new point; whether corner 1 becomes corner 2; what comes next, or the end."""
    eps = float(jnp.finfo(point.dtype).eps)
    p, (v0, v1, v2, v3, _) = Vec.of(point), rows_of(s.corners.point)
    height, *beyond = _heights(s.direction, p, v1, v2, v3)
    reached = functools.reduce(jnp.minimum, beyond) <= tolerance
    short, side = height < eps, cross(v0, p)
    swap = dot(cross(v1 - v0, p - v0), v0) > 0
    left, right = (dot(cross(u, v), v0) < -eps for u, v in ((v1, p), (p, v2)))
    third = where(left, 2, where(right, 1, 3))
    across = cross(p, v0)
    one, two, three = (dot(v, across) > 0 for v in (v1, v2, v3))
    wider = where(one, where(two, 1, 3), where(three, 2, 1))

    at_origin = functools.reduce(operator.and_, (jnp.abs(x) < eps for x in p))
    on_ray = where(at_origin, APART, RAY)
    after = [
        where(short, APART, where(dot(side, side) < eps, on_ray, SECOND)),
        where(short, APART, THIRD),
        where(short, APART, where(third == 3, REFINE, THIRD)),
        where((height <= -eps) | reached, APART, REFINE),
        where(reached | (s.deep > iterations), PORTAL, DEEPEN),
    ]
    following = row(jnp.stack(after).astype(jnp.int32), s.mode)
    places = [jnp.ones_like(third), where(swap, 1, 2), third, wider, wider]
    place = row(jnp.stack(places).astype(jnp.int32), s.mode)
    return where(following == PORTAL, NOWHERE, place), swap & (s.mode == SECOND), following


@subroutine
def _heights(direction: Vec, p: Vec, *portal: Vec) -> list[jax.Array]:
    """How far a point lies in a direction: from the origin, and from corners of the portal."""
    height = dot(p, direction)
    return [height, *(height - dot(v, direction) for v in portal)]


@subroutine
def _aim(mode: jax.Array, points: jax.Array) -> tuple[jax.Array, Vec]:
    """What comes next, with whether the origin is behind the portal; and in which direction."""
    v0, v1, v2, v3, _ = rows_of(points)
    portal = normalize(cross(v2 - v1, v3 - v1))
    behind = (mode == REFINE) & (dot(portal, v1) > -float(jnp.finfo(points.dtype).eps))
    direction = choose(mode == SECOND, cross(v0, v1), cross(v1 - v0, v2 - v0))
    direction = choose(mode >= REFINE, portal, normalize(direction))
    return where(behind, DEEPEN, mode), direction


def _touch(pair: ShapePair, s: _PortalState) -> FeatureTouch:
    """Depth, normal and position, from the portal or, where there is none, from corner 1."""
    through = s.mode == PORTAL
    triangle = rows_of(s.corners.point)[1:4]
    weight = _nearest(triangle)
    foot = choose(through, combine(weight, triangle), triangle[0])
    depth = norm(foot)
    found = (through & (depth >= float(jnp.finfo(depth.dtype).eps))) | (s.mode == RAY)
    shares = [where(through, x, float(k == 1)) for k, x in enumerate(_shares(s))]
    ends = [combine(shares, rows_of(x)[:4]) for x in (s.corners.one, s.corners.two)]
    pos = (ends[0] + ends[1]) * 0.5
    normal = round_normal(pair, pos, normalize(foot))
    half = normal * (0.5 * depth)
    label = where(through, s.corners.label[1:4], s.corners.label[1:2])
    dist = where(found, -depth, 0)
    return FeatureTouch(dist, pos + half, pos - half, normal, label, jnp.stack(weight))


@subroutine
def _nearest(corners: list[Vec]) -> list[jax.Array]:
    """Barycentric coordinates of the point of a triangle nearest to the origin."""
    a, b, c = corners
    ab, ac = b - a, c - a
    p, q, r, v, w = dot(a, ab), dot(a, ac), dot(ab, ac), dot(ab, ab), dot(ac, ac)
    area = v * w - r * r
    flat = area <= 0
    s, t = ((x / where(flat, 1, area)) for x in (q * r - w * p, p * r - v * q))
    inside = ~flat & (s >= 0) & (t >= 0) & (s + t <= 1)
    best, least = [1 - s - t, s, t], jnp.full_like(p, FAR)
    for i, j in TRIANGLE_SIDES[::-1]:
        side = corners[j] - corners[i]
        length = dot(side, side)
        part = jnp.clip(-dot(corners[i], side) / where(length == 0, 1, length), 0, 1)
        point = corners[i] + side * part
        nearer = ~inside & (dot(point, point) < least)
        least = where(nearer, dot(point, point), least)
        weight = {i: 1 - part, j: part}
        best = [where(nearer, weight.get(k, 0), old) for k, old in enumerate(best)]
    return best


def _shares(s: _PortalState) -> list[jax.Array]:
    """Barycentric coordinates of the origin in the tetrahedron, or else in the portal."""
    v0, v1, v2, v3, _ = rows_of(s.corners.point)
    solid = [det(v1, v2, v3), det(v3, v2, v0), det(v0, v1, v3), det(v2, v1, v0)]
    total = functools.reduce(operator.add, solid)
    flat = [
        jnp.zeros_like(total),
        *(dot(cross(a, b), s.direction) for a, b in ((v2, v3), (v3, v1), (v1, v2))),
    ]
    proper = total >= float(jnp.finfo(total.dtype).eps)
    shares = [where(proper, a, b) for a, b in zip(solid, flat, strict=True)]
    total = functools.reduce(operator.add, shares)
    return [x / where(total == 0, 1, total) for x in shares]
