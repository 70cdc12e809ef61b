"""The values that determine the scalar rows, kind by kind: equalities, dry friction, limits."""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from mjjax.constraint.equality import equalities
from mjjax.constraint.layout import FLAGS, RowLayout, slots_of
from mjjax.core.enums import ConstraintType
from mjjax.math import quat, safe
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.xla.indexing import gather, gather_parameters
from mjjax.xla.namespace import Array, where


class ScalarRows(NamedTuple):
    """Scalar rows (n,) before their impedance is known.

    Attributes:
        active: whether the row exists now.
        pos: residual.
        distance: distance that determines the impedance: pos - margin, or the norm over the rows of
            an equality.
        margin: margin of inclusion.
        solref: (n, 2) reference.
        solimp: (n, 5) impedance.
        weight: inverse weight that scales the regularization.
        frictionloss: largest friction force; 0 for other kinds.
        jacobian: (m, nv) Jacobian of the rows that need a matrix.
    """

    active: Array
    pos: Array
    distance: Array
    margin: Array
    solref: Array
    solimp: Array
    weight: Array
    frictionloss: Array
    jacobian: Array


def scalar_rows(model: Model, data: Data, layout: RowLayout) -> ScalarRows:
    """All scalar rows in slot order."""
    parts = [
        rows_of(model, data, layout)
        for kind, rows_of in ROWS_OF_KIND.items()
        if (layout.kind == kind).any()
    ]
    if not parts:
        return _no_rows(data)
    rows = ScalarRows(*(jnp.concatenate(column) for column in zip(*parts, strict=True)))
    off = slots_of(model, data.rules).disabled & ~data.slots.disabled
    if not off:
        return rows
    on = ~np.isin(layout.kind, [kind for kind, flag in FLAGS.items() if off & flag])
    return rows._replace(active=rows.active & on)


def _equality(model: Model, data: Data, layout: RowLayout) -> ScalarRows:
    owner, _ = layout.of(ConstraintType.EQUALITY)
    residual, violation, weight, jacobian = equalities(model, data)
    # As in MuJoCo, a constraint that moves nothing has no rows.
    some = jnp.any(jacobian != 0, axis=1)
    same = owner[:, None] == owner[None]
    zero = jnp.zeros_like(residual)
    return ScalarRows(
        active=data.eq_active[owner] & jnp.any(same & some[None], axis=1),
        pos=residual,
        distance=violation,
        margin=zero,
        solref=model.eq_solref[owner],
        solimp=model.eq_solimp[owner],
        weight=weight,
        frictionloss=zero,
        jacobian=jacobian,
    )


def _dof_friction(model: Model, data: Data, layout: RowLayout) -> ScalarRows:
    """Dry friction: |force| <= frictionloss, and the residual is zero.

    A row with zero friction, which C does not have, exerts no force but has a derivative by it.
    """
    dof, _ = layout.of(ConstraintType.FRICTION_DOF)
    loss = gather_parameters(model.dof_frictionloss, dof)
    zero = jnp.zeros_like(loss)
    return ScalarRows(
        active=loss >= 0,
        pos=zero,
        distance=zero,
        margin=zero,
        solref=gather_parameters(model.dof_solref, dof),
        solimp=gather_parameters(model.dof_solimp, dof),
        weight=gather(model.dof_invweight0, dof),
        frictionloss=loss,
        jacobian=_no_matrix(data),
    )


def _tendon_friction(model: Model, data: Data, layout: RowLayout) -> ScalarRows:
    tendon, _ = layout.of(ConstraintType.FRICTION_TENDON)
    loss = model.tendon_frictionloss[tendon]
    arms = data.ten_J[tendon]
    zero = jnp.zeros_like(loss)
    return ScalarRows(
        active=(loss >= 0) & jnp.any(arms != 0, axis=1),
        pos=zero,
        distance=zero,
        margin=zero,
        solref=model.tendon_solref_fri[tendon],
        solimp=model.tendon_solimp_fri[tendon],
        weight=model.tendon_invweight0[tendon],
        frictionloss=loss,
        jacobian=arms,
    )


def _joint_limit(model: Model, data: Data, layout: RowLayout) -> ScalarRows:
    """Joint limits, active where side (value - bound) < margin; balls limit the rotation angle."""
    s = model.structure
    joint, side = layout.of(ConstraintType.LIMIT_JOINT)
    value = gather(data.qpos, s.jnt_qposadr[joint])
    bounds = gather_parameters(model.jnt_range, joint)
    low, high = bounds[:, 0], bounds[:, 1]
    dist = where(side > 0, value - low, high - value)
    ball = side == 0
    jacobian = _no_matrix(data)
    if ball.any():
        angle, axis = ball_angles(model, data.qpos, joint[ball])
        index = np.maximum(np.cumsum(ball) - 1, 0)
        dist = where(ball, (jnp.maximum(low, high)[ball] - angle)[index], dist)
        jacobian = _against(s.jnt_dofadr[joint[ball]], axis, s.nv)
    margin = gather_parameters(model.jnt_margin, joint)
    return ScalarRows(
        active=dist < margin,
        pos=dist,
        distance=dist - margin,
        margin=margin,
        solref=gather_parameters(model.jnt_solref, joint),
        solimp=gather_parameters(model.jnt_solimp, joint),
        weight=gather(model.dof_invweight0, s.jnt_dofadr[joint]),
        frictionloss=jnp.zeros_like(dist),
        jacobian=jacobian,
    )


def _tendon_limit(model: Model, data: Data, layout: RowLayout) -> ScalarRows:
    """Tendon limits, active where side (length - bound) < margin."""
    tendon, side = layout.of(ConstraintType.LIMIT_TENDON)
    length, bounds = data.ten_length[tendon], model.tendon_range[tendon]
    dist = where(side > 0, length - bounds[:, 0], bounds[:, 1] - length)
    margin = model.tendon_margin[tendon]
    arms = data.ten_J[tendon] * side.astype(dist.dtype)[:, None]
    return ScalarRows(
        active=(dist < margin) & jnp.any(arms != 0, axis=1),
        pos=dist,
        distance=dist - margin,
        margin=margin,
        solref=model.tendon_solref_lim[tendon],
        solimp=model.tendon_solimp_lim[tendon],
        weight=model.tendon_invweight0[tendon],
        frictionloss=jnp.zeros_like(dist),
        jacobian=arms,
    )


def ball_angles(model: Model, qpos: Array, joint: np.ndarray) -> tuple[Array, Array]:
    """Angle (n,) and unit axis (n, 3) of ball joints; the axis is (1, 0, 0) at zero angle."""
    adr = model.structure.jnt_qposadr[joint][:, None] + np.arange(4)
    axis, angle = safe.normalize(quat.log(quat.normalize(qpos[adr])))
    return angle[:, 0], axis


def _against(dof: np.ndarray, axis: Array, nv: int) -> Array:
    """Rows (n, nv) of the ball limits: minus the axis of the rotation."""
    column = np.arange(nv)[None] - dof[:, None]
    padded = jnp.concatenate([-axis, jnp.zeros((len(dof), 1), axis.dtype)], axis=1)
    return padded[np.arange(len(dof))[:, None], np.where((column >= 0) & (column < 3), column, 3)]


def _no_rows(data: Data) -> ScalarRows:
    none = jnp.zeros(0, data.qvel.dtype)
    return ScalarRows(
        active=jnp.zeros(0, bool),
        pos=none,
        distance=none,
        margin=none,
        solref=jnp.zeros((0, 2), none.dtype),
        solimp=jnp.zeros((0, 5), none.dtype),
        weight=none,
        frictionloss=none,
        jacobian=_no_matrix(data),
    )


def _no_matrix(data: Data) -> Array:
    return jnp.zeros((0, data.qvel.shape[0]), data.qvel.dtype)


ROWS_OF_KIND: dict[ConstraintType, Callable[[Model, Data, RowLayout], ScalarRows]] = {
    ConstraintType.EQUALITY: _equality,
    ConstraintType.FRICTION_DOF: _dof_friction,
    ConstraintType.FRICTION_TENDON: _tendon_friction,
    ConstraintType.LIMIT_JOINT: _joint_limit,
    ConstraintType.LIMIT_TENDON: _tendon_limit,
}
