"""Newton's method for the constrained dynamics."""

from typing import NamedTuple

import jax.numpy as jnp

from mjjax.constraint.jacobian import mul, mul_t
from mjjax.constraint.layout import RowLayout
from mjjax.core.constants import MINVAL
from mjjax.math.linalg import cho_solve, cholesky, matmul
from mjjax.math.namespace import Array
from mjjax.solver import cone
from mjjax.solver.grouped_loop import grouped_loop
from mjjax.solver.line_search import Evaluate, Found, Points, search
from mjjax.solver.objective import hessian, residual, row_cost, row_force, scalar_force, split
from mjjax.solver.problem import Problem


class Settings(NamedTuple):
    """Stopping rules: static counts, traced tolerances and the scale of the objective."""

    iterations: int
    ls_iterations: int
    tolerance: Array
    ls_tolerance: Array
    scale: Array


class State(NamedTuple):
    """Iterate.

    Attributes:
        a: (nv,) acceleration.
        gauss_grad: (nv,) M a - smooth, the gradient of the objective without the rows.
        r: (n,) row residuals.
        force: (n,) row forces.
        grad: (nv,) gradient of the objective.
        niter: iterations so far.
        grad_norm: scaled norm of the gradient.
        done: whether the solver has stopped.
    """

    a: Array
    gauss_grad: Array
    r: Array
    force: Array
    grad: Array
    niter: Array
    grad_norm: Array
    done: Array


def solve(problem: Problem, layout: RowLayout, start: Array, settings: Settings) -> State:
    """Minimises the objective from `start` (nv,) until the scaled progress is within tolerance."""
    state = initial(problem, layout, start, settings)
    if settings.iterations <= 1:
        return iterate(problem, layout, settings, state)[0] if settings.iterations else state
    tolerances = (settings.tolerance, settings.ls_tolerance, settings.scale)

    def body(constants: tuple[Problem, tuple[Array, Array, Array]], state: State) -> State:
        problem, (tolerance, ls_tolerance, scale) = constants
        own = settings._replace(tolerance=tolerance, ls_tolerance=ls_tolerance, scale=scale)
        return iterate(problem, layout, own, state)[0]

    loop = grouped_loop(body, lambda s: (s.niter < settings.iterations) & ~s.done)
    return loop((problem, tolerances), state)


def better_start(problem: Problem, layout: RowLayout, a: Array, smooth: Array) -> Array:
    """The one of two accelerations (nv,) with the lower objective; the first one if equal."""
    offset = a - smooth
    gauss = 0.5 * jnp.sum(offset * (matmul(problem.M, a) - problem.smooth))
    cost = gauss + row_cost(problem, layout, residual(problem, layout, a))
    other = row_cost(problem, layout, residual(problem, layout, smooth))
    return jnp.where(cost > other, smooth, a)


def initial(problem: Problem, layout: RowLayout, a: Array, settings: Settings) -> State:
    """Iterate at the acceleration `a` (nv,)."""
    r = residual(problem, layout, a)
    gauss_grad = matmul(problem.M, a) - problem.smooth
    force = row_force(problem, layout, r)
    grad = gauss_grad - mul_t(layout, problem.jac, force)
    grad_norm = settings.scale * jnp.sqrt(jnp.sum(grad * grad))
    return State(a, gauss_grad, r, force, grad, jnp.int32(0), grad_norm, jnp.bool_(False))


def iterate(
    problem: Problem, layout: RowLayout, settings: Settings, state: State
) -> tuple[State, Found]:
    """One Newton step with exact line search, and what the search found."""
    factor = cholesky(hessian(problem, layout, state.r))
    step = -cho_solve(factor, state.grad)
    gauss_step = matmul(problem.M, step)
    row_step = mul(layout, problem.jac, step)
    length = jnp.sqrt(jnp.sum(step * step))
    gtol = settings.tolerance * settings.ls_tolerance * length / settings.scale
    evaluate = ray(problem, layout, state, step, gauss_step, row_step)
    terms = jnp.sum(jnp.abs(step * state.gauss_grad)) + jnp.sum(jnp.abs(row_step * state.force))
    found = search(evaluate, gtol, terms, settings.ls_iterations)
    alpha = jnp.where(length < MINVAL, 0, found.alpha)
    a = state.a + alpha * step
    gauss_grad = state.gauss_grad + alpha * gauss_step
    r = state.r + alpha * row_step
    force = row_force(problem, layout, r)
    grad = gauss_grad - mul_t(layout, problem.jac, force)
    grad_norm = settings.scale * jnp.sqrt(jnp.sum(grad * grad))
    # The objective is convex: it falls by no more than its slope at the start promises. Where the
    # rows' costs are large, the rounding of their sum looks like more, and like no end of it.
    decrease = jnp.minimum(found.decrease, -alpha * jnp.sum(step * state.grad))
    small = (settings.scale * decrease < settings.tolerance) | (grad_norm < settings.tolerance)
    # a state that is not a number stays so: stop rather than iterate to the limit
    done = small | (alpha == 0) | ~jnp.isfinite(grad_norm)
    return State(a, gauss_grad, r, force, grad, state.niter + 1, grad_norm, done), found


def ray(
    problem: Problem,
    layout: RowLayout,
    state: State,
    step: Array,
    gauss_step: Array,
    row_step: Array,
) -> Evaluate:
    """The objective along `state.a + alpha step` as a function of step lengths (m,)."""
    linear = jnp.sum(step * state.gauss_grad)
    quadratic = jnp.sum(step * gauss_step)
    base, direction = split(layout, state.r), split(layout, row_step)
    force0, d, _ = scalar_force(problem, layout, base.scalar)
    half = jnp.where(d > 0, 0.5 / jnp.where(d > 0, d, 1), 0)
    bend = d * direction.scalar * direction.scalar
    cone_d = split(layout, problem.D).cone
    elliptic = layout.ncontact > 0 and not layout.pyramidal
    cone0 = cone.cost(problem, cone_d, base.cone)[None] if elliptic else None
    low, high = problem.low[: d.shape[0]][None], problem.high[: d.shape[0]][None]

    def evaluate(alpha: Array) -> Points:
        a = alpha[:, None]
        free = -d[None] * (base.scalar[None] + a * direction.scalar[None])
        force = jnp.clip(free, low, high)
        inside = (free > low) & (free < high)
        # cost relative to the start, without subtracting large numbers
        cost = -a * direction.scalar[None] * force - (force - force0[None]) * (
            base.scalar[None] + half[None] * (force + force0[None])
        )
        terms = jnp.stack([cost, -force * direction.scalar[None], jnp.where(inside, bend[None], 0)])
        cost, slope, curvature = matmul(terms, jnp.ones(d.shape[0], d.dtype))
        if cone0 is not None:
            cone_terms = cone.along(problem, cone_d, base.cone, direction.cone, alpha)
            cost = cost + jnp.sum(cone_terms[0] - cone0, axis=-1)
            slope = slope + jnp.sum(cone_terms[1], axis=-1)
            curvature = curvature + jnp.sum(cone_terms[2], axis=-1)
        cost = cost + alpha * (linear + 0.5 * alpha * quadratic)
        slope = slope + linear + alpha * quadratic
        return Points(jnp.stack([alpha, cost, slope, curvature + quadratic]))

    return evaluate
