"""Joint positions as a manifold: moving along a velocity, and the velocity between two points."""

import numpy as np

from mjjax.core.enums import JointType
from mjjax.math import quat
from mjjax.model.model import Model
from mjjax.xla.indexing import gather
from mjjax.xla.namespace import Array, namespace


def integrate_pos(model: Model, qpos: Array, qvel: Array, dt: Array | float) -> Array:
    """Positions (nq,) after moving with velocity `qvel` (nv,) for `dt` [s] (`mj_integratePos`).

    Quaternions turn by qvel dt in their own frame and are normalized. Derivatives are exact.
    """
    s = model.structure
    xp = namespace(qpos, qvel)
    kind, q, v = s.jnt_type, s.jnt_qposadr, s.jnt_dofadr
    linear_q, linear_v = [q[kind >= JointType.SLIDE]], [v[kind >= JointType.SLIDE]]
    free = kind == JointType.FREE
    linear_q.append((q[free][:, None] + np.arange(3)).ravel())
    linear_v.append((v[free][:, None] + np.arange(3)).ravel())
    at, along = np.concatenate(linear_q), np.concatenate(linear_v)
    parts, where = [gather(qpos, at) + dt * gather(qvel, along)], [at]
    turning = kind <= JointType.BALL
    if turning.any():
        shift = np.where(free[turning], 3, 0)
        adr = (q[turning] + shift)[:, None] + np.arange(4)
        spin = gather(qvel, (v[turning] + shift)[:, None] + np.arange(3))
        parts.append(quat.integrate(quat.normalize(gather(qpos, adr)), dt * spin).ravel())
        where.append(adr.ravel())
    return gather(xp.concatenate(parts), np.argsort(np.concatenate(where)))


def differentiate_pos(model: Model, dt: Array | float, qpos1: Array, qpos2: Array) -> Array:
    """Velocity (nv,) that leads from `qpos1` to `qpos2` in `dt` [s] (`mj_differentiatePos`)."""
    s = model.structure
    xp = namespace(qpos1, qpos2)
    kind, q, v = s.jnt_type, s.jnt_qposadr, s.jnt_dofadr
    free = kind == JointType.FREE
    at = np.concatenate([q[kind >= JointType.SLIDE], (q[free][:, None] + np.arange(3)).ravel()])
    to = np.concatenate([v[kind >= JointType.SLIDE], (v[free][:, None] + np.arange(3)).ravel()])
    parts, where = [qpos2[at] - qpos1[at]], [to]
    turning = kind <= JointType.BALL
    if turning.any():
        shift = np.where(free[turning], 3, 0)
        adr = (q[turning] + shift)[:, None] + np.arange(4)
        turn = quat.sub(quat.normalize(qpos2[adr]), quat.normalize(qpos1[adr]))
        parts.append(turn.ravel())
        where.append(((v[turning] + shift)[:, None] + np.arange(3)).ravel())
    return xp.concatenate(parts)[np.argsort(np.concatenate(where))] / dt


def normalize_quat(model: Model, qpos: Array) -> Array:
    """Positions (nq,) with all quaternions of unit length (`mj_normalizeQuat`)."""
    return integrate_pos(model, qpos, namespace(qpos).zeros(model.structure.nv, qpos.dtype), 0)
