"""Signed distances of points from the surfaces of shapes, negative inside, as in MuJoCo.

Each function takes points (..., 3) in the frame of the shape and sizes (..., 3) as in MuJoCo.
Outside a shape the distance is exact, except for the ellipsoid. Inside a box it is replaced by a
smooth field that is zero on the faces. Derivatives are exact; they are zero if a point lies on the
axis or in the centre of a round shape.
"""

from collections.abc import Callable

import jax.numpy as jnp

from mjjax.core.enums import GeomType
from mjjax.math import safe
from mjjax.xla.linalg import dot, largest, smallest
from mjjax.xla.namespace import Array, where


def sphere(p: Array, size: Array) -> Array:
    """Signed distances from a sphere."""
    return safe.norm(p) - size[..., 0]


def capsule(p: Array, size: Array) -> Array:
    """Signed distances from a capsule along z."""
    height = p[..., 2:] - jnp.clip(p[..., 2:], -size[..., 1:2], size[..., 1:2])
    return safe.norm(jnp.concatenate([p[..., :2], height], axis=-1)) - size[..., 0]


def ellipsoid(p: Array, size: Array) -> Array:
    """Signed distances from an ellipsoid, to first order; zero in the centre."""
    scaled = p / size
    reach = safe.norm(scaled)
    return safe.divide(reach * (reach - 1), safe.norm(scaled / size))


def cylinder(p: Array, size: Array) -> Array:
    """Signed distances from a cylinder along z."""
    side = safe.norm(p[..., :2], keepdims=True) - size[..., :1]
    return _outside(jnp.concatenate([side, jnp.abs(p[..., 2:]) - size[..., 1:2]], axis=-1))


def box(p: Array, size: Array) -> Array:
    """Signed distances from a box; inside, along a field that points away from the centre."""
    gap = jnp.abs(p) - size
    inside = jnp.all(gap < 0, axis=-1)
    depth = where(inside[..., None], -gap, size)
    part = depth / size
    least = smallest(part)
    bend = least[..., None] / part
    within = smallest(part * depth) / least * jnp.sqrt(dot(bend, bend))
    return where(inside, -within, _outside(gap))


def _outside(gap: Array) -> Array:
    """Signed distances from a product of intervals; `gap` is how far each end is exceeded."""
    return safe.norm(jnp.maximum(gap, 0)) + jnp.minimum(largest(gap), 0)


DISTANCE: dict[GeomType, Callable[[Array, Array], Array]] = {
    GeomType.PLANE: lambda p, size: p[..., 2],
    GeomType.SPHERE: sphere,
    GeomType.CAPSULE: capsule,
    GeomType.ELLIPSOID: ellipsoid,
    GeomType.CYLINDER: cylinder,
    GeomType.BOX: box,
}
