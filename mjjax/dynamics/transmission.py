"""Actuator lengths and moment arms."""

import numpy as np

from mjjax.core.enums import JointType, TrnType
from mjjax.math import quat
from mjjax.math.linalg import dot, rows
from mjjax.math.namespace import Array, namespace
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure


def transmission(model: Model, data: Data) -> Data:
    """Actuator lengths (`mj_transmission`) [m or rad, times gear].

    Slide and hinge: gear q. Ball: gear . rotation vector, in the parent frame for
    `jointinparent`. Free: 0. The derivative is exact; at half a turn of a ball joint the length
    jumps.
    """
    s = model.structure
    xp = namespace(data.qpos)
    if not s.nu:
        return data
    joint = s.actuator_trnid[:, 0]
    kind = s.jnt_type[joint]
    scalar = kind >= JointType.SLIDE
    length = model.actuator_gear[:, 0] * rows(data.qpos, s.jnt_qposadr[joint])
    if not scalar.all():
        length = xp.where(scalar, length, 0)
    ball = np.flatnonzero(kind == JointType.BALL)
    if len(ball):
        vector = quat.log(_ball_quat(s, data.qpos, joint[ball]))
        projected = dot(vector, _turned_gear(model, data.qpos, ball))
        index = np.full(s.nu, len(ball))
        index[ball] = np.arange(len(ball))
        padded = xp.concatenate([projected, xp.zeros(1, projected.dtype)])[index]
        length = length + padded
    return data.replace(actuator_length=length)


def moment(model: Model, qpos: Array) -> Array:
    """Moment arms (nu, nv): derivative of the actuator velocities with respect to `qvel`.

    For all transmissions by hinges and slides this depends on the model only.
    """
    s = model.structure
    xp = namespace(qpos, model.actuator_gear)
    joint = s.actuator_trnid[:, 0]
    kind = s.jnt_type[joint]
    width = np.where(kind == JointType.FREE, 6, np.where(kind == JointType.BALL, 3, 1))
    # entry (u, v) of the moment is entry (v - first dof) of the gear of u, or the zero behind it
    offset = np.arange(s.nv)[None] - s.jnt_dofadr[joint][:, None]
    column = np.where((offset >= 0) & (offset < width[:, None]), offset, 6)
    gear = _rotated_gear(model, qpos)
    padded = xp.concatenate([gear, xp.zeros((s.nu, 1), gear.dtype)], axis=1)
    return padded[np.arange(s.nu)[:, None], column]


def _rotated_gear(model: Model, qpos: Array) -> Array:
    """Gears (nu, 6) in the joint frame; those in the parent frame are turned into it."""
    s = model.structure
    joint = s.actuator_trnid[:, 0]
    inparent = s.actuator_trntype == TrnType.JOINTINPARENT
    turning = np.flatnonzero(inparent & (s.jnt_type[joint] <= JointType.BALL))
    if not len(turning):
        return model.actuator_gear
    xp = namespace(qpos)
    free = (s.jnt_type[joint[turning]] == JointType.FREE)[:, None]
    gear = model.actuator_gear[turning]
    q = quat.conj(_ball_quat(s, qpos, joint[turning]))
    # a free joint's translations are along world axes already
    turned = xp.where(
        free,
        xp.concatenate([gear[:, :3], quat.rotate(q, gear[:, 3:])], axis=-1),
        xp.concatenate([quat.rotate(q, gear[:, :3]), gear[:, 3:]], axis=-1),
    )
    rows = np.arange(s.nu)
    rows[turning] = s.nu + np.arange(len(turning))
    return xp.concatenate([model.actuator_gear, turned])[rows]


def _turned_gear(model: Model, qpos: Array, ball: np.ndarray) -> Array:
    return _rotated_gear(model, qpos)[ball, :3]


def _ball_quat(s: Structure, qpos: Array, joint: np.ndarray) -> Array:
    shift = np.where(s.jnt_type[joint] == JointType.FREE, 3, 0)
    return quat.normalize(qpos[(s.jnt_qposadr[joint] + shift)[:, None] + np.arange(4)])
