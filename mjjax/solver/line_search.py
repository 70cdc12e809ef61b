"""Exact line search along a direction of descent.

The objective along a ray is convex with a piecewise smooth derivative. One Newton step is always
tried; if it does not settle the search, Newton steps go on until the slope changes sign, and then
a bracket shrinks from both ends and its middle (MuJoCo's scheme, with its count of evaluations, so
that searches cut short by `ls_iterations` end at the same point).
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from mjjax.core.constants import MINVAL
from mjjax.xla.linalg import stack
from mjjax.xla.namespace import Array, where


class Points(NamedTuple):
    """Objective at some points of the ray, minus that at the start, with two derivatives.

    Attributes:
        packed: (4, ...) step length, cost, slope, curvature: one array, which loops carry and
            choices pick in one operation.
    """

    packed: Array

    @classmethod
    def of(cls, values: "Values") -> "Points":
        """Points of their values."""
        return cls(stack(values))

    @property
    def alpha(self) -> Array:
        """Step length."""
        return self.packed[0]

    @property
    def cost(self) -> Array:
        """Objective minus that at the start."""
        return self.packed[1]

    @property
    def slope(self) -> Array:
        """First derivative."""
        return self.packed[2]

    @property
    def curvature(self) -> Array:
        """Second derivative."""
        return self.packed[3]

    def at(self, k: int) -> "Points":
        """The point number `k`."""
        return Points(self.packed[:, k])

    def lowest(self, key: Array) -> tuple["Points", Array]:
        """The point with the lowest of keys (m, ...), the first of several, and its key.

        With one axis more in the points and the keys, for each of its places.
        """
        point, low = self.at(0), key[0]
        for k in range(1, len(key)):
            closer = key[k] < low
            point, low = _pick(closer, self.at(k), point), where(closer, key[k], low)
        return point, low


Values = tuple[Array, Array, Array, Array]  # step length, cost, slope, curvature
Evaluate = Callable[[Array], Values]

NEWTON, BRACKET, DONE = 0, 1, 2


class State(NamedTuple):
    """Search state: the last and the previous point of a Newton walk, or the ends of a bracket.

    With islands each has a search of its own, the last axis (k,) of everything.

    Attributes:
        tally: four times the evaluations so far, plus the phase, one of the three above: choices
            pick both in one operation.
        ends: (2, ...) points, the first of which is the result when it is done.
    """

    tally: Array
    ends: Points

    @classmethod
    def of(cls, phase: Array, count: Array, ends: Points) -> "State":
        """A state of its parts."""
        return cls(4 * count + phase, ends)

    @property
    def phase(self) -> Array:
        """One of the three above."""
        return self.tally & 3

    @property
    def count(self) -> Array:
        """Evaluations so far."""
        return self.tally >> 2


class Found(NamedTuple):
    """Step length, decrease of the objective (both 0 without progress) and evaluations used."""

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
    # read before it is packed: packed first, it would be computed twice
    alpha, cost, slope, curvature = (x[0] for x in evaluate(first[None]))
    start = Points.of((alpha, cost, slope, curvature))
    settled = idle | ~(jnp.abs(slope) >= gtol)
    phase = where(settled, DONE, NEWTON).astype(jnp.int32)
    state = State.of(phase, jnp.full_like(phase, 2), _pair(start, start))
    direction = where(slope < 0, 1, -1).astype(gtol.dtype)

    def body(state: State) -> State:
        alpha = state.ends.alpha
        tried = jnp.concatenate([newton_point(state.ends), 0.5 * (alpha[:1] + alpha[1:])])
        points = Points.of(evaluate(tried))
        walked = _walk(state, points.at(0), gtol, direction, iterations)
        shrunk = _shrink(state, points, gtol)
        new = _out_of_budget(_choose(state.phase == NEWTON, walked, shrunk), iterations)
        return _choose(state.phase == DONE, state, new) if state.phase.ndim else new

    state = lax.while_loop(lambda s: jnp.any(s.phase != DONE), body, state)
    found = state.ends.at(0)
    return Found(found.alpha, -found.cost, state.count)


def _walk(state: State, point: Points, gtol: Array, direction: Array, iterations: int) -> State:
    """One Newton step further; a bracket once the slope has changed sign."""
    count = state.count + 1
    found = jnp.abs(point.slope) < gtol
    behind = -point.slope * direction >= gtol
    stop = found | (count >= iterations)
    phase = where(stop, DONE, where(behind, NEWTON, BRACKET)).astype(jnp.int32)
    # opening the bracket costs the evaluation of its next Newton point
    count = count + where(phase == BRACKET, 1, 0).astype(jnp.int32)
    return State.of(phase, count, _pair(point, state.ends.at(0)))


def _shrink(state: State, points: Points, gtol: Array) -> State:
    """Moves both ends of the bracket to the nearest candidates with slopes of their signs."""
    good = jnp.abs(points.slope) < gtol[None]
    best, _ = points.lowest(where(good, points.cost, jnp.inf))
    ends, moved = _closer(state.ends, points)
    found, stuck = good[0] | good[1] | good[2], ~(moved[0] | moved[1])
    done = found | stuck
    ends = _with_result(done, _pick(found, best, points.at(2)), ends)
    # a search that has found the minimum does not look at the next points
    more = moved[0].astype(jnp.int32) + moved[1].astype(jnp.int32)
    count = state.count + 1 + where(found, 0, more).astype(jnp.int32)
    return State.of(where(done, DONE, BRACKET).astype(jnp.int32), count, ends)


def _out_of_budget(state: State, iterations: int) -> State:
    """The better end of a bracket that may not shrink further, if it improves on the start."""
    spent = (state.phase == BRACKET) & (state.count >= iterations)
    end, other = state.ends.at(0), state.ends.at(1)
    best = _pick(end.cost <= other.cost, end, other)
    best = _pick(best.cost < 0, best, Points(jnp.zeros_like(best.packed)))
    phase = where(spent, DONE, state.phase).astype(jnp.int32)
    return State.of(phase, state.count, _with_result(spent, best, state.ends))


def _closer(ends: Points, points: Points) -> tuple[Points, Array]:
    """The candidates with slopes of the ends' signs and nearest to zero, if nearer than these."""
    sign, slope = jnp.sign(ends.slope)[None], points.slope[:, None]
    size = where(slope * sign > 0, jnp.abs(slope), jnp.inf)
    nearest, least = Points(points.packed[:, :, None]).lowest(size)
    moved = (least < jnp.abs(ends.slope)) & (sign[0] != 0)
    return _pick(moved, nearest, ends), moved


def _pair(end: Points, other: Points) -> Points:
    return Points(jnp.concatenate([end.packed[:, None], other.packed[:, None]], axis=1))


def _with_result(condition: Array, result: Points, ends: Points) -> Points:
    """Ends of which the first is the result where the condition holds."""
    return _pair(_pick(condition, result, ends.at(0)), ends.at(1))


def _pick(condition: Array, a: Points, b: Points) -> Points:
    return Points(where(condition[None], a.packed, b.packed))


def _choose(condition: Array, a: State, b: State) -> State:
    def pick(x: Array, y: Array) -> Array:
        return where(jnp.broadcast_to(condition, y.shape), x, y)

    return jax.tree.map(pick, a, b)


def newton_point(p: Points) -> Array:
    """Step length at which the quadratic model of the objective at a point is lowest."""
    return p.alpha - p.slope / jnp.maximum(p.curvature, MINVAL)
