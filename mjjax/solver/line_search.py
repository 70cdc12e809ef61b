"""Exact line search along a direction of descent.

The objective along a ray is convex with a piecewise smooth derivative. One Newton step is always
tried; if it does not settle the search, Newton steps go on until the slope changes sign, and then
a bracket shrinks from both ends and its middle (MuJoCo's scheme, with its count of evaluations, so
that searches cut short by `ls_iterations` end at the same point).
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
    """Points (...,) of the ray: the objective there, minus that at the start.

    Attributes:
        alpha: step length.
        cost: objective minus that at the start.
        slope: its first derivative.
        curvature: its second derivative.
    """

    alpha: Array
    cost: Array
    slope: Array
    curvature: Array

    def at(self, k: int) -> "RayPoints":
        """The point number `k`."""
        return RayPoints(*(x[k] for x in self))

    def lowest(self, key: Array) -> tuple["RayPoints", Array]:
        """The point with the lowest of keys (m, ...), the first of several, and its key.

        Axes behind the first one are independent of each other.
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

    With islands each has a search of its own, the last axis (k,) of everything.

    Attributes:
        phase: one of the three above.
        count: evaluations so far.
        ends: points (2, ...), the first of which is the result when it is done.
    """

    phase: Array
    count: Array
    ends: RayPoints


T = TypeVar("T", RayPoints, SearchState)


def choose(condition: Array, a: T, b: T) -> T:
    """One of two where the condition holds, whose dimensions are the last of every array."""
    return jax.tree.map(lambda x, y: where(jnp.broadcast_to(condition, x.shape), x, y), a, b)


class Found(NamedTuple):
    """Where a search ended.

    Attributes:
        alpha: step length; 0 if the evaluations ran out before anything below alpha = 0 was found.
            Without meaning where nothing was to be searched.
        decrease: of the objective, from alpha = 0.
        count: evaluations that C would have made.
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
    """The minimum along the ray, as well as the settings want it.

    Args:
        evaluate: objective at step lengths (m, ...).
        first: length of the ray's own Newton step.
        gtol: slope below which a point counts as the minimum.
        magnitude: size of the terms that the slope is a sum of: its rounding error is a few
            units in the last place of this, and no search goes below it.
        iterations: largest number of evaluations before the search gives up.
        idle: where nothing is to be searched.
    """
    gtol = jnp.maximum(gtol, 8 * jnp.finfo(gtol.dtype).eps * magnitude)
    newton = evaluate(first[None]).at(0)
    settled = idle | ~(jnp.abs(newton.slope) >= gtol)  # also where the slope is not a number
    phase = where(settled, DONE, NEWTON).astype(jnp.int32)
    # C has made two evaluations by now: at alpha = 0, and of the first Newton step
    state = SearchState(phase, jnp.full_like(phase, 2), _pair(newton, newton))
    direction = where(newton.slope < 0, 1, -1).astype(gtol.dtype)

    def body(state: SearchState) -> SearchState:
        # the Newton steps of both ends and their middle; a Newton walk goes to the first one only
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
    """One Newton step further; a bracket once the slope has changed sign."""
    count = state.count + 1
    found = jnp.abs(point.slope) < gtol
    still_descending = -point.slope * direction >= gtol
    stop = found | (count >= iterations)
    phase = where(stop, DONE, where(still_descending, NEWTON, BRACKET)).astype(jnp.int32)
    # opening the bracket costs the evaluation of its next Newton point
    count = count + where(phase == BRACKET, 1, 0).astype(jnp.int32)
    return SearchState(phase, count, _pair(point, state.ends.at(0)))


def _shrink(state: SearchState, points: RayPoints, gtol: Array) -> SearchState:
    """Moves both ends of the bracket to the nearest candidates with slopes of their signs."""
    good = jnp.abs(points.slope) < gtol[None]
    best, _ = points.lowest(where(good, points.cost, jnp.inf))
    ends, moved = _closer(state.ends, points)
    found, stuck = good[0] | good[1] | good[2], ~(moved[0] | moved[1])
    done = found | stuck
    # where neither end moves, rounding has its limit: the middle is the result, as in C
    ends = _with_result(done, choose(found, best, points.at(2)), ends)
    # a search that has found the minimum does not look at the next points
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

    The end itself where none is nearer, and whether each has moved.
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
    """Ends of which the first is the result where the condition holds."""
    return _pair(choose(condition, result, ends.at(0)), ends.at(1))


def newton_point(p: RayPoints) -> Array:
    """Step length at which the quadratic model of the objective at a point is lowest."""
    return p.alpha - p.slope / jnp.maximum(p.curvature, MINVAL)
