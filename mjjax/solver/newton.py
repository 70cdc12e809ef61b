"""Newton's method for the constrained dynamics."""

from mjjax.solver.alone import finish_alone
from mjjax.solver.linear import solve_hessian
from mjjax.solver.method import Progress, Rules, Start
from mjjax.solver.primal import Primal, PrimalState, first_state, step_along
from mjjax.solver.problem import Problem


class Newton(Primal[tuple[()]]):
    """Steps by -H^-1 g to the minimum of the objective's local quadratic function."""

    def prepare(self, problem: Problem) -> tuple[()]:
        return ()

    def initial(
        self, problem: Problem, prepared: tuple[()], start: Start, rules: Rules
    ) -> PrimalState:
        return first_state(problem, start, rules, ())

    def ahead(self, problem: Problem, rules: Rules, state: PrimalState) -> PrimalState:
        """Solves trees that touch only themselves and the static world, each on its own."""
        return finish_alone(self, problem, rules, state)

    def iterate(
        self, problem: Problem, prepared: tuple[()], rules: Rules, state: PrimalState
    ) -> tuple[PrimalState, Progress]:
        step = solve_hessian(problem, state.Jaref, -state.grad)
        return step_along(problem, rules, state, step, (), unit=True)
