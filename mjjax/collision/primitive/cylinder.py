"""Cylinders against planes and spheres.

Both kernels work in the frame of the cylinder. There, directions away from the axis are exact, even
if the axis is almost normal to the plane or passes through the centre of the sphere.
"""

import jax.numpy as jnp
import numpy as np

from mjjax.collision.shape.contact_set import ContactSet, filled, plus_minus, tolerance
from mjjax.core.constants import MINVAL
from mjjax.math import safe
from mjjax.math.quat import cross
from mjjax.xla.linalg import dot, matmul, matvec3, matvec3_t
from mjjax.xla.namespace import Array, where

# Contacts with a plane: one on the near rim, one on the far rim, and two more that make a triangle
# with the first. Each has a place along the direction to the plane, a place sideways, and an end.
ALONG = np.array([1, 1, -0.5, -0.5])
SIDEWAYS = np.array([0, 0, 1, -1]) * np.sqrt(0.75)
END = np.array([1, -1, 1, 1])


def plane_cylinder(
    pos1: Array, mat1: Array, size1: Array, pos2: Array, mat2: Array, size2: Array, margin: Array
) -> ContactSet:
    """Plane and cylinder: the lowest points of both rims, then two more of the lower rim.

    A cylinder that stands upright has no lowest points; then its x axis serves as the direction.
    """
    del size1
    dtype = size2.dtype
    normal = mat1[:, 2]
    local = matvec3_t(mat2, normal)
    lower = plus_minus(local[2] <= 0, dtype)
    square = jnp.sum(local[:2] * local[:2])
    upright = square < tolerance(jnp.ones((), dtype)) ** 2
    down = safe.normalize(where(upright, 0, -local[:2]))[0]
    side = lower * jnp.stack([down[1], -down[0]])
    along, sideways, end = (jnp.asarray(x, dtype) for x in (ALONG, SIDEWAYS, END))
    rim = size2[0] * (along[:, None] * down[None] + sideways[:, None] * side[None])
    point = jnp.concatenate([rim, (size2[1] * lower * end)[:, None]], axis=1)
    height = jnp.sum((pos2 - pos1) * normal)
    dist = height + end * (lower * local[2] * size2[1]) + along * (size2[0] * dot(down, local[:2]))
    near = (dist[0] <= margin) & (dist <= margin)
    normal = jnp.broadcast_to(normal, point.shape)
    pos = pos2[None] + matmul(point, mat2.T) - 0.5 * dist[:, None] * normal
    return ContactSet(filled(near, dist), pos, normal, jnp.zeros_like(pos))


def sphere_cylinder(
    pos1: Array, mat1: Array, size1: Array, pos2: Array, mat2: Array, size2: Array, margin: Array
) -> ContactSet:
    """Sphere and cylinder: one contact, with its side, an end or a rim.

    If the sphere's centre is within the cylinder, the contact is on the nearer surface, the side or
    an end. Where the normal is undefined, it is chosen normal to both z axes.
    """
    radius, half = size2[0], size2[1]
    local = matvec3_t(mat2, pos1 - pos2)
    height = jnp.abs(local[2])
    top = plus_minus(local[2] > 0, local.dtype)
    across = safe.norm(local[:2])
    beside, over = height < half, across < radius
    shorter = half - height < radius - across
    over, beside = over & (shorter | ~beside), beside & ~(shorter & over)

    zero = jnp.zeros_like(height)
    to_side = -local * jnp.asarray([1, 1, 0], local.dtype)
    to_end = jnp.stack([zero, zero, -top])
    outside = where(over | beside, 1, across)
    to_rim = to_side * (1 - radius / outside) + jnp.stack([zero, zero, top * half - local[2]])
    way = where(over, to_end, where(beside, to_side, to_rim))
    undefined = jnp.sum(way * way) < MINVAL**2
    spare = cross(mat1[:, 2], mat2[:, 2])
    world = matvec3(mat2, way)
    normal = safe.normalize(where(undefined, spare, world))[0]
    # The inner product is the length, but its derivative is the normal even at zero length.
    length = dot(world, normal)
    gap = where(over, height - half, length - where(beside, radius, 0))
    dist = (gap - size1[0])[None]
    pos = (pos1 + (size1[0] + 0.5 * dist) * normal)[None]
    return ContactSet(filled(dist <= margin, dist), pos, normal[None], jnp.zeros_like(pos))
