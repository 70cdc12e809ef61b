"""Normals of meshes, which only pictures and tactile sensors use."""

import numpy as np

from mjjax.compiler.mesh_inertia import faces_of
from mjjax.core.constants import MINVAL

_SHARP = 0.8  # cosine of the angle from which an edge is not rounded
_SMALL = 5e-8  # faces that count for nothing [m^2]
_UP = (0.0, 0.0, 1.0)


def unit(normal: np.ndarray) -> np.ndarray:
    """Normals (n, 3) of unit length; upward where they are zero."""
    length = np.sqrt(np.sum(normal * normal, axis=1, keepdims=True))
    proper = length > MINVAL
    return np.where(proper, normal / np.where(proper, length, 1), _UP)


def vertex_normals(vert: np.ndarray, face: np.ndarray, smooth: bool) -> np.ndarray:
    """Mean normal (n, 3) of the faces around each vertex, weighted by area.

    Args:
        vert: vertices (n, 3).
        face: triangles (m, 3).
        smooth: also of faces at a sharp angle to the mean.
    """
    faces = faces_of(vert, face)
    weight = np.where(faces.area > _SMALL, faces.area, 0)
    parts = np.repeat((faces.normal * weight[:, None])[:, None], 3, axis=1)
    total = _scatter(parts, face, len(vert))
    if smooth:
        return unit(total)
    length = np.sqrt(np.sum(total * total, axis=1, keepdims=True))
    mean = total / np.where(length > MINVAL, length, 1)
    cosine = np.sum(faces.normal[:, None] * mean[face], axis=-1)
    sharp = np.where((cosine < _SHARP)[:, :, None], parts, 0)
    return unit(total - _scatter(sharp, face, len(vert)))


def _scatter(parts: np.ndarray, face: np.ndarray, nvert: int) -> np.ndarray:
    """Sum (nvert, 3) of what the corners (m, 3, 3) give to their vertices."""
    corner = face.ravel()
    columns = [np.bincount(corner, column, nvert) for column in parts.reshape(-1, 3).T]
    return np.stack(columns, axis=1)
