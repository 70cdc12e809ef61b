"""Normals of round shapes at a point near their surface (`mjc_fixNormal`).

The portal's normal is that of a triangle between points of the surfaces. For spheres, capsules,
ellipsoids and the sides of cylinders a better normal follows from the place of the contact. If both
shapes have such a normal, the mean is used.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from mjjax.collision.convex.support import Sides
from mjjax.collision.shape.lanes import Vec, keep, norm, normalize, turn, turn_back
from mjjax.core.constants import MINVAL
from mjjax.core.enums import GeomType
from mjjax.xla.loops import while_loop
from mjjax.xla.namespace import where

STEPS, CLOSE = 30, 1e-6  # of the iterations for ellipsoids, as MuJoCo's
CAP, WALL = 0.95, 0.25  # what of a cylinder counts as its side: by height, by distance from it


def round_normals(sides: Sides, pos: Vec, normal: Vec, on: jax.Array) -> Vec:
    """Normals (N,) from geom 1 to geom 2.

    Args:
        sides: the shapes.
        pos: (N,) contacts, relative to geom 1 [m].
        normal: (N,) normals, which stay if no shape is round.
        on: (N,) pairs that touch.
    """
    n = on.shape[0]

    def both(one: Vec, two: Vec) -> Vec:
        return jax.tree.map(lambda a, b: jnp.concatenate([a, b]), one, two)

    local = turn_back(sides.mat, both(pos, pos) - sides.pos)
    start = turn_back(sides.mat, both(normal, -normal))
    ball = sides.kind == GeomType.SPHERE
    capsule = sides.kind == GeomType.CAPSULE
    cylinder = (sides.kind == GeomType.CYLINDER) & _on_wall(sides.size, local)
    along = local.z - jnp.clip(local.z, -sides.size.y, sides.size.y)
    level = where(ball, local.z, where(capsule, along, 0))
    egg = (sides.kind == GeomType.ELLIPSOID) & jnp.concatenate([on, on])
    curved, settled = _ellipsoid(sides.size, local, start, egg)
    found = keep(egg, curved, Vec(local.x, local.y, level))
    known = ball | capsule | cylinder | (egg & settled)
    outward = turn(sides.mat, normalize(found))
    first, second, a, b = outward[:n], outward[n:], known[:n], known[n:]
    single = keep(a, first, keep(b, -second, normal))
    return keep(a & b, normalize(first - second), single)


def _on_wall(size: Vec, p: Vec) -> jax.Array:
    """Whether a point of a cylinder's frame belongs to its side."""
    to_cap = jnp.abs(size.y - jnp.abs(p.z))
    to_wall = jnp.abs(size.x - jnp.sqrt(p.x * p.x + p.y * p.y))
    return (jnp.abs(p.z) <= CAP * size.y) & (to_cap >= WALL * to_wall)


class _NormalWalk(NamedTuple):
    """Iteration of L ellipsoids.

    Attributes:
        normal: (L,) of points inside: normal so far.
        level: (L,) of points outside: lambda [m^2].
        going: (L,) which are not done.
        settled: (L,) which have a normal.
        step: how many steps were taken.
    """

    normal: Vec
    level: jax.Array
    going: jax.Array
    settled: jax.Array
    step: jax.Array


def _ellipsoid(size: Vec, p: Vec, normal: Vec, on: jax.Array) -> tuple[Vec, jax.Array]:
    """Normals of ellipsoids for points of their frames, and whether there is one.

    From inside, where a ray along the last normal leaves, the next one is taken. From outside the
    nearest point's: p / (s^2 + lambda), with lambda from Newton's method.
    """
    square = Vec(size.x * size.x, size.y * size.y, size.z * size.z)
    square = keep(on, square, Vec(*(jnp.ones_like(x) for x in square)))
    excess = _sum([x * x / s for x, s in zip(p, square, strict=True)]) - 1
    inside = excess <= 0

    def body(w: _NormalWalk) -> _NormalWalk:
        new, leaves = _through(square, p, w.normal, excess)
        stop = ~leaves | (norm(new - w.normal) < CLOSE)
        level, last = _towards(square, p, w.level)
        take = w.going & inside & leaves
        going = w.going & ~where(inside, stop, last)
        settled = w.settled | take | ~inside
        outer = where(w.going & ~inside, level, w.level)
        return _NormalWalk(keep(take, new, w.normal), outer, going, settled, w.step + 1)

    none = jnp.zeros_like(p.x)
    first = _NormalWalk(normalize(normal), none, on, on & False, jnp.int32(0))
    end = while_loop(lambda w: jnp.any(w.going) & (w.step < STEPS), body, first)
    nearest = Vec(*(x / (s + end.level) for x, s in zip(p, square, strict=True)))
    return keep(inside, end.normal, normalize(nearest)), end.settled


def _through(square: Vec, p: Vec, n: Vec, excess: jax.Array) -> tuple[Vec, jax.Array]:
    """Normal where a ray from p along n leaves the ellipsoid, and whether it does."""
    a = _sum([x * x / s for x, s in zip(n, square, strict=True)])
    b = _sum([x * y / s for x, y, s in zip(n, p, square, strict=True)])
    root = b * b - a * excess
    reach = (-b + jnp.sqrt(jnp.maximum(root, 0))) / jnp.maximum(a, MINVAL)
    leaves = (root >= MINVAL) & (a >= MINVAL) & (reach >= 0)
    end = p + n * reach
    return normalize(Vec(*(x / s for x, s in zip(end, square, strict=True)))), leaves


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
