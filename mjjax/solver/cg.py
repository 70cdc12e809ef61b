"""Conjugate gradients for the constrained dynamics, preconditioned by the inertia.

With g the gradient and h = M^-1 g, the direction is beta times the last one minus h; beta is that
of Polak and Ribiere, g . (h - h_last) / (g_last . h_last), or zero where that is negative.
"""

from typing import NamedTuple

import jax.numpy as jnp

from mjjax.constraint.layout import RowLayout
from mjjax.core.constants import MINVAL
from mjjax.dynamics.by_tree import factor_by_tree, solve_factored
from mjjax.solver import primal
from mjjax.solver.method import Limits, Method, Progress, Start, Tolerances
from mjjax.solver.problem import Problem
from mjjax.xla.namespace import Array, where


class Memory(NamedTuple):
    """Last direction, gradient and preconditioned gradient (nv,)."""

    step: Array
    grad: Array
    solved: Array


def _prepare(problem: Problem, layout: RowLayout) -> list[Array]:
    return factor_by_tree(layout.structure, problem.inertia.upper)


def _initial(
    problem: Problem, layout: RowLayout, factors: list[Array], start: Start, tolerances: Tolerances
) -> primal.State:
    none = jnp.zeros_like(start.smooth)
    return primal.initial(problem, layout, start, tolerances, Memory(none, none, none))


def _iterate(
    problem: Problem,
    layout: RowLayout,
    factors: list[Array],
    limits: Limits,
    tolerances: Tolerances,
    state: primal.State,
) -> tuple[primal.State, Progress]:
    """One conjugate step with exact line search."""
    last, parts = state.memory, problem.parts
    solved = solve_factored(layout.structure, factors, state.grad)
    turn, size = parts.sum_dofs(
        layout, state.grad * (solved - last.solved), last.grad * last.solved
    )
    beta = turn / jnp.maximum(MINVAL, size)
    beta = where(state.niter == 0, 0, jnp.maximum(beta, 0))
    step = parts.to_dofs(layout, beta) * last.step - solved
    memory = Memory(step, state.grad, solved)
    return primal.iterate(problem, layout, limits, tolerances, state, step, memory, unit=False)


CG = Method(_prepare, _initial, _iterate, primal.result, primal.state_of, primal.left)
