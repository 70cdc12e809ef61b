"""Penetration without flag `nativeccd`: Minkowski portal refinement on batches.

If two convex shapes overlap, the origin lies in their Minkowski difference. A ray from the
difference of their centres through the origin leaves the Minkowski difference through a triangle of
three of its points, the portal. The portal is moved outward until no point lies beyond it by more
than the tolerance. The depth is its distance from the origin. This is not the least depth: it
depends on the centres, and differs from that of the polytope if the shapes are deep in each other.

As in the other searches, results are not converged, so start, tests and stopping rules are those of
MuJoCo's library (libccd). Every trip of the loop computes one support point for every item.
"""

import functools
import operator
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from mjjax.collision.convex.corners import Corners
from mjjax.collision.convex.polish import FeatureTouch
from mjjax.collision.convex.round_normal import round_normals
from mjjax.collision.convex.simplex import FAR, TRIANGLE_SIDES
from mjjax.collision.convex.support import Sides, both_ways, support
from mjjax.collision.shape.lanes import (
    Vec,
    combine,
    cross,
    det,
    dot,
    keep,
    norm,
    normalize,
    pick,
    put,
    when_any,
)
from mjjax.collision.shape.shapes import Pools
from mjjax.xla.loops import while_loop
from mjjax.xla.namespace import where

# What the next support point is: corner 1, 2 or 3 of the first portal; one beyond the portal, which
# must get behind the origin, or which is behind it. At the end: apart, touching along the ray
# itself, or through a portal.
FIRST, SECOND, THIRD, REFINE, DEEPEN, APART, RAY, PORTAL = range(8)
NOWHERE = 4  # row of a corner that is not kept
SPARE = 64  # trips of a search that does not end, beyond four times the iterations: MuJoCo's hangs


class _PortalState(NamedTuple):
    """A search of N items.

    Attributes:
        mode: (N,) what the next support point is, or the end.
        direction: (N,) where it is sought.
        corners: difference of the centres, and the portal.
        deep: (N,) steps with the origin behind the portal.
        hint: (2 N,) vertices at which searches over meshes ended.
        trip: trips of the loop.
    """

    mode: jax.Array
    direction: Vec
    corners: Corners
    deep: jax.Array
    hint: jax.Array
    trip: jax.Array


def portal(
    pools: Pools, sides: Sides, tolerance: jax.Array, iterations: int, on: jax.Array
) -> FeatureTouch:
    """Depths of N pairs; the distance is 0 if they do not overlap.

    Args:
        pools: the pools.
        sides: shapes of both sides.
        tolerance: (N,) length by which the difference may reach beyond the portal [m].
        iterations: number of steps with the origin behind the portal.
        on: (N,) pairs to do.
    """
    n = tolerance.shape[0]
    centre = sides.centre()
    middle = (centre[:n] - centre[n:]).joined()
    eps = float(jnp.finfo(middle.dtype).eps)
    same = jnp.all(jnp.abs(middle) < eps, axis=0)
    nudge = where(same, 10 * eps, 0)
    start = Corners.of(centre, jnp.full(2 * n, -1, jnp.int32))
    start = start._replace(ends=start.ends.at[0, 0].add(nudge))
    corners = jax.tree.map(lambda x: jnp.stack([x] * 4, axis=-2), start)
    mode = where(on, FIRST, APART).astype(jnp.int32)
    none, hint = jnp.zeros(n, jnp.int32), jnp.full(2 * n, -1, jnp.int32)
    first = _PortalState(mode, normalize(-start.point), corners, none, hint, jnp.int32(0))

    def body(s: _PortalState) -> _PortalState:
        on = s.mode < APART
        twice = jnp.concatenate([on, on])
        point, vertex = support(
            pools, sides, both_ways(s.direction), s.hint, twice & False, twice, native=False
        )
        new = Corners.of(point, vertex)
        # decisions are computed once, whatever they are used for: see `when_any`
        row, swap, mode = when_any(on, _decide(iterations, eps), s, new.point, tolerance)
        one = jax.tree.map(lambda x: x[..., 1, :], s.corners)
        corners = put(put(s.corners, where(swap, 2, NOWHERE), one), row, new)
        mode, direction = when_any(on, _aim(eps), mode, corners)
        deep = s.deep + (s.mode == DEEPEN).astype(jnp.int32)
        mode, direction, corners = keep(
            on, (mode, direction, corners), (s.mode, s.direction, s.corners)
        )
        return _PortalState(
            mode, direction, corners, deep, where(twice, vertex, s.hint), s.trip + 1
        )

    limit = 4 * iterations + SPARE
    end = while_loop(lambda s: jnp.any(s.mode < APART) & (s.trip < limit), body, first)
    return _touch(sides, end, eps)


def _decide(iterations: int, eps: float) -> Callable[..., tuple[jax.Array, ...]]:
    """Row of a new point p; whether corner 1 becomes corner 2; what comes next, or the end."""

    def decide(s: _PortalState, p: Vec, tolerance: jax.Array) -> tuple[jax.Array, ...]:
        v0, v1, v2, v3 = s.corners.points(4)
        mode, height = s.mode, dot(p, s.direction)
        short = height < eps
        side = cross(v0, p)
        swap = dot(cross(v1 - v0, p - v0), v0) > 0
        left, right = (dot(side, v) < -eps for side, v in ((cross(v1, p), v0), (cross(p, v2), v0)))
        third = where(left, 2, where(right, 1, 3))

        beyond = [height - dot(v, s.direction) for v in (v1, v2, v3)]
        reached = functools.reduce(jnp.minimum, beyond) <= tolerance
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
        following = pick(after, mode).astype(jnp.int32)
        row = pick([jnp.ones_like(mode), where(swap, 1, 2), third, wider, wider], mode)
        row = where(following == PORTAL, NOWHERE, row).astype(jnp.int32)
        return row, swap & (mode == SECOND), following

    return decide


def _aim(eps: float) -> Callable[..., tuple[jax.Array, Vec]]:
    """What comes next, with whether the origin is behind the portal; and in which direction."""

    def aim(mode: jax.Array, corners: Corners) -> tuple[jax.Array, Vec]:
        v0, v1, v2, v3 = corners.points(4)
        portal = normalize(cross(v2 - v1, v3 - v1))
        behind = (mode == REFINE) & (dot(portal, v1) > -eps)
        direction = keep(mode == SECOND, cross(v0, v1), cross(v1 - v0, v2 - v0))
        direction = keep(mode >= REFINE, portal, normalize(direction))
        return where(behind, DEEPEN, mode), direction

    return aim


def _touch(sides: Sides, s: _PortalState, eps: float) -> FeatureTouch:
    """Depth, normal and position, from the portal or, where there is none, from corner 1."""
    through = s.mode == PORTAL
    triangle = s.corners.points(4)[1:]
    weight = when_any(through, _nearest, triangle)
    foot = keep(through, combine(weight, triangle), triangle[0])
    depth = norm(foot)
    found = (through & (depth >= eps)) | (s.mode == RAY)
    shares = [where(through, x, float(k == 1)) for k, x in enumerate(_shares(s))]
    ends = [combine(shares, [v[k] for k in range(4)]) for v in (s.corners.one, s.corners.two)]
    pos = (ends[0] + ends[1]) * 0.5
    normal = round_normals(sides, pos, normalize(foot), found)
    half = normal * (0.5 * depth)
    dist = where(found, -depth, 0)
    label = where(through, s.corners.label[:, 1:], s.corners.label[:, 1:2])
    return FeatureTouch(dist, pos + half, pos - half, normal, label, jnp.stack(weight))


def _nearest(corners: list[Vec]) -> list[jax.Array]:
    """Barycentric coordinates, three arrays (N,), of the points of triangles nearest the origin."""
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
    """Barycentric coordinates (N,) of the origin in the tetrahedron, or else in the portal."""
    v0, v1, v2, v3 = s.corners.points(4)
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
