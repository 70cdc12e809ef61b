"""The common part of PGS and noslip, which work on row forces, block by block.

With A = J M^-1 J' and b = J qacc_smooth - aref they minimise f' (A + R) f / 2 + f' b within the
bounds and cones of the forces. The whole matrix A is never made. Instead the solvers keep
qacc = qacc_smooth + M^-1 J' f beside the forces. The residual of a block is then
J qacc - aref + R f, and each updated block changes qacc.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from mjjax.constraint.jacobian import dense
from mjjax.constraint.layout import FRICTION, RowLayout
from mjjax.core.constants import MINVAL
from mjjax.core.enums import ConstraintState
from mjjax.dynamics.by_tree import factor_by_tree, mul_by_tree, solve_factored
from mjjax.math import safe
from mjjax.solver.method import Rules, scaled_norm
from mjjax.solver.objective import residual, split
from mjjax.solver.problem import Problem
from mjjax.xla.all_worlds import largest_of_worlds
from mjjax.xla.linalg import einsum, matmul
from mjjax.xla.loops import fori_loop, scan
from mjjax.xla.namespace import Array, where

WORSE = 1e-10  # an update that raises the cost by more than this is taken back


class DualRows(NamedTuple):
    """Rows as matrices; empty slots are zero.

    Attributes:
        qacc_smooth: (nv,) acceleration without constraints.
        jac: (n, nv) Jacobian.
        inv: (n, nv) accelerations M^-1 J' by unit forces.
        aref: (n,) reference accelerations.
        R: (n,) regularization.
        exists: (n,) whether a slot is in use.
    """

    qacc_smooth: Array
    jac: Array
    inv: Array
    aref: Array
    R: Array
    exists: Array


class Blocks(NamedTuple):
    """Blocks (k, w, ...) that are updated one after the other; those in use come first, in order.

    Attributes:
        jac, inv: (k, w, nv) as in `DualRows`.
        aref, R: (k, w) as in `DualRows`.
        A: (k, w, w) matrix of the dual problem.
        extra: further arrays that the update depends on, with leading axis k.
        order: (k,) slot of each block.
        place: (k,) block of each slot.
        count: number of blocks in use.
    """

    jac: Array
    inv: Array
    aref: Array
    R: Array
    A: Array
    extra: Any
    order: Array
    place: Array
    count: Array


class DualState(NamedTuple):
    """An iterate of a solver that works on forces.

    Attributes:
        qacc: (nv,) acceleration.
        force: (n,) row forces.
        niter: iterations so far.
        change: scaled norm of the last change of the generalized constraint force.
        done: whether the solver has stopped.
    """

    qacc: Array
    force: Array
    niter: Array
    change: Array
    done: Array


# Computes the new force (w,) of a block from its matrix A, force, residual and extra.
Update = Callable[[Array, Array, Array, Any], Array]


def rows_of(problem: Problem) -> DualRows:
    """The problem's rows."""
    s = problem.layout.structure
    factors = factor_by_tree(s, problem.inertia.M)  # noslip differentiates them
    on = problem.D > 0
    jac = where(on[:, None], dense(problem.jac), 0)
    return DualRows(
        qacc_smooth=solve_factored(s, factors, problem.qfrc_smooth),
        jac=jac,
        inv=solve_factored(s, factors, jac.T).T,
        aref=where(on, problem.aref, 0),
        R=where(on, 1 / where(on, problem.D, 1), 0),
        exists=on,
    )


class Span(NamedTuple):
    """`count` blocks of `width` successive rows each; a block leaves out its first `skip` rows."""

    start: int
    count: int
    width: int
    skip: int = 0

    def of(self, x: Array) -> Array:
        """The blocks (count, width - skip, ...) of `x` (n, ...)."""
        stop = self.start + self.count * self.width
        blocks = x[self.start : stop].reshape(self.count, self.width, *x.shape[1:])
        return blocks[:, self.skip :]

    def put(self, x: Array, blocks: Array) -> Array:
        """`x` (n,) with new blocks (count, width - skip)."""
        leading = self._replace(skip=0).of(x)[:, : self.skip]
        blocks = jnp.concatenate([leading, blocks], axis=1).reshape(-1)
        return jnp.concatenate([x[: self.start], blocks, x[self.start + blocks.shape[0] :]])


def blocks(rows: DualRows, span: Span, regularized: bool, floor: float) -> Blocks:
    """Blocks of rows.

    Args:
        rows: all rows.
        span: the blocks.
        regularized: whether R takes part.
        floor: smallest diagonal entry of A.
    """
    exists = jnp.any(span.of(rows.exists), axis=1)
    order = jnp.argsort(~exists, stable=True)
    jac, inv, aref, r = (span.of(x)[order] for x in (rows.jac, rows.inv, rows.aref, rows.R))
    if not regularized:
        r = jnp.zeros_like(r)
    A = einsum("kin,kjn->kij", jac, inv)
    eye = jnp.eye(A.shape[1], dtype=bool)[None]
    A = where(eye, jnp.maximum(A + r[:, :, None], floor), A)
    count = jnp.sum(exists, dtype=jnp.int32)
    return Blocks(jac, inv, aref, r, A, (), order, jnp.argsort(order), count)


def bounded(rows: DualRows, problem: Problem, span: Span, regularized: bool) -> Blocks:
    """Blocks of one row each, for `interval`: `extra` has the bounds of their forces."""
    found = blocks(rows, span, regularized, floor=MINVAL)
    low, high = (span.of(x)[found.order] for x in (problem.low, problem.high))
    return found._replace(extra=(low, high))


def sweep(
    update: Update, of: Blocks, qacc: Array, force: Array, every: bool = False
) -> tuple[Array, Array, Array]:
    """Updates the blocks one after the other.

    Args:
        update: new force of a block.
        of: the blocks.
        qacc: (nv,) acceleration.
        force: (k, w) forces of the slots.
        every: whether to visit empty slots too. This does not change the result, but a loop of
            fixed length has a derivative in reverse mode.

    Returns:
        Acceleration (nv,), forces (k, w), decrease of the cost.
    """
    if not len(force):
        return qacc, force, jnp.zeros((), qacc.dtype)
    arrays = (of.jac, of.inv, of.aref, of.R, of.A, of.extra)
    force = force[of.order]

    def one(qacc: Array, block: Any) -> tuple[Array, tuple[Array, Array]]:
        (jac, inv, aref, r, A, extra), old = block
        res = jnp.sum(jac * qacc[None], axis=1) - aref + r * old
        new = update(A, old, res, extra)
        delta = new - old
        change = jnp.sum(delta * (0.5 * jnp.sum(A * delta[None], axis=1) + res))
        better = change <= WORSE
        new, delta = where(better, new, old), where(better, delta, 0)
        return qacc + jnp.sum(delta[:, None] * inv, axis=0), (new, where(better, change, 0))

    def visit(k: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        qacc, force, total = state
        pick = functools.partial(lax.dynamic_index_in_dim, index=k, keepdims=False)
        qacc, (new, change) = one(qacc, jax.tree.map(pick, (arrays, force)))
        return qacc, lax.dynamic_update_index_in_dim(force, new, k, 0), total + change

    if every:
        qacc, (force, change) = scan(one, qacc, (arrays, force))
        return qacc, force[of.place], -jnp.sum(change)
    start = (qacc, force, jnp.zeros((), qacc.dtype))
    # The loop has one end for all worlds, so that it picks whole slices.
    qacc, force, total = fori_loop(0, largest_of_worlds(of.count), visit, start)
    return qacc, force[of.place], -total


def interval(A: Array, force: Array, res: Array, bounds: tuple[Array, Array]) -> Array:
    """Update of a scalar row: the minimum between its bounds."""
    return jnp.clip(force - res / A[0], *bounds)


def initial(rows: DualRows, force: Array) -> DualState:
    """Iterate with the forces `force` (n,)."""
    zero = jnp.zeros((), force.dtype)
    qacc = rows.qacc_smooth + matmul(force, rows.inv)
    return DualState(qacc, force, jnp.int32(0), zero, jnp.bool_(False))


def finished(
    problem: Problem,
    rules: Rules,
    state: DualState,
    qacc: Array,
    force: Array,
    improvement: Array,
    enough: Array,
) -> DualState:
    """Iterate after a sweep; it is done if the scaled improvement is below `enough`."""
    s = problem.layout.structure
    moved = mul_by_tree(s, problem.inertia.M, qacc - state.qacc)
    change = scaled_norm(problem, rules, moved)
    done = (improvement < enough) | ~jnp.isfinite(change)
    return DualState(qacc, force, state.niter + 1, change, done)


def result(rows: DualRows, state: DualState) -> tuple[Array, Array]:
    """Acceleration (nv,), computed anew without the sweeps' rounding errors, and forces (n,)."""
    return rows.qacc_smooth + matmul(state.force, rows.inv), state.force


def residual_of(problem: Problem, qacc: Array, force: Array) -> Array:
    """Row residuals (n,) of which the forces are functions.

    A row whose force is strictly within its bounds has the residual -R f, which makes its state
    certain. The other rows have J qacc - aref. This difference is rounded, so that it would say
    nothing about stiff rows within their bounds.
    """
    layout = problem.layout
    parts, n = split(layout, force), layout.nscalar
    found = split(layout, residual(problem, qacc))
    on = problem.D > 0
    soft = split(layout, -where(on, force / where(on, problem.D, 1), 0))
    count = parts.separable.shape[0]
    inside = (parts.separable > problem.low[:count]) & (parts.separable < problem.high[:count])
    scalar = where(inside, soft.separable, found.separable)
    if layout.pyramidal:
        return scalar
    sticks = _friction_part(problem, parts.cone) < (1 - 1e-9) * parts.cone[:, 0]
    cones = where(sticks[:, None], soft.cone, found.cone)
    return jnp.concatenate([scalar[:n], cones.reshape(-1)])


def zones_of(problem: Problem, state: DualState) -> Array:
    """Zone (n,) of every row by its force.

    C calls every elliptic contact with a force within its cone satisfied. Here such a contact is
    quadratic, or in the middle zone if its friction is as large as possible.
    """
    layout = problem.layout
    parts = split(layout, state.force)
    n = parts.separable.shape[0]
    low, high = problem.low[:n], problem.high[:n]
    at_low = where(low == 0, ConstraintState.SATISFIED, ConstraintState.LINEARPOS)
    friction = layout.mask(*FRICTION)[:n]
    at_low = where(friction, ConstraintState.LINEARPOS, at_low)
    free = where(parts.separable >= high, ConstraintState.LINEARNEG, ConstraintState.QUADRATIC)
    scalar = where(parts.separable <= low, at_low, free)
    if layout.pyramidal:
        return scalar.astype(jnp.int32)
    normal = parts.cone[:, 0]
    slides = _friction_part(problem, parts.cone) > (1 - 1e-9) * normal
    cones = where(slides, ConstraintState.CONE, ConstraintState.QUADRATIC)
    cones = where(normal > 0, cones, ConstraintState.SATISFIED)
    return jnp.concatenate([scalar, jnp.repeat(cones, layout.width)]).astype(jnp.int32)


def _friction_part(problem: Problem, force: Array) -> Array:
    """Friction (ncontact,) of contact forces, scaled so that it is at most the normal force."""
    return safe.norm(safe.divide(force[:, 1:], problem.friction[:, 1:]))


def contact_span(layout: RowLayout, skip: int = 0) -> Span:
    """The contacts as blocks."""
    return Span(layout.nscalar, layout.ncontact, layout.per_contact, skip)
