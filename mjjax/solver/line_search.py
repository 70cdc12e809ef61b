"""Exact line search along a direction of descent.

The objective along a ray is convex with a piecewise smooth derivative. One Newton step is always
tried. If it does not settle the search, Newton steps continue until the slope changes sign. Then a
bracket shrinks from both ends and its middle. This is MuJoCo's scheme, with MuJoCo's count of
evaluations, so that searches that `ls_iterations` cuts short end at the same point.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp

from mjjax.core.constants import MINVAL
from mjjax.xla.linalg import stack
from mjjax.xla.namespace import Array, where
from mjjax.xla.packing import carry


class RayPoints(NamedTuple):
    """Points (...,) of the ray, with the objective at each.

    Attributes:
        alpha: step length.
        cost: objective minus the objective at the start.
        slope: first derivative of the objective.
        curvature: second derivative of the objective.
    """

    alpha: Array
    cost: Array
    slope: Array
    curvature: Array

    def at(self, k: int) -> "RayPoints":
        """The point number `k`."""
        return RayPoints(*(x[k] for x in self))

    def lowest(self, key: Array) -> tuple["RayPoints", Array]:
        """The point with the lowest of the keys (m, ...), and its key; the first of equal ones.

        Axes after the first one are independent of each other.
        """
        point, low = self.at(0), key[0]
        for k in range(1, len(key)):
            closer = key[k] < low
            point, low = choose(closer, self.at(k), point), where(closer, key[k], low)
        return point, low


Evaluate = Callable[[Array], RayPoints]

NEWTON, BRACKET, DONE = 0, 1, 2


class SearchState(NamedTuple):
    """Search state: the last and the previous point of a Newton walk, or the ends of a bracket.

    With islands, each island has a search of its own, along the last axis (k,) of every array.

    Attributes:
        phase: one of the three above.
        count: evaluations so far.
        ends: points (2, ...); the first one is the result when the search is done.
    """

    phase: Array
    count: Array
    ends: RayPoints


T = TypeVar("T", RayPoints, SearchState)


def choose(condition: Array, a: T, b: T) -> T:
    """`a` where the condition holds, else `b`; its dimensions are the last ones of every array."""
    return jax.tree.map(lambda x, y: where(jnp.broadcast_to(condition, x.shape), x, y), a, b)


class Found(NamedTuple):
    """The end of a search.

    Attributes:
        alpha: step length; 0 if the evaluations ran out before a point below the start was found.
            It has no meaning where the search was idle.
        decrease: decrease of the objective from alpha = 0.
        count: number of evaluations that C would have made.
    """

    alpha: Array
    decrease: Array
    count: Array


def exact_search(
    evaluate: Evaluate,
    first: Array,
    gtol: Array,
    magnitude: Array,
    iterations: int,
    idle: Array,
) -> Found:
    """The minimum along the ray, as exact as the settings ask for.

    Args:
        evaluate: objective at step lengths (m, ...).
        first: length of the ray's own Newton step.
        gtol: slope below which a point counts as the minimum.
        magnitude: size of the terms whose sum is the slope. The rounding error of the slope is a
            few units in the last place of this, and no search goes below that.
        iterations: largest number of evaluations before the search gives up.
        idle: where there is nothing to search.
    """
    gtol = jnp.maximum(gtol, 8 * jnp.finfo(gtol.dtype).eps * magnitude)
    newton = evaluate(first[None]).at(0)
    settled = idle | ~(jnp.abs(newton.slope) >= gtol)  # also where the slope is not a number
    phase = where(settled, DONE, NEWTON).astype(jnp.int32)
    # C has made two evaluations by now: at alpha = 0 and at the first Newton step.
    state = SearchState(phase, jnp.full_like(phase, 2), _pair(newton, newton))
    direction = where(newton.slope < 0, 1, -1).astype(gtol.dtype)

    def body(state: SearchState) -> SearchState:
        # A bracket tries the Newton steps of both ends and its middle; a walk tries the first only.
        alpha = state.ends.alpha
        tried = jnp.concatenate([newton_point(state.ends), 0.5 * (alpha[:1] + alpha[1:])])
        points = evaluate(tried)
        walked = _walk(state, points.at(0), gtol, direction, iterations)
        shrunk = _shrink(state, points, gtol)
        new = _out_of_budget(choose(state.phase == NEWTON, walked, shrunk), iterations)
        return choose(state.phase == DONE, state, new) if state.phase.ndim else new

    state = carry(lambda s: jnp.any(s.phase != DONE), body, state)
    found = state.ends.at(0)
    return Found(found.alpha, -found.cost, state.count)


def _walk(
    state: SearchState, point: RayPoints, gtol: Array, direction: Array, iterations: int
) -> SearchState:
    """Goes one Newton step further, or opens a bracket if the slope has changed its sign."""
    count = state.count + 1
    found = jnp.abs(point.slope) < gtol
    still_descending = -point.slope * direction >= gtol
    stop = found | (count >= iterations)
    phase = where(stop, DONE, where(still_descending, NEWTON, BRACKET)).astype(jnp.int32)
    # As in C, a new bracket counts the evaluation of its next Newton point.
    count = count + where(phase == BRACKET, 1, 0).astype(jnp.int32)
    return SearchState(phase, count, _pair(point, state.ends.at(0)))


def _shrink(state: SearchState, points: RayPoints, gtol: Array) -> SearchState:
    """Moves both ends of the bracket to the nearest candidates with slopes of their signs."""
    good = jnp.abs(points.slope) < gtol[None]
    best, _ = points.lowest(where(good, points.cost, jnp.inf))
    ends, moved = _closer(state.ends, points)
    found, stuck = good[0] | good[1] | good[2], ~(moved[0] | moved[1])
    done = found | stuck
    # If neither end moves, rounding allows no better point: the middle is the result, as in C.
    ends = _with_result(done, choose(found, best, points.at(2)), ends)
    # A search that has found the minimum does not evaluate the next points.
    more = moved[0].astype(jnp.int32) + moved[1].astype(jnp.int32)
    count = state.count + 1 + where(found, 0, more).astype(jnp.int32)
    return SearchState(where(done, DONE, BRACKET).astype(jnp.int32), count, ends)


def _out_of_budget(state: SearchState, iterations: int) -> SearchState:
    """The better end of a bracket that may not shrink further, if it improves on the start."""
    spent = (state.phase == BRACKET) & (state.count >= iterations)
    end, other = state.ends.at(0), state.ends.at(1)
    best = choose(end.cost <= other.cost, end, other)
    best = choose(best.cost < 0, best, RayPoints(*map(jnp.zeros_like, best)))
    phase = where(spent, DONE, state.phase).astype(jnp.int32)
    return SearchState(phase, state.count, _with_result(spent, best, state.ends))


def _closer(ends: RayPoints, points: RayPoints) -> tuple[RayPoints, Array]:
    """For each end (2, ...) the candidate (3, ...) whose slope has its sign and is nearest to zero.

    If no candidate is nearer, it is the end itself. Also returns whether each end has moved.
    """
    sign, slope = jnp.sign(ends.slope)[None], points.slope[:, None]
    size = where(slope * sign > 0, jnp.abs(slope), jnp.inf)
    each = RayPoints(*(jnp.broadcast_to(x[:, None], size.shape) for x in points))
    nearest, least = each.lowest(size)
    moved = (least < jnp.abs(ends.slope)) & (sign[0] != 0)
    return choose(moved, nearest, ends), moved


def _pair(end: RayPoints, other: RayPoints) -> RayPoints:
    """Two points as ends (2, ...)."""
    return RayPoints(*(stack(both) for both in zip(end, other, strict=True)))


def _with_result(condition: Array, result: RayPoints, ends: RayPoints) -> RayPoints:
    """Ends whose first point is the result where the condition holds."""
    return _pair(choose(condition, result, ends.at(0)), ends.at(1))


def newton_point(p: RayPoints) -> Array:
    """Step length at which the quadratic model of the objective at a point is lowest."""
    return p.alpha - p.slope / jnp.maximum(p.curvature, MINVAL)
