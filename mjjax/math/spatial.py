"""Spatial vectors in MuJoCo's layout: rotation first, (angular, linear) or (torque, force); poses.

Motion and force vectors are tuples of six components here. The vectors of a body refer to one
point, the centre of mass of the body's kinematic root, and to world axes. A spatial inertia is ten
numbers: the rotational inertia about that point (xx, yy, zz, xy, xz, yz), mass times offset (3),
and the mass.
"""

import numpy as np

from mjjax.math import components, quat
from mjjax.math.components import Parts
from mjjax.math.quat import cross
from mjjax.xla.linalg import dot, matmul3_t, matvec3_t
from mjjax.xla.namespace import Array, namespace


def mat3(flat: Array) -> Array:
    """(..., 9) as (..., 3, 3), row-major."""
    return flat.reshape((*flat.shape[:-1], 3, 3))


def flat9(mat: Array) -> Array:
    """(..., 3, 3) as (..., 9), row-major."""
    return mat.reshape((*mat.shape[:-2], 9))


def motion_cross(v: Parts, m: Parts) -> Parts:
    """Derivative of the motion vector `m` that moves with velocity `v`."""
    moved = components.add(components.cross(v[:3], m[3:]), components.cross(v[3:], m[:3]))
    return (*components.cross(v[:3], m[:3]), *moved)


def force_cross(v: Parts, f: Parts) -> Parts:
    """Derivative of the force vector `f` that moves with velocity `v`."""
    turned = components.add(components.cross(v[:3], f[:3]), components.cross(v[3:], f[3:]))
    return (*turned, *components.cross(v[:3], f[3:]))


def inertia_about(mass: Array, inertia: Array, mat: Array, offset: Array) -> Array:
    """Spatial inertia (..., 10) of a body about a point.

    Args:
        mass: (...,) [kg].
        inertia: (..., 3) principal moments about the body's centre of mass [kg m^2].
        mat: (..., 3, 3) world orientation of the principal axes.
        offset: (..., 3) centre of mass minus the reference point, world axes [m].
    """
    xp = namespace(mass, mat, offset)
    rotated = matmul3_t(mat * inertia[..., None, :], mat)
    weighted = mass[..., None] * offset
    square = dot(weighted, offset)[..., None, None]
    unit = np.eye(3, dtype=mat.dtype).reshape((1,) * mass.ndim + (3, 3))
    full = rotated + square * unit - weighted[..., None] * offset[..., None, :]
    one = xp.broadcast_to(mass[..., None], (*weighted.shape[:-1], 1))
    nine = flat9(full)  # the diagonal, then the entries above it
    parts = [nine[..., ::4], nine[..., 1:3], nine[..., 5:6], weighted, one]
    return xp.concatenate(parts, axis=-1)


def inertia_mul(inertia: Parts, v: Parts) -> Parts:
    """Momentum, six components, of a spatial inertia that moves with velocity `v`."""
    xx, yy, zz, xy, xz, yz, *offset, mass = inertia
    ang, lin, arm = v[:3], v[3:], tuple(offset)
    rows = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    spin = tuple(a * ang[0] + b * ang[1] + c * ang[2] for a, b, c in rows)
    carried = components.cross(ang, arm)
    moved = (mass * x + y for x, y in zip(lin, carried, strict=True))
    return (*components.add(spin, components.cross(arm, lin)), *moved)


Pose = tuple[Array, Array]


def mul_pose(pos1: Array, quat1: Array, pos2: Array, quat2: Array) -> Pose:
    """Composes two poses: the second one is given in the frame of the first (`mju_mulPose`).

    The result is p = p1 + R(q1) p2 (..., 3) and q = q1 q2 (..., 4), which is normalized. The
    derivative is exact.
    """
    return pos1 + quat.rotate(quat1, pos2), quat.normalize(quat.mul(quat1, quat2))


def neg_pose(pos: Array, q: Array) -> Pose:
    """The inverse pose: -R(q)' p, q* (`mju_negPose`). The derivative is exact for a unit q."""
    back = quat.conj(q)
    return -quat.rotate(back, pos), back


def trn_vec_pose(pos: Array, q: Array, v: Array) -> Array:
    """Maps a point v (..., 3) out of the frame of a pose: p + R(q) v (`mju_trnVecPose`)."""
    return pos + quat.rotate(q, v)


def transform_spatial(
    v: Array, force: bool, newpos: Array, oldpos: Array, new_to_old: Array | None = None
) -> Array:
    """A spatial vector (..., 6), rotation first, moved to another point (`mju_transformSpatial`).

    A motion becomes v_new = v - (new - old) x w, and a force t_new = t - (new - old) x f. The
    result is linear in `v`, and the derivative is exact in all arguments.

    Args:
        v: motion (angular, linear velocity) or force (torque, force) about `oldpos`.
        force: whether it is a force.
        newpos: (..., 3) new point.
        oldpos: (..., 3) old point.
        new_to_old: (..., 3, 3) rotation from the new axes to the old ones; None keeps the axes.
    """
    xp = namespace(v)
    rot, trn = v[..., :3], v[..., 3:]
    offset = newpos - oldpos
    if force:
        rot = rot - cross(offset + 0 * trn, trn)
    else:
        trn = trn - cross(offset + 0 * rot, rot)
    if new_to_old is not None:
        rot, trn = matvec3_t(new_to_old, rot), matvec3_t(new_to_old, trn)
    return xp.concatenate([rot, trn], axis=-1)
