"""Stages that fill the `efc_*` fields."""

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.constraint.jacobian import dense, mul, mul_t, row_jacobian
from mjjax.constraint.layout import RowLayout, layout_of
from mjjax.constraint.rows import all_rows
from mjjax.constraint.scalar_rows import scalar_rows
from mjjax.constraint.trees import find_islands, row_trees
from mjjax.core.enums import ConeType, DisableBit, SolverType, WarningType
from mjjax.core.profile import stage
from mjjax.dynamics.inertia import solve_m2
from mjjax.model.data import Contact, Data
from mjjax.model.model import Model
from mjjax.model.sleep import sleeps
from mjjax.sleep.stages import any_awake
from mjjax.xla.linalg import matmul
from mjjax.xla.namespace import Array, where


@stage
def make_constraint(model: Model, data: Data) -> Data:
    """Constraint rows from positions: residuals, constraint masses, counts (`mj_makeConstraint`).

    A row slot is active if its limit or contact is within its margin; the others have `efc_D` zero
    and exert no force. Contacts that find no row slots are counted in
    `data.warning[WarningType.CNSTRFULL]`. Derivatives are exact for a fixed set of active rows.
    """
    layout = layout_of(model, data)
    if not layout.nrow:
        return data.replace(nefc=jnp.int32(0))
    scalar = scalar_rows(model, data, layout)
    rows = all_rows(model, data, layout, scalar)
    n, on = layout.nscalar, rows.active
    if sleeps(model, data):
        awake = any_awake(data, row_trees(layout))
        on &= jnp.concatenate([awake, jnp.ones(len(on) - n, bool)])
    massive = jnp.concatenate([on[:n], jnp.repeat(on[n:], layout.slots.masses)])
    columns = {
        "efc_scalar_pos": where(on[:n], scalar.pos, 0),
        "efc_scalar_margin": where(on[:n], scalar.margin, 0),
        "efc_scalar_frictionloss": where(on[:n], scalar.frictionloss, 0),
        "efc_mass": where(massive, rows.mass, 0),
        "efc_spring": where(on, rows.spring, 0),
        "efc_damping": where(on, rows.damping, 0),
        "efc_friction_damping": rows.friction_damping,
        "efc_Jgeneral": scalar.jacobian,
    }
    contact, used, lost = _with_addresses(data.contact, layout, on[n:])
    counted = on[:n] & ~layout.frictionless(scalar.frictionloss)
    return data.with_warnings({WarningType.CNSTRFULL: lost > 0}).replace(
        nefc=jnp.sum(counted, dtype=jnp.int32) + used,
        contact=contact,
        **{k: _fit(v, getattr(data, k)) for k, v in columns.items()},
    )


def _with_addresses(contact: Contact, layout: RowLayout, on: Array) -> tuple[Contact, Array, Array]:
    """Contacts with the addresses of their rows, the number of these rows, and of contacts without.

    Args:
        contact: contacts.
        layout: row layout.
        on: (ncontact,) whether a contact has rows.
    """
    n = layout.ncontact
    lost = jnp.sum(contact.dim[n:] > 0, dtype=jnp.int32)
    if not n:
        return contact, jnp.int32(0), lost
    first = layout.nscalar + np.arange(n, dtype=np.int32) * layout.per_contact
    address = where(on, first, -1).astype(jnp.int32)
    used = where(on, layout.slots.rows_of(contact.dim[:n]), 0)
    contact = contact.replace(efc_address=_fit(address, contact.efc_address, -1))
    return contact, jnp.sum(used, dtype=jnp.int32), lost


@stage
def island(model: Model, data: Data) -> Data:
    """Finds the islands of trees that active rows connect (`mj_island`).

    It fills `tree_island` and `nisland`. Islands are numbered by their first trees. A tree without
    rows has the island -1. If the flag `island` is off, there are no islands. The results are
    integers and have no derivatives.
    """
    layout = layout_of(model, data)
    off = model.opt.disabled(DisableBit.ISLAND)
    if off or not layout.nrow or not model.structure.ntree:
        none = jnp.full_like(data.tree_island, -1)
        return data.replace(tree_island=none, nisland=jnp.int32(0))
    tree_island, nisland = find_islands(layout, data)
    return data.replace(tree_island=tree_island, nisland=nisland)


@stage
def reference_constraint(model: Model, data: Data) -> Data:
    """Row velocities J qvel, from which `Data.efc_aref` follows (`mj_referenceConstraint`)."""
    layout = layout_of(model, data)
    if not layout.nrow:
        return data
    velocity = _fit(mul(row_jacobian(model, data, layout), data.qvel), data.efc_vel)
    return data.replace(efc_vel=where(data.efc_D > 0, velocity, 0))


def constraint_jacobian(model: Model, data: Data) -> Array:
    """Jacobian of the constraint rows (njmax, nv), zero in empty slots (C's dense `efc_J`)."""
    layout = layout_of(model, data)
    matrix = dense(row_jacobian(model, data, layout))
    matrix = where(data.efc_D[: layout.nrow, None] > 0, matrix, 0)
    return _fit(matrix, jnp.zeros((data.efc_vel.shape[0], model.structure.nv), matrix.dtype))


def mul_jac_vec(model: Model, data: Data, v: Array) -> Array:
    """Constraint-space velocity or acceleration (njmax,) of a vector (nv,) (`mj_mulJacVec`)."""
    layout = layout_of(model, data)
    product = _fit(mul(row_jacobian(model, data, layout), v), data.efc_vel)
    return where(data.efc_D > 0, product, 0)


def mul_jac_t_vec(model: Model, data: Data, force: Array) -> Array:
    """Joint-space force (nv,) of constraint-space forces (njmax,) (`mj_mulJacTVec`)."""
    layout = layout_of(model, data)
    active = where(data.efc_D > 0, force, 0)[: layout.nrow]
    return mul_t(row_jacobian(model, data, layout), active)


def project_constraint(model: Model, data: Data) -> Array:
    """Matrix (njmax, njmax) of the dual problem, J M^-1 J' + diag(R) (`mj_projectConstraint`).

    C keeps this matrix as `efc_AR` for the solvers that work on forces. Here it is computed when
    you call the function, with zeros for empty slots. Derivatives are exact.
    """
    half = jax.vmap(lambda row: solve_m2(model, data, row))(constraint_jacobian(model, data))
    on = data.efc_D > 0
    r = where(on, 1 / where(on, data.efc_D, 1), 0)
    return matmul(half, half.T) + jnp.diag(r)


def is_pyramidal(model: Model) -> bool:
    """Whether friction cones are pyramids (`mj_isPyramidal`)."""
    return model.opt.cone == ConeType.PYRAMIDAL


def is_dual(model: Model) -> bool:
    """Whether the solver works on forces, not accelerations (`mj_isDual`)."""
    return model.opt.solver == SolverType.PGS or model.opt.noslip_iterations > 0


def _fit(values: Array, like: Array, fill: float = 0) -> Array:
    """`values`, padded at the end to the capacity of `like`."""
    missing = like.shape[0] - values.shape[0]
    if not missing or not like.size:  # rows without dofs have no entries
        return values
    return jnp.pad(values, [(0, missing)] + [(0, 0)] * (values.ndim - 1), constant_values=fill)
