"""Jacobian of the constraint rows as an operator."""

import jax.numpy as jnp
import numpy as np

from mjjax.collision.plan.search import plan_of, slot_geoms
from mjjax.constraint.contact_rows import ContactRows, body_rows, dof_rows
from mjjax.constraint.layout import RowLayout
from mjjax.core.struct import PyTree, static
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.xla.indexing import gather, scatter_sum
from mjjax.xla.linalg import matmul, row_sum
from mjjax.xla.namespace import Array, where


class RowJacobian(PyTree):
    """Jacobian (nrow, nv) of the rows, without those that touch a single dof.

    Attributes:
        general: (ngeneral, nv) scalar rows with a matrix.
        contact: contact-frame rows. An edge of a pyramid is a combination of these rows. Products
            apply the combination to vectors, so that edges are never stored.
        friction: (ncontact, width - 1) slopes of the edges; empty for elliptic cones.
        layout: row layout.
    """

    general: Array
    contact: ContactRows
    friction: Array
    layout: RowLayout = static()


def row_jacobian(model: Model, data: Data, layout: RowLayout) -> RowJacobian:
    """Jacobian of the rows as an operator, from the positions in `data`."""
    s, n, width = model.structure, layout.ncontact, layout.width
    contact = data.contact.replace(**{k: v[:n] for k, v in vars(data.contact).items()})
    if layout.by_body:
        rows: ContactRows = body_rows(s, data, contact, width)
    else:
        geoms = slot_geoms(model, data)
        geoms = None if geoms is None else geoms[:n]
        rows = dof_rows(s, data, contact, geoms, width)
    friction = contact.friction[:, : width - 1 if layout.has_edges else 0]
    if layout.has_edges and (plan_of(model, data.rules).dim == 1).any():
        friction = where(contact.dim[:, None] == 1, 0, friction)  # only a normal row
    # Without dofs the field has no entries, and its shape does not say how many rows there are.
    general = data.efc_Jgeneral.reshape(len(layout.general), layout.nv)
    return RowJacobian(general, rows, friction, layout)


def edges(layout: RowLayout, friction: Array, u: Array) -> Array:
    """Rows (ncontact, per_contact, ...) from contact-frame values (ncontact, width, ...).

    The edges of a friction pyramid are normal +- mu_i tangent_i. The rows of an elliptic cone are
    those of the contact frame.
    """
    if not layout.has_edges:
        return u
    slope = friction.reshape(*friction.shape, *[1] * (u.ndim - 2)) * u[:, 1:]
    both = jnp.stack([u[:, :1] + slope, u[:, :1] - slope], axis=2)
    return both.reshape(len(u), layout.per_contact, *u.shape[2:])


def frame_forces(layout: RowLayout, friction: Array, f: Array) -> Array:
    """Transpose of `edges`: forces (ncontact, width) in the frame from row forces."""
    f = f.reshape(layout.ncontact, layout.per_contact)
    if not layout.has_edges:
        return f
    pair = f.reshape(layout.ncontact, layout.width - 1, 2)
    tangent = friction * (pair[..., 0] - pair[..., 1])
    return jnp.concatenate([row_sum(f), tangent], axis=1)


def mul(jac: RowJacobian, v: Array) -> Array:
    """Product J v (nrow,)."""
    layout = jac.layout
    scalar = gather(v, layout.dof) * layout.sign.astype(v.dtype)
    if len(layout.general):
        scalar = _merge(layout, scalar, matmul(jac.general, v))
    if not layout.ncontact:
        return scalar
    frame = jac.contact.velocity(layout.structure, v)
    return jnp.concatenate([scalar, edges(layout, jac.friction, frame).reshape(-1)])


def mul_t(jac: RowJacobian, f: Array) -> Array:
    """Product J' f (nv,)."""
    layout = jac.layout
    single = gather(f, layout.single) * layout.sign.astype(f.dtype)
    total = scatter_sum(single, layout.dof, layout.nv)
    if len(layout.general):
        total = total + matmul(f[layout.general], jac.general)
    if not layout.ncontact:
        return total
    frame = frame_forces(layout, jac.friction, f[layout.nscalar :])
    return total + jac.contact.force(layout.structure, frame)


def dense(jac: RowJacobian) -> Array:
    """The Jacobian as a matrix (nrow, nv)."""
    layout = jac.layout
    scalar = jnp.zeros((layout.nscalar, layout.nv), jac.general.dtype)
    scalar = scalar.at[layout.single, layout.dof].set(layout.sign.astype(scalar.dtype))
    scalar = scalar.at[layout.general].set(jac.general)
    contact = edges(layout, jac.friction, jac.contact.dense(layout.structure))
    return jnp.concatenate([scalar, contact.reshape(layout.nrow - layout.nscalar, layout.nv)])


def _merge(layout: RowLayout, single: Array, general: Array) -> Array:
    order = np.argsort(np.concatenate([layout.single, layout.general]))
    return jnp.concatenate([single, general])[order]
