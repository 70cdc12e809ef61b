"""Constraint rows: friction loss, limits, contacts."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from mjjax.collision.driver import plan_of, slot_geoms
from mjjax.constraint.impedance import impedance, regularization, stiffness_damping
from mjjax.constraint.jacobian import RowJacobian, contact_jacobian, pyramid
from mjjax.constraint.layout import RowLayout, row_layout
from mjjax.core.constants import MINVAL
from mjjax.core.enums import DisableBit
from mjjax.math import quat, safe
from mjjax.math.linalg import rows
from mjjax.math.namespace import Array
from mjjax.model.data import Contact, Data
from mjjax.model.model import Model


class Rows(NamedTuple):
    """Parameters of row slots (n,); an inactive slot has `D == 0`."""

    active: Array
    pos: Array
    margin: Array
    K: Array
    B: Array
    imp: Array
    R: Array
    frictionloss: Array


def layout_of(model: Model, data: Data) -> RowLayout:
    """Row layout of a model and the capacities of its data."""
    return row_layout(model, data.contact.dist.shape[0], data.efc_D.shape[0], plan_of(model).maxdim)


class Scalars(NamedTuple):
    """What determines scalar rows (n,): residual, margin, solver parameters, inverse weight."""

    active: Array
    pos: Array
    margin: Array
    solref: Array
    solimp: Array
    diag: Array
    frictionloss: Array


def all_rows(model: Model, data: Data, layout: RowLayout) -> Rows:
    """Rows of every kind, in slot order."""
    parts = [friction_rows(model, layout), limit_rows(model, data.qpos, layout)]
    scalar = Scalars(*(jnp.concatenate(column) for column in zip(*parts, strict=True)))
    if not layout.ncontact:
        imp = impedance(scalar.solimp, scalar.pos - scalar.margin)
        return scalar_rows(model, scalar, layout, imp)
    # one evaluation of the impedance for all: its powers are costly to compile and to compute
    distance, solimp = contact_distance(data.contact, layout), data.contact.solimp
    imp = impedance(
        jnp.concatenate([scalar.solimp, solimp[: layout.ncontact]]),
        jnp.concatenate([scalar.pos - scalar.margin, distance]),
    )
    n = layout.nscalar
    found = (
        scalar_rows(model, scalar, layout, imp[:n]),
        contact_rows(model, data.contact, layout, imp[n:]),
    )
    return Rows(*(jnp.concatenate(column) for column in zip(*found, strict=True)))


def _reference(model: Model, solref: Array, solimp: Array) -> tuple[Array, Array]:
    refsafe = not model.opt.disabled(DisableBit.REFSAFE)
    return stiffness_damping(solref, solimp, model.opt.timestep, refsafe)


def scalar_rows(model: Model, rows: Scalars, layout: RowLayout, imp: Array) -> Rows:
    """Rows of friction and limits from their impedance; friction has no stiffness."""
    k, b = _reference(model, rows.solref, rows.solimp)
    friction = np.arange(layout.nscalar) < len(layout.friction)
    return Rows(
        active=rows.active,
        pos=rows.pos,
        margin=rows.margin,
        K=jnp.where(friction, 0, k),
        B=b,
        imp=imp,
        R=regularization(imp, rows.diag),
        frictionloss=rows.frictionloss,
    )


def friction_rows(model: Model, layout: RowLayout) -> Scalars:
    """Dry friction: |force| <= frictionloss, residual zero."""
    dof = layout.friction
    zero = jnp.zeros(len(dof), model.dof_frictionloss.dtype)
    loss = rows(model.dof_frictionloss, dof)
    return Scalars(
        active=loss > 0,
        pos=zero,
        margin=zero,
        solref=rows(model.dof_solref, dof),
        solimp=rows(model.dof_solimp, dof),
        diag=rows(model.dof_invweight0, dof),
        frictionloss=loss,
    )


def limit_rows(model: Model, qpos: Array, layout: RowLayout) -> Scalars:
    """Joint limits: side (value - bound) < margin; balls limit the rotation angle."""
    s, joint = model.structure, layout.limit_joint
    value = rows(qpos, s.jnt_qposadr[joint])
    bounds = rows(model.jnt_range, joint)
    low, high = bounds[:, 0], bounds[:, 1]
    dist = jnp.where(layout.limit_side > 0, value - low, high - value)
    ball = layout.limit_side == 0
    if ball.any():
        angle, _ = ball_angles(model, qpos, joint[ball])
        index = np.maximum(np.cumsum(ball) - 1, 0)
        dist = jnp.where(ball, (jnp.maximum(low, high)[ball] - angle)[index], dist)
    margin = rows(model.jnt_margin, joint)
    return Scalars(
        active=dist < margin,
        pos=dist,
        margin=margin,
        solref=rows(model.jnt_solref, joint),
        solimp=rows(model.jnt_solimp, joint),
        diag=rows(model.dof_invweight0, s.jnt_dofadr[joint]),
        frictionloss=jnp.zeros_like(dist),
    )


def ball_angles(model: Model, qpos: Array, joint: np.ndarray) -> tuple[Array, Array]:
    """Angle (n,) and unit axis (n, 3) of ball joints; the axis is (1, 0, 0) at zero angle."""
    adr = model.structure.jnt_qposadr[joint][:, None] + np.arange(4)
    axis, angle = safe.normalize(quat.log(quat.normalize(qpos[adr])))
    return angle[:, 0], axis


def general_jacobian(model: Model, data: Data, layout: RowLayout) -> Array:
    """Rows (ngeneral, nv) of the ball limits: minus the axis of the rotation."""
    s = model.structure
    joint = layout.limit_joint[layout.limit_side == 0]
    if not len(joint):
        return jnp.zeros((0, s.nv), data.qpos.dtype)
    _, axis = ball_angles(model, data.qpos, joint)
    column = np.arange(s.nv)[None] - s.jnt_dofadr[joint][:, None]
    padded = jnp.concatenate([-axis, jnp.zeros((len(joint), 1), axis.dtype)], axis=1)
    return padded[np.arange(len(joint))[:, None], np.where((column >= 0) & (column < 3), column, 3)]


def contact_weights(model: Model, contact: Contact, layout: RowLayout) -> tuple[Array, Array]:
    """Sum of both bodies' inverse weights (ncontact,): translation, rotation."""
    s = model.structure
    geoms = slot_geoms(model, contact.dist.shape[0])
    if geoms is None:
        body = jnp.asarray(s.geom_bodyid)[jnp.maximum(contact.geom, 0)]
    else:
        body = s.geom_bodyid[geoms]
    weight = model.body_invweight0[body]
    total = (weight[:, 0] + weight[:, 1])[: layout.ncontact]
    return total[:, 0], total[:, 1]


def _included(contact: Contact, n: int) -> Array:
    return (contact.dim[:n] > 0) & (contact.dist[:n] < contact.includemargin[:n])


def contact_distance(contact: Contact, layout: RowLayout) -> Array:
    """Distance minus margin (ncontact,) of the contacts that exert forces, 0 elsewhere [m]."""
    n = layout.ncontact
    return jnp.where(_included(contact, n), contact.dist[:n] - contact.includemargin[:n], 0)


def contact_rows(model: Model, contact: Contact, layout: RowLayout, imp: Array) -> Rows:
    """Contacts: pyramid edges, or normal and friction rows of the elliptic cone."""
    n, width, per = layout.ncontact, layout.width, layout.per_contact
    dist, margin = contact.dist[:n], contact.includemargin[:n]
    solimp, dim = contact.solimp[:n], contact.dim[:n]
    included = _included(contact, n)
    pos = jnp.where(included, dist, 0)
    k, b = _reference(model, contact.solref[:n], solimp)
    trans, _ = contact_weights(model, contact, layout)
    friction = contact.friction[:n]
    normal_r = regularization(imp, trans)
    slot = np.arange(per, dtype=np.int32)[None]
    shape = (n, per)

    def spread(x: Array) -> Array:
        return jnp.broadcast_to(x[:, None], shape)

    if layout.pyramidal:
        first = friction[:, :1] ** 2
        edge_r = regularization(imp, trans + first[:, 0] * trans)[:, None]
        both = jnp.maximum(MINVAL, 2 * first / model.opt.impratio * edge_r)
        r = jnp.where(dim[:, None] == 1, normal_r[:, None], both) + jnp.zeros(shape, both.dtype)
        rows_of = jnp.where(dim == 1, 1, 2 * (dim - 1))
        k_row, b_row, pos_row, margin_row = spread(k), spread(b), spread(pos), spread(margin)
    else:
        r = elliptic_regularization(normal_r, friction[:, : width - 1], model.opt.impratio)
        rows_of = dim
        first_row = slot == 0
        own = jnp.any(contact.solreffriction[:n] != 0, axis=-1)
        _, b_friction = _reference(
            model, jnp.where(own[:, None], contact.solreffriction[:n], contact.solref[:n]), solimp
        )
        k_row = jnp.where(first_row, k[:, None], 0)
        b_row = jnp.where(first_row, b[:, None], b_friction[:, None])
        pos_row = jnp.where(first_row, pos[:, None], 0)
        margin_row = jnp.where(first_row, margin[:, None], 0)
    active = included[:, None] & (slot < rows_of[:, None])
    columns = (active, pos_row, margin_row, k_row, b_row, spread(imp), r, jnp.zeros(shape, r.dtype))
    return Rows(*(c.reshape(-1) for c in columns))


def elliptic_regularization(normal_r: Array, friction: Array, impratio: Array) -> Array:
    """R (n, width): R_1 = R_0 / impratio, R_j = R_1 mu_1^2 / mu_j^2."""
    first = jnp.maximum(MINVAL, normal_r / impratio)[:, None]
    return jnp.concatenate([normal_r[:, None], first * (friction[:, :1] / friction) ** 2], axis=-1)


def row_jacobian(model: Model, data: Data, layout: RowLayout) -> RowJacobian:
    """Jacobian of the rows as an operator, from the positions in `data`."""
    s, n = model.structure, layout.ncontact
    geoms = slot_geoms(model, data.contact.dist.shape[0])
    contact = data.contact.replace(**{k: v[:n] for k, v in vars(data.contact).items()})
    frame = contact_jacobian(s, data, contact, None if geoms is None else geoms[:n], layout.width)
    if layout.pyramidal and layout.width > 1:
        friction = contact.friction[:, : layout.width - 1]
        if (plan_of(model).dim == 1).any():
            friction = jnp.where(contact.dim[:, None] == 1, 0, friction)  # only a normal row
        frame = pyramid(frame, friction)
    return RowJacobian(data.efc_Jgeneral, frame.reshape(n * layout.per_contact, s.nv))
