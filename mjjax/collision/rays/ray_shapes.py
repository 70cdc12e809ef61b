"""Finds where lines meet shapes, in the frames of the shapes.

A line consists of the points `point + x * direction`. The functions take any number of lines, with
`point` and `direction` (..., 3), and `size` (..., 3) as in MuJoCo. Convex shapes give the interval
of x inside the shape; triangles and planes give one number. Derivatives are exact, and zero if
nothing is met. A line that only grazes a round surface does not meet it, as in MuJoCo.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mjjax.core.constants import MINVAL
from mjjax.core.enums import GeomType
from mjjax.math import safe
from mjjax.math.quat import cross
from mjjax.xla.linalg import dot
from mjjax.xla.namespace import Array, namespace, where

FAR = 1e10  # stands for the missing end of an unbounded interval


class Inside(NamedTuple):
    """Part of a line that is inside a shape.

    Attributes:
        enter, leave: (...,) values of x where this part begins and ends.
        meets: (...,) whether there is such a part.
    """

    enter: Array
    leave: Array
    meets: Array


def first_hit(inside: Inside) -> Array:
    """Smallest x >= 0 on the surface, -1 if there is none; from within, the end of the interval."""
    enter, leave, meets = inside
    ahead = where(enter >= 0, enter, leave)
    return where(meets & (ahead >= 0), ahead, -1)


def sphere(point: Array, direction: Array, size: Array) -> Inside:
    """Inside of a sphere."""
    return _ball(point, direction, size[..., 0])


def ellipsoid(point: Array, direction: Array, size: Array) -> Inside:
    """Inside of an ellipsoid: the unit sphere in scaled coordinates."""
    return _ball(point / size, direction / size, namespace(size).ones_like(size[..., 0]))


def box(point: Array, direction: Array, size: Array) -> Inside:
    """Inside of a box."""
    slabs = [_slab(point[..., k], direction[..., k], size[..., k]) for k in range(3)]
    return _both(_both(slabs[0], slabs[1]), slabs[2])


def cylinder(point: Array, direction: Array, size: Array) -> Inside:
    """Inside of a cylinder along z."""
    return _both(
        _tube(point, direction, size), _slab(point[..., 2], direction[..., 2], size[..., 1])
    )


def capsule(point: Array, direction: Array, size: Array) -> Inside:
    """Inside of a capsule along z: of its cylinder or of the balls at its ends."""
    xp, axis = namespace(point, size), along_z(size[..., 1:2])
    parts = [cylinder(point, direction, size)]
    parts += [_ball(point - end, direction, size[..., 0]) for end in (axis, -axis)]
    enter, leave, meets = zip(*parts, strict=True)
    begin = (where(m, x, FAR) for x, m in zip(enter, meets, strict=True))
    end = (where(m, x, -FAR) for x, m in zip(leave, meets, strict=True))
    return Inside(_fold(xp.minimum, begin), _fold(xp.maximum, end), _fold(xp.logical_or, meets))


def plane(point: Array, direction: Array, size: Array) -> Array:
    """Hit of a plane from above, within its size unless that is zero; -1 if there is none."""
    xp = namespace(point, size)
    down = direction[..., 2] <= -MINVAL
    x = -point[..., 2] / where(down, direction[..., 2], -1)
    at = point[..., :2] + x[..., None] * direction[..., :2]
    within = (xp.abs(at) <= size[..., :2]) | (size[..., :2] <= 0)
    return where(down & (x >= 0) & xp.all(within, axis=-1), x, -1)


def triangle(
    point: Array, direction: Array, corners: tuple[Array, Array, Array], slack: float = 0.0
) -> Array:
    """Hit of a triangle (..., 3) from either side, -1 if there is none.

    The triangle is enlarged by `slack`, relative to its size; if this is infinite, its whole plane
    counts.
    """
    a, b, c = corners
    one, two, start = b - a, c - a, a - point
    normal = cross(one, two)
    speed = dot(direction, normal)
    crosses = abs(speed) > MINVAL**2
    speed = where(crosses, speed, 1)
    x = dot(start, normal) / speed
    turn = cross(direction, start)
    u, v = -dot(turn, two) / speed, dot(turn, one) / speed
    within = (u >= -slack) & (v >= -slack) & (u + v <= 1 + slack)
    return where(crosses & within & (x >= 0), x, -1)


def _ball(point: Array, direction: Array, radius: Array) -> Inside:
    along, square = dot(direction, point), dot(direction, direction)
    return _roots(square, along, dot(point, point) - radius * radius)


def _tube(point: Array, direction: Array, size: Array) -> Inside:
    """Inside of an infinite cylinder; a line along its axis is wholly inside or outside."""
    p, v = point[..., :2], direction[..., :2]
    square, gap = dot(v, v), dot(p, p) - size[..., 0] * size[..., 0]
    found = _roots(square, dot(v, p), gap)
    along = square < MINVAL
    return Inside(
        where(along, -FAR, found.enter),
        where(along, FAR, found.leave),
        where(along, gap <= 0, found.meets),
    )


def _roots(a: Array, b: Array, c: Array) -> Inside:
    """Interval where a x^2 + 2 b x + c < 0."""
    det = b * b - a * c
    meets = (det >= MINVAL) & (a > 0)
    root = namespace(det).sqrt(where(meets, det, 1))
    a = where(meets, a, 1)
    return Inside((-b - root) / a, (-b + root) / a, meets)


def _slab(point: Array, direction: Array, half: Array) -> Inside:
    """Interval where a coordinate is within -half and half."""
    moves = abs(direction) > MINVAL
    speed = where(moves, direction, 1)
    side = where(speed > 0, half, -half)
    enter = where(moves, (-side - point) / speed, -FAR)
    leave = where(moves, (side - point) / speed, FAR)
    return Inside(enter, leave, moves | (abs(point) <= half))


def _both(a: Inside, b: Inside) -> Inside:
    xp = namespace(a.enter, b.enter)
    enter, leave = xp.maximum(a.enter, b.enter), xp.minimum(a.leave, b.leave)
    return Inside(enter, leave, a.meets & b.meets & (enter <= leave))


def along_z(height: Array) -> Array:
    """Vectors (..., 3) along z from their lengths (..., 1)."""
    return namespace(height).concatenate([0 * height, 0 * height, height], axis=-1)


def _fold(function: Callable[[Array, Array], Array], values: object) -> Array:
    first, *rest = values  # type: ignore[misc]
    for value in rest:
        first = function(first, value)
    return first


SOLIDS: dict[GeomType, Callable[[Array, Array, Array], Inside]] = {
    GeomType.SPHERE: sphere,
    GeomType.CAPSULE: capsule,
    GeomType.ELLIPSOID: ellipsoid,
    GeomType.CYLINDER: cylinder,
    GeomType.BOX: box,
}


def shape_hit(kind: GeomType, point: Array, direction: Array, size: Array) -> Array:
    """First hit of a shape without triangles, -1 if there is none."""
    if kind == GeomType.PLANE:
        return plane(point, direction, size)
    return first_hit(SOLIDS[kind](point, direction, size))


# ---- outward normals at points of the surfaces, not normalized ----------------------------------


def _normal_plane(point: Array, size: Array) -> Array:
    return along_z(namespace(point).ones_like(point[..., 2:]))


def _normal_capsule(point: Array, size: Array) -> Array:
    xp = namespace(point, size)
    height = xp.clip(point[..., 2:], -size[..., 1:2], size[..., 1:2])
    return xp.concatenate([point[..., :2], point[..., 2:] - height], axis=-1)


def _normal_cylinder(point: Array, size: Array) -> Array:
    """Outward normal of the lid or of the side, whichever is nearer to the point."""
    xp = namespace(point, size)
    lid = abs(abs(point[..., 2:]) - size[..., 1:2])
    side = abs(safe.norm(point[..., :2], keepdims=True) - size[..., :1])
    round_ = xp.concatenate([point[..., :2], 0 * point[..., 2:]], axis=-1)
    return where(lid < side, along_z(xp.sign(point[..., 2:])), round_)


def _normal_box(point: Array, size: Array) -> Array:
    """Outward normal of the nearest face."""
    xp = namespace(point, size)
    face = xp.argmin(abs(abs(point) - size), axis=-1, keepdims=True)
    axis = np.arange(3, dtype=np.int32).reshape((1,) * (point.ndim - 1) + (3,))
    return where(face.astype(np.int32) == axis, xp.sign(point), 0)


NORMALS: dict[GeomType, Callable[[Array, Array], Array]] = {
    GeomType.PLANE: _normal_plane,
    GeomType.SPHERE: lambda point, size: point,
    GeomType.CAPSULE: _normal_capsule,
    GeomType.ELLIPSOID: lambda point, size: safe.divide(point, size * size),
    GeomType.CYLINDER: _normal_cylinder,
    GeomType.BOX: _normal_box,
}
