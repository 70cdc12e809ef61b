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
    """Steps along beta times the last direction minus h, with h = M^-1 g of the gradient g.

    beta is that of Polak and Ribiere, g . (h - h_last) / (g_last . h_last), or zero where that is
    negative. What is prepared are the factors of the inertia.
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
