"""Bounds of primitive shapes, from their types and sizes."""

import numpy as np

from mjjax.core.enums import GeomType
from mjjax.xla.namespace import Array, namespace, where

PRIMITIVES = (
    GeomType.SPHERE,
    GeomType.CAPSULE,
    GeomType.ELLIPSOID,
    GeomType.CYLINDER,
    GeomType.BOX,
)
# Half sizes are these matrices times `geom_size`; of other types they are `geom_size` itself.
_HALF_SIZES = {
    GeomType.SPHERE: [[1, 0, 0], [1, 0, 0], [1, 0, 0]],
    GeomType.CAPSULE: [[1, 0, 0], [1, 0, 0], [1, 1, 0]],
    GeomType.CYLINDER: [[1, 0, 0], [1, 0, 0], [0, 1, 0]],
}
# The corner of a box, and the rim of a cylinder, are as far away as these half sizes together.
_FURTHEST = {GeomType.CYLINDER: [1, 0, 1], GeomType.BOX: [1, 1, 1]}


def half_sizes(kind: np.ndarray, size: Array) -> Array:
    """Half sizes (n, 3) of the bounding boxes of geoms [m].

    They are also the semi-axes of the ellipsoids that stand for the geoms in a medium.

    Args:
        kind: (n,) `GeomType`.
        size: (n, 3) `geom_size` [m].
    """
    matrix = np.array([_HALF_SIZES.get(k, np.eye(3)) for k in kind], size.dtype)
    return namespace(size).sum(matrix.reshape(-1, 3, 3) * size[:, None], axis=2)


def rbound(kind: np.ndarray, size: Array) -> Array:
    """Radii (n,) of the bounding spheres of primitive shapes, see `half_sizes` [m]."""
    xp, half = namespace(size), half_sizes(kind, size)
    furthest = np.array([_FURTHEST.get(k, np.zeros(3)) for k in kind], size.dtype)
    diagonal = xp.sqrt(xp.sum(furthest.reshape(-1, 3) * half * half, axis=1))
    return where(np.isin(kind, list(_FURTHEST)), diagonal, xp.max(half, axis=1))
