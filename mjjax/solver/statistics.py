"""How the solver came to its result, iteration by iteration: asked for, never part of a step."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from mjjax.constraint.layout import layout_of
from mjjax.math import safe
from mjjax.math.namespace import Array
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.solver import newton
from mjjax.solver.objective import residual, row_state
from mjjax.solver.problem import problem_of
from mjjax.solver.stages import settings_of, start_of


class SolverStat(NamedTuple):
    """Progress of the solver, (iterations,) each; zero from the iteration `niter` on.

    Attributes:
        improvement: decrease of the objective, scaled.
        gradient: norm of the gradient after the iteration, scaled.
        lineslope: slope of the objective where the line search ended, scaled.
        nactive: active rows after the iteration.
        nchange: rows whose state changed.
        neval: evaluations of the line search.
    """

    improvement: Array
    gradient: Array
    lineslope: Array
    nactive: Array
    nchange: Array
    neval: Array


def solver_statistics(model: Model, data: Data) -> SolverStat:
    """Statistics of the solver's iterations (`mjData.solver`), found by solving once more.

    Scaled values are divided by `stat.meaninertia * nv`, as the tolerance is. Every iteration
    factors the Hessian anew, so that there is no count of updates. No derivatives.

    Args:
        model: model.
        data: data with its rows made and `qacc_warmstart` as they were for `fwd_constraint`:
            after `forward`, not after `step`, which moves on.
    """
    model, data = lax.stop_gradient((model, data))
    layout, settings = layout_of(model, data), settings_of(model)
    if not layout.nrow:
        real = jnp.zeros(settings.iterations, data.qacc.dtype)
        whole = jnp.zeros(settings.iterations, jnp.int32)
        return SolverStat(real, real, real, whole, whole, whole)
    problem = problem_of(model, data, layout)
    exists = problem.D > 0

    def advance(state: newton.State, _: None) -> tuple[newton.State, SolverStat]:
        new, found = newton.iterate(problem, layout, settings, state)
        change = new.a - state.a
        slope = safe.divide(jnp.abs(jnp.sum(new.grad * change)), safe.norm(change))
        before, after = (row_state(problem, layout, x) for x in (state.r, new.r))
        stat = SolverStat(
            improvement=settings.scale * found.decrease,
            gradient=new.grad_norm,
            lineslope=settings.scale * slope,
            nactive=jnp.sum(exists & (after != 0), dtype=jnp.int32),
            nchange=jnp.sum(exists & (after != before), dtype=jnp.int32),
            neval=found.count,
        )
        going = ~state.done
        kept = jax.tree.map(lambda a, b: jnp.where(going, a, b), new, state)
        return kept, jax.tree.map(lambda x: jnp.where(going, x, 0).astype(x.dtype), stat)

    start = start_of(model, data, layout, problem)
    state = newton.initial(problem, layout, start, settings)
    return lax.scan(advance, state, length=settings.iterations)[1]


def constraint_state(model: Model, data: Data) -> Array:
    """Zone (njmax,) of every row at the acceleration `qacc`, as `ConstraintState` (`efc_state`).

    Empty slots are SATISFIED. Integers: no derivatives.
    """
    layout = layout_of(model, data)
    empty = data.efc_D.shape[0] - layout.nrow
    if not layout.nrow:
        return jnp.zeros(empty, jnp.int32)
    problem = problem_of(model, data, layout)
    state = row_state(problem, layout, residual(problem, layout, data.qacc))
    return jnp.pad(jnp.where(problem.D > 0, state, 0), (0, empty))
