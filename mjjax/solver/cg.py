"""Conjugate gradients for the constrained dynamics, preconditioned by the inertia."""

from typing import NamedTuple

import jax.numpy as jnp

from mjjax.core.constants import MINVAL
from mjjax.dynamics.by_tree import factor_by_tree, solve_factored
from mjjax.solver.method import Progress, Rules, Start
from mjjax.solver.primal import Primal, PrimalState, first_state, step_along
from mjjax.solver.problem import Problem
from mjjax.xla.namespace import Array, where


class Memory(NamedTuple):
    """Last direction, gradient and preconditioned gradient (nv,)."""

    search: Array
    grad: Array
    Mgrad: Array


class ConjugateGradients(Primal[list[Array]]):
    """Steps along beta times the last direction minus h, where h = M^-1 g for the gradient g.

    beta is the number of Polak and Ribiere, g . (h - h_last) / (g_last . h_last), or zero if that
    is negative. The factors of the inertia are prepared once per problem.
    """

    def prepare(self, problem: Problem) -> list[Array]:
        return factor_by_tree(problem.layout.structure, problem.inertia.upper)

    def initial(
        self, problem: Problem, prepared: list[Array], start: Start, rules: Rules
    ) -> PrimalState:
        none = jnp.zeros_like(start.qacc_smooth)
        return first_state(problem, start, rules, Memory(none, none, none))

    def iterate(
        self, problem: Problem, prepared: list[Array], rules: Rules, state: PrimalState
    ) -> tuple[PrimalState, Progress]:
        last, parts = state.memory, problem.parts
        Mgrad = solve_factored(problem.layout.structure, prepared, state.grad)
        turn, size = parts.sum_dofs(state.grad * (Mgrad - last.Mgrad), last.grad * last.Mgrad)
        beta = turn / jnp.maximum(MINVAL, size)
        beta = where(state.niter == 0, 0, jnp.maximum(beta, 0))
        search = parts.to_dofs(beta) * last.search - Mgrad
        memory = Memory(search, state.grad, Mgrad)
        return step_along(problem, rules, state, search, memory, unit=False)
