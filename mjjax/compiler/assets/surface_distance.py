"""Signed distances of points from the triangles of a mesh, by their tree of boxes."""

from typing import NamedTuple

import numpy as np

from mjjax.compiler.assets.face_tree import FaceTree, skips

_ROUNDING = 1e-9  # the first bound is larger by this relative amount
_ON_PLANE = 1e-12  # a point counts as inside up to this sine of its angle to a triangle's plane


class _Nearest(NamedTuple):
    """The nearest triangles found so far, and the points v0 + u (v1 - v0) + v (v2 - v0) on them."""

    square: np.ndarray
    face: np.ndarray
    uv: np.ndarray


def signed_distance(
    point: np.ndarray, vert: np.ndarray, face: np.ndarray, tree: FaceTree
) -> np.ndarray:
    """Distances (n,) of points (n, 3), negative on the inner side of the nearest triangle.

    Of triangles equally near, which share an edge or a vertex, the first of the tree decides.

    Args:
        point: points.
        vert: vertices (k, 3).
        face: triangles (m, 3).
        tree: their tree.
    """
    corner = vert[face]
    best = _nearest(point, corner, tree)
    v0, ab, ac = _edges(corner[best.face])
    normal = np.cross(ab, ac)
    away = point - (v0 + best.uv[:, :1] * ab + best.uv[:, 1:] * ac)
    distance = np.sqrt(best.square)
    height = np.sum(away * normal, axis=1)
    outside = height > _ON_PLANE * np.sqrt(np.sum(normal * normal, axis=1)) * distance
    return np.where(outside, distance, -distance)


def _nearest(point: np.ndarray, corner: np.ndarray, tree: FaceTree) -> _Nearest:
    """Nearest triangles: every point walks through the tree, from first to second children.

    All points take a step at a time. A point leaves a box out if it is not nearer than the best.
    """
    from scipy.spatial import KDTree

    middle = corner.mean(axis=1)
    guess = np.asarray(KDTree(middle).query(point)[1])
    square, _ = _to_triangle(point, corner[guess])
    best = _Nearest(square * (1 + _ROUNDING), guess, np.zeros((len(point), 2)))
    low, high = tree.box[:, :3] - tree.box[:, 3:], tree.box[:, :3] + tree.box[:, 3:]
    skip = skips(tree)
    active, node = np.arange(len(point)), np.zeros(len(point), int)
    while len(active):
        at = point[active]
        gap = np.maximum(low[node] - at, 0) + np.maximum(at - high[node], 0)
        near = gap[:, 0] ** 2 + gap[:, 1] ** 2 + gap[:, 2] ** 2 < best.square[active]
        leaf = np.flatnonzero(near & (tree.face[node] >= 0))
        found, uv = _to_triangle(at[leaf], corner[tree.face[node[leaf]]])
        better = found < best.square[active[leaf]]
        leaf, which = leaf[better], active[leaf[better]]
        best.square[which], best.uv[which] = found[better], uv[better]
        best.face[which] = tree.face[node[leaf]]
        node = np.where(near, node + 1, skip[node])
        going = node < len(skip)
        active, node = active[going], node[going]
    return best


def _edges(corner: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return corner[:, 0], corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]


def _to_triangle(p: np.ndarray, corner: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Squared distances (n,) of points from triangles (n, 3, 3), and the coordinates (n, 2).

    The region that p is in decides whether the nearest point is a corner, on an edge or inside
    (Ericson, "Real-Time Collision Detection", 5.1.5). Sums are in MuJoCo's order, because rounding
    decides which of two triangles with a common edge is the nearest.
    """
    v0, ab, ac = _edges(corner)
    to = [p - corner[:, k] for k in range(3)]
    d1, d3, d5 = (_dot(ab, x) for x in to)
    d2, d4, d6 = (_dot(ac, x) for x in to)
    va, vb, vc = d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2
    zero, one = np.zeros_like(d1), np.ones_like(d1)
    with np.errstate(divide="ignore", invalid="ignore"):
        on_ab, on_ac = d1 / (d1 - d3), d2 / (d2 - d6)
        on_bc = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        total = 1.0 / (va + vb + vc)
    regions = [
        ((d1 <= 0) & (d2 <= 0), zero, zero),
        ((d3 >= 0) & (d4 <= d3), one, zero),
        ((vc <= 0) & (d1 >= 0) & (d3 <= 0), on_ab, zero),
        ((d6 >= 0) & (d5 <= d6), zero, one),
        ((vb <= 0) & (d2 >= 0) & (d6 <= 0), zero, on_ac),
        ((va <= 0) & (d4 - d3 >= 0) & (d5 - d6 >= 0), 1 - on_bc, on_bc),
    ]
    chosen = [r[0] for r in regions]
    u, v = (np.select(chosen, [r[k] for r in regions], x * total) for k, x in ((1, vb), (2, vc)))
    start = np.where(chosen[5][:, None] & ~np.any(chosen[:5], axis=0)[:, None], 1, 0)
    bc = corner[:, 2] - corner[:, 1]
    along = v0 + u[:, None] * ab + v[:, None] * ac
    away = p - np.where(start, corner[:, 1] + on_bc[:, None] * bc, along)
    for k, region in ((0, 0), (1, 1), (2, 3)):
        first = chosen[region] & ~np.any(chosen[:region], axis=0)
        away = np.where(first[:, None], to[k], away)
    return _dot(away, away), np.stack([u, v], axis=1)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1] + a[:, 2] * b[:, 2]
