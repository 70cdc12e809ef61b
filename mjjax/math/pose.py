"""Poses (position, unit quaternion) and spatial vectors that change their frame."""

from mjjax.math import quat
from mjjax.math.linalg import matvec3
from mjjax.math.namespace import Array, namespace

Pose = tuple[Array, Array]


def mul_pose(pos1: Array, quat1: Array, pos2: Array, quat2: Array) -> Pose:
    """The second pose, given in the first, where the first is given (`mju_mulPose`)."""
    return pos1 + quat.rotate(quat1, pos2), quat.normalize(quat.mul(quat1, quat2))


def neg_pose(pos: Array, q: Array) -> Pose:
    """The inverse pose (`mju_negPose`)."""
    back = quat.conj(q)
    return -quat.rotate(back, pos), back


def trn_vec_pose(pos: Array, q: Array, v: Array) -> Array:
    """A point (..., 3) given in a pose, where the pose is given (`mju_trnVecPose`)."""
    return pos + quat.rotate(q, v)


def transform_spatial(
    v: Array, force: bool, newpos: Array, oldpos: Array, new_to_old: Array | None = None
) -> Array:
    """A spatial vector (..., 6), rotation first, about another point (`mju_transformSpatial`).

    Args:
        v: motion (angular, linear velocity) or force (torque, force) about `oldpos`.
        force: whether it is a force.
        newpos: (..., 3) new point.
        oldpos: (..., 3) old point.
        new_to_old: (..., 3, 3) rotation from the new axes to the old ones; None: the same axes.
    """
    xp = namespace(v)
    rot, trn = v[..., :3], v[..., 3:]
    offset = newpos - oldpos
    if force:
        rot = rot - quat.cross(offset + 0 * trn, trn)
    else:
        trn = trn - quat.cross(offset + 0 * rot, rot)
    if new_to_old is not None:
        back = xp.swapaxes(new_to_old, -1, -2)
        rot, trn = matvec3(back, rot), matvec3(back, trn)
    return xp.concatenate([rot, trn], axis=-1)
