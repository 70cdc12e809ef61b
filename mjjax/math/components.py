"""Vectors, quaternions and frames as tuples of component arrays.

A frame is seven arrays (x, y, z, qw, qx, qy, qz) of one shape. Arithmetic on such tuples is
elementwise along contiguous arrays, which compilers turn into vector instructions; the same on
arrays with three or four components on the last axis is several times slower (measured on CPU).
"""

import functools
from collections.abc import Callable

import numpy as np

from mjjax.xla.linalg import matmul, total, unstack
from mjjax.xla.namespace import Array, namespace

Parts = tuple[Array, ...]
MOST = 8  # arrays up to which XLA computes what joins them together with them


def split(x: Array) -> Parts:
    """The components on the last axis of an array."""
    return unstack(x, -1)


def components_first(x: Array) -> Array:
    """(n, k) as (k, n)."""
    return namespace(x).swapaxes(x, 0, 1)


def components_last(x: Array) -> Array:
    """(k, n) as (n, k), as `components_first`."""
    if x.shape[0] > MOST:
        return namespace(x).swapaxes(x, 0, 1)
    return namespace(x).stack(unstack(x), axis=-1)


def cross(a: Parts, b: Parts) -> Parts:
    """Cross product."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def dot(a: Parts, b: Parts) -> Array:
    """Inner product."""
    return total(x * y for x, y in zip(a, b, strict=True))


def add(a: Parts, b: Parts) -> Parts:
    """Sum of two vectors."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


def mul(a: Parts, b: Parts) -> Parts:
    """Hamilton product of quaternions."""
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


def difference(a: Parts, b: Parts) -> Parts:
    """The rotation that leads from `a` to `b`, in the frame of `a`: a* b."""
    return (
        a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3],
        a[0] * b[1] - a[1] * b[0] - a[2] * b[3] + a[3] * b[2],
        a[0] * b[2] + a[1] * b[3] - a[2] * b[0] - a[3] * b[1],
        a[0] * b[3] - a[1] * b[2] + a[2] * b[1] - a[3] * b[0],
    )


def rotate(q: Parts, v: Parts) -> Parts:
    """Vector rotated by a unit quaternion: v + 2 w (u x v) + 2 u x (u x v)."""
    w, u = q[0], q[1:]
    t = tuple(2 * x for x in cross(u, v))
    return tuple(x + w * y + z for x, y, z in zip(v, t, cross(u, t), strict=True))


def to_mat(q: Parts) -> Parts:
    """Rotation matrix of a unit quaternion, nine entries by rows (`mju_quat2Mat`)."""
    w, x, y, z = q
    ww, xx, yy, zz = w * w, x * x, y * y, z * z
    wx, wy, wz = 2 * w * x, 2 * w * y, 2 * w * z
    xy, xz, yz = 2 * x * y, 2 * x * z, 2 * y * z
    return (
        *(ww + xx - yy - zz, xy - wz, xz + wy),
        *(xy + wz, ww - xx + yy - zz, yz - wx),
        *(xz - wy, yz + wx, ww - xx - yy + zz),
    )


# What depends on the model alone XLA takes out of the loop over steps, and each component that is
# read there becomes a program of its own. So these are products with the coefficients of formulas.


@functools.cache
def _quadratic_form() -> np.ndarray:
    """Coefficients (9, 16) of the products of two components in the entries of `to_mat`."""

    def entries(q: np.ndarray) -> np.ndarray:
        return np.stack(to_mat(split(q)))

    unit = np.eye(4)
    single = entries(unit)
    both = entries(unit[:, None] + unit)
    return ((both - single[:, :, None] - single[:, None]) / 2).reshape(9, 16)


@functools.cache
def bilinear_form(product: Callable[[Parts, Parts], Parts]) -> np.ndarray:
    """Coefficients (4, 16) of the products of two components in a product of quaternions."""
    entries = product(split(np.eye(4)[:, None]), split(np.eye(4)[None]))
    return np.stack(np.broadcast_arrays(*entries)).reshape(4, 16)


def constant_to_mat(q: Array) -> Array:
    """`to_mat` (9, n) of quaternions (n, 4) that depend on the model alone."""
    pairs = (q[:, :, None] * q[:, None]).reshape(-1, 16)
    return matmul(_quadratic_form().astype(q.dtype), pairs.T)


def constant_mul(q: Array, v: Array) -> Array:
    """Products (4, n) of quaternions (n, 4) and (0, v (n, 3)), which depend on the model alone."""
    pairs = (q[:, :, None] * v[:, None]).reshape(-1, 12)
    form = bilinear_form(mul).reshape(4, 4, 4)[:, :, 1:].reshape(4, 12)
    return matmul(form.astype(q.dtype), pairs.T)


def matrix_first(m: Parts) -> Array:
    """Nine entries of a matrix by rows, arrays (n,), as (9, n).

    Row by row: what joins more than eight arrays XLA does not compute together with them.
    """
    xp, n = namespace(*m), m[0].shape[0]
    rows = [xp.concatenate([x.reshape(1, 1, n) for x in m[k : k + 3]], 1) for k in (0, 3, 6)]
    return xp.concatenate(rows).reshape(9, n)


def matrix_last(m: Parts) -> Array:
    """The same as (n, 9)."""
    xp = namespace(*m)
    rows = [xp.stack(m[k : k + 3], axis=-1) for k in (0, 3, 6)]
    return xp.stack(rows, axis=1).reshape(-1, 9)


def compose(parent: Parts, child: Parts) -> Parts:
    """Frame `child`, given in `parent`, in the frame that `parent` is given in."""
    pos = add(parent[:3], rotate(parent[3:], child[:3]))
    return (*pos, *mul(parent[3:], child[3:]))


def from_axis_angle(axis: Parts, angle: Array) -> Parts:
    """Quaternion of the rotation by `angle` [rad] about a unit axis."""
    xp = namespace(angle, *axis)
    sine = xp.sin(0.5 * angle)
    return (xp.cos(0.5 * angle), *(x * sine for x in axis))
