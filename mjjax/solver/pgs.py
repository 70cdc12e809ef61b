"""Projected Gauss-Seidel on the dual problem.

A scalar row goes to its minimum within its bounds. An elliptic contact first moves along its own
force, or if it has none along its normal, and then finds the best friction under that normal
force. Rows are updated in their order, each with the newest forces of all others.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from mjjax.constraint.layout import RowLayout
from mjjax.core.constants import MINVAL
from mjjax.solver import dual
from mjjax.solver.ellipsoid import Ball, ball, minimise
from mjjax.solver.method import Limits, Method, Progress, Start, Tolerances
from mjjax.solver.objective import residual, row_force, split
from mjjax.solver.problem import Problem
from mjjax.xla.linalg import matmul
from mjjax.xla.namespace import Array, where


class Prepared(NamedTuple):
    """All rows, and the blocks that are updated: scalar rows, elliptic contacts."""

    rows: dual.Rows
    scalar: dual.Blocks
    cone: dual.Blocks | None


def _prepare(problem: Problem, layout: RowLayout) -> Prepared:
    rows = dual.rows_of(problem, layout)
    n = layout.nrow if layout.pyramidal else layout.nscalar
    scalar = dual.bounded(rows, problem, dual.Span(0, n, 1), regularized=True)
    if layout.pyramidal or not layout.ncontact:
        return Prepared(rows, scalar, None)
    cone = dual.blocks(rows, dual.contact_span(layout), regularized=True, floor=MINVAL)
    if layout.width > 1:
        inner = jax.vmap(ball)(cone.A[:, 1:, 1:], problem.friction[cone.order, 1:])
        cone = cone._replace(extra=inner)
    return Prepared(rows, scalar, cone)


def _initial(
    problem: Problem,
    layout: RowLayout,
    prepared: Prepared,
    start: Start,
    tolerances: Tolerances,
) -> dual.State:
    """The forces of the warm start, unless none at all have the lower cost."""
    rows = prepared.rows
    force = jnp.zeros_like(rows.aref)
    if start.warm is not None:
        warm = row_force(problem, layout, residual(problem, layout, start.warm))
        warm = where(problem.D > 0, warm, 0)
        b = matmul(rows.jac, rows.smooth) - rows.aref
        a_cost = jnp.sum(matmul(warm, rows.jac) * matmul(warm, rows.inv))
        cost = jnp.sum(warm * b) + 0.5 * (a_cost + jnp.sum(rows.R * warm * warm))
        force = where(cost > 0, 0, warm)
    return dual.initial(rows, force)


def _iterate(
    problem: Problem,
    layout: RowLayout,
    prepared: Prepared,
    limits: Limits,
    tolerances: Tolerances,
    state: dual.State,
) -> tuple[dual.State, Progress]:
    """One sweep over all rows."""
    parts = split(layout, state.force)
    a, force, decrease = dual.sweep(dual.interval, prepared.scalar, state.a, parts.scalar[:, None])
    force = force.reshape(-1)
    if prepared.cone is not None:
        update = _cone if layout.width > 1 else _normal
        a, cones, more = dual.sweep(update, prepared.cone, a, parts.cone)
        force, decrease = jnp.concatenate([force, cones.reshape(-1)]), decrease + more
    improvement = tolerances.scale * decrease
    new = dual.finished(problem, layout, tolerances, state, a, force, improvement, tolerances.main)
    return new, Progress(improvement, new.change, jnp.zeros_like(improvement), jnp.int32(0))


def _normal(A: Array, force: Array, res: Array, extra: None) -> Array:
    """Contacts without friction."""
    return jnp.maximum(force - res / A[0], 0)


def _cone(A: Array, force: Array, res: Array, inner: Ball) -> Array:
    """An elliptic contact: along its force, then across it."""
    old = force[0]
    lone = jnp.maximum(old - res[0] / A[0, 0], 0)
    curvature = jnp.sum(force * jnp.sum(A * force[None], axis=1))
    steep = curvature >= MINVAL
    length = where(steep, -jnp.sum(force * res) / where(steep, curvature, 1), 0)
    normal = where(old < MINVAL, lone, old * (1 + jnp.maximum(length, -1)))
    # slope of the cost at zero friction, all else as it is now
    b = res[1:] - jnp.sum(A[1:, 1:] * force[None, 1:], axis=1) + A[1:, 0] * (normal - old)
    friction = where(normal < MINVAL, 0, minimise(inner, b, normal))
    return jnp.concatenate([normal[None], friction])


def _result(
    problem: Problem, layout: RowLayout, prepared: Prepared, state: dual.State
) -> tuple[Array, Array, Array]:
    a, force = dual.result(prepared.rows, state)
    return a, force, dual.residual_of(problem, layout, a, force)


PGS = Method(_prepare, _initial, _iterate, _result, dual.state_of, dual.left)
