"""Planes against spheres, capsules, ellipsoids and boxes.

A plane stands for the half space z < 0 of its frame; its size is only used to draw it. Contacts are
sought at a few points of the other geom: the centre of the sphere, the ends of the capsule's axis,
the lowest point of the ellipsoid, the corners of the box. Distances are the heights of these points
over the plane, minus the radius.
"""

import jax.numpy as jnp
import numpy as np

from mjjax.collision.shape.contact_set import ContactSet, filled, first
from mjjax.math import safe
from mjjax.xla.linalg import dot, matmul, matmul_as_sums, matvec3, matvec3_t
from mjjax.xla.namespace import Array

# Corners of the cube (8, 3) in MuJoCo's order: x changes fastest.
BOX_CORNERS = np.array([[1 if i >> k & 1 else -1 for k in range(3)] for i in range(8)])


def plane_sphere(
    pos1: Array, mat1: Array, size1: Array, pos2: Array, mat2: Array, size2: Array, margin: Array
) -> ContactSet:
    """Plane and sphere: one contact, at the sphere's lowest point."""
    del size1, mat2
    normal = mat1[:, 2]
    dist = dot(pos2 - pos1, normal)[None] - size2[0]
    return _plane_balls(normal, dist, pos2[None], size2[0], margin)


def plane_capsule(
    pos1: Array, mat1: Array, size1: Array, pos2: Array, mat2: Array, size2: Array, margin: Array
) -> ContactSet:
    """Plane and capsule: one contact per end, the upper end first; tangents lie along the axis."""
    del size1
    axis, normal = mat2[:, 2], mat1[:, 2]
    sides = np.array([1, -1], axis.dtype)
    along = sides * (size2[1] * dot(axis, normal))
    dist = dot(pos2 - pos1, normal) - size2[0] + along
    ends = pos2[None] + sides[:, None] * (size2[1] * axis)[None]
    touch = _plane_balls(normal, dist, ends, size2[0], margin)
    return touch._replace(tangent=jnp.broadcast_to(axis, ends.shape))


def plane_ellipsoid(
    pos1: Array, mat1: Array, size1: Array, pos2: Array, mat2: Array, size2: Array, margin: Array
) -> ContactSet:
    """Plane and ellipsoid: one contact, at the ellipsoid's lowest point."""
    del size1
    normal = mat1[:, 2]
    lowest = size2 * safe.normalize(-size2 * matvec3_t(mat2, normal))[0]
    offset = pos2 - pos1 + matvec3(mat2, lowest)
    dist = dot(offset, normal)[None]
    pos = (pos1 + offset - 0.5 * dist * normal)[None]
    return ContactSet(filled(dist <= margin, dist), pos, normal[None], jnp.zeros_like(pos))


def plane_box(
    pos1: Array, mat1: Array, size1: Array, pos2: Array, mat2: Array, size2: Array, margin: Array
) -> ContactSet:
    """Plane and box: the first four corners below the box's centre that are near the plane.

    In the frame of the box, corners are signs times the size. Only the four corners that are kept
    are transformed to the world frame.
    """
    del size1
    normal = mat1[:, 2]
    slope = size2 * matvec3_t(mat2, normal)
    signs = jnp.asarray(BOX_CORNERS, size2.dtype)
    drop = matmul(slope, signs.T)
    height = dot(pos2 - pos1, normal)
    pick = first((height + drop <= margin) & (drop <= 0), 4)
    chosen = matmul_as_sums(pick.astype(signs.dtype), signs)
    dist = height + dot(chosen, slope[None])
    corners = pos2[None] + matvec3(mat2[None], chosen * size2[None])
    normal = jnp.broadcast_to(normal, corners.shape)
    pos = corners - 0.5 * dist[:, None] * normal
    return ContactSet(filled(jnp.any(pick, axis=1), dist), pos, normal, jnp.zeros_like(pos))


def _plane_balls(
    normal: Array, dist: Array, centre: Array, radius: Array, margin: Array
) -> ContactSet:
    """Contacts of a plane with balls of one radius, with centres (m, 3) and distances (m,)."""
    normal = jnp.broadcast_to(normal, centre.shape)
    pos = centre - (radius + 0.5 * dist)[:, None] * normal
    return ContactSet(filled(dist <= margin, dist), pos, normal, jnp.zeros_like(pos))
