"""Jacobian of the constraint rows as an operator."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from mjjax.collision.search import plan_of, slot_geoms
from mjjax.constraint.layout import RowLayout
from mjjax.dynamics.jacobian import contact_jacobian
from mjjax.math.linalg import gather, matmul, scatter_sum
from mjjax.math.namespace import Array
from mjjax.model.data import Data
from mjjax.model.model import Model


class RowJacobian(NamedTuple):
    """Jacobian (nrow, nv) of the rows, without those that touch a single dof.

    Attributes:
        general: (ngeneral, nv) scalar rows with a matrix.
        contact: (ncontact * per_contact, nv) contact rows.
    """

    general: Array
    contact: Array


def row_jacobian(model: Model, data: Data, layout: RowLayout) -> RowJacobian:
    """Jacobian of the rows as an operator, from the positions in `data`."""
    s, n = model.structure, layout.ncontact
    geoms = slot_geoms(model, data)
    contact = data.contact.replace(**{k: v[:n] for k, v in vars(data.contact).items()})
    frame = contact_jacobian(s, data, contact, None if geoms is None else geoms[:n], layout.width)
    if layout.pyramidal and layout.width > 1:
        friction = contact.friction[:, : layout.width - 1]
        if (plan_of(model, data.rules).dim == 1).any():
            friction = jnp.where(contact.dim[:, None] == 1, 0, friction)  # only a normal row
        frame = pyramid(frame, friction)
    return RowJacobian(data.efc_Jgeneral, frame.reshape(n * layout.per_contact, s.nv))


def pyramid(frame: Array, friction: Array) -> Array:
    """Edges (ncontact, 2 (width - 1), nv) of the friction pyramid: normal +- mu_i tangent_i.

    Args:
        frame: (ncontact, width, nv) contact-frame rows.
        friction: (ncontact, width - 1) friction coefficients.
    """
    count, width, nv = frame.shape
    both = friction[:, :, None] * np.array([[[1, -1]]], friction.dtype)
    edges = frame[:, :1, None] + both[..., None] * frame[:, 1:, None]
    return edges.reshape(count, 2 * (width - 1), nv)


def mul(layout: RowLayout, jac: RowJacobian, v: Array) -> Array:
    """Product J v (nrow,)."""
    scalar = gather(v, layout.dof) * layout.sign.astype(v.dtype)
    if len(layout.general):
        scalar = _merge(layout, scalar, matmul(jac.general, v))
    return jnp.concatenate([scalar, matmul(jac.contact, v)])


def mul_t(layout: RowLayout, jac: RowJacobian, f: Array) -> Array:
    """Product J' f (nv,)."""
    single = gather(f, layout.single) * layout.sign.astype(f.dtype)
    total = scatter_sum(single, layout.dof, layout.nv)
    if len(layout.general):
        total = total + matmul(f[layout.general], jac.general)
    return total + matmul(f[layout.nscalar :], jac.contact)


def dense(layout: RowLayout, jac: RowJacobian) -> Array:
    """The Jacobian as a matrix (nrow, nv)."""
    scalar = jnp.zeros((layout.nscalar, layout.nv), jac.contact.dtype)
    scalar = scalar.at[layout.single, layout.dof].set(layout.sign.astype(scalar.dtype))
    return jnp.concatenate([scalar.at[layout.general].set(jac.general), jac.contact])


def _merge(layout: RowLayout, single: Array, general: Array) -> Array:
    order = np.argsort(np.concatenate([layout.single, layout.general]))
    return jnp.concatenate([single, general])[order]
