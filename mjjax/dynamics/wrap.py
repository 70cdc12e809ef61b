"""Shortest paths around spheres and cylinders.

In the frame of the geom, the path between two points is straight up to a tangent point of a
circle, follows the circle, and is straight again. The circle lies in the plane through the centre
and both points (sphere) or across the axis (cylinder, with the height shared out along the path).
All functions take batches (n, ...) of paths.
"""

import numpy as np
from jax import lax

from mjjax.core.constants import MINVAL
from mjjax.math import safe
from mjjax.math.quat import cross
from mjjax.xla.loops import fori_loop
from mjjax.xla.namespace import Array, namespace, where

_MAXITER = 20  # iterations of Newton's method for the point inside
_TOLERANCE = 1e-6
_START = 1 - 1e-7
_CROSSED = -10000.0  # quality of a path that crosses itself


def wrap(
    start: Array, end: Array, side: Array, has_side: np.ndarray, radius: Array, sphere: np.ndarray
) -> tuple[Array, Array, Array, Array]:
    """The touching points of a path and its geom, and the length between them (`mju_wrap`).

    A side point says on which side to pass. A side point inside the geom makes the path pass
    through the inside and touch the geom in one point.

    Args:
        start: (n, 3) one end of the path in the geom's frame [m].
        end: (n, 3) the other end.
        side: (n, 3) side points in the geom's frame [m].
        has_side: (n,) whether the side point counts.
        radius: (n,) radii [m].
        sphere: (n,) whether the geom is a sphere; otherwise it is a cylinder along z.

    Returns:
        Whether the path wraps (n,), the touching points (n, 3) next to the start and the end, and
        the length between them (n,) [m]. Derivatives take the kind of path as fixed.
    """
    xp = namespace(start, end, side)
    u, v = _plane(start, end, sphere)
    a, b = (_project(x, u, v) for x in (start, end))
    direction = safe.normalize(_project(side, u, v))[0]
    inner = has_side & (safe.norm(side) < radius)
    far = (safe.norm(start) >= MINVAL) & (safe.norm(end) >= MINVAL) & (radius >= MINVAL)
    around, points, arc = _around(a, b, direction, has_side, radius)
    on = around & far
    if has_side.any():
        inside, touch = _inside(a, b, radius)
        on = where(inner, inside & far, on)
        points = [where(inner[:, None], touch, p) for p in points]
        arc = where(inner, 0, arc)
    first, last = (p[:, :1] * u + p[:, 1:] * v for p in points)
    if not sphere.all():
        low, high = safe.norm(a - points[0]), safe.norm(b - points[1])
        total = low + arc + high
        rise = end[:, 2] - start[:, 2]
        heights = (start[:, 2] + rise * safe.divide(x, total) for x in (low, low + arc))
        lifted = [
            xp.concatenate([p[:, :2], h[:, None]], axis=1)
            for p, h in zip((first, last), heights, strict=True)
        ]
        step = lifted[1][:, 2] - lifted[0][:, 2]
        first, last = (
            where(sphere[:, None], p, q) for p, q in zip((first, last), lifted, strict=True)
        )
        arc = where(sphere, arc, safe.sqrt(arc * arc + step * step))
    return on, first, last, arc


def _project(x: Array, u: Array, v: Array) -> Array:
    xp = namespace(x)
    return xp.stack([xp.sum(x * u, axis=-1), xp.sum(x * v, axis=-1)], axis=-1)


def _plane(start: Array, end: Array, sphere: np.ndarray) -> tuple[Array, Array]:
    """Two axes (n, 3) of the plane of the circle."""
    xp = namespace(start)
    first = safe.normalize(start)[0]
    normal = cross(start, end)
    parallel = safe.norm(normal, keepdims=True) < MINVAL
    # Any normal will do then. MuJoCo takes it from the axes other than the largest, or than x.
    size = xp.abs(first)
    largest = size > xp.maximum(size[:, [1, 2, 0]], size[:, [2, 0, 1]])
    alone = xp.any(largest, axis=-1, keepdims=True)
    others = ~where(alone, largest, np.eye(3, dtype=bool)[:1])
    spare = cross(first, others.astype(first.dtype))
    normal = safe.normalize(where(parallel, spare, normal))[0]
    second = safe.normalize(cross(normal, first))[0]
    eye = np.eye(3)
    u, v = (
        xp.asarray(np.broadcast_to(eye[i], (len(sphere), 3)), dtype=first.dtype) for i in (0, 1)
    )
    ball = sphere[:, None]
    return where(ball, first, u), where(ball, second, v)


def _dot(a: Array, b: Array) -> Array:
    return namespace(a).sum(a * b, axis=-1)


def _cross2(a: Array, b: Array) -> Array:
    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]


def _nearest(a: Array, b: Array) -> tuple[Array, Array]:
    """The parameter at which the line from a to b passes the origin, and the square of b - a."""
    along = b - a
    square = _dot(along, along)
    return safe.divide(-_dot(along, a), square), square


def _intersect(a: Array, b: Array, c: Array, d: Array) -> Array:
    """Whether the segments ab and cd cross (n,)."""
    xp = namespace(a)
    one, two, gap = b - a, d - c, a - c
    det = _cross2(one, two)
    parallel = xp.abs(det) < MINVAL
    det = where(parallel, 1, det)
    s, t = _cross2(two, gap) / det, _cross2(one, gap) / det
    return ~parallel & (s >= 0) & (s <= 1) & (t >= 0) & (t <= 1)


def _around(
    a: Array, b: Array, side: Array, has_side: np.ndarray, radius: Array
) -> tuple[Array, list[Array], Array]:
    """Path around the outside of a circle: whether it wraps, touching points (n, 2), arc length."""
    xp = namespace(a, b)
    square = radius * radius
    aa, bb = _dot(a, a), _dot(b, b)
    along, dd = _nearest(a, b)
    near = a + xp.clip(along, 0, 1)[:, None] * (b - a)
    outside = (aa >= square) & (bb >= square) & (dd >= MINVAL)
    # A straight path that misses the circle stays straight, unless it passes on the wrong side.
    misses = (_dot(near, near) > square) & (~has_side | (_dot(near, side) >= 0))
    possible = outside & ~misses
    solutions, quality = [], []
    for sign in (1.0, -1.0):
        p, q = _tangent(a, aa, radius, sign), _tangent(b, bb, radius, -sign)
        crossed = _intersect(a, p, b, q)
        middle = safe.normalize(p + q)[0]
        good = where(has_side, _dot(middle, side), -_dot(p - q, p - q))
        solutions.append((p, q, crossed, _arc(p, q, sign)))
        quality.append(where(crossed, _CROSSED, good))
    better = quality[0] > quality[1]
    p, q = (where(better[:, None], solutions[0][i], solutions[1][i]) for i in (0, 1))
    crossed, angle = (where(better, solutions[0][i], solutions[1][i]) for i in (2, 3))
    return possible & ~crossed, [p, q], radius * angle


def _tangent(x: Array, square: Array, radius: Array, sign: float) -> Array:
    """The point (n, 2) where a line through x touches the circle, on one of the two sides."""
    xp = namespace(x)
    reach = sign * radius * safe.sqrt(square - radius * radius)
    turned = xp.stack([x[:, 1], -x[:, 0]], axis=-1)
    return safe.divide(x * (radius * radius)[:, None] + turned * reach[:, None], square[:, None])


def _arc(p: Array, q: Array, sign: float) -> Array:
    """Angle from p to q about the origin, in the direction of the sign [rad]."""
    xp = namespace(p)
    turn = -sign * _cross2(p, q)
    angle = safe.arctan2(xp.abs(turn), _dot(p, q))
    return where(turn < 0, 2 * xp.pi - angle, angle)


def _inside(a: Array, b: Array, radius: Array) -> tuple[Array, Array]:
    """Path that touches a circle from the inside: whether it does, and the touching point (n, 2).

    Let A and B be the ratios of the radius to the distances of the ends, and G the angle between
    the ends. The sine z of the angle at the touching point solves
    asin(A z) + asin(B z) - 2 asin(z) + G = 0. If this fails, the point lies halfway.
    """
    xp = namespace(a, b)
    la, lb = safe.norm(a), safe.norm(b)
    along, dd = _nearest(a, b)
    near = a + along[:, None] * (b - a)
    cuts = (dd > MINVAL) & (along > 0) & (along < 1) & (_dot(near, near) <= radius * radius)
    cosine = safe.divide(la * la + lb * lb - dd, 2 * la * lb)
    possible = (la > radius) & (lb > radius) & ~cuts & (cosine >= -1 + MINVAL)
    solvable = possible & (cosine <= 1 - MINVAL)
    ratio_a, ratio_b = (where(solvable, safe.divide(radius, x), 0.5) for x in (la, lb))
    gap = safe.arccos(where(solvable, cosine, 0))
    z, solved = _newton(ratio_a, ratio_b, gap)
    turned = _cross2(a, b) > 0
    base = safe.normalize(where(turned[:, None], a, b))[0]
    angle = xp.arcsin(z) - xp.arcsin(where(turned, ratio_a, ratio_b) * z)
    c, s = xp.cos(angle), xp.sin(angle)
    found = xp.stack([c * base[:, 0] - s * base[:, 1], s * base[:, 0] + c * base[:, 1]], axis=-1)
    halfway = safe.normalize(0.5 * (a + b))[0]
    touch = where((solvable & solved)[:, None], found, halfway)
    return possible, radius[:, None] * touch


def _newton(ratio_a: Array, ratio_b: Array, gap: Array) -> tuple[Array, Array]:
    """Root z and whether it was found. The derivative of z is that of the implicit function."""
    xp = namespace(ratio_a, ratio_b, gap)

    def residual(z: Array) -> Array:
        return xp.arcsin(ratio_a * z) + xp.arcsin(ratio_b * z) - 2 * xp.arcsin(z) + gap

    def slope(z: Array) -> Array:
        a, b, c = (
            r / xp.maximum(MINVAL, safe.sqrt(1 - (r * z) ** 2))
            for r in (ratio_a, ratio_b, xp.ones_like(z))
        )
        return a + b - 2 * c

    def advance(_: int, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        z, good = carry
        f, df = residual(z), slope(z)
        going = good & (xp.abs(f) > _TOLERANCE)
        descends = df <= -MINVAL
        after = xp.clip(z - f / where(descends, df, -1), -1, 1)
        fine = descends & (after <= z) & (residual(after) <= _TOLERANCE)
        return where(going & fine, after, z), good & (fine | ~going)

    z = xp.full_like(gap, _START)
    carry = (z, residual(z) <= 0)
    if xp is np:
        for i in range(_MAXITER):
            if not (carry[1] & (np.abs(residual(carry[0])) > _TOLERANCE)).any():
                break
            carry = advance(i, carry)
    else:
        carry = lax.stop_gradient(fori_loop(0, _MAXITER, advance, carry))
    z, good = carry
    solved = good & (xp.abs(residual(z)) <= _TOLERANCE)
    z = where(solved, z, 0.5)
    if xp is not np:
        f = residual(z)
        z = z - (f - lax.stop_gradient(f)) / slope(z)
    return z, solved
