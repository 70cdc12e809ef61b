"""Octrees over meshes. Cells are small near the surface, and corners hold distances from it.

A cell that a triangle touches is divided, down to a 64th of the mesh's box. Cells that are much
larger than a neighbour are divided too. Between the corners of a cell the distance is trilinear. A
corner on the edge or face of a larger cell takes the mean of that cell's corners, so that the field
is continuous. All of this is as in MuJoCo; the fields `mesh_oct*` and `oct_*` have its numbers.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mjjax.compiler.assets.face_tree import FaceTree
from mjjax.compiler.assets.surface_distance import signed_distance
from mjjax.model.octree import SLOT, leaf_grid

OCTREE_DEPTH = 6  # depth of the smallest cells; the root has depth 0
SIDE = 1 << OCTREE_DEPTH  # number of smallest cells along an edge of the root
_LARGER = 1.1  # the root is larger than the mesh by this factor


class Octree(NamedTuple):
    """The octree of a mesh with n cells.

    Attributes:
        depth: (n,) depth of a cell.
        child: (n, 8) cells in the octants, x fastest; -1 in leaves.
        aabb: (n, 6) centres and half sizes.
        coeff: (n, 8) distances at the corners, x fastest; negative inside.
    """

    depth: np.ndarray
    child: np.ndarray
    aabb: np.ndarray
    coeff: np.ndarray


class _Cells(NamedTuple):
    """Cells: their least corners (n, 3) in units of the smallest cell, depths and children."""

    place: np.ndarray
    depth: np.ndarray
    child: np.ndarray

    @property
    def width(self) -> np.ndarray:
        """Widths (n,) in units of the smallest cell."""
        return SIDE >> self.depth

    @property
    def leaves(self) -> np.ndarray:
        """Numbers of the cells without children."""
        return np.flatnonzero(self.child[:, 0] < 0)

    def divided(self, parent: np.ndarray) -> "_Cells":
        """The cells, followed by the octants of the leaves `parent` (k,)."""
        new = len(self.depth) + np.arange(8 * len(parent)).reshape(-1, 8)
        child = np.concatenate([self.child, np.full((new.size, 8), -1)])
        child[parent] = new
        half = self.width[parent] // 2
        place = self.place[parent][:, None] + half[:, None, None] * SLOT
        return _Cells(
            np.concatenate([self.place, place.reshape(-1, 3)]),
            np.append(self.depth, np.repeat(self.depth[parent] + 1, 8)),
            child,
        )


def octree(vert: np.ndarray, face: np.ndarray, tree: FaceTree) -> Octree:
    """The octree of triangles (m, 3) of vertices (k, 3) with their tree of boxes."""
    lines = _lines(vert)
    cells = _balanced(_around(vert[face], lines))
    corner = cells.place[:, None] + cells.width[:, None, None] * SLOT
    number = corner @ (SIDE + 1) ** np.arange(3)
    used, which = np.unique(number, return_inverse=True)
    place = used[:, None] // (SIDE + 1) ** np.arange(3) % (SIDE + 1)
    point = np.stack([lines[axis, place[:, axis]] for axis in range(3)], axis=1)
    below, above = (
        np.stack([lines[axis, p[:, axis]] for axis in range(3)], axis=1)
        for p in (cells.place, cells.place + cells.width[:, None])
    )
    hanging, source = _hanging(cells, number)
    free = ~np.isin(used, hanging)
    value = np.zeros(len(used))
    value[free] = signed_distance(point[free], vert, face, tree)
    _hang(value, used, hanging, source, cells)
    return Octree(
        cells.depth.astype(np.int32),
        cells.child.astype(np.int32),
        np.concatenate([(below + above) / 2, (above - below) / 2], axis=1),
        value[which.reshape(number.shape)],
    )


def tables(trees: Sequence[Octree | None]) -> dict[str, np.ndarray]:
    """The fields of all meshes, of which some have an octree; children count within a mesh."""
    count = np.array([0 if t is None else len(t.depth) for t in trees], np.int32)
    made = [t for t in trees if t is not None]
    return {
        "mesh_octadr": np.where(count > 0, np.cumsum(count) - count, -1).astype(np.int32),
        "mesh_octnum": count,
        "oct_depth": np.concatenate([np.zeros(0, np.int32), *(t.depth for t in made)]),
        "oct_child": np.concatenate([np.zeros((0, 8), np.int32), *(t.child for t in made)]),
        "oct_aabb": np.concatenate([np.zeros((0, 6)), *(t.aabb for t in made)]),
        "oct_coeff": np.concatenate([np.zeros((0, 8)), *(t.coeff for t in made)]),
    }


def _lines(vert: np.ndarray) -> np.ndarray:
    """Coordinates (3, 65) of the planes between smallest cells, halved level by level."""
    low, high = vert.min(axis=0), vert.max(axis=0)
    middle, half = (low + high) / 2, (high - low) / 2
    lines = np.zeros((3, SIDE + 1))
    lines[:, 0], lines[:, -1] = middle - _LARGER * half, middle + _LARGER * half
    for depth in range(OCTREE_DEPTH):
        step = SIDE >> depth
        ends = lines[:, ::step]
        lines[:, step // 2 :: step] = (ends[:, 1:] + ends[:, :-1]) / 2
    return lines


def _around(corner: np.ndarray, lines: np.ndarray) -> _Cells:
    """Cells divided wherever one of the triangles (m, 3, 3) touches them, level by level."""
    cells = _Cells(np.zeros((1, 3), int), np.zeros(1, int), np.full((1, 8), -1))
    level, triangle = np.zeros(len(corner), int), np.arange(len(corner))
    for _ in range(OCTREE_DEPTH):
        place = cells.place[level]
        end = place + cells.width[level][:, None]
        low, high = (
            np.stack([lines[axis, p[:, axis]] for axis in range(3)], axis=1) for p in (place, end)
        )
        touched = _touches(corner[triangle], low, high)
        level, triangle = level[touched], triangle[touched]
        parent, row = np.unique(level, return_inverse=True)
        cells = cells.divided(parent)
        level = cells.child[parent][row].ravel()
        triangle = np.repeat(triangle, 8)
    return cells


def _touches(v: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Whether triangles (n, 3, 3) touch boxes, after Schwarz and Seidel (2010).

    They touch if their boxes overlap, the triangle's plane cuts the box, and their projections
    along all axes overlap. Sums are in MuJoCo's order, because cells often end on a face of the
    mesh.
    """
    touch = ~np.any((v < low[:, None]).all(axis=1) | (v > high[:, None]).all(axis=1), axis=1)
    edge = np.roll(v, -1, axis=1) - v
    normal = _cross(edge[:, 0], edge[:, 1])
    size = high - low
    reach = np.where(normal > 0, size, 0)
    base = _dot(normal, low)
    ends = [base + _dot(normal, x - v[:, 0]) for x in (reach, size - reach)]
    touch &= ends[0] * ends[1] <= 0
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        sign = np.where(normal[:, a] >= 0, 1.0, -1.0)[:, None]
        x, y = -edge[:, :, c] * sign, edge[:, :, b] * sign
        inside = -(x * v[:, :, b] + y * v[:, :, c])
        inside = inside + np.maximum(0, size[:, b, None] * x) + np.maximum(0, size[:, c, None] * y)
        touch &= np.all(x * low[:, b, None] + y * low[:, c, None] + inside >= 0, axis=1)
    return touch


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1] + a[:, 2] * b[:, 2]


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    parts = [a[:, i - 2] * b[:, i - 1] - a[:, i - 1] * b[:, i - 2] for i in range(3)]
    return np.stack(parts, axis=1)


def _balanced(cells: _Cells) -> _Cells:
    """The cells, after all that are more than twice as wide as a neighbour are divided."""
    while True:
        leaves = cells.leaves
        beside = _beside(cells, leaves)
        there, mine = cells.depth[beside], cells.depth[leaves][:, None]
        coarse = np.stack(
            [
                np.where((beside >= 0) & (there > mine + 1), leaves[:, None], -1),
                np.where((beside >= 0) & (mine > there + 1), beside, -1),
            ],
            axis=-1,
        ).ravel()
        chosen, first = np.unique(coarse, return_index=True)
        chosen = chosen[np.argsort(first)]
        chosen = chosen[chosen >= 0]
        if not len(chosen):
            return cells
        cells = cells.divided(chosen)


def _beside(cells: _Cells, leaves: np.ndarray) -> np.ndarray:
    """Leaves (n, 6) beside the middles of the faces of leaves, -1 outside the root.

    The order of faces is -x, x, -y and so on. Of several leaves, the one at the lower side counts.
    """
    grid = leaf_grid(cells.depth, cells.child, cells.place, OCTREE_DEPTH)
    width = cells.width[leaves][:, None]
    middle = cells.place[leaves] + np.maximum(width // 2, 1) - 1
    found = []
    for direction in range(6):
        axis, side = divmod(direction, 2)
        at = middle.copy()
        at[:, axis] = cells.place[leaves, axis] + (width[:, 0] if side else -1)
        within = (at[:, axis] >= 0) & (at[:, axis] < SIDE)
        x, y, z = np.clip(at, 0, SIDE - 1).T
        found.append(np.where(within, grid[x, y, z], -1))
    return np.stack(found, axis=1)


@functools.cache
def _face_corners(direction: int) -> list[int]:
    """Numbers of the corners on a face, in MuJoCo's order."""
    axis, side = divmod(direction, 2)
    one, two = 1 << (axis + 1) % 3, 1 << (axis + 2) % 3
    return [(side << axis) + x for x in (0, one, two, one + two)]


def _hanging(cells: _Cells, number: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Corners that lie on an edge or a face of a leaf without being a corner of it.

    Args:
        cells: balanced cells.
        number: (n, 8) numbers of their corners.

    Returns:
        Numbers (h,) of the corners, and for each the four numbers (h, 4) of corners of which it is
        the mean; those of an edge stand twice.
    """
    leaves = cells.leaves
    beside = _beside(cells, leaves)
    corners = np.array([_face_corners(d) for d in range(6)])
    mine = number[leaves][:, corners]
    coarse = (beside >= 0) & (cells.depth[beside] < cells.depth[leaves][:, None])
    row, direction = np.nonzero(coarse)
    other = np.repeat(beside[row, direction], 4)
    hanging = mine[row, direction].ravel()
    stride = (SIDE + 1) ** np.arange(3)
    at = hanging[:, None] // stride % (SIDE + 1) - cells.place[other]
    width = cells.width[other][:, None]
    # Along an axis, the corner is at the start, at the end or in the middle of the larger leaf.
    low, high = np.where(at == width, 1, 0), np.where(at == 0, 0, 1)
    between = low != high
    kept = np.flatnonzero(between.any(axis=1))
    kept = kept[np.unique(hanging[kept], return_index=True)[1]]
    low, high, between = low[kept], high[kept], between[kept]
    axes = np.argsort(~between, axis=1, kind="stable")  # those in between come first
    source = []
    rows = np.arange(len(kept))
    for pick in range(4):
        slot = low.copy()
        for k in range(2):
            if pick >> k & 1:
                axis = axes[:, k]
                slot[rows, axis] = high[rows, axis]
        source.append(number[other[kept], slot @ np.array([1, 2, 4])])
    return hanging[kept], np.stack(source, axis=1)


def _hang(
    value: np.ndarray, used: np.ndarray, hanging: np.ndarray, source: np.ndarray, cells: _Cells
) -> None:
    """Fills in the values of hanging corners; corners of larger cells come first."""
    place = np.searchsorted(used, hanging), np.searchsorted(used, source)
    waiting = np.zeros(len(used), bool)
    waiting[place[0]] = True
    left = np.arange(len(hanging))
    while len(left):
        ready = ~waiting[place[1][left]].any(axis=1)
        now = left[ready]
        value[place[0][now]] = np.mean(value[place[1][now]], axis=1)
        waiting[place[0][now]] = False
        left = left[~ready]
