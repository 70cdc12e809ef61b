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
    """The convex hull of some vertices, in the order of Qhull, which MuJoCo keeps.

    Attributes:
        vertex: ids of the vertices on it.
        facet: their triangles (m, 3) by vertex id, from the vertex added last to the earliest.
        face: the same triangles, counter-clockwise seen from outside.
    """

    vertex: np.ndarray
    facet: np.ndarray
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
    facet = found.simplices.astype(np.int32)
    corner = vert[facet]
    normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    inward = np.sum(normal * found.equations[:, :3], axis=1) < 0
    face = np.where(inward[:, None], facet[:, [1, 0, 2]], facet)
    return Hull(_vertex_order(facet, found.equations), facet, face)


def _vertex_order(facet: np.ndarray, equation: np.ndarray) -> np.ndarray:
    """Ids of the vertices in the order of Qhull's list of vertices.

    Qhull adds a point by a cone of new facets, listed one after the other. Each facet has its
    vertices from the latest point, the apex, to the earliest. The vertices of a new facet move to
    the end of the list, once per cone. At the end, coplanar facets are cut up; the pieces count as
    one cone. The vertices of the first tetrahedron are listed from the latest to the earliest.

    Args:
        facet: triangles (m, 3) in Qhull's order.
        equation: planes (m, 4) of the triangles; triangles of one facet have the same plane.
    """
    _, plane, count = np.unique(equation, axis=0, return_inverse=True, return_counts=True)
    apex = facet[:, 0]
    cone = np.concatenate([[0], np.cumsum(apex[1:] != apex[:-1])])
    if len(np.unique(facet[cone <= 1])) <= _SIMPLEX:
        cone = np.maximum(cone, 1) - 1
    cone = np.where(count[plane.ravel()] > 1, len(facet), cone)
    order = np.argsort(cone, kind="stable")
    listed, cones = facet[order].ravel(), np.repeat(cone[order], 3)
    last = np.zeros(facet.max() + 1, int)
    np.maximum.at(last, listed, cones)
    listed = listed[cones == last[listed]]
    vertex, place = np.unique(listed, return_index=True)
    vertex = vertex[np.argsort(place)]
    first = np.unique(facet[cone == cone.min()])
    if cone.min() < len(facet) and len(first) <= _SIMPLEX:
        initial = last[vertex] == cone.min()
        ranks = [np.nonzero(facet[cone == cone.min()] == v)[1].mean() for v in vertex[initial]]
        backward = np.arange(len(ranks))[::-1]
        vertex[initial] = vertex[initial][np.lexsort((backward, ranks))]
    return vertex.astype(np.int32)


def graph(hull: Hull) -> np.ndarray:
    """The hull in the layout of `mesh_graph`.

    The layout starts with the counts of vertices and faces. For each vertex follow the address of
    its list of neighbours and its id. Then come the lists, which hold places in the list of
    vertices and end with -1, and the faces by vertex id.

    Neighbours are in the order in which the faces first name them. This is MuJoCo's order if no
    face of the vertex was removed while Qhull built the hull. Otherwise Qhull has moved faces in
    its list of the vertex's faces, and only the set of neighbours is the same.
    """
    n, m = len(hull.vertex), len(hull.face)
    local = np.zeros(hull.vertex.max() + 1, int)
    local[hull.vertex] = np.arange(n)
    facet = local[hull.facet]
    ends = facet[:, [0, 0, 1, 1, 2, 2]], facet[:, [1, 2, 0, 2, 0, 1]]
    edges = np.stack(ends, axis=-1).reshape(-1, 2)
    _, first = np.unique(edges[:, 0] * n + edges[:, 1], return_index=True)
    edges = edges[np.sort(first)]
    edges = edges[np.argsort(edges[:, 0], kind="stable")]
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
        smooth: whether faces at a sharp angle to the mean count too.
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
    """Sum (nvert, 3) of the parts that the corners (m, 3, 3) give to their vertices."""
    corner = face.ravel()
    columns = [np.bincount(corner, column, nvert) for column in parts.reshape(-1, 3).T]
    return np.stack(columns, axis=1)
