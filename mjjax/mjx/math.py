"""MJX's small vector functions (`mujoco.mjx._src.math`), in its order of arguments.

They are those of `mjjax.math`, whose derivatives are finite everywhere.
"""

from typing import Any

import jax.numpy as jnp

from mjjax.core.constants import MINVAL
from mjjax.math import quat, safe
from mjjax.math.spatial import force_cross, inertia_mul
from mjjax.math.spatial import motion_cross as _motion_cross
from mjjax.xla.namespace import Array, where

Axis = int | tuple[int, ...] | None


def safe_div(num: Any, den: Any) -> Array:
    """A quotient; a zero denominator counts as `mjMINVAL`."""
    return num / where(den == 0, MINVAL, den)


def matmul_unroll(a: Array, b: Array) -> Array:
    """Matrix product."""
    return jnp.matmul(a, b, precision="highest")


def norm(x: Array, axis: Axis = None) -> Array:
    """Length of a vector, or of all vectors along some axes; its derivative at 0 is 0."""
    square = jnp.sum(x * x, axis=axis)
    return safe.sqrt(square)


def normalize_with_norm(x: Array, axis: Axis = None) -> tuple[Array, Array]:
    """The unit vector, and the length; the unit vector of 0 is 0."""
    length = norm(x, axis)
    wide = length if axis is None else jnp.expand_dims(length, axis)
    return x / where(wide == 0, 1, wide), length


def normalize(x: Array, axis: Axis = None) -> Array:
    """The unit vector; that of 0 is 0."""
    return normalize_with_norm(x, axis)[0]


def rotate(vec: Array, q: Array) -> Array:
    """A vector (3,) turned by a unit quaternion (4,)."""
    return quat.rotate(jnp.asarray(q), jnp.asarray(vec))


def quat_inv(q: Array) -> Array:
    """The inverse of a unit quaternion."""
    return quat.conj(jnp.asarray(q))


def quat_sub(u: Array, v: Array) -> Array:
    """The rotation (3,) from v to u, in the frame of v."""
    return quat.sub(jnp.asarray(u), jnp.asarray(v))


def quat_mul(u: Array, v: Array) -> Array:
    """Product of quaternions."""
    return quat.mul(jnp.asarray(u), jnp.asarray(v))


def quat_mul_axis(q: Array, axis: Array) -> Array:
    """Product of a quaternion and a vector (3,), as a quaternion without a real part."""
    return quat_mul(q, jnp.concatenate([jnp.zeros_like(axis[..., :1]), axis], axis=-1))


def quat_to_mat(q: Array) -> Array:
    """Rotation matrix (3, 3)."""
    return quat.to_mat(jnp.asarray(q))


def quat_to_axis_angle(q: Array) -> tuple[Array, Array]:
    """Axis (3,) and angle from -pi to pi."""
    axis, angle = safe.normalize(quat.log(jnp.asarray(q)))
    return axis, angle[..., 0]


def axis_angle_to_quat(axis: Array, angle: Array) -> Array:
    """The quaternion that turns by an angle about a unit axis."""
    axis = jnp.asarray(axis)
    return quat.from_axis_angle(axis, jnp.reshape(angle, axis.shape[:-1]))


def quat_integrate(q: Array, v: Array, dt: Array) -> Array:
    """A quaternion after a time with an angular velocity (3,), in its own frame."""
    return quat.integrate(jnp.asarray(q), v * dt)


def inert_mul(i: Array, v: Array) -> Array:
    """Force (6,) that gives a body with a spatial inertia (10,) the acceleration v (6,)."""
    return quat.join(inertia_mul(_parts(i), _parts(v)))


def sign(x: Array) -> Array:
    """-1 for negative numbers, else 1."""
    return where(x < 0, -1, 1)


def transform_motion(vel: Array, offset: Array, rotmat: Array) -> Array:
    """A spatial velocity (6,) at another point, in the axes of a rotation (3, 3)."""
    turning, moving = vel[:3], vel[3:] - jnp.cross(offset, vel[:3])
    return jnp.concatenate([turning @ rotmat, moving @ rotmat])


def motion_cross(u: Array, v: Array) -> Array:
    """Cross product of spatial motions (6,)."""
    return quat.join(_motion_cross(_parts(u), _parts(v)))


def motion_cross_force(v: Array, f: Array) -> Array:
    """Cross product of a spatial motion and a spatial force (6,)."""
    return quat.join(force_cross(_parts(v), _parts(f)))


def orthogonals(a: Array) -> tuple[Array, Array]:
    """Two vectors orthogonal to a unit vector and to each other; zero for a zero vector."""
    other = where(abs(a[1]) < 0.5, jnp.array([0.0, 1, 0]), jnp.array([0.0, 0, 1]))
    b = where(jnp.any(a != 0), normalize(other - a * jnp.dot(a, other)), 0)
    return b, jnp.cross(a, b)


def make_frame(a: Array) -> Array:
    """A rotation (3, 3) whose first row is the direction of a vector."""
    a = normalize(a)
    return jnp.stack([a, *orthogonals(a)])


def closest_segment_point(a: Array, b: Array, pt: Array) -> Array:
    """The point of the segment from a to b that is nearest to a point."""
    along = b - a
    part = safe.divide(jnp.dot(pt - a, along), jnp.dot(along, along))
    return a + jnp.clip(part, 0, 1) * along


def closest_segment_point_and_dist(a: Array, b: Array, pt: Array) -> tuple[Array, Array]:
    """The same point, and the square of its distance."""
    nearest = closest_segment_point(a, b, pt)
    return nearest, jnp.sum((pt - nearest) ** 2)


def closest_segment_to_segment_points(
    a0: Array, a1: Array, b0: Array, b1: Array
) -> tuple[Array, Array]:
    """The nearest points of two segments."""
    a, b, between = a1 - a0, b1 - b0, a0 - b0
    aa, ab, bb = jnp.dot(a, a), jnp.dot(a, b), jnp.dot(b, b)
    # Parallel segments have many nearest points; this starts from the middle of the first.
    square = aa * bb - ab * ab
    part = safe.divide(ab * jnp.dot(b, between) - bb * jnp.dot(a, between), square, otherwise=0.5)
    on_a = a0 + jnp.clip(part, 0, 1) * a
    # The nearest point of the other segment to a point, and back, is exact once one is an end.
    on_b = closest_segment_point(b0, b1, on_a)
    on_a = closest_segment_point(a0, a1, on_b)
    return on_a, on_b


def _parts(x: Array) -> Any:
    return tuple(x[..., k] for k in range(x.shape[-1]))
