"""What a narrow-phase kernel returns, and the rules shared by the kernels.

A kernel takes the poses and sizes of one pair of geoms, `(pos1, mat1, size1, pos2, mat2, size2,
margin)`, the geom of the lower type first: positions (3,) and rotations (3, 3) in the world frame
[m], sizes (3,) [m] as in MuJoCo, `margin` [m] a scalar. It returns a `ContactSet` with as many
slots as the kind can have contacts. Which features touch (faces, edges, ends) is chosen by
comparison and has no derivative; the derivatives of distances, points and normals are exact for the
chosen features. That of a distance is the normal times the motion of geom 2's nearest point
relative to geom 1's, also where the normal is arbitrary (coincident centres).
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from mjjax.core.constants import MINVAL
from mjjax.math import safe
from mjjax.math.quat import cross
from mjjax.xla.linalg import row_sum
from mjjax.xla.namespace import Array, namespace, where

NO_CONTACT = 1e10  # distance [m] of an empty slot: beyond any margin, finite in float32


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
        """The slots that are packed (m, 10)."""
        return cls(packed[..., 0], *(packed[..., k : k + 3] for k in (1, 4, 7)))


def filled(exists: Array, dist: Array) -> Array:
    """Distances (m,), `NO_CONTACT` in the slots that hold no contact."""
    return where(exists, dist, NO_CONTACT)


def first(valid: Array, slots: int) -> Array:
    """One-hot rows (slots, n) of the first candidates that are `valid` (n,), in their order.

    The row of a slot that gets no candidate is false throughout.
    """
    rank = jnp.cumsum(valid, dtype=jnp.int32)
    slot = np.arange(1, slots + 1, dtype=np.int32)[:, None]
    return valid[None] & (rank[None] == slot)


def plus_minus(positive: Array, dtype: Any) -> Array:
    """1 where `positive`, -1 elsewhere."""
    return where(positive, 1.0, -1.0).astype(dtype)


def tolerance(scale: Array) -> Array:
    """Differences below this count as zero: MuJoCo's `MINVAL`, or the rounding error of `scale`.

    In float64 and at the size of robots the rounding error is the smaller one, so the decisions
    are MuJoCo's. In float32 a difference of terms of size `scale` that is mathematically zero is
    far above `MINVAL`: parallel axes would never be found parallel.
    """
    return jnp.maximum(16 * float(jnp.finfo(scale.dtype).eps) * scale, MINVAL)


def make_frame(normal: Array, tangent: Array) -> Array:
    """Orthonormal axes in rows (..., 3, 3): x the normal, y next to the hinted tangent.

    Without a hint (zero), y is next to the world's y axis, or to its z axis if the normal is close
    to y; z = x cross y. Args: `normal` (..., 3) unit, `tangent` (..., 3). The derivative is exact
    for a fixed choice of hint.
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
