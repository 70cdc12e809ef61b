"""Projected Gauss-Seidel on the dual problem.

A scalar row goes to its minimum within its bounds. An elliptic contact first moves along its own
force, or along its normal if it has no force. Then it finds the best friction for the new normal
force. Rows are updated in their order, each with the newest forces of all others.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from mjjax.core.constants import MINVAL
from mjjax.solver import dual
from mjjax.solver.ellipsoid import Ball, ball, minimise
from mjjax.solver.method import Progress, Rules, Start
from mjjax.solver.objective import residual, row_force, split
from mjjax.solver.problem import Problem
from mjjax.xla.linalg import matmul
from mjjax.xla.namespace import Array, where


class PgsBlocks(NamedTuple):
    """All rows, and the blocks that are updated: scalar rows, elliptic contacts."""

    rows: dual.DualRows
    scalar: dual.Blocks
    cone: dual.Blocks | None


class ProjectedGaussSeidel:
    """See `mjjax.solver.method.Method`."""

    def prepare(self, problem: Problem) -> PgsBlocks:
        layout, rows = problem.layout, dual.rows_of(problem)
        n = layout.nrow if layout.pyramidal else layout.nscalar
        scalar = dual.bounded(rows, problem, dual.Span(0, n, 1), regularized=True)
        if layout.pyramidal or not layout.ncontact:
            return PgsBlocks(rows, scalar, None)
        cone = dual.blocks(rows, dual.contact_span(layout), regularized=True, floor=MINVAL)
        if layout.width > 1:
            inner = jax.vmap(ball)(cone.A[:, 1:, 1:], problem.friction[cone.order, 1:])
            cone = cone._replace(extra=inner)
        return PgsBlocks(rows, scalar, cone)

    def initial(
        self, problem: Problem, prepared: PgsBlocks, start: Start, rules: Rules
    ) -> dual.DualState:
        """The forces of the warm start, or zero forces if these have the lower cost."""
        rows, qacc = prepared.rows, start.qacc_warmstart
        force = jnp.zeros_like(rows.aref)
        if qacc is not None:
            warm = row_force(problem, residual(problem, qacc))
            warm = where(problem.D > 0, warm, 0)
            b = matmul(rows.jac, rows.qacc_smooth) - rows.aref
            quadratic = jnp.sum(matmul(warm, rows.jac) * matmul(warm, rows.inv))
            cost = jnp.sum(warm * b) + 0.5 * (quadratic + jnp.sum(rows.R * warm * warm))
            force = where(cost > 0, 0, warm)
        return dual.initial(rows, force)

    def ahead(self, problem: Problem, rules: Rules, state: dual.DualState) -> dual.DualState:
        return state

    def iterate(
        self, problem: Problem, prepared: PgsBlocks, rules: Rules, state: dual.DualState
    ) -> tuple[dual.DualState, Progress]:
        """One sweep over all rows."""
        parts, scalar, cone = split(problem.layout, state.force), prepared.scalar, prepared.cone
        old = parts.separable[:, None]
        qacc, new, decrease = dual.sweep(dual.interval, scalar, state.qacc, old)
        force = new.reshape(-1)
        if cone is not None:
            update = _cone if problem.layout.width > 1 else _normal
            qacc, new, more = dual.sweep(update, cone, qacc, parts.cone)
            force, decrease = jnp.concatenate([force, new.reshape(-1)]), decrease + more
        decrease = rules.scale * decrease
        after = dual.finished(problem, rules, state, qacc, force, decrease, rules.tolerance)
        none = jnp.zeros_like(decrease)
        return after, Progress(decrease, after.change, none, jnp.int32(0))

    def result(
        self, problem: Problem, prepared: PgsBlocks, state: dual.DualState
    ) -> tuple[Array, Array, Array]:
        qacc, force = dual.result(prepared.rows, state)
        return qacc, force, dual.residual_of(problem, qacc, force)

    def zones(self, problem: Problem, state: dual.DualState) -> Array:
        return dual.zones_of(problem, state)

    def gradient(self, problem: Problem, rules: Rules, state: dual.DualState) -> Array:
        """Scaled norm of the last change of the generalized constraint force."""
        return state.change


def _normal(A: Array, force: Array, res: Array, extra: None) -> Array:
    """Update of a contact without friction."""
    return jnp.maximum(force - res / A[0], 0)


def _cone(A: Array, force: Array, res: Array, inner: Ball) -> Array:
    """Update of an elliptic contact: along its force, then across it."""
    old = force[0]
    lone = jnp.maximum(old - res[0] / A[0, 0], 0)
    curvature = jnp.sum(force * jnp.sum(A * force[None], axis=1))
    steep = curvature >= MINVAL
    length = where(steep, -jnp.sum(force * res) / where(steep, curvature, 1), 0)
    normal = where(old < MINVAL, lone, old * (1 + jnp.maximum(length, -1)))
    # This is the slope of the cost at zero friction; everything else stays as it is now.
    b = res[1:] - jnp.sum(A[1:, 1:] * force[None, 1:], axis=1) + A[1:, 0] * (normal - old)
    friction = where(normal < MINVAL, 0, minimise(inner, b, normal))
    return jnp.concatenate([normal[None], friction])
