"""Trees of bounding boxes over the triangles of meshes, for rays.

Triangles are sorted along a space-filling curve and put into leaves of four. Every inner node
halves a run of leaves. Nodes are in the order in which a search visits them. So a node only needs
the place from which the search goes on if it leaves the node out.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

LEAF = 4  # triangles of a leaf
_SLACK = 1e-6  # boxes are larger by this part, so that rounding in single precision loses nothing
_BITS = 10  # bits of the curve per axis


class BoxTree(NamedTuple):
    """The tree of one mesh with n nodes, the root first; the left child follows its parent.

    Attributes:
        box: (n, 6) least and greatest coordinates.
        skip: (n,) node that follows the last one below a node; n if there is none.
        face: (n, 4) triangles of a leaf, the last one repeated; -1 in inner nodes.
    """

    box: np.ndarray
    skip: np.ndarray
    face: np.ndarray


def tree(vert: np.ndarray, face: np.ndarray) -> BoxTree:
    """The tree of triangles (m, 3) of vertices (k, 3)."""
    corner = vert[face]
    order = np.argsort(_curve(corner.mean(axis=1)), kind="stable").astype(np.int32)
    count = -(-len(face) // LEAF)
    leaves = np.pad(order, (0, count * LEAF - len(face)), mode="edge").reshape(count, LEAF)
    own = corner[leaves].reshape(count, -1, 3)
    layout = _layout(count)
    box = np.zeros((2 * count - 1, 6))
    slack = _SLACK * np.max(np.abs(own), initial=0)
    box[layout.leaf] = np.concatenate([own.min(axis=1) - slack, own.max(axis=1) + slack], axis=1)
    for node, right in reversed(layout.levels):
        low = np.minimum(box[node + 1, :3], box[right, :3])
        high = np.maximum(box[node + 1, 3:], box[right, 3:])
        box[node] = np.concatenate([low, high], axis=1)
    table = np.full((2 * count - 1, LEAF), -1, np.int32)
    table[layout.leaf] = leaves
    return BoxTree(box, layout.skip, table)


def tables(trees: Sequence[BoxTree]) -> dict[str, np.ndarray]:
    """The fields `mesh_box*` of all meshes; addresses count over all nodes."""
    count = np.array([len(t.skip) for t in trees], np.int32)
    start = (np.cumsum(count) - count).astype(np.int32)
    skip = [t.skip + a for t, a in zip(trees, start, strict=True)]
    return {
        "mesh_boxadr": start,
        "mesh_boxnum": count,
        "mesh_box": np.concatenate([np.zeros((0, 6)), *(t.box for t in trees)]),
        "mesh_boxskip": np.concatenate([np.zeros(0, np.int32), *skip]).astype(np.int32),
        "mesh_boxface": np.concatenate([np.zeros((0, LEAF), np.int32), *(t.face for t in trees)]),
    }


class _Layout(NamedTuple):
    """Places of the nodes; `levels` has inner nodes and their right children, level by level."""

    leaf: np.ndarray
    skip: np.ndarray
    levels: list[tuple[np.ndarray, np.ndarray]]


@functools.lru_cache(maxsize=64)
def _layout(count: int) -> _Layout:
    """Layout of a tree with `count` leaves."""
    leaf = np.zeros(count, int)
    skip = np.zeros(2 * count - 1, np.int32)
    levels = []
    node, low, high = (np.array([x]) for x in (0, 0, count))
    while len(node):
        skip[node] = node + 2 * (high - low) - 1
        single = high - low == 1
        leaf[low[single]] = node[single]
        node, low, high = node[~single], low[~single], high[~single]
        middle = (low + high) // 2
        right = node + 2 * (middle - low)
        if len(node):
            levels.append((node, right))
        node = np.concatenate([node + 1, right])
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    return _Layout(leaf, skip, levels)


def _curve(point: np.ndarray) -> np.ndarray:
    """Place of points (n, 3) on the Z curve, which takes bits of the three coordinates in turn."""
    low, high = point.min(axis=0), point.max(axis=0)
    scaled = (point - low) / np.where(high > low, high - low, 1)
    cell = np.minimum(scaled * 2**_BITS, 2**_BITS - 1).astype(np.int64)
    bits = cell[:, :, None] >> np.arange(_BITS) & 1
    return np.sum(bits << (3 * np.arange(_BITS) + np.arange(3)[:, None]), axis=(1, 2))
