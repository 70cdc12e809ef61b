"""Actuator lengths and moment arms."""

import functools
from collections.abc import Callable

import numpy as np

from mjjax.core.enums import JointType, TrnType
from mjjax.core.profile import stage
from mjjax.dynamics.jacobian import contact_wrenches, point_rows, wrench_rows
from mjjax.dynamics.tree import tree_plan
from mjjax.math import quat, safe
from mjjax.math.quat import cross
from mjjax.math.spatial import mat3
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.xla.indexing import gather
from mjjax.xla.linalg import matmul, total
from mjjax.xla.namespace import Array, namespace, where


@stage
def transmission(model: Model, data: Data) -> Data:
    """Actuator lengths (`mj_transmission`) [m or rad, times gear].

    The length is gear q for a slide or hinge, and gear . rotation vector for a ball (in the parent
    frame for `jointinparent`). It is gear length for a tendon, and gear . relative pose for a site
    with a reference. It is 0 for a free joint and for a site without a reference. The derivative is
    exact. The length jumps at half a turn of a ball joint or of a relative pose.
    """
    s = model.structure
    if not s.nu:
        return data
    parts = [LENGTHS[kind](model, data, ids) for kind, ids in _kinds(s)]
    return data.replace(actuator_length=_in_order(s, parts))


def moment(model: Model, data: Data) -> Array:
    """Moment arms (nu, nv): derivative of the actuator velocities with respect to `qvel`.

    For transmissions by hinges and slides, moment arms depend on the model only.
    """
    s = model.structure
    return _in_order(s, [MOMENTS[kind](model, data, ids) for kind, ids in _kinds(s)])


@functools.lru_cache(maxsize=64)
def _kinds(s: Structure) -> list[tuple[tuple[TrnType, ...], np.ndarray]]:
    """Kinds of transmission that occur, with the actuators of each."""
    found = [(kind, np.flatnonzero(np.isin(s.actuator_trntype, kind))) for kind in LENGTHS]
    return [(kind, ids) for kind, ids in found if len(ids)]


def _in_order(s: Structure, parts: list[Array]) -> Array:
    """Rows of the kinds of transmission, in the order of the actuators."""
    if len(parts) == 1:
        return parts[0]
    order = [ids for _, ids in _kinds(s)]
    return gather(namespace(*parts).concatenate(parts), np.argsort(np.concatenate(order)))


# ---- joints -------------------------------------------------------------------------------------


def _joint_length(model: Model, data: Data, ids: np.ndarray) -> Array:
    s = model.structure
    xp = namespace(data.qpos)
    joint = s.actuator_trnid[ids, 0]
    kind = s.jnt_type[joint]
    scalar = kind >= JointType.SLIDE
    length = gather(model.actuator_gear, ids)[:, 0] * gather(data.qpos, s.jnt_qposadr[joint])
    if not scalar.all():
        length = where(scalar, length, 0)
    ball = np.flatnonzero(kind == JointType.BALL)
    if len(ball):
        vector = quat.log(_ball_quat(s, data.qpos, joint[ball]))
        gear = _rotated_gear(model, data.qpos, ids)[ball, :3]
        projected = xp.sum(vector * gear, axis=-1)
        index = np.full(len(ids), len(ball))
        index[ball] = np.arange(len(ball))
        length = length + xp.concatenate([projected, xp.zeros(1, projected.dtype)])[index]
    return length


def _joint_moment(model: Model, data: Data, ids: np.ndarray) -> Array:
    s = model.structure
    joint = s.actuator_trnid[ids, 0]
    kind = s.jnt_type[joint]
    width = np.where(kind == JointType.FREE, 6, np.where(kind == JointType.BALL, 3, 1))
    # Entry (u, v) of the moment is entry (v - first dof) of the gear of actuator u.
    offset = np.arange(s.nv)[None] - s.jnt_dofadr[joint][:, None]
    offset = np.where(offset < width[:, None], offset, -1)
    gear = _rotated_gear(model, data.qpos, ids)
    return total(gear[:, k : k + 1] * (offset == k).astype(gear.dtype) for k in range(width.max()))


def _rotated_gear(model: Model, qpos: Array, ids: np.ndarray) -> Array:
    """Gears (n, 6) in the joint frame; those in the parent frame are turned into it."""
    s = model.structure
    every = gather(model.actuator_gear, ids)
    joint = s.actuator_trnid[ids, 0]
    inparent = s.actuator_trntype[ids] == TrnType.JOINTINPARENT
    turning = np.flatnonzero(inparent & (s.jnt_type[joint] <= JointType.BALL))
    if not len(turning):
        return every
    xp = namespace(qpos)
    free = (s.jnt_type[joint[turning]] == JointType.FREE)[:, None]
    gear = every[turning]
    q = quat.conj(_ball_quat(s, qpos, joint[turning]))
    # The translations of a free joint are along world axes already.
    turned = where(
        free,
        xp.concatenate([gear[:, :3], quat.rotate(q, gear[:, 3:])], axis=-1),
        xp.concatenate([quat.rotate(q, gear[:, :3]), gear[:, 3:]], axis=-1),
    )
    order = np.arange(len(ids))
    order[turning] = len(ids) + np.arange(len(turning))
    return xp.concatenate([every, turned])[order]


def _ball_quat(s: Structure, qpos: Array, joint: np.ndarray) -> Array:
    shift = np.where(s.jnt_type[joint] == JointType.FREE, 3, 0)
    return quat.normalize(qpos[(s.jnt_qposadr[joint] + shift)[:, None] + np.arange(4)])


# ---- tendons, slider-cranks, sites, bodies ------------------------------------------------------


def _tendon_length(model: Model, data: Data, ids: np.ndarray) -> Array:
    return model.actuator_gear[ids, 0] * data.ten_length[model.actuator_trnid[ids, 0]]


def _tendon_moment(model: Model, data: Data, ids: np.ndarray) -> Array:
    return model.actuator_gear[ids, :1] * data.ten_J[model.actuator_trnid[ids, 0]]


def _crank(model: Model, data: Data, ids: np.ndarray) -> tuple[Array, Array, Array, Array]:
    """Slider axes a (n, 3), vectors v to the crank (n, 3), a . v, and the rod's part along a."""
    xp = namespace(data.site_xpos)
    crank, slider = model.actuator_trnid[ids].T
    axis = mat3(data.site_xmat[slider])[:, :, 2]
    reach = data.site_xpos[crank] - data.site_xpos[slider]
    along = xp.sum(axis * reach, axis=-1)
    rod = model.actuator_cranklength[ids]
    return axis, reach, along, along * along + rod * rod - xp.sum(reach * reach, axis=-1)


def _crank_length(model: Model, data: Data, ids: np.ndarray) -> Array:
    """a . v - sqrt((a . v)^2 + rod^2 - v . v), or a . v if the rod does not reach."""
    _, _, along, square = _crank(model, data, ids)
    return model.actuator_gear[ids, 0] * (along - safe.sqrt(square))


def _crank_moment(model: Model, data: Data, ids: np.ndarray) -> Array:
    s = model.structure
    axis, reach, along, square = _crank(model, data, ids)
    ratio = safe.divide(along, safe.sqrt(square))[:, None]
    push = axis * (1 - ratio) + safe.divide(reach, safe.sqrt(square)[:, None])
    torque = cross(axis, reach * (1 - ratio))
    crank, slider = s.actuator_trnid[ids].T
    at = (data.site_xpos[crank], data.site_xpos[slider])
    arms = point_rows(model, data, at[0], push, 0 * push, s.site_bodyid[crank])
    back = point_rows(model, data, at[1], -push, torque, s.site_bodyid[slider])
    return model.actuator_gear[ids, :1] * (arms + back)


def _site_length(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Pose of the site in the frame of its reference, along the gear; 0 without a reference.

    The rotations are composed as in MuJoCo: first the site frame, then the body frame.
    """
    s = model.structure
    xp = namespace(data.site_xpos)
    site, ref = s.actuator_trnid[ids].T
    gear = model.actuator_gear[ids]
    shift = data.site_xpos[site] - data.site_xpos[ref]
    local = xp.sum(mat3(data.site_xmat[ref]) * shift[:, :, None], axis=1)
    turns = (quat.mul(model.site_quat[i], data.xquat[s.site_bodyid[i]]) for i in (site, ref))
    turn = quat.sub(*turns)
    length = xp.sum(gear * xp.concatenate([local, turn], axis=-1), axis=-1)
    return where(ref >= 0, length, 0)


def _site_moment(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Moments of the gear's wrench in the frame of the site, or in that of its reference.

    Dofs that move both the site and the reference have no moment.
    """
    s = model.structure
    xp = namespace(data.site_xpos)
    site, ref = s.actuator_trnid[ids].T
    alone = ref < 0
    frame = mat3(data.site_xmat[np.where(alone, site, ref)])
    gear = model.actuator_gear[ids]
    force = xp.sum(frame * gear[:, None, :3], axis=-1)
    torque = xp.sum(frame * gear[:, None, 3:], axis=-1)
    body = [s.site_bodyid[np.maximum(i, 0)] for i in (site, ref)]
    arms = point_rows(model, data, data.site_xpos[site], force, torque, body[0])
    if alone.all():
        return arms
    back = point_rows(model, data, data.site_xpos[np.maximum(ref, 0)], force, torque, body[1])
    moves = [tree_plan(s).moves[b] for b in body]
    return where(alone[:, None], arms, where(moves[0] & moves[1], 0, arms - back))


def _body_length(model: Model, data: Data, ids: np.ndarray) -> Array:
    return namespace(data.qpos).zeros(len(ids), data.qpos.dtype)


def _body_moment(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Adhesion: minus the mean of the Jacobians of the normals of a body's contacts.

    Contacts in their gap count. Contacts between bodies that cannot move do not count, and the gear
    does not count either. There are no contacts yet when derived constants are computed.
    """
    s = model.structure
    xp = namespace(data.qpos, data.cdof)
    if data.contact is None or not data.contact.dist.shape[0]:
        return xp.zeros((len(ids), s.nv), data.qpos.dtype)
    contact, movable = data.contact, xp.asarray(tree_plan(s).moves.any(axis=1))
    body = xp.asarray(s.geom_bodyid)[xp.maximum(contact.geom, 0)]
    detected = (contact.dim > 0) & xp.any(movable[body], axis=1)
    along = wrench_rows(*contact_wrenches(s, data, contact, None, width=1))[:, 0]
    target = s.actuator_trnid[ids, 0][:, None]
    mine = ((body[None, :, 0] == target) | (body[None, :, 1] == target)) & detected[None]
    mine = mine.astype(along.dtype)
    count = xp.maximum(xp.sum(mine, axis=1, keepdims=True), 1)
    return -matmul(mine, along) / count


Kernel = Callable[[Model, Data, np.ndarray], Array]
_JOINTS = (TrnType.JOINT, TrnType.JOINTINPARENT)
LENGTHS: dict[tuple[TrnType, ...], Kernel] = {
    _JOINTS: _joint_length,
    (TrnType.TENDON,): _tendon_length,
    (TrnType.SLIDERCRANK,): _crank_length,
    (TrnType.SITE,): _site_length,
    (TrnType.BODY,): _body_length,
}
MOMENTS: dict[tuple[TrnType, ...], Kernel] = {
    _JOINTS: _joint_moment,
    (TrnType.TENDON,): _tendon_moment,
    (TrnType.SLIDERCRANK,): _crank_moment,
    (TrnType.SITE,): _site_moment,
    (TrnType.BODY,): _body_moment,
}
