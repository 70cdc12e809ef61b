"""The solution of the constrained dynamics with its derivative at the optimum.

The optimum satisfies g(qacc, p) = 0, where g is the gradient of the objective and p the problem. So
dqacc = -H^-1 (dg/dp) dp, where H is the Hessian at the solution. This is one linear solve, whatever
the solver and the number of iterations. The solve is itself differentiable, so derivatives of every
order and both modes work. The set of active rows counts as fixed; on a boundary the derivative is
one-sided.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp

from mjjax.constraint.jacobian import mul_t
from mjjax.constraint.layout import RowLayout
from mjjax.core.enums import SolverType
from mjjax.math.tangents import jvp
from mjjax.solver.linear import solve_hessian
from mjjax.solver.method import Rules, Start, solve
from mjjax.solver.objective import gradient, residual, row_force
from mjjax.solver.problem import Problem
from mjjax.solver.table import METHODS
from mjjax.xla.each_world import each_world
from mjjax.xla.namespace import Array

# In one kernel, larger problems would be slower than side by side. MOST_ROWS is also so small that
# no sum over three points of a line search has `MOST_SUMMED` terms.
MOST_DOFS, MOST_ROWS = 60, 1000


class Optimum(NamedTuple):
    """The solution that a solver found.

    Attributes:
        qacc: (nv,) constrained acceleration.
        force: (n,) row forces.
        qfrc: (nv,) the row forces in joint space.
        Jaref: (n,) row residuals, consistent with the forces.
        niter: number of iterations, as a real; the largest of any island.
        gradient: scaled norm of the remaining gradient; the largest of any island.
    """

    qacc: Array
    force: Array
    qfrc: Array
    Jaref: Array
    niter: Array
    gradient: Array


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def minimize(solver: SolverType, problem: Problem, start: Start, rules: Rules) -> Optimum:
    """Solves the problem, with exact derivatives with respect to every entry of it.

    Args:
        solver: the method.
        problem: the problem.
        start: initial acceleration, which has no influence on the optimum.
        rules: when to stop.
    """
    if _fits_kernel(solver, problem.layout):
        return each_world(functools.partial(_solution, solver), problem, start, rules)
    return _solution(solver, problem, start, rules)


def _fits_kernel(solver: SolverType, layout: RowLayout) -> bool:
    """Whether a processor solves each world in one kernel."""
    small = 0 < layout.nv <= MOST_DOFS and layout.nrow <= MOST_ROWS
    return small and solver != SolverType.PGS and not layout.by_body


def _solution(solver: SolverType, problem: Problem, start: Start, rules: Rules) -> Optimum:
    """The solution of one world, without its derivative."""
    method, problem = METHODS[solver], problem.for_products()
    state, qacc, force, Jaref = solve(method, problem, start, rules)
    qfrc, left = mul_t(problem.jac, force), jnp.max(method.gradient(problem, rules, state))
    return Optimum(qacc, force, qfrc, Jaref, jnp.max(state.niter).astype(qacc.dtype), left)


@functools.partial(minimize.defjvp, symbolic_zeros=True)
def _minimize_jvp(solver, primals, tangents):
    problem, start, rules = primals
    found = minimize(solver, problem, start, rules)
    qacc, Jaref = found.qacc, found.Jaref
    dp = tangents[0]
    _, dg = jvp(lambda p: gradient(p, qacc), (problem,), (dp,))
    dqacc = -solve_hessian(problem, Jaref, dg, exact=True)
    _, dJaref = jvp(residual, (problem, qacc), (dp, dqacc))
    _, dforce = jvp(row_force, (problem, Jaref), (dp, dJaref))
    _, dqfrc = jvp(mul_t, (problem.jac, found.force), (dp.jac, dforce))
    none = (jnp.zeros_like(found.niter), jnp.zeros_like(found.gradient))
    return found, Optimum(dqacc, dforce, dqfrc, dJaref, *none)
