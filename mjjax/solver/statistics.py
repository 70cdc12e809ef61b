"""The progress of the solver, iteration by iteration; it is computed on request, not in a step."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from mjjax.constraint.layout import layout_of
from mjjax.core.enums import SolverType
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.solver import dual
from mjjax.solver.method import I, Iterates, P, Rules
from mjjax.solver.noslip import Noslip
from mjjax.solver.objective import residual, row_state
from mjjax.solver.problem import Problem, problem_of
from mjjax.solver.stages import rules_of, start_of
from mjjax.solver.table import METHODS
from mjjax.xla.loops import scan
from mjjax.xla.namespace import Array, where


class SolverStat(NamedTuple):
    """Progress of the solver. Each field is (iterations,), and zero from iteration `niter` on.

    Attributes:
        improvement: scaled decrease of the objective, summed over islands.
        gradient: scaled norm of the gradient after the iteration, the largest of any island that
            still iterates. For PGS and noslip it is the norm of the change of the constraint force,
            where C reports 0.
        lineslope: scaled slope of the objective at the end of the line search, the largest of any
            island; 0 without a search.
        nactive: number of active rows after the iteration.
        nchange: number of rows whose state changed.
        neval: number of evaluations of the line searches, summed over islands.
    """

    improvement: Array
    gradient: Array
    lineslope: Array
    nactive: Array
    nchange: Array
    neval: Array


def solver_statistics(model: Model, data: Data) -> SolverStat:
    """Statistics of the solver's iterations (`mjData.solver`), found by solving once more.

    Islands iterate side by side, so the statistics cover all of them; C has statistics per island.
    Noslip iterations follow those of the solver. Scaled values are divided by an island's sum of
    inertias, or without islands by `stat.meaninertia * nv`, as for the tolerance. There is no count
    of updates, because every Newton iteration factors the Hessian anew. The statistics have no
    derivatives.

    Args:
        model: model.
        data: data with the rows and `qacc_warmstart` that `fwd_constraint` was given. Use data
            after `forward`, not after `step`.
    """
    model, data = lax.stop_gradient((model, data))
    layout, total = layout_of(model, data), model.opt.iterations + model.opt.noslip_iterations
    if not layout.nrow:
        real, whole = jnp.zeros(total, data.qacc.dtype), jnp.zeros(total, jnp.int32)
        return SolverStat(real, real, real, whole, whole, whole)
    problem = problem_of(model, data, layout).for_products()
    method = METHODS[SolverType(model.opt.solver)]
    rules = rules_of(model, problem)
    prepared = method.prepare(problem)
    start = method.initial(problem, prepared, start_of(model, data), rules)
    history = functools.partial(_history, problem, rules)
    state, stat = history(method, prepared, start, rules.iterations)
    if not rules.noslip_iterations:
        return stat
    _, force, _ = method.result(problem, prepared, state)
    sweeps = Noslip()
    prepared = sweeps.prepare(problem)
    start = dual.initial(prepared.rows, force)
    _, more = history(sweeps, prepared, start, rules.noslip_iterations)

    def joined(first: Array, second: Array) -> Array:
        padded = jnp.pad(first, (0, len(second)))
        return lax.dynamic_update_slice(padded, second, (jnp.max(state.niter),))

    return jax.tree.map(joined, stat, more)


def _history(
    problem: Problem,
    rules: Rules,
    method: Iterates[P, I],
    prepared: P,
    start: I,
    iterations: int,
) -> tuple[I, SolverStat]:
    """The last iterate, and statistics (iterations,)."""
    exists = problem.D > 0

    def advance(state: I, _: None) -> tuple[I, SolverStat]:
        new, progress = method.iterate(problem, prepared, rules, state)
        before, after = (method.zones(problem, x) for x in (state, new))
        on, going = ~state.done, jnp.any(~state.done)

        def of_running(reduce: Callable[[Array], Array], x: Array) -> Array:
            return reduce(where(on, x, 0))

        stat = SolverStat(
            improvement=of_running(jnp.sum, progress.improvement),
            gradient=of_running(jnp.max, progress.gradient),
            lineslope=of_running(jnp.max, progress.lineslope),
            nactive=where(going, jnp.sum(exists & (after != 0), dtype=jnp.int32), 0),
            nchange=where(going, jnp.sum(exists & (after != before), dtype=jnp.int32), 0),
            neval=of_running(jnp.sum, progress.neval).astype(jnp.int32),
        )
        # An island that is done keeps its state.
        return jax.tree.map(lambda a, b: where(going, a, b), new, state), stat

    return scan(advance, start, length=iterations)


def constraint_state(model: Model, data: Data) -> Array:
    """Zone (njmax,) of every row at the acceleration `qacc`, as `ConstraintState` (`efc_state`).

    Empty slots are SATISFIED. The results are integers and have no derivatives.
    """
    layout = layout_of(model, data)
    empty = data.efc_vel.shape[0] - layout.nrow
    if not layout.nrow:
        return jnp.zeros(empty, jnp.int32)
    problem = problem_of(model, data, layout)
    state = row_state(problem, residual(problem, data.qacc))
    return jnp.pad(where(problem.D > 0, state, 0), (0, empty))
