"""Jacobian of the constraint rows as an operator."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from mjjax.constraint.layout import RowLayout
from mjjax.dynamics.tree import tree_plan
from mjjax.math.linalg import gather, matmul, scatter_sum
from mjjax.math.namespace import Array
from mjjax.math.quat import cross
from mjjax.math.spatial import mat3
from mjjax.model.data import Contact, Data
from mjjax.model.structure import Structure


class RowJacobian(NamedTuple):
    """Jacobian (nrow, nv) of the rows, without those that touch a single dof.

    Attributes:
        general: (ngeneral, nv) scalar rows with a matrix.
        contact: (ncontact * per_contact, nv) contact rows.
    """

    general: Array
    contact: Array


def contact_jacobian(
    s: Structure, data: Data, contact: Contact, geoms: np.ndarray | None, width: int
) -> Array:
    """Relative motion of the two bodies in the contact frames (ncontact, width, nv).

    Rows: normal, two tangential, torsional, two rolling. Every dof moves the contact point by the
    same velocity on either body, so a row is its axis times (moves body 2) - (moves body 1).

    Args:
        s: structure.
        data: data with `cdof`, `subtree_com`.
        contact: contact slots.
        geoms: (ncontact, 2) static geoms of the slots, or None to take those in `contact`.
        width: number of rows.
    """
    moves = tree_plan(s).moves
    geom = contact.geom if geoms is None else geoms
    table = moves.astype(np.int8)
    if geoms is None:
        body = jnp.asarray(s.geom_bodyid)[jnp.maximum(geom, 0)]
        side = jnp.asarray(table)[body[:, 1]] - jnp.asarray(table)[body[:, 0]]
        side = jnp.where(contact.geom[:, :1] >= 0, side, 0)
    else:
        body = s.geom_bodyid[geom]
        side = table[body[:, 1]] - table[body[:, 0]]
    axis, center = _common_axes(s, data)
    frame = mat3(contact.frame)
    arm = (contact.pos - center)[:, None]
    wrench = jnp.concatenate([cross(jnp.broadcast_to(arm, frame.shape), frame), frame], axis=-1)
    if width > 3:
        wrench = jnp.concatenate(
            [wrench, jnp.concatenate([frame, jnp.zeros_like(frame)], axis=-1)], axis=1
        )
    count = len(wrench)
    jac = matmul(wrench[:, :width].reshape(count * width, 6), axis.T)
    jac = jac.reshape(count, width, s.nv)
    return jac * jnp.asarray(side, jac.dtype)[:, None]


def _common_axes(s: Structure, data: Data) -> tuple[Array, Array]:
    """Motion axes (nv, 6) about one point (1, 3): the root's centre of mass if single."""
    roots = np.unique(s.body_rootid[s.dof_bodyid])
    if len(roots) == 1:
        return data.cdof, data.subtree_com[roots]
    center = jnp.mean(data.subtree_com[roots], axis=0, keepdims=True)
    shift = center - data.subtree_com[s.body_rootid[s.dof_bodyid]]
    ang, lin = data.cdof[:, :3], data.cdof[:, 3:]
    return jnp.concatenate([ang, lin + cross(ang, shift)], axis=-1), center


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
