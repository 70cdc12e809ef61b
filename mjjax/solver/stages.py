"""The constraint stage: from rows in `Data` to accelerations and constraint forces."""

import jax.numpy as jnp

from mjjax.constraint.jacobian import mul_t
from mjjax.constraint.layout import layout_of
from mjjax.core.enums import DisableBit, SolverType
from mjjax.core.profile import stage
from mjjax.dynamics.by_tree import diagonal_by_tree
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.trees import split_blocks
from mjjax.solver.absent_friction import (
    friction_acceleration,
    friction_force,
    with_absent_friction,
)
from mjjax.solver.islands import are_apart
from mjjax.solver.method import SMALLEST_TOLERANCE, Rules, Start, in_single
from mjjax.solver.noslip import remove_slip
from mjjax.solver.objective import residual, row_force
from mjjax.solver.optimum import minimize
from mjjax.solver.problem import Problem, problem_of
from mjjax.xla.namespace import Array, where


def start_of(model: Model, data: Data) -> Start:
    """The accelerations from which the solver may start."""
    cold = model.opt.disabled(DisableBit.WARMSTART)
    return Start(None if cold else data.qacc_warmstart, data.qacc_smooth)


def rules_of(model: Model, problem: Problem) -> Rules:
    """The rules by which the solver stops; in float32 no tolerance is below rounding errors.

    Objective and gradient are scaled by the sum of the inertias of an island. Without islands they
    are scaled by the mean inertia of the model at `qpos0` times `nv`.
    """
    opt = model.opt
    if are_apart(model):
        s = problem.layout.structure
        diagonal = diagonal_by_tree(s, split_blocks(s, problem.inertia.M))
        (inertia,) = problem.parts.sum_dofs(diagonal)
        scale = 1 / where(inertia > 0, inertia, 1)
    else:
        scale = 1 / (model.stat.meaninertia * max(1, model.structure.nv))
    single = in_single(scale)
    return Rules(
        tolerance=jnp.maximum(opt.tolerance, SMALLEST_TOLERANCE) if single else opt.tolerance,
        ls_tolerance=opt.ls_tolerance,
        noslip_tolerance=opt.noslip_tolerance,
        scale=scale,
        iterations=opt.iterations,
        ls_iterations=opt.ls_iterations,
        noslip_iterations=opt.noslip_iterations,
    )


@stage
def fwd_constraint(model: Model, data: Data) -> Data:
    """Constrained acceleration and forces (`mj_fwdConstraint`).

    The model's solver starts from the better of `qacc_warmstart` and `qacc_smooth`; PGS starts from
    the forces of `qacc_warmstart` or from zero forces. The derivative is that of the optimum; it is
    exact once the solver has converged, and zero with respect to the warm start. With
    `noslip_iterations`, friction is then solved again without regularization; the derivative of
    this is exact for the sweeps that were made.

    Newton and CG solve each island of connected trees (`data.tree_island`) as a problem of its own,
    and solve nothing for trees without rows, unless the flag `island` is off or noslip follows.

    `solver_niter` counts the iterations of the solver and of noslip, in the island that took
    longest. `solver_gradient` is the scaled norm of the gradient at the end; for PGS and noslip it
    is the norm of the last sweep's change of the constraint force. With islands it is the largest.
    """
    pushed = with_absent_friction(model, data.qfrc_smooth, _friction_at_optimum, (model, data))
    found = _solved(model, data.replace(qfrc_smooth=pushed)).replace(qfrc_smooth=data.qfrc_smooth)
    return _with_friction(model, found)


def _with_friction(model: Model, data: Data) -> Data:
    """`data` whose constraint force has the derivative by dry friction without rows."""
    operands = model, data, data.qacc
    force = with_absent_friction(model, data.qfrc_constraint, friction_force, operands)
    return data.replace(qfrc_constraint=force)


def _friction_at_optimum(loss: dict[str, Array], model: Model, data: Data) -> Array:
    """`friction_force` at the acceleration without this friction."""
    return friction_force(loss, model, data, _solved(model, data).qacc)


def _solved(model: Model, data: Data) -> Data:
    """`fwd_constraint` for all constraints that have rows."""
    layout = layout_of(model, data)
    if not layout.nrow:
        operands = model, data, data.qacc_smooth
        return data.replace(
            qacc=with_absent_friction(model, data.qacc_smooth, friction_acceleration, operands),
            qfrc_constraint=jnp.zeros_like(data.qfrc_smooth),
            solver_niter=jnp.int32(0),
            solver_gradient=jnp.zeros_like(data.solver_gradient),
        )
    problem = problem_of(model, data, layout)
    rules = rules_of(model, problem)
    found = minimize(SolverType(model.opt.solver), problem, start_of(model, data), rules)
    qacc, force, qfrc, niter, left = (
        found.qacc,
        found.force,
        found.qfrc,
        found.niter,
        found.gradient,
    )
    if rules.noslip_iterations:
        qacc, force, more, change = remove_slip(problem, force, rules)
        qfrc = mul_t(problem.jac, force)
        niter, left = niter + more, jnp.maximum(left, change)
    padding = data.efc_force.shape[0] - layout.nrow
    return data.replace(
        qacc=qacc,
        qfrc_constraint=qfrc,
        efc_force=jnp.pad(force, (0, padding)),
        solver_niter=where(data.nefc > 0, niter, 0).astype(jnp.int32),
        solver_gradient=left,
    )


def inv_constraint(model: Model, data: Data) -> Data:
    """Constraint forces of the acceleration `qacc` (`mj_invConstraint`).

    Derivatives are exact. At the border between active and inactive rows they are one-sided.
    """
    layout = layout_of(model, data)
    if not layout.nrow:
        none = jnp.zeros_like(data.qfrc_constraint)
        return _with_friction(model, data.replace(qfrc_constraint=none))
    problem = problem_of(model, data, layout)
    force = row_force(problem, residual(problem, data.qacc))
    padding = data.efc_force.shape[0] - layout.nrow
    data = data.replace(
        qfrc_constraint=mul_t(problem.jac, force),
        efc_force=jnp.pad(force, (0, padding)),
    )
    return _with_friction(model, data)
