"""The result of a narrow-phase kernel, and the rules shared by the kernels.

A kernel takes the poses and sizes of one pair of geoms, `(pos1, mat1, size1, pos2, mat2, size2,
margin)`, the geom of the lower type first: positions (3,) [m] and rotations (3, 3) in the world
frame, sizes (3,) [m] as in MuJoCo, and the scalar `margin` [m]. It returns a `ContactSet` with as
many slots as the kind can have contacts. The features that touch (faces, edges, ends) are chosen by
comparison, and this choice has no derivative. The derivatives of distances, points and normals are
exact for the chosen features. The derivative of a distance is the inner product of the normal with
the motion of geom 2's nearest point relative to geom 1's. This also holds where the normal is
arbitrary (coincident centres).
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from mjjax.core.constants import MINVAL
from mjjax.math import safe
from mjjax.math.quat import cross
from mjjax.xla.linalg import row_sum
from mjjax.xla.namespace import Array, namespace, where

NO_CONTACT = 1e10  # distance [m] of an empty slot: larger than any margin, finite in float32


class ContactSet(NamedTuple):
    """Contacts of one pair of geoms in m slots, world frame.

    Attributes:
        dist: (m,) signed distance of the surfaces [m], `NO_CONTACT` where the slot is empty.
        pos: (m, 3) midpoint between the surfaces [m].
        normal: (m, 3) unit vector from geom 1 to geom 2.
        tangent: (m, 3) hint for the second axis of the contact frame, zero where there is none.
    """

    dist: Array
    pos: Array
    normal: Array
    tangent: Array

    def packed(self) -> Array:
        """The slots as rows (m, 10) of one array."""
        return jnp.concatenate([self.dist[..., None], *self[1:]], axis=-1)

    @classmethod
    def of(cls, packed: Array) -> "ContactSet":
        """The slots from an array (m, 10) that `packed` returned."""
        return cls(packed[..., 0], *(packed[..., k : k + 3] for k in (1, 4, 7)))


def filled(exists: Array, dist: Array) -> Array:
    """Distances (m,), with `NO_CONTACT` in the slots that hold no contact."""
    return where(exists, dist, NO_CONTACT)


def first(valid: Array, slots: int) -> Array:
    """One-hot rows (slots, n) that pick the first candidates that are `valid` (n,), in their order.

    If a slot gets no candidate, its whole row is false.
    """
    rank = jnp.cumsum(valid, dtype=jnp.int32)
    slot = np.arange(1, slots + 1, dtype=np.int32)[:, None]
    return valid[None] & (rank[None] == slot)


def plus_minus(positive: Array, dtype: Any) -> Array:
    """1 where `positive`, -1 elsewhere."""
    return where(positive, 1.0, -1.0).astype(dtype)


def tolerance(scale: Array) -> Array:
    """The larger of MuJoCo's `MINVAL` and the rounding error of `scale`.

    Differences below this count as zero. In float64 and at the size of robots the rounding error is
    smaller than `MINVAL`, so the decisions are MuJoCo's. In float32 a difference of terms of size
    `scale` that is mathematically zero comes out far above `MINVAL`. With `MINVAL` alone, parallel
    axes would never be found parallel.
    """
    return jnp.maximum(16 * float(jnp.finfo(scale.dtype).eps) * scale, MINVAL)


def make_frame(normal: Array, tangent: Array) -> Array:
    """Contact frames: orthonormal axes in rows (..., 3, 3), of which x is the normal.

    The y axis is as close as possible to the hint `tangent`. If this is zero, it is as close as
    possible to the world's y axis, or to the world's z axis if the normal is close to y. The z axis
    is x cross y. The derivative is exact for a fixed choice of hint.

    Args:
        normal: (..., 3) unit vectors.
        tangent: (..., 3) hints.
    """
    xp = namespace(normal)
    world = np.eye(3, dtype=normal.dtype)
    near_y = xp.abs(normal[..., 1:2]) >= 0.5
    default = where(near_y, _row(world, 2, normal), _row(world, 1, normal))
    hinted = row_sum(tangent * tangent) >= 0.25
    y = where(hinted, tangent, default)
    y = safe.normalize(y - row_sum(y * normal) * normal)[0]
    return xp.stack([normal, y, cross(normal, y)], axis=-2)


def _row(world: np.ndarray, k: int, like: Array) -> Array:
    return namespace(like).broadcast_to(world[k], like.shape)
