"""Passive forces: springs, dampers, gravity compensation and fluid."""

import numpy as np

from mjjax.core.enums import DisableBit, JointType
from mjjax.core.profile import stage
from mjjax.dynamics.fluid import fluid
from mjjax.dynamics.jacobian import body_wrench
from mjjax.math import quat
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.terms import with_slope
from mjjax.xla.indexing import gather
from mjjax.xla.linalg import matmul
from mjjax.xla.namespace import Array, namespace, where


@stage
def passive(model: Model, data: Data) -> Data:
    """Passive forces in joint space (`mj_passive`) [N or N m].

    As in MuJoCo, all passive forces are off if both springs and dampers are disabled. The actuation
    stage adds the gravity compensation of joints with `actgravcomp`.
    """
    opt, s = model.opt, model.structure
    xp = namespace(data.qpos)
    zero = xp.zeros_like(data.qvel)
    off = opt.disabled(DisableBit.SPRING) and opt.disabled(DisableBit.DAMPER)
    spring = damper = gravcomp = flow = zero
    if not opt.disabled(DisableBit.SPRING):
        spring = spring_force(model, data)
    if not opt.disabled(DisableBit.DAMPER):
        damper = damping_force(model, data)
    if not off and not opt.disabled(DisableBit.GRAVITY):
        gravcomp = gravity_compensation(model, data)
    if not off:
        flow = fluid(model, data)
    compensated = where(s.jnt_actgravcomp[s.dof_jntid].astype(bool), 0, gravcomp)
    return data.replace(
        qfrc_spring=spring,
        qfrc_damper=damper,
        qfrc_gravcomp=gravcomp,
        qfrc_fluid=flow,
        qfrc_passive=spring + damper + compensated + flow,
    )


def spring_stretch(model: Model, qpos: Array) -> Array:
    """Displacement (nv,) of the dofs from the rest positions of springs [m or rad].

    For rotations of ball and free joints it is the rotation vector from rest, in the body frame.
    """
    s = model.structure
    xp = namespace(qpos)
    kind = s.jnt_type
    parts, dofs = [xp.zeros(0, qpos.dtype)], [np.zeros(0, int)]
    free = np.flatnonzero(kind == JointType.FREE)
    three = np.arange(3)
    if len(free):
        adr = s.jnt_qposadr[free][:, None] + three
        parts.append((gather(qpos, adr) - gather(model.qpos_spring, adr)).ravel())
        dofs.append((s.jnt_dofadr[free][:, None] + three).ravel())
    turning = np.flatnonzero((kind == JointType.FREE) | (kind == JointType.BALL))
    if len(turning):
        shift = np.where(kind[turning] == JointType.FREE, 3, 0)
        adr = (s.jnt_qposadr[turning] + shift)[:, None] + np.arange(4)
        parts.append(
            quat.sub(quat.normalize(gather(qpos, adr)), gather(model.qpos_spring, adr)).ravel()
        )
        dofs.append(((s.jnt_dofadr[turning] + shift)[:, None] + three).ravel())
    scalar = np.flatnonzero(kind >= JointType.SLIDE)
    adr = s.jnt_qposadr[scalar]
    parts.append(gather(qpos, adr) - gather(model.qpos_spring, adr))
    dofs.append(s.jnt_dofadr[scalar])
    return gather(xp.concatenate(parts), np.argsort(np.concatenate(dofs)))


def spring_force(model: Model, data: Data) -> Array:
    """Force (nv,) of joint springs, -k (q - q_spring), and of tendon springs [N or N m]."""
    s = model.structure
    force = -gather(model.jnt_stiffness, s.dof_jntid) * spring_stretch(model, data.qpos)
    if not s.ntendon:
        return force
    return force + matmul(model.tendon_stiffness * slack(model, data.ten_length), data.ten_J)


def damping_force(model: Model, data: Data) -> Array:
    """Force (nv,) of dampers, -b v of joints and of tendons [N or N m]."""
    force = -model.dof_damping * data.qvel
    if not model.structure.ntendon:
        return force
    return force - matmul(model.tendon_damping * data.ten_velocity, data.ten_J)


def slack(model: Model, length: Array) -> Array:
    """Distance (ntendon,) of tendons below (positive) or above (negative) the resting range [m].

    It is zero in the dead band `tendon_lengthspring`. At the ends of the band, the derivative is
    one-sided.
    """
    low, high = model.tendon_lengthspring[:, 0], model.tendon_lengthspring[:, 1]
    return where(length < low, low - length, where(length > high, high - length, 0))


def gravity_compensation(model: Model, data: Data) -> Array:
    """Force (nv,) that carries the fraction `gravcomp` of each body's weight [N or N m]."""
    if model.terms["body_gravcomp"].any():
        return _weight_carried({"body_gravcomp": model.body_gravcomp}, model, data)
    none = namespace(data.qvel).zeros_like(data.qvel)
    return with_slope(model, "body_gravcomp", none, _weight_carried, (model, data))


def _weight_carried(coefficients: dict[str, Array], model: Model, data: Data) -> Array:
    """`gravity_compensation` for given coefficients."""
    xp = namespace(data.xipos)
    share = coefficients["body_gravcomp"] * model.body_mass
    weight = -share[:, None] * model.opt.gravity[None]
    return body_wrench(model, data, weight, xp.zeros_like(weight), data.xipos)
