"""Unit quaternions (w, x, y, z), rotating child coordinates into parent coordinates.

Functions take arrays with the components on the last axis and any leading axes. Derivatives are
exact and finite, also at the identity, unless a function says otherwise. The formulas themselves
are in `components` and work on separate component arrays. Whole kinematic trees are composed in
that form, in which every operation runs along contiguous memory.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

from mjjax.core.constants import MINVAL
from mjjax.math import components, safe
from mjjax.math.components import split
from mjjax.xla.linalg import dot, slabs
from mjjax.xla.loops import while_loop
from mjjax.xla.namespace import A, Array, namespace, where
from mjjax.xla.polynomials import bilinear


def join(parts: components.Parts) -> Any:
    """Joins component arrays into one array, with the components on the last axis."""
    return namespace(*parts).stack(parts, axis=-1)


def cross(a: A, b: A) -> A:
    """Cross product on the last axis."""
    return join(components.cross(split(a), split(b)))


def mul(a: A, b: A) -> A:
    """Hamilton product: first the rotation `b`, then the rotation `a` (`mju_mulQuat`)."""
    return bilinear(components.mul, a, b)


def conj(q: A) -> A:
    """Inverse of a unit quaternion, (w, -u) (`mju_negQuat`)."""
    xp = namespace(q)
    return xp.concatenate([q[..., :1], -q[..., 1:]], axis=-1)


def rotate(q: A, v: A) -> A:
    """Vector `v` (..., 3) rotated by `q`: v + 2 w u x v + 2 u x (u x v) (`mju_rotVecQuat`)."""
    return join(components.rotate(split(q), split(v)))


def normalize(q: A) -> A:
    """Unit quaternion; the zero quaternion gives the identity (`mju_normalize4`).

    The derivative is exact, and zero at the zero quaternion.
    """
    return safe.normalize(q)[0]


def from_axis_angle(axis: A, angle: A) -> A:
    """Rotation by `angle` [rad] about the unit vector `axis` (`mju_axisAngle2Quat`)."""
    return join(components.from_axis_angle(split(axis), angle))


def exp(v: A) -> A:
    """Rotation by the vector `v` (..., 3) [rad]; smooth through zero."""
    xp = namespace(v)
    half = 0.5 * v
    square = dot(half, half)[..., None]
    small = square < 1e-8
    inverse = safe.rsqrt(where(small, 1, square))
    angle = square * inverse
    ratio = where(small, 1 - square / 6, xp.sin(angle) * inverse)
    return xp.concatenate([where(small, 1 - square / 2, xp.cos(angle)), half * ratio], axis=-1)


def log(q: A) -> A:
    """Rotation vector (..., 3) [rad] of a unit quaternion, of length at most pi."""
    xp = namespace(q)
    w, u = q[..., :1], q[..., 1:]
    square = dot(u, u)[..., None]
    small = square < 1e-16
    sine = xp.sqrt(where(small, 1, square))
    angle = 2 * xp.arctan2(sine, w)
    angle = where(angle > xp.pi, angle - 2 * xp.pi, angle)
    # Near the identity, 2 atan2(s, w) / s goes to 2 / w, where w is 1 or -1.
    return u * (where(small, 2, angle) / where(small, w, sine))


def sub(a: A, b: A) -> A:
    """Rotation vector that leads from `b` to `a`, in the frame of `b` (`mju_subQuat`)."""
    return log(bilinear(components.difference, b, a))


def integrate(q: A, v: A) -> A:
    """`q` turned by the rotation vector `v` [rad] in its own frame, normalized.

    It is `mju_quatIntegrate` if `v` is a velocity times a time.
    """
    return normalize(mul(q, exp(v)))


# The matrices of the cross products with the three axes.
_SKEW = np.zeros((3, 3, 3))
for _i in range(3):
    _SKEW[_i, (_i + 2) % 3, (_i + 1) % 3], _SKEW[_i, (_i + 1) % 3, (_i + 2) % 3] = 1, -1


def to_mat(q: A) -> A:
    """Rotation matrix (..., 3, 3) of a unit quaternion (`mju_quat2Mat`).

    The matrix is (w^2 - u.u) 1 + 2 u u' + 2 w [u]. The derivative is that of this polynomial.
    """
    w, u = q[..., :1, None], q[..., 1:, None]
    x = slabs(u, -2)
    unit, *skew = (
        m.astype(q.dtype).reshape((1,) * (q.ndim - 1) + (3, 3)) for m in (np.eye(3), *_SKEW)
    )
    scalar = w * w - x[0] * x[0] - x[1] * x[1] - x[2] * x[2]
    turn = x[0] * skew[0] + x[1] * skew[1] + x[2] * skew[2]
    return scalar * unit + 2 * u * namespace(q).swapaxes(u, -1, -2) + 2 * w * turn


def from_z(v: A) -> A:
    """Smallest rotation that takes the z axis to the direction of `v` (`mju_quatZ2Vec`).

    It is the identity for the zero vector, and half a turn about x for the direction -z. In these
    two cases the derivative is zero.
    """
    xp = namespace(v)
    unit = safe.normalize(v)[0]
    x, y, z = split(unit)
    zero, along = 0 * z, 1 + xp.abs(z)
    # The vector may have any length. The quaternion follows from the cosine of half the angle if
    # that is large, otherwise from the sine.
    near = join((along, -y, x, zero))
    sine = safe.sqrt(x * x + y * y)
    aligned = sine < MINVAL
    scale = 1 / where(aligned, 1, sine)
    axis = where(aligned, 1, -y * scale), where(aligned, 0, x * scale)
    far = join((sine, along * axis[0], along * axis[1], zero))
    turn = safe.normalize(where((z < 0)[..., None], far, near))[0]
    nothing = safe.norm(v, keepdims=True) < MINVAL
    same = xp.broadcast_to(np.array([1, 0, 0, 0], turn.dtype), turn.shape)
    return where(nothing, same, turn)


def from_mat(mat: A) -> A:
    """Unit quaternion of a rotation matrix (..., 3, 3) (`mju_mat2Quat`).

    Of the two quaternions with this rotation, the result is the one whose largest component is
    positive; if the trace is positive, the one whose first component is positive.
    """
    m = [[mat[..., i, j] for j in range(3)] for i in range(3)]
    xx, yy, zz = m[0][0], m[1][1], m[2][2]
    wx, wy, wz = m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]
    xy, xz, yz = m[0][1] + m[1][0], m[0][2] + m[2][0], m[1][2] + m[2][1]
    # Each candidate is the quaternion times four times one of its components; the chosen component
    # is safely not zero.
    w = join((1 + xx + yy + zz, wx, wy, wz))
    x = join((wx, 1 + xx - yy - zz, xy, xz))
    y = join((wy, xy, 1 - xx + yy - zz, yz))
    z = join((wz, xz, yz, 1 - xx - yy + zz))
    first, second = (xx > yy) & (xx > zz), yy > zz
    rest = where(first[..., None], x, where(second[..., None], y, z))
    return normalize(where((xx + yy + zz > 0)[..., None], w, rest))


def from_euler(angles: Array, sequence: str) -> Array:
    """Rotation of three Euler angles [rad] (`mju_euler2Quat`).

    Args:
        angles: (..., 3) in the order of `sequence`.
        sequence: three axes, each of `xyz` (about rotated axes) or `XYZ` (about fixed axes).
    """
    if len(sequence) != 3 or not set(sequence) <= set("xyzXYZ"):
        raise ValueError(f"Euler sequence {sequence!r} must have three letters of xyzXYZ")
    turns = []
    for k, letter in enumerate(sequence):
        axis = np.eye(3)["xyz".index(letter.lower())].astype(angles.dtype)
        angle = angles[..., k]
        turns.append(from_axis_angle(namespace(angle).broadcast_to(axis, angles.shape), angle))
    total = turns[0]
    for letter, turn in zip(sequence[1:], turns[1:], strict=True):
        total = mul(total, turn) if letter.islower() else mul(turn, total)
    return total


def to_vel(q: Array, dt: Array | float) -> Array:
    """Angular velocity (..., 3), in the moving frame, that makes the rotation `q` in `dt` [s].

    The rotation is taken as at most half a turn (`mju_quat2Vel`).
    """
    return log(q) / dt


def rate(q: Array, v: Array) -> Array:
    """Time derivative of `q` when it turns at `v` (..., 3) [rad/s], given in the outer frame.

    It is (0, v) q / 2, as in MuJoCo (`mju_derivQuat`).
    """
    xp = namespace(q, v)
    return 0.5 * mul(xp.concatenate([xp.zeros_like(v[..., :1]), v], axis=-1), q)


def closest(q: Array, mat: Array, iterations: int = 500, tolerance: float = 1e-9) -> Array:
    """Rotation nearest to a matrix (3, 3), refined from `q` (`mju_mat2Rot`).

    Each step turns towards the matrix. The derivative is that of the iterations, in forward mode
    only.
    """

    def torque(q: Array) -> Array:
        r = to_mat(q)
        columns = jnp.stack([cross(r[:, k], mat[:, k]) for k in range(3)])
        scale = jnp.abs(jnp.sum(r * mat)) + tolerance
        return jnp.sum(columns, axis=0) / scale

    def body(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        q, turn, count = carry
        q = normalize(mul(exp(turn), q))
        return q, torque(q), count + 1

    def going(carry: tuple[Array, Array, Array]) -> Array:
        _, turn, count = carry
        return (safe.norm(turn) > tolerance) & (count < iterations)

    return while_loop(going, body, (q, torque(q), jnp.int32(0)))[0]
