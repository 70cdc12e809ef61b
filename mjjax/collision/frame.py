"""Contact frames."""

from mjjax.math import safe
from mjjax.math.namespace import Array, namespace
from mjjax.math.quat import cross


def make_frame(normal: Array, tangent: Array) -> Array:
    """Orthonormal axes in rows (..., 3, 3): x the normal, y next to the hinted tangent.

    Without a hint (zero), y is next to the world's y axis, or to its z axis if the normal is close
    to y; z = x cross y. Args: `normal` (..., 3) unit, `tangent` (..., 3). The derivative is exact
    for a fixed choice of hint.
    """
    xp = namespace(normal)
    world = xp.eye(3, dtype=normal.dtype)
    near_y = xp.abs(normal[..., 1:2]) >= 0.5
    default = xp.where(near_y, _row(world, 2, normal), _row(world, 1, normal))
    hinted = xp.sum(tangent * tangent, axis=-1, keepdims=True) >= 0.25
    y = xp.where(hinted, tangent, default)
    y = safe.normalize(y - xp.sum(y * normal, axis=-1, keepdims=True) * normal)[0]
    return xp.stack([normal, y, cross(normal, y)], axis=-2)


def _row(world: Array, k: int, like: Array) -> Array:
    return namespace(like).broadcast_to(world[k], like.shape)
