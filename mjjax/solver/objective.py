"""Row costs of the constraint solver, with their forces and curvature.

With r = J qacc - aref (`Jaref`), the cost of a row is D r^2 / 2 until its force f = -D r meets a
bound, and linear in r beyond the bound. In every zone the cost is -f r - f^2 / (2 D). Equalities
have no bounds. Limits, edges of pyramids and contacts without friction in a pyramidal model have
the bounds 0 and infinity. Dry friction has the bounds plus and minus frictionloss. With elliptic
cones, the cost of a contact of any dimension is one function of all of its rows:
`mjjax.solver.cone`.
"""

import operator
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from mjjax.constraint.jacobian import mul, mul_t
from mjjax.constraint.layout import RowLayout
from mjjax.core.enums import ConstraintState
from mjjax.model.trees import dense_blocks
from mjjax.solver import cone
from mjjax.solver.problem import Problem
from mjjax.xla.indexing import gather, scatter_sum
from mjjax.xla.linalg import by_entry, matmul, row_sum
from mjjax.xla.namespace import Array, where


class Split(NamedTuple):
    """Row values, separated by how they enter the cost.

    Attributes:
        separable: (m,) values of rows whose cost depends only on their own residual. These are all
            rows of a pyramidal model, otherwise the rows without a contact.
        cone: (ncontact, width) values of elliptic contacts.
    """

    separable: Array
    cone: Array


def split(layout: RowLayout, rows: Array) -> Split:
    """Separates the rows of elliptic contacts from those whose costs are separable."""
    count = layout.nrow if layout.pyramidal else layout.nscalar
    ncone = 0 if layout.pyramidal else layout.ncontact
    return Split(rows[:count], rows[count:].reshape(ncone, layout.width))


def separable_force(problem: Problem, Jaref: Array) -> tuple[Array, Array, Array]:
    """Force, mass D and whether the force is between its bounds, of separable rows (m,)."""
    n = Jaref.shape[0]
    d, low, high = problem.D[:n], problem.low[:n], problem.high[:n]
    unbounded = -(d * Jaref)
    above, below = unbounded >= high, unbounded <= low
    # With a frictionloss of zero, both bounds are zero. The order of the choices then gives each
    # side the derivative by its own bound.
    force = where(above, high, where(below, low, unbounded))
    return force, d, ~above & ~below


def half_inverse(d: Array) -> Array:
    """1 / (2 D) of rows (n,), 0 for inactive ones."""
    return 0.5 / where(d > 0, d, jnp.inf)


def row_force(problem: Problem, Jaref: Array) -> Array:
    """Row forces (n,): the negative gradient of the cost at the residuals `Jaref`."""
    layout = problem.layout
    parts = split(layout, Jaref)
    force, _, _ = separable_force(problem, parts.separable)
    if layout.pyramidal:
        return force
    d = split(layout, problem.D).cone
    return jnp.concatenate([force, cone.force(problem, d, parts.cone).reshape(-1)])


def row_state(problem: Problem, Jaref: Array) -> Array:
    """Zone (n,) of every row at the residuals `Jaref`, as `ConstraintState`."""
    layout = problem.layout
    parts = split(layout, Jaref)
    force, d, inside = separable_force(problem, parts.separable)
    low = problem.low[: len(d)]
    beyond = where(
        low == 0,
        ConstraintState.SATISFIED,
        where(force <= low, ConstraintState.LINEARPOS, ConstraintState.LINEARNEG),
    )
    scalar = where(inside, ConstraintState.QUADRATIC, beyond)
    if layout.pyramidal:
        return scalar.astype(jnp.int32)
    state = cone.state(problem, parts.cone)
    return jnp.concatenate([scalar, jnp.repeat(state, layout.width)]).astype(jnp.int32)


def same_piece(problem: Problem, Jaref: Array, other: Array) -> Array:
    """Whether the cost of each row (n,) is the same quadratic function at both residuals.

    It is False in the middle zone of a cone, where the cost is not quadratic.
    """

    def sides(Jaref: Array) -> tuple[Array, Array]:
        free = -(problem.D[: len(Jaref)] * Jaref)
        return free >= problem.high[: len(Jaref)], free <= problem.low[: len(Jaref)]

    layout = problem.layout
    one, two = split(layout, Jaref), split(layout, other)
    before, after = sides(one.separable), sides(two.separable)
    scalar = (before[0] == after[0]) & (before[1] == after[1])
    if layout.pyramidal:
        return scalar
    states = cone.state(problem, one.cone), cone.state(problem, two.cone)
    same = (states[0] == states[1]) & (states[1] != ConstraintState.CONE)
    return jnp.concatenate([scalar, jnp.repeat(same, layout.width)])


def row_cost(problem: Problem, Jaref: Array) -> Array:
    """Sum of the row costs at the residuals `Jaref`."""
    layout = problem.layout
    parts = split(layout, Jaref)
    f, d, _ = separable_force(problem, parts.separable)
    total = -matmul(f, parts.separable + half_inverse(d) * f)
    if layout.pyramidal:
        return total
    d = split(layout, problem.D).cone
    return total + jnp.sum(cone.cost(problem, d, parts.cone))


def residual(problem: Problem, qacc: Array) -> Array:
    """Row residuals J qacc - aref (n,)."""
    return mul(problem.jac, qacc) - problem.aref


def smooth_gradient(problem: Problem, qacc: Array) -> Array:
    """Gradient of the objective without the rows (nv,): M qacc - qfrc_smooth."""
    return problem.inertia.times(problem.layout.structure, qacc) - problem.qfrc_smooth


def gradient(problem: Problem, qacc: Array) -> Array:
    """Gradient of the objective (nv,): M qacc - qfrc_smooth - J' f(J qacc - aref)."""
    force = row_force(problem, residual(problem, qacc))
    return smooth_gradient(problem, qacc) - mul_t(problem.jac, force)


def hessian(problem: Problem, Jaref: Array, whole: bool = True) -> Array:
    """Hessian of the objective (nv, nv): M + J' W J, where W is the second derivative of the costs.

    A row of one dof has the Jacobian 1 or -1 and adds W on the diagonal. Other scalar rows add
    J' W J. Contacts add F' W F, where F is the Jacobian in their frames and W a matrix per contact.

    Args:
        problem: the problem.
        Jaref: (n,) row residuals.
        whole: if it is false, only the diagonal and the entries above it are valid, and the result
            has no derivative by the inertia.
    """
    layout = problem.layout
    bent, jac = curvature(problem, Jaref), problem.jac
    inertia = problem.inertia.M if whole else problem.inertia.upper
    total = dense_blocks(layout.structure, inertia)
    if len(layout.single):
        total = (
            total + np.eye(layout.nv, dtype=total.dtype) * single_curvature(layout, bent)[:, None]
        )
    if len(layout.general):
        g = jac.general
        total = total + matmul(g.T * bent.scalar[layout.general][None], g)
    if layout.ncontact:
        curved = jac.contact.mul_jt_b_j(layout.structure, contact_blocks(layout, bent))
        total = by_entry(operator.add, total, curved)
    return total


class Curvature(NamedTuple):
    """Second derivatives of the row costs.

    Attributes:
        scalar: (nscalar,) curvature of the rows without a contact.
        contact: curvature of contacts in their frames, (ncontact, width, width). Pyramids couple
            only the normal with tangents, so they have (ncontact, 2 width - 1) entries: the
            diagonal, then the entries of normal and tangent.
    """

    scalar: Array
    contact: Array


def curvature(problem: Problem, Jaref: Array) -> Curvature:
    """Curvature of the row costs at the residuals `Jaref`."""
    layout = problem.layout
    parts, n = split(layout, Jaref), layout.nscalar
    _, d, inside = separable_force(problem, parts.separable)
    weight = where(inside, d, 0)
    if not layout.pyramidal:
        block = cone.hessian(problem, split(layout, problem.D).cone, parts.cone)
        return Curvature(weight, block)
    edge = weight[n:].reshape(layout.ncontact, layout.per_contact)
    if not layout.has_edges:
        return Curvature(weight[:n], edge)
    mu = problem.jac.friction
    pair = edge.reshape(*mu.shape, 2)
    both, difference = pair[..., 0] + pair[..., 1], pair[..., 0] - pair[..., 1]
    normal = row_sum(edge)
    # The edges of tangent j have the Jacobians J_n + mu_j J_j and J_n - mu_j J_j and the weights w+
    # and w-. In the frame, H_nn is the sum of all weights, H_jj = mu_j^2 (w+ + w-) and H_nj =
    # mu_j (w+ - w-). Tangents are not coupled. A contact without friction has mu = 0.
    return Curvature(weight[:n], jnp.concatenate([normal, mu * mu * both, mu * difference], axis=1))


def contact_blocks(layout: RowLayout, bent: Curvature) -> Array:
    """Curvature of contacts (ncontact, width, width); pyramids have a compact form in `bent`."""
    if bent.contact.ndim == 3:
        return bent.contact
    own, cross = bent.contact[:, : layout.width], bent.contact[:, layout.width :]
    unit = np.eye(layout.width, dtype=own.dtype)[None]
    tangent = jnp.pad(cross, ((0, 0), (1, 0)))
    column, row = tangent[:, :, None], tangent[:, None]
    return own[:, None] * unit + column * unit[:, :1] + row * unit[:, :, :1]


def single_curvature(layout: RowLayout, bent: Curvature) -> Array:
    """Diagonal (nv,) that rows of one dof add to the Hessian; their Jacobian is 1 or -1."""
    return scatter_sum(gather(bent.scalar, layout.single), layout.dof, layout.nv)
