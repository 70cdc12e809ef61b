"""The common part of Newton and conjugate gradients, which minimise over accelerations."""

from typing import Any, Generic, NamedTuple

import jax.numpy as jnp

from mjjax.constraint.jacobian import mul, mul_t
from mjjax.core.constants import MINVAL
from mjjax.dynamics.by_tree import mul_by_tree
from mjjax.math import safe
from mjjax.solver import cone
from mjjax.solver.islands import Islands
from mjjax.solver.line_search import Evaluate, RayPoints, exact_search, newton_point
from mjjax.solver.method import P, Progress, Rules, Start, in_single, scaled_norm
from mjjax.solver.objective import (
    half_inverse,
    residual,
    row_cost,
    row_force,
    row_state,
    same_piece,
    separable_force,
    smooth_gradient,
    split,
)
from mjjax.solver.problem import Problem
from mjjax.xla.linalg import stack
from mjjax.xla.namespace import Array, where

UNIT_STEP = 1e-4  # largest distance from one at which a step length counts as a whole Newton step


class PrimalState(NamedTuple):
    """An iterate of a solver that works on accelerations.

    Attributes:
        qacc: (nv,) acceleration.
        gauss_grad: (nv,) M qacc - qfrc_smooth, the gradient of the objective without the rows.
        grad: (nv,) gradient of the objective.
        Jaref: (n,) row residuals J qacc - aref, of which the row forces are functions.
        niter: iterations so far; (k,) with islands.
        done: whether the solver has stopped; (k,) with islands.
        memory: further values that the next direction depends on.
    """

    qacc: Array
    gauss_grad: Array
    grad: Array
    Jaref: Array
    niter: Array
    done: Array
    memory: Any


class Beginning(NamedTuple):
    """An acceleration (nv,), its `gauss_grad` (nv,) and its residuals (n,)."""

    qacc: Array
    gauss_grad: Array
    Jaref: Array


def better_start(problem: Problem, start: Start) -> Beginning:
    """The warm start, or the smooth acceleration if its objective is lower in the whole world."""
    # M qacc_smooth is the smooth force, so the gradient without rows is zero there.
    smooth = Beginning(
        start.qacc_smooth, jnp.zeros_like(start.qacc_smooth), residual(problem, start.qacc_smooth)
    )
    if start.qacc_warmstart is None:
        return smooth
    gauss_grad = smooth_gradient(problem, start.qacc_warmstart)
    warm = Beginning(start.qacc_warmstart, gauss_grad, residual(problem, start.qacc_warmstart))
    gauss = 0.5 * jnp.sum((warm.qacc - smooth.qacc) * gauss_grad)
    worse = gauss + row_cost(problem, warm.Jaref) > row_cost(problem, smooth.Jaref)
    smooth_dofs = smooth_rows = worse
    if isinstance(problem.parts, Islands):
        # Trees without an island have no rows, so their acceleration is the smooth one.
        smooth_dofs |= ~problem.parts.to_dofs(problem.parts.used)
        smooth_rows |= ~problem.parts.to_rows(problem.parts.used)
    return Beginning(
        where(smooth_dofs, smooth.qacc, warm.qacc),
        where(smooth_dofs, smooth.gauss_grad, warm.gauss_grad),
        where(smooth_rows, smooth.Jaref, warm.Jaref),
    )


def first_state(problem: Problem, start: Start, rules: Rules, memory: Any) -> PrimalState:
    """Iterate at the better start."""
    qacc, gauss_grad, Jaref = better_start(problem, start)
    grad = gauss_grad - mul_t(problem.jac, row_force(problem, Jaref))
    small = scaled_norm(problem, rules, grad) < rules.tolerance
    # C makes at least one iteration. In float32 the gradient may already be as small as rounding
    # allows. An iteration would then only move the solution about, so none is made.
    done = small if in_single(grad) else jnp.zeros_like(small)
    if isinstance(problem.parts, Islands):
        done |= ~problem.parts.used
    niter = jnp.zeros(done.shape, jnp.int32)
    return PrimalState(qacc, gauss_grad, grad, Jaref, niter, done, memory)


def step_along(
    problem: Problem,
    rules: Rules,
    state: PrimalState,
    search: Array,
    memory: Any,
    unit: bool,
) -> tuple[PrimalState, Progress]:
    """The lowest point along a direction.

    Args:
        problem: the problem.
        rules: when to stop.
        state: where it starts.
        search: (nv,) direction.
        memory: values that the next direction depends on.
        unit: whether `search` is -H^-1 grad. The line search's own Newton step then has length one
            and need not be computed.

    Returns:
        The new iterate, and its progress. As in C, the improvement is the decrease that the search
        measured.
    """
    parts = problem.parts
    Mv = mul_by_tree(problem.layout.structure, problem.inertia.M, search)
    Jv = mul(problem.jac, search)
    size, slope0, magnitude = parts.sum_dofs(
        search * search, search * state.grad, jnp.abs(search * state.gauss_grad)
    )
    length = jnp.sqrt(size)
    gtol = rules.tolerance * (rules.ls_tolerance * length) / rules.scale
    evaluate = ray(problem, state, search, Mv, Jv)
    force = row_force(problem, state.Jaref)
    # The magnitude is the sum of the absolute values of the terms of the slope at alpha = 0.
    magnitude = magnitude + parts.sum_rows(jnp.abs(Jv * force))
    one = jnp.ones_like(length)
    first = one if unit else newton_point(evaluate(jnp.zeros_like(one)[None]).at(0))
    found = exact_search(evaluate, first, gtol, magnitude, rules.ls_iterations, state.done)
    alpha = where((length < MINVAL) | state.done, 0, found.alpha)
    along, across = parts.to_dofs(alpha), parts.to_rows(alpha)
    qacc = state.qacc + along * search
    gauss_grad = state.gauss_grad + along * Mv
    Jaref = state.Jaref + across * Jv
    grad = gauss_grad - mul_t(problem.jac, row_force(problem, Jaref))
    grad_norm = scaled_norm(problem, rules, grad)
    # The objective is convex, so it falls by no more than its slope at the start promises. Rounding
    # errors of large costs would look like a larger decrease, and the solver would not stop.
    bounded = jnp.minimum(found.decrease, -alpha * slope0)
    small = (rules.scale * bounded < rules.tolerance) | (grad_norm < rules.tolerance)
    # A state that is NaN stays NaN, so the solver stops instead of iterating to the limit.
    done = state.done | small | (alpha == 0) | ~jnp.isfinite(grad_norm)
    if unit and in_single(grad):
        done |= _is_minimum(problem, alpha, state.Jaref, Jaref)
    # As in C, an iteration without a step does not count.
    niter = state.niter + (alpha != 0).astype(jnp.int32)
    new = PrimalState(qacc, gauss_grad, grad, Jaref, niter, done, memory)
    (slope,) = parts.sum_dofs(grad * search)
    slope = where(alpha != 0, safe.divide(jnp.abs(slope), length), 0)
    decrease, slope = rules.scale * found.decrease, rules.scale * slope
    return new, Progress(decrease, grad_norm, slope, found.count)


def _is_minimum(problem: Problem, alpha: Array, before: Array, after: Array) -> Array:
    """Whether this was a whole Newton step within one quadratic piece of the objective."""
    others = ((problem.D != 0) & ~same_piece(problem, before, after)).astype(alpha.dtype)
    return (jnp.abs(alpha - 1) < UNIT_STEP) & (problem.parts.sum_rows(others) == 0)


def ray(
    problem: Problem,
    state: PrimalState,
    search: Array,
    Mv: Array,
    Jv: Array,
) -> Evaluate:
    """The objective along `state.qacc + alpha search` as a function of step lengths (m, ...)."""
    layout = problem.layout
    parts = problem.parts
    linear, quadratic = (x[None] for x in parts.sum_dofs(search * state.gauss_grad, search * Mv))
    start, rate = split(layout, state.Jaref), split(layout, Jv)
    Jaref0, Jv0 = start.separable, rate.separable
    force0, D, _ = separable_force(problem, Jaref0)
    half_inverse_D, D_Jv2 = half_inverse(D), D * Jv0 * Jv0
    cone_D = split(layout, problem.D).cone
    elliptic = layout.ncontact > 0 and not layout.pyramidal
    cone_cost0 = cone.cost(problem, cone_D, start.cone)[None] if elliptic else None
    low, high = problem.low[: len(D)][None], problem.high[: len(D)][None]

    def evaluate(alpha: Array) -> RayPoints:
        along = parts.to_rows(alpha)[:, : len(D)]
        unbounded = -(D[None] * (Jaref0[None] + along * Jv0[None]))
        force = jnp.clip(unbounded, low, high)
        inside = (unbounded > low) & (unbounded < high)
        # The cost of a row is -f r - f^2 / (2 D), with its force f and its residual r. This is the
        # difference of two such costs, factored so that no large numbers are subtracted. Cones have
        # no such form, so their costs are subtracted.
        cost = -along * Jv0[None] * force - (force - force0[None]) * (
            Jaref0[None] + half_inverse_D[None] * (force + force0[None])
        )
        terms = stack([cost, -force * Jv0[None], where(inside, D_Jv2[None], 0)])
        cones = None
        if cone_cost0 is not None:
            along = parts.to_contacts(alpha)
            cone_terms = cone.along(problem, cone_D, start.cone, rate.cone, along)
            cones = stack([cone_terms[0] - cone_cost0, *cone_terms[1:]])
        cost, slope, curvature = parts.sum_rows(terms, cones)
        cost = cost + alpha * (linear + 0.5 * alpha * quadratic)
        slope = slope + linear + alpha * quadratic
        return RayPoints(alpha, cost, slope, curvature + quadratic)

    return evaluate


class Primal(Generic[P]):
    """The common part of methods that minimise over accelerations; see `Method`."""

    def ahead(self, problem: Problem, rules: Rules, state: PrimalState) -> PrimalState:
        """The first iterate, because this method solves nothing ahead."""
        return state

    def result(
        self, problem: Problem, prepared: P, state: PrimalState
    ) -> tuple[Array, Array, Array]:
        """Acceleration (nv,), forces (n,), and the residuals (n,) that the iterations kept.

        If J qacc - aref were computed again, it would be a small difference of large numbers for
        stiff rows, and the forces would no longer balance the acceleration.
        """
        return state.qacc, row_force(problem, state.Jaref), state.Jaref

    def zones(self, problem: Problem, state: PrimalState) -> Array:
        """Zone (n,) of every row, as `ConstraintState`."""
        return row_state(problem, state.Jaref)

    def gradient(self, problem: Problem, rules: Rules, state: PrimalState) -> Array:
        """Scaled norm of the gradient."""
        return scaled_norm(problem, rules, state.grad)
