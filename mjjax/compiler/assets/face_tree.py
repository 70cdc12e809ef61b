"""MuJoCo's trees of bounding boxes over the triangles of meshes.

Every inner node halves its triangles at the median of their circumcentres along its longest side.
The order decides which triangles of a mesh touch a signed distance field first, and which of
several equally near triangles gives a point's distance its sign.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

_EPS = 1e-14  # coordinates that differ by less are equal


class FaceTree(NamedTuple):
    """The tree over m triangles, 2 m - 1 nodes; a node is followed by its first child.

    Attributes:
        box: (n, 6) centres and half sizes.
        child: (n, 2) nodes below, -1 in leaves.
        face: (n,) triangle of a leaf, -1 in inner nodes.
    """

    box: np.ndarray
    child: np.ndarray
    face: np.ndarray


def face_tree(vert: np.ndarray, face: np.ndarray) -> FaceTree:
    """The tree over triangles (m, 3) of vertices (k, 3), level by level."""
    m = len(face)
    corner = vert[face]
    low, high = corner.min(axis=1), corner.max(axis=1)
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    low, high = middle - half, middle + half
    centre = _circumcentres(corner)
    box, child = np.zeros((2 * m - 1, 6)), np.full((2 * m - 1, 2), -1, np.int32)
    leaf = np.full(2 * m - 1, -1, np.int32)
    order = np.arange(m)
    node, start, end = (np.array([x]) for x in (0, 0, m))
    while len(node):
        members = np.concatenate([order[a:b] for a, b in zip(start, end, strict=True)])
        first = np.cumsum(end - start) - (end - start)
        least = np.minimum.reduceat(low[members], first)
        most = np.maximum.reduceat(high[members], first)
        flat = np.abs(least - most) < _EPS
        least, most = least - _EPS * flat, most + _EPS * flat
        box[node] = np.concatenate([(most + least) / 2, (most - least) / 2], axis=1)
        single = end - start == 1
        leaf[node[single]] = order[start[single]]
        node, start, end = node[~single], start[~single], end[~single]
        if not len(node):
            break
        _sort(order, start, end, centre, _longest((most - least)[~single]))
        split = (end - start) // 2
        child[node] = np.stack([node + 1, node + 2 * split], axis=1)
        node = child[node].T.ravel()
        start, end = np.append(start, start + split), np.append(start + split, end)
    return FaceTree(box, child, leaf)


def _circumcentres(corner: np.ndarray) -> np.ndarray:
    """Centres (m, 3) of the circles through corners (m, 3, 3); the last corner if they are in line.

    If a and b go from the last corner to the others, the centre relative to the last corner is
    (|a|^2 b - |b|^2 a) x (a x b) / (2 |a x b|^2).
    """
    a, b = corner[:, 0] - corner[:, 2], corner[:, 1] - corner[:, 2]
    normal = np.cross(a, b)
    square = [np.sum(x * x, axis=1, keepdims=True) for x in (a, b, normal)]
    away = np.cross(square[0] * b - square[1] * a, normal)
    flat = square[2] == 0
    return corner[:, 2] + np.where(flat, 0, away / np.where(flat, 1, 2 * square[2]))


def _longest(side: np.ndarray) -> np.ndarray:
    """Axis (n,) of the longest of sides (n, 3); of equal ones the first."""
    axis = np.where(side[:, 1] >= side[:, 0] + _EPS, 1, 0)
    return np.where(side[:, 2] >= side[np.arange(len(side)), axis] + _EPS, 2, axis)


def _sort(
    order: np.ndarray, start: np.ndarray, end: np.ndarray, centre: np.ndarray, axis: np.ndarray
) -> None:
    """Sorts runs of `order` by their circumcentres along an axis, equal ones by number."""
    count = end - start
    run = np.repeat(np.arange(len(start)), count)
    place = np.arange(len(run)) - np.repeat(np.cumsum(count) - count - start, count)
    members = order[place]
    key = centre[members, axis[run]]
    by_key = np.lexsort((key, run))
    members, key = members[by_key], key[by_key]
    apart = np.append(True, (np.diff(key) > _EPS) | (np.diff(run) > 0))
    order[place] = members[np.lexsort((members, np.cumsum(apart)))]


def skips(tree: FaceTree) -> np.ndarray:
    """The node (n,) that follows the last one below each node; n if there is none."""
    skip = np.full(len(tree.face), len(tree.face))
    for node in np.flatnonzero(tree.child[:, 0] >= 0):
        first, second = tree.child[node]
        skip[first], skip[second] = second, skip[node]
    return skip


def _backward(tree: FaceTree) -> tuple[np.ndarray, np.ndarray]:
    """The nodes (n,) in the order of a walk from second to first children, and its skips.

    Places count within that order.
    """
    size = skips(tree) - np.arange(len(tree.face))  # nodes of a subtree
    place = np.zeros(len(tree.face), int)
    for node in np.flatnonzero(tree.child[:, 0] >= 0):
        first, second = tree.child[node]
        place[second] = place[node] + 1
        place[first] = place[second] + size[second]
    order = np.argsort(place)
    return order, place[order] + size[order]


def tables(trees: Sequence[FaceTree | None]) -> dict[str, np.ndarray]:
    """The fields `mesh_node*` of all meshes, of which some have a tree; see `Structure`."""
    count = np.array([0 if t is None else len(t.face) for t in trees], np.int32)
    start = (np.cumsum(count) - count).astype(np.int32)
    ball, skip, face = [np.zeros((0, 4))], [np.zeros(0, int)], [np.zeros(0, int)]
    for tree, first in zip(trees, start, strict=True):
        if tree is None:
            continue
        order, after = _backward(tree)
        radius = np.sqrt(np.sum(tree.box[:, 3:] ** 2, axis=1, keepdims=True))
        ball.append(np.concatenate([tree.box[:, :3], radius], axis=1)[order])
        skip.append(after + first)
        face.append(tree.face[order])
    return {
        "mesh_nodeadr": start,
        "mesh_nodenum": count,
        "mesh_nodeball": np.concatenate(ball),
        "mesh_nodeskip": np.concatenate(skip).astype(np.int32),
        "mesh_nodeface": np.concatenate(face).astype(np.int32),
    }
