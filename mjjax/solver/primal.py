"""Solvers that minimise over accelerations: what Newton and conjugate gradients share."""

from typing import Any, NamedTuple

import jax.numpy as jnp

from mjjax.constraint.jacobian import mul, mul_t
from mjjax.constraint.layout import RowLayout
from mjjax.core.constants import MINVAL
from mjjax.dynamics.by_tree import mul_by_tree
from mjjax.math import safe
from mjjax.solver import cone
from mjjax.solver.islands import Islands
from mjjax.solver.line_search import Evaluate, Points, Values, newton_point, search
from mjjax.solver.method import (
    Limits,
    Prepared,
    Progress,
    Start,
    Tolerances,
    in_single,
    scaled_norm,
)
from mjjax.solver.objective import (
    half_inverse,
    residual,
    row_cost,
    row_force,
    row_state,
    same_piece,
    scalar_force,
    smooth_gradient,
    split,
)
from mjjax.solver.problem import Problem
from mjjax.xla.linalg import stack
from mjjax.xla.namespace import Array, where

WHOLE = 1e-4  # how far from one the length of a whole step may be


class State(NamedTuple):
    """Iterate.

    Attributes:
        dofs: (3, nv) acceleration and two gradients, as below: one array, which loops carry.
        r: (n,) row residuals, of which the row forces are functions.
        tally: twice the iterations so far, and one if the solver has stopped: one array, which
            loops carry; (k,) with islands.
        memory: what the next direction depends on besides.
    """

    dofs: Array
    r: Array
    tally: Array
    memory: Any

    @property
    def a(self) -> Array:
        """(nv,) acceleration."""
        return self.dofs[0]

    @property
    def gauss_grad(self) -> Array:
        """(nv,) M a - smooth, the gradient of the objective without the rows."""
        return self.dofs[1]

    @property
    def grad(self) -> Array:
        """(nv,) gradient of the objective."""
        return self.dofs[2]

    @property
    def niter(self) -> Array:
        """Iterations so far."""
        return self.tally >> 1

    @property
    def done(self) -> Array:
        """Whether the solver has stopped."""
        return (self.tally & 1) != 0


class Beginning(NamedTuple):
    """An acceleration (nv,), its `gauss_grad` (nv,) and its residuals (n,)."""

    a: Array
    gauss_grad: Array
    r: Array


def better_start(problem: Problem, layout: RowLayout, start: Start) -> Beginning:
    """The warm start, unless the smooth acceleration has the lower objective."""
    # M a_smooth is the smooth force: nothing is left of the gradient there
    smooth = Beginning(
        start.smooth, jnp.zeros_like(start.smooth), residual(problem, layout, start.smooth)
    )
    if start.warm is None:
        return smooth
    gauss_grad = smooth_gradient(problem, layout, start.warm)
    warm = Beginning(start.warm, gauss_grad, residual(problem, layout, start.warm))
    gauss = 0.5 * jnp.sum((warm.a - smooth.a) * gauss_grad)
    worse = gauss + row_cost(problem, layout, warm.r) > row_cost(problem, layout, smooth.r)
    dofs = rows = worse
    if isinstance(problem.parts, Islands):  # in no island there is nothing to solve
        dofs |= ~problem.parts.to_dofs(layout, problem.parts.used)
        rows |= ~problem.parts.to_rows(layout, problem.parts.used)
    return Beginning(
        where(dofs, smooth.a, warm.a),
        where(dofs, smooth.gauss_grad, warm.gauss_grad),
        where(rows, smooth.r, warm.r),
    )


def initial(
    problem: Problem, layout: RowLayout, start: Start, tolerances: Tolerances, memory: Any
) -> State:
    """Iterate at the better start."""
    a, gauss_grad, r = better_start(problem, layout, start)
    grad = gauss_grad - mul_t(layout, problem.jac, row_force(problem, layout, r))
    small = scaled_norm(problem, layout, tolerances, grad) < tolerances.main
    # C makes at least one iteration
    done = small if in_single(grad) else jnp.zeros_like(small)
    if isinstance(problem.parts, Islands):
        done |= ~problem.parts.used
    return State(stack([a, gauss_grad, grad]), r, done.astype(jnp.int32), memory)


def iterate(
    problem: Problem,
    layout: RowLayout,
    limits: Limits,
    tolerances: Tolerances,
    state: State,
    step: Array,
    memory: Any,
    unit: bool,
) -> tuple[State, Progress]:
    """Exact line search along `step` (nv,); `unit` if its own Newton step has length one."""
    parts = problem.parts
    gauss_step = mul_by_tree(layout.structure, problem.inertia.M, step)
    row_step = mul(layout, problem.jac, step)
    size, slope0, terms = parts.sum_dofs(
        layout, step * step, step * state.grad, jnp.abs(step * state.gauss_grad)
    )
    length = jnp.sqrt(size)
    gtol = tolerances.main * (tolerances.line_search * length) / tolerances.scale
    evaluate = ray(problem, layout, state, step, gauss_step, row_step)
    force = row_force(problem, layout, state.r)
    terms = terms + parts.sum_rows(layout, jnp.abs(row_step * force))
    one = jnp.ones_like(length)
    first = one if unit else newton_point(Points.of(evaluate(jnp.zeros_like(one)[None])).at(0))
    found = search(evaluate, first, gtol, terms, limits.ls_iterations, state.done)
    alpha = where((length < MINVAL) | state.done, 0, found.alpha)
    along, across = parts.to_dofs(layout, alpha), parts.to_rows(layout, alpha)
    a = state.a + along * step
    gauss_grad = state.gauss_grad + along * gauss_step
    r = state.r + across * row_step
    grad = gauss_grad - mul_t(layout, problem.jac, row_force(problem, layout, r))
    grad_norm = scaled_norm(problem, layout, tolerances, grad)
    # The objective is convex: it falls by no more than its slope at the start promises. Where the
    # rows' costs are large, the rounding of their sum looks like more, and like no end of it.
    decrease = jnp.minimum(found.decrease, -alpha * slope0)
    small = (tolerances.scale * decrease < tolerances.main) | (grad_norm < tolerances.main)
    # a state that is not a number stays so: stop rather than iterate to the limit
    done = state.done | small | (alpha == 0) | ~jnp.isfinite(grad_norm)
    if unit and in_single(grad):
        done |= _is_minimum(problem, layout, alpha, state.r, r)
    # as in C, an iteration without a step does not count
    tally = 2 * (state.niter + (alpha != 0).astype(jnp.int32)) + done.astype(jnp.int32)
    new = State(stack([a, gauss_grad, grad]), r, tally, memory)
    (slope,) = parts.sum_dofs(layout, grad * step)
    slope = where(alpha != 0, safe.divide(jnp.abs(slope), length), 0)
    decrease, slope = tolerances.scale * found.decrease, tolerances.scale * slope
    return new, Progress(decrease, grad_norm, slope, found.count)


def _is_minimum(
    problem: Problem, layout: RowLayout, alpha: Array, before: Array, after: Array
) -> Array:
    """Whether a whole Newton step stayed where the objective is the same quadratic function."""
    others = ((problem.D != 0) & ~same_piece(problem, layout, before, after)).astype(alpha.dtype)
    return (jnp.abs(alpha - 1) < WHOLE) & (problem.parts.sum_rows(layout, others) == 0)


def result(
    problem: Problem, layout: RowLayout, prepared: Prepared, state: State
) -> tuple[Array, Array, Array]:
    """Acceleration (nv,), forces (n,), and the residuals (n,) that the iterations kept.

    With stiff rows their forces balance the accelerations, whereas J a - aref would be found from
    numbers too large to tell.
    """
    return state.a, row_force(problem, layout, state.r), state.r


def state_of(problem: Problem, layout: RowLayout, state: State) -> Array:
    """Zone (n,) of every row."""
    return row_state(problem, layout, state.r)


def left(problem: Problem, layout: RowLayout, tolerances: Tolerances, state: State) -> Array:
    """Scaled norm of the gradient."""
    return scaled_norm(problem, layout, tolerances, state.grad)


def ray(
    problem: Problem,
    layout: RowLayout,
    state: State,
    step: Array,
    gauss_step: Array,
    row_step: Array,
) -> Evaluate:
    """The objective along `state.a + alpha step` as a function of step lengths (m, ...)."""
    parts = problem.parts
    linear, quadratic = (
        x[None] for x in parts.sum_dofs(layout, step * state.gauss_grad, step * gauss_step)
    )
    base, direction = split(layout, state.r), split(layout, row_step)
    force0, d, _ = scalar_force(problem, layout, base.scalar)
    half = half_inverse(d)
    bend = d * direction.scalar * direction.scalar
    cone_d = split(layout, problem.D).cone
    elliptic = layout.ncontact > 0 and not layout.pyramidal
    cone0 = cone.cost(problem, cone_d, base.cone)[None] if elliptic else None
    low, high = problem.low[: d.shape[0]][None], problem.high[: d.shape[0]][None]

    def evaluate(alpha: Array) -> Values:
        a = parts.to_rows(layout, alpha)[:, : d.shape[0]]
        free = -(d[None] * (base.scalar[None] + a * direction.scalar[None]))
        force = jnp.clip(free, low, high)
        inside = (free > low) & (free < high)
        # cost relative to the start, without subtracting large numbers
        cost = -a * direction.scalar[None] * force - (force - force0[None]) * (
            base.scalar[None] + half[None] * (force + force0[None])
        )
        terms = stack([cost, -force * direction.scalar[None], where(inside, bend[None], 0)])
        cones = None
        if cone0 is not None:
            a = parts.to_contacts(layout, alpha)
            cone_terms = cone.along(problem, cone_d, base.cone, direction.cone, a)
            cones = stack([cone_terms[0] - cone0, *cone_terms[1:]])
        cost, slope, curvature = parts.sum_rows(layout, terms, cones)
        cost = cost + alpha * (linear + 0.5 * alpha * quadratic)
        slope = slope + linear + alpha * quadratic
        return alpha, cost, slope, curvature + quadratic

    return evaluate
