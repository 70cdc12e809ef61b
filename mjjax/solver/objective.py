"""Row costs of the constraint solver, their forces and curvature.

A scalar row is quadratic, D r^2 / 2, until its force -D r meets a bound, and linear beyond:
unilateral rows (limits, frictionless contacts, pyramid edges) have bounds 0 and infinity, dry
friction has plus and minus frictionloss. With f the force, the cost is -f r - f^2 / (2 D) in every
zone. An elliptic contact is one cone: `mjjax.solver.cone`.
"""

from typing import NamedTuple

import jax.numpy as jnp

from mjjax.constraint.jacobian import mul, mul_t
from mjjax.constraint.layout import RowLayout
from mjjax.core.enums import ConstraintState
from mjjax.math.linalg import einsum, gather, matmul, scatter_sum
from mjjax.math.namespace import Array
from mjjax.solver import cone
from mjjax.solver.problem import Problem


class Split(NamedTuple):
    """Row values split by kind: scalar rows (n,) and elliptic contacts (ncontact, width)."""

    scalar: Array
    cone: Array


def split(layout: RowLayout, rows: Array) -> Split:
    """Separates the rows of elliptic contacts from the scalar ones."""
    count = layout.nrow if layout.pyramidal else layout.nscalar
    ncone = 0 if layout.pyramidal else layout.ncontact
    return Split(rows[:count], rows[count:].reshape(ncone, layout.width))


def scalar_force(problem: Problem, layout: RowLayout, r: Array) -> tuple[Array, Array, Array]:
    """Force, constraint mass and where the scalar rows are strictly between their bounds."""
    n = r.shape[0]
    d, low, high = problem.D[:n], problem.low[:n], problem.high[:n]
    free = -d * r
    above, below = free >= high, free <= low
    # where the bounds meet, at no friction, each side has the derivative of its own bound
    force = jnp.where(above, high, jnp.where(below, low, free))
    return force, d, ~above & ~below


def row_force(problem: Problem, layout: RowLayout, r: Array) -> Array:
    """Row forces (n,) minus the gradient of the cost at the residuals `r`."""
    parts = split(layout, r)
    force, _, _ = scalar_force(problem, layout, parts.scalar)
    if layout.pyramidal:
        return force
    d = split(layout, problem.D).cone
    return jnp.concatenate([force, cone.force(problem, d, parts.cone).reshape(-1)])


def row_state(problem: Problem, layout: RowLayout, r: Array) -> Array:
    """Zone (n,) of every row at the residuals `r`, as `ConstraintState`."""
    parts = split(layout, r)
    force, d, inside = scalar_force(problem, layout, parts.scalar)
    low = problem.low[: len(d)]
    beyond = jnp.where(
        low == 0,
        ConstraintState.SATISFIED,
        jnp.where(force <= low, ConstraintState.LINEARPOS, ConstraintState.LINEARNEG),
    )
    scalar = jnp.where(inside, ConstraintState.QUADRATIC, beyond)
    if layout.pyramidal:
        return scalar.astype(jnp.int32)
    state = cone.state(problem, parts.cone)
    return jnp.concatenate([scalar, jnp.repeat(state, layout.width)]).astype(jnp.int32)


def row_cost(problem: Problem, layout: RowLayout, r: Array) -> Array:
    """Sum of the row costs at the residuals `r`."""
    parts = split(layout, r)
    f, d, _ = scalar_force(problem, layout, parts.scalar)
    weight = jnp.where(d > 0, 0.5 / jnp.where(d > 0, d, 1), 0)
    total = -jnp.sum(f * parts.scalar + weight * f * f)
    if layout.pyramidal:
        return total
    d = split(layout, problem.D).cone
    return total + jnp.sum(cone.cost(problem, d, parts.cone))


def residual(problem: Problem, layout: RowLayout, a: Array) -> Array:
    """Row residuals J a - aref (n,)."""
    return mul(layout, problem.jac, a) - problem.aref


def gradient(problem: Problem, layout: RowLayout, a: Array) -> Array:
    """Gradient of the objective (nv,): M a - smooth - J' f(J a - aref)."""
    force = row_force(problem, layout, residual(problem, layout, a))
    return matmul(problem.M, a) - problem.smooth - mul_t(layout, problem.jac, force)


def hessian(problem: Problem, layout: RowLayout, r: Array) -> Array:
    """Hessian of the objective (nv, nv): M + J' s''(r) J.

    Single rows add to the diagonal, contacts J_c' W J_c with W diagonal, or a block per cone.
    """
    parts, jac = split(layout, r), problem.jac
    _, d, inside = scalar_force(problem, layout, parts.scalar)
    weight = jnp.where(inside, d, 0)
    total = problem.M
    if len(layout.single):
        diagonal = scatter_sum(gather(weight, layout.single), layout.dof, layout.nv)
        total = total + jnp.eye(layout.nv, dtype=diagonal.dtype) * diagonal[:, None]
    if len(layout.general):
        g = jac.general
        total = total + matmul(g.T * weight[layout.general][None], g)
    if layout.ncontact:
        total = total + matmul(jac.contact.T, _weighted(problem, layout, weight, parts.cone))
    return total


def _weighted(problem: Problem, layout: RowLayout, weight: Array, r: Array) -> Array:
    """Contact rows (ncontact * per_contact, nv) times their curvature."""
    contact = problem.jac.contact
    if layout.pyramidal:
        return weight[layout.nscalar :, None] * contact
    block = cone.hessian(problem, split(layout, problem.D).cone, r)
    frame = contact.reshape(layout.ncontact, layout.width, layout.nv)
    return einsum("ckl,cln->ckn", block, frame).reshape(contact.shape)
