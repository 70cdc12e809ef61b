"""Surfaces of meshes: convex hulls, and normals, which only pictures and tactile sensors use."""

from typing import NamedTuple

import numpy as np

from mjjax.compiler.assets.mesh_inertia import faces_of
from mjjax.core.constants import MINVAL

_SIMPLEX = 4  # vertices of the first hull, to which others are added
_SHARP = 0.8  # cosine of the angle from which an edge is not rounded
_SMALL = 5e-8  # faces that count for nothing [m^2]
_UP = (0.0, 0.0, 1.0)


class Hull(NamedTuple):
    """The convex hull of some vertices.

    Attributes:
        vertex: ids of the vertices on it, ascending.
        face: their triangles (m, 3), counter-clockwise seen from outside; by vertex id.
    """

    vertex: np.ndarray
    face: np.ndarray


def convex_hull(vert: np.ndarray, maxvert: int) -> Hull:
    """The hull of vertices (n, 3) with at most `maxvert` of them; any number if negative.

    Raises:
        ValueError: the vertices lie in a plane.
    """
    from scipy.spatial import ConvexHull, QhullError

    limit = f" TA{maxvert - _SIMPLEX}" if maxvert >= _SIMPLEX else ""
    try:
        found = ConvexHull(vert, qhull_options="Qt" + limit)
    except QhullError:
        raise ValueError("the mesh has no convex hull: its vertices lie in a plane") from None
    face = found.simplices.astype(np.int32)
    corner = vert[face]
    normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    inward = np.sum(normal * found.equations[:, :3], axis=1) < 0
    face[inward] = face[inward][:, [1, 0, 2]]
    return Hull(np.unique(face).astype(np.int32), face)


def graph(hull: Hull) -> np.ndarray:
    """The hull in the layout of `mesh_graph`.

    Counts of vertices and faces; for each vertex the address of its list of neighbours and its id;
    the lists, each closed by -1, of places in the list of vertices; the faces by vertex id.
    """
    n, m = len(hull.vertex), len(hull.face)
    local = np.searchsorted(hull.vertex, hull.face)
    edges = np.concatenate([local, np.roll(local, -1, axis=1)]).reshape(2, -1).T
    edges = np.unique(np.concatenate([edges, edges[:, ::-1]]), axis=0)
    degree = np.bincount(edges[:, 0], minlength=n)
    start = np.cumsum(degree + 1) - degree - 1
    lists = np.full(len(edges) + n, -1, np.int32)
    lists[np.arange(len(edges)) + edges[:, 0]] = edges[:, 1]
    counts = np.array([n, m], np.int32)
    parts = (counts, start.astype(np.int32), hull.vertex, lists, hull.face.ravel())
    return np.concatenate(parts).astype(np.int32)


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
