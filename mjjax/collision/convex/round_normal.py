"""Normals of round shapes at a point near their surface (`mjc_fixNormal`).

The portal's normal is that of a triangle between points of the surfaces. For spheres, capsules,
ellipsoids and the sides of cylinders a better normal follows from the place of the contact. If both
shapes have such a normal, the mean is used.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from mjjax.collision.convex.convex_shape import ConvexShape, ShapePair
from mjjax.collision.shape.vectors import Vec, choose, norm, normalize, turn, turn_back
from mjjax.core.constants import MINVAL
from mjjax.core.enums import GeomType
from mjjax.xla.kernel_code import subroutine
from mjjax.xla.loops import while_loop
from mjjax.xla.namespace import where

STEPS, CLOSE = 30, 1e-6  # of the iterations for ellipsoids, as MuJoCo's
CAP, WALL = 0.95, 0.25  # what of a cylinder counts as its side: by height, by distance from it


def round_normal(pair: ShapePair, pos: Vec, normal: Vec) -> Vec:
    """Normal from geom 1 to geom 2.

    Args:
        pair: the shapes.
        pos: contact, relative to geom 1 [m].
        normal: normal, which stays if no shape is round.
    """
    first, a = _outward(pair.one, pos, normal)
    second, b = _outward(pair.two, pos, -normal)
    single = choose(a, first, choose(b, -second, normal))
    return choose(a & b, normalize(first - second), single)


@subroutine
def _outward(shape: ConvexShape, pos: Vec, normal: Vec) -> tuple[Vec, jax.Array]:
    """The normal of a round shape near a point, and whether it has one there."""
    size, local = Vec.of(shape.size), turn_back(shape.mat, pos - Vec.of(shape.pos))
    ball = shape.kind == GeomType.SPHERE
    capsule = shape.kind == GeomType.CAPSULE
    cylinder = (shape.kind == GeomType.CYLINDER) & _on_wall(size, local)
    egg = shape.kind == GeomType.ELLIPSOID
    along = local.z - jnp.clip(local.z, -size.y, size.y)
    level = where(ball, local.z, where(capsule, along, 0))
    curved, settled = _of_ellipsoid(size, local, turn_back(shape.mat, normal), egg)
    found = choose(egg, curved, Vec(local.x, local.y, level))
    known = ball | capsule | cylinder | (egg & settled)
    return turn(shape.mat, normalize(found)), known


def _on_wall(size: Vec, p: Vec) -> jax.Array:
    """Whether a point of a cylinder's frame belongs to its side."""
    to_cap = jnp.abs(size.y - jnp.abs(p.z))
    to_wall = jnp.abs(size.x - jnp.sqrt(p.x * p.x + p.y * p.y))
    return (jnp.abs(p.z) <= CAP * size.y) & (to_cap >= WALL * to_wall)


class _NormalWalk(NamedTuple):
    """Iteration for an ellipsoid.

    Attributes:
        normal: of a point inside: normal so far.
        level: of a point outside: lambda [m^2].
        going: whether it is not done.
        settled: whether there is a normal.
        step: how many steps were taken.
    """

    normal: Vec
    level: jax.Array
    going: jax.Array
    settled: jax.Array
    step: jax.Array


def _of_ellipsoid(size: Vec, p: Vec, normal: Vec, on: jax.Array) -> tuple[Vec, jax.Array]:
    """Normal of an ellipsoid for a point of its frame, and whether there is one.

    From inside, where a ray along the last normal leaves, the next one is taken. From outside the
    nearest point's: p / (s^2 + lambda), with lambda from Newton's method.
    """
    square = Vec(*(where(on, s * s, 1) for s in size))
    excess = _sum([x * x / s for x, s in zip(p, square, strict=True)]) - 1
    inside = excess <= 0

    def body(w: _NormalWalk) -> _NormalWalk:
        new, leaves = _through(square, p, w.normal, excess)
        stop = ~leaves | (norm(new - w.normal) < CLOSE)
        level, last = _towards(square, p, w.level)
        take = inside & leaves
        return _NormalWalk(
            choose(take, new, w.normal),
            where(inside, w.level, level),
            ~where(inside, stop, last),
            w.settled | take | ~inside,
            w.step + 1,
        )

    first = _NormalWalk(normalize(normal), 0 * p.x, on, on & False, jnp.int32(0))
    end = while_loop(lambda w: w.going & (w.step < STEPS), body, first)
    nearest = Vec(*(x / (s + end.level) for x, s in zip(p, square, strict=True)))
    return choose(inside, end.normal, normalize(nearest)), end.settled


@subroutine
def _through(square: Vec, p: Vec, n: Vec, excess: jax.Array) -> tuple[Vec, jax.Array]:
    """Normal where a ray from p along n leaves the ellipsoid, and whether it does."""
    a = _sum([x * x / s for x, s in zip(n, square, strict=True)])
    b = _sum([x * y / s for x, y, s in zip(n, p, square, strict=True)])
    root = b * b - a * excess
    reach = (-b + jnp.sqrt(jnp.maximum(root, 0))) / jnp.maximum(a, MINVAL)
    leaves = (root >= MINVAL) & (a >= MINVAL) & (reach >= 0)
    end = p + n * reach
    return normalize(Vec(*(x / s for x, s in zip(end, square, strict=True)))), leaves


@subroutine
def _towards(square: Vec, p: Vec, level: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Newton's step of lambda, and whether there is none."""
    part = [1 / (s + level) for s in square]
    terms = [x * x * s * r * r for x, s, r in zip(p, square, part, strict=True)]
    value = _sum(terms) - 1
    slope = 2 * _sum([t * r for t, r in zip(terms, part, strict=True)])
    step = value / jnp.maximum(slope, MINVAL)
    last = (value < CLOSE) | (slope < MINVAL) | (step < CLOSE)
    return where(last, level, level + step), last


def _sum(terms: list[jax.Array]) -> jax.Array:
    x, y, z = terms
    return x + y + z
