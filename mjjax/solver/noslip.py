"""Noslip: after the main solver, finds friction once more without its regularization.

This is a modified Gauss-Seidel method on the dual problem with R = 0 (`mj_solNoSlip`). Dry friction
moves within its loss, and the friction of a contact within the bound of its normal force. Each pair
of opposing edges of a pyramid keeps its sum. Equalities, limits and normal forces keep the values
of the main solver. The iterations are few and do not converge in general. Therefore the derivative
is that of the sweeps that were made, not that of a fixed point.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.constraint.layout import FRICTION, RowLayout
from mjjax.core.constants import MINVAL
from mjjax.solver import dual
from mjjax.solver.ellipsoid import Ball, ball, minimise
from mjjax.solver.method import Progress, Rules, run
from mjjax.solver.problem import Problem
from mjjax.xla.loops import scan
from mjjax.xla.namespace import Array, where

FLOOR = 1e-10  # smallest diagonal entry of a contact's block


class NoslipBlocks(NamedTuple):
    """All rows, and the blocks that are updated: dry friction and the friction of contacts."""

    rows: dual.DualRows
    dry: dual.Blocks
    contact: dual.Blocks | None


class Noslip:
    """Sweeps over dry friction and the friction of contacts; the main solver gives the start."""

    def prepare(self, problem: Problem) -> NoslipBlocks:
        """Computes what is needed once per problem."""
        layout, rows = problem.layout, dual.rows_of(problem)
        dry = dual.bounded(rows, problem, _dry_span(layout), regularized=False)
        span = _contact_span(layout)
        if span is None:
            return NoslipBlocks(rows, dry, None)
        contact = dual.blocks(rows, span, regularized=False, floor=FLOOR)
        if layout.pyramidal:
            extra = jnp.all(span.of(problem.D) > 0, axis=1)[contact.order]
        else:
            extra = jax.vmap(ball)(contact.A, problem.friction[contact.order, 1:])
        return NoslipBlocks(rows, dry, contact._replace(extra=extra))

    def iterate(
        self,
        problem: Problem,
        prepared: NoslipBlocks,
        rules: Rules,
        state: dual.DualState,
        every: bool = False,
    ) -> tuple[dual.DualState, Progress]:
        """One sweep; `every` as for `dual.sweep`."""
        layout = problem.layout
        span, force = _dry_span(layout), state.force
        old = span.of(force)
        qacc, new, decrease = dual.sweep(dual.interval, prepared.dry, state.qacc, old, every)
        force = span.put(force, new)
        span, contact = _contact_span(layout), prepared.contact
        if span is not None and contact is not None:
            update = _edges
            if not layout.pyramidal:
                normal = dual.contact_span(layout).of(force)[contact.order, 0]
                contact, update = contact._replace(extra=(contact.extra, normal)), _tangents
            qacc, new, more = dual.sweep(update, contact, qacc, span.of(force), every)
            force, decrease = span.put(force, new), decrease + more
        # As the regularization is dropped, its cost counts as an improvement of the first sweep.
        dropped = 0.5 * jnp.sum(prepared.rows.R * state.force * state.force)
        decrease = rules.scale * (decrease + where(state.niter == 0, dropped, 0))
        enough = rules.noslip_tolerance
        after = dual.finished(problem, rules, state, qacc, force, decrease, enough)
        none = jnp.zeros_like(decrease)
        return after, Progress(decrease, after.change, none, jnp.int32(0))

    def zones(self, problem: Problem, state: dual.DualState) -> Array:
        """Zone (n,) of every row, as `ConstraintState`."""
        return dual.zones_of(problem, state)


def _dry_span(layout: RowLayout) -> dual.Span:
    index = np.flatnonzero(layout.mask(*FRICTION))
    return dual.Span(int(index[0]) if len(index) else 0, len(index), 1)


def _contact_span(layout: RowLayout) -> dual.Span | None:
    """Pairs of opposing edges, or contacts without their normal row."""
    if not layout.ncontact or layout.width == 1:
        return None
    if not layout.pyramidal:
        return dual.contact_span(layout, skip=1)
    return dual.Span(layout.nscalar, layout.ncontact * (layout.width - 1), 2)


def _edges(A: Array, force: Array, res: Array, both: Array) -> Array:
    """Two opposing edges: mid + y and mid - y, with the best y."""
    b = res - jnp.sum(A * force[None], axis=1)
    mid = 0.5 * (force[0] + force[1])
    curvature = A[0, 0] + A[1, 1] - A[0, 1] - A[1, 0]
    slope = mid * (A[0, 0] - A[1, 1]) + b[0] - b[1]
    steep = curvature >= MINVAL
    y = where(steep, -slope / where(steep, curvature, 1), 0)
    y = jnp.clip(y, -mid, mid)
    return where(both, jnp.stack([mid + y, mid - y]), force)


def _tangents(A: Array, force: Array, res: Array, extra: tuple[Ball, Array]) -> Array:
    """The friction of an elliptic contact under its normal force."""
    inner, normal = extra
    b = res - jnp.sum(A * force[None], axis=1)
    return where(normal < MINVAL, 0, minimise(inner, b, normal))


@jax.custom_jvp
def remove_slip(problem: Problem, force: Array, rules: Rules) -> tuple[Array, Array, Array, Array]:
    """Acceleration (nv,), row forces (n,), iterations (as a real), scaled norm of the last change.

    The derivative is exact. For it, the sweeps are made once more, always as many as are allowed,
    in either mode. Reverse mode stores only the forces and the acceleration of each sweep. The set
    of rows at a bound and the number of sweeps count as fixed. Second derivatives of elliptic cones
    need forward over reverse mode, because JAX refuses reverse over reverse.

    Args:
        problem: the problem.
        force: (n,) row forces of the main solver.
        rules: when to stop.
    """
    sweeps = Noslip()
    prepared = sweeps.prepare(problem)
    state = dual.initial(prepared.rows, force)
    state = run(sweeps, problem, prepared, state, rules, rules.noslip_iterations)
    return *dual.result(prepared.rows, state), state.niter.astype(force.dtype), state.change


@remove_slip.defjvp
def _remove_slip_jvp(primals, tangents):
    problem, force, rules = primals
    qacc, found, niter, change = remove_slip(problem, force, rules)
    sweeps = Noslip()

    def again(problem: Problem, force: Array) -> tuple[Array, Array]:
        prepared = sweeps.prepare(problem)

        @jax.checkpoint
        def advance(state: dual.DualState) -> dual.DualState:
            new, _ = sweeps.iterate(problem, prepared, rules, state, every=True)
            going = state.niter < niter.astype(jnp.int32)
            return jax.tree.map(lambda x, y: where(going, x, y), new, state)

        def body(state: dual.DualState, _: None) -> tuple[dual.DualState, None]:
            return advance(state), None

        state = dual.initial(prepared.rows, force)
        state, _ = scan(body, state, length=rules.noslip_iterations)
        return dual.result(prepared.rows, state)

    _, (dqacc, dforce) = jax.jvp(again, (problem, force), tangents[:2])
    none = jnp.zeros_like(niter), jnp.zeros_like(change)
    return (qacc, found, niter, change), (dqacc, dforce, *none)
