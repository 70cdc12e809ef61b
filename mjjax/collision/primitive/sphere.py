"""Spheres against spheres, capsules and boxes, and contacts of balls on the axes of capsules.

A capsule touches wherever a ball of its radius, centred on its axis, touches. The kernels for
capsules find the centres of these balls and leave the rest to `touch_balls` and `touch_box`.
"""

import jax.numpy as jnp
import numpy as np

from mjjax.collision.shape.contact_set import ContactSet, filled, plus_minus
from mjjax.core.constants import MINVAL
from mjjax.math import safe
from mjjax.math.quat import cross
from mjjax.xla.linalg import dot, matmul, row_sum
from mjjax.xla.namespace import Array, where


def sphere_sphere(
    pos1: Array, mat1: Array, size1: Array, pos2: Array, mat2: Array, size2: Array, margin: Array
) -> ContactSet:
    """Two spheres: one contact; if the centres coincide, its normal is normal to both z axes."""
    spare = cross(mat1[:, 2], mat2[:, 2])
    return touch_balls(pos1[None], size1[0], pos2[None], size2[0], spare, margin)


def sphere_capsule(
    pos1: Array, mat1: Array, size1: Array, pos2: Array, mat2: Array, size2: Array, margin: Array
) -> ContactSet:
    """Sphere and capsule: one contact, with the ball at the nearest point of the capsule's axis."""
    axis = mat2[:, 2]
    along = jnp.clip(jnp.sum(axis * (pos1 - pos2)), -size2[1], size2[1])
    centre = pos2 + along * axis
    spare = cross(mat1[:, 2], axis)
    return touch_balls(pos1[None], size1[0], centre[None], size2[0], spare, margin)


def sphere_box(
    pos1: Array, mat1: Array, size1: Array, pos2: Array, mat2: Array, size2: Array, margin: Array
) -> ContactSet:
    """Sphere and box: one contact; if the centre is within the box, at the nearest face."""
    del mat1
    return touch_box(pos1[None], size1[0], pos2, mat2, size2, margin)


def touch_balls(
    centre1: Array, radius1: Array, centre2: Array, radius2: Array, spare: Array, margin: Array
) -> ContactSet:
    """Contacts of m pairs of balls with centres (m, 3).

    Radii are scalars. If centres coincide, the normal has the direction of `spare` (3,), or of the
    world's x axis if `spare` is zero.
    """
    offset = centre2 - centre1
    apart = row_sum(offset * offset) >= MINVAL**2
    normal = safe.normalize(where(apart, offset, spare[None]))[0]
    # This is the offset's length, but its derivative is the normal even at zero length.
    dist = dot(offset, normal) - radius1 - radius2
    # The middle comes first: if equal balls coincide, `pos` moves with both, whatever the normal.
    pos = 0.5 * (centre1 + centre2) + 0.5 * (radius1 - radius2) * normal
    return ContactSet(filled(dist <= margin, dist), pos, normal, jnp.zeros_like(pos))


def touch_box(
    centre: Array, radius: Array, pos2: Array, mat2: Array, size2: Array, margin: Array
) -> ContactSet:
    """Contacts of m balls of one radius, with centres (m, 3), and a box.

    The nearest point of the box is the centre, clipped to the box. For a centre within the box or
    on its surface it is the projection to the nearest face. Among equally near faces the first axis
    counts, and its lower face.
    """
    local = matmul(centre - pos2[None], mat2)
    size = size2[None]
    beyond = jnp.clip(local, -size, size) - local
    outside = row_sum(beyond * beyond) > MINVAL**2
    shallow = jnp.argmin(jnp.abs(size - jnp.abs(local)), axis=1)
    face = shallow[:, None] == np.arange(3)[None]
    side = plus_minus(local > 0, local.dtype)
    offset = where(outside, beyond, where(face, side * size - local, 0))
    inward = where(outside, beyond, where(face, -side, 0))
    inward = safe.normalize(inward)[0]
    dist = dot(offset, inward) - radius
    normal = matmul(inward, mat2.T)
    pos = centre + (radius + 0.5 * dist)[:, None] * normal
    return ContactSet(filled(dist <= margin, dist), pos, normal, jnp.zeros_like(pos))
