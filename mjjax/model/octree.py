"""Places of the cells of an octree: from its tables of children to a grid."""

import numpy as np

SLOT = np.arange(8)[:, None] >> np.arange(3) & 1  # octants, or corners, by number: x fastest


def places(depth: np.ndarray, child: np.ndarray, most: int) -> np.ndarray:
    """Least corners (n, 3) of cells in units of cells at depth `most`.

    Args:
        depth: (n,) depths; the first cell is the root.
        child: (n, 8) cells in the octants, -1 in leaves.
        most: greatest depth.
    """
    place = np.zeros((len(depth), 3), np.int32)
    for level in range(most):
        parent = np.flatnonzero((depth == level) & (child[:, 0] >= 0))
        half = 1 << (most - level - 1)
        place[child[parent]] = place[parent][:, None] + half * SLOT
    return place


def leaf_grid(depth: np.ndarray, child: np.ndarray, place: np.ndarray, most: int) -> np.ndarray:
    """The leaf around each cell (x, y, z) that a full octree has at depth `most`."""
    side = 1 << most
    grid = np.zeros((side, side, side), np.int32)
    for level in range(most + 1):
        leaf = np.flatnonzero((depth == level) & (child[:, 0] < 0))
        width = side >> level
        x, y, z = (place[leaf] // width).T
        grid.reshape(*[side // width, width] * 3)[x, :, y, :, z, :] = leaf[:, None, None, None]
    return grid
