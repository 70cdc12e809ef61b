"""The solution of the constrained dynamics with its derivative at the optimum.

The optimum satisfies g(a, p) = 0, with g the gradient of the objective and p the problem, so that
da = -H^-1 (dg/dp) dp with H the Hessian at the solution. That is one linear solve, whatever the
solver and the number of iterations; it is itself differentiable, so every order and both modes
work. Which rows are active is frozen: on a boundary the derivative is one-sided.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp

from mjjax.constraint.layout import RowLayout
from mjjax.core.enums import SolverType
from mjjax.math.tangents import jvp
from mjjax.solver.linear import solve_hessian
from mjjax.solver.method import Limits, Start, Tolerances, solve
from mjjax.solver.objective import gradient, residual, row_force
from mjjax.solver.problem import Problem
from mjjax.solver.table import METHODS
from mjjax.xla.namespace import Array


class Optimum(NamedTuple):
    """What a solver found.

    Attributes:
        a: (nv,) constrained acceleration.
        force: (n,) row forces.
        r: (n,) row residuals, consistent with the forces.
        niter: iterations, as a real; the most of any island.
        left: scaled norm of what is left to improve; the largest of any island.
    """

    a: Array
    force: Array
    r: Array
    niter: Array
    left: Array


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def minimize(
    solver: SolverType,
    layout: RowLayout,
    limits: Limits,
    problem: Problem,
    start: Start,
    tolerances: Tolerances,
) -> Optimum:
    """Solves the problem; exact derivatives with respect to all of it.

    Args:
        solver: the method.
        layout: row layout.
        limits: largest numbers of iterations.
        problem: the problem.
        start: initial acceleration, without influence on the optimum.
        tolerances: when to stop.
    """
    method = METHODS[solver]
    state, a, force, r = solve(method, problem, layout, start, limits, tolerances)
    left = jnp.max(method.left(problem, layout, tolerances, state))
    return Optimum(a, force, r, jnp.max(state.niter).astype(a.dtype), left)


@functools.partial(minimize.defjvp, symbolic_zeros=True)
def _minimize_jvp(solver, layout, limits, primals, tangents):
    problem, start, tolerances = primals
    found = minimize(solver, layout, limits, problem, start, tolerances)
    a, r = found.a, found.r
    dp = tangents[0]
    _, dg = jvp(lambda p: gradient(p, layout, a), (problem,), (dp,))
    da = -solve_hessian(problem, layout, r, dg, exact=True)
    _, dr = jvp(lambda p, a: residual(p, layout, a), (problem, a), (dp, da))
    _, dforce = jvp(lambda p, r: row_force(p, layout, r), (problem, r), (dp, dr))
    none = (jnp.zeros_like(found.niter), jnp.zeros_like(found.left))
    return found, Optimum(da, dforce, dr, *none)
