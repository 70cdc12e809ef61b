"""Newton's method for the constrained dynamics."""

import functools

from mjjax.constraint.layout import RowLayout
from mjjax.solver import primal
from mjjax.solver.alone import finish_alone
from mjjax.solver.linear import solve_hessian
from mjjax.solver.method import Limits, Method, Prepared, Progress, Start, Tolerances
from mjjax.solver.problem import Problem


def _prepare(problem: Problem, layout: RowLayout) -> Prepared:
    return ()


def _initial(
    problem: Problem, layout: RowLayout, prepared: Prepared, start: Start, tolerances: Tolerances
) -> primal.State:
    return primal.initial(problem, layout, start, tolerances, ())


def _iterate(
    problem: Problem,
    layout: RowLayout,
    prepared: Prepared,
    limits: Limits,
    tolerances: Tolerances,
    state: primal.State,
) -> tuple[primal.State, Progress]:
    """One Newton step with exact line search."""
    step = solve_hessian(problem, layout, state.r, -state.grad)
    return primal.iterate(problem, layout, limits, tolerances, state, step, (), unit=True)


NEWTON = Method(
    _prepare,
    _initial,
    _iterate,
    primal.result,
    primal.state_of,
    primal.left,
    functools.partial(finish_alone, _iterate),
)
