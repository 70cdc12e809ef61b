"""Vectors, quaternions and frames as tuples of component arrays.

A frame is seven arrays (x, y, z, qw, qx, qy, qz) of one shape. Arithmetic on such tuples is
elementwise along contiguous arrays, which compilers turn into vector instructions. Arithmetic on
arrays with three or four components on the last axis is several times slower (measured on CPU).
"""

from mjjax.xla.linalg import total, unstack
from mjjax.xla.namespace import Array, namespace

Parts = tuple[Array, ...]


def split(x: Array) -> Parts:
    """The components on the last axis of an array."""
    return unstack(x, -1)


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
    return mul((a[0], *(-x for x in a[1:])), b)


def mul_vector(q: Parts, v: Parts) -> Parts:
    """Hamilton product of a quaternion and (0, v)."""
    return mul(q, (0 * v[0], *v))


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


def compose(parent: Parts, child: Parts) -> Parts:
    """Frame `child`, given in `parent`, in the frame that `parent` is given in."""
    pos = add(parent[:3], rotate(parent[3:], child[:3]))
    return (*pos, *mul(parent[3:], child[3:]))


def from_axis_angle(axis: Parts, angle: Array) -> Parts:
    """Quaternion of the rotation by `angle` [rad] about a unit axis."""
    xp = namespace(angle, *axis)
    sine = xp.sin(0.5 * angle)
    return (xp.cos(0.5 * angle), *(x * sine for x in axis))
