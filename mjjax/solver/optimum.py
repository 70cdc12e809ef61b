"""The solution of the constrained dynamics with its derivative at the optimum.

The optimum satisfies g(a, p) = 0, with g the gradient of the objective and p the problem, so that
da = -H^-1 (dg/dp) dp with H the Hessian at the solution. That is one linear solve, whatever the
number of iterations; it is itself differentiable, so every order and both modes work. Which rows
are active is frozen: on a boundary the derivative is one-sided.
"""

import functools

import jax
import jax.numpy as jnp

from mjjax.constraint.layout import RowLayout
from mjjax.math.linalg import cho_solve, cholesky
from mjjax.math.namespace import Array
from mjjax.solver import newton
from mjjax.solver.objective import gradient, hessian, residual
from mjjax.solver.problem import Problem


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def minimize(
    layout: RowLayout,
    iterations: int,
    ls_iterations: int,
    problem: Problem,
    start: Array,
    tolerances: tuple[Array, Array, Array],
) -> tuple[Array, Array, Array, Array]:
    """Constrained acceleration (nv,), row residuals, iterations (as a real), scaled gradient norm.

    The residuals are those that the iterations kept: with stiff rows their forces balance the
    accelerations, whereas J a - aref would be found from numbers too large to tell.

    Args:
        layout: row layout.
        iterations: largest number of solver iterations.
        ls_iterations: largest number of evaluations of a line search.
        problem: the problem; the acceleration has exact derivatives with respect to all of it.
        start: (nv,) initial acceleration, without influence on the optimum.
        tolerances: solver tolerance, line-search tolerance, scale of the objective.
    """
    settings = newton.Settings(iterations, ls_iterations, *tolerances)
    state = newton.solve(problem, layout, start, settings)
    return state.a, state.r, state.niter.astype(start.dtype), state.grad_norm


@minimize.defjvp
def _minimize_jvp(layout, iterations, ls_iterations, primals, tangents):
    problem, start, tolerances = primals
    a, r, niter, grad_norm = minimize(layout, iterations, ls_iterations, problem, start, tolerances)
    _, dg = jax.jvp(lambda p: gradient(p, layout, a), (problem,), (tangents[0],))
    da = -cho_solve(cholesky(hessian(problem, layout, r)), dg)
    _, dr = jax.jvp(lambda p, a: residual(p, layout, a), (problem, a), (tangents[0], da))
    return (a, r, niter, grad_norm), (da, dr, jnp.zeros_like(niter), jnp.zeros_like(grad_norm))
