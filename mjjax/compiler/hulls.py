"""Convex hulls of meshes: faces that look outward, and who is whose neighbour."""

from typing import NamedTuple

import numpy as np

_SIMPLEX = 4  # vertices of the first hull, to which others are added


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
