"""Cuts polygons of OBJ files into triangles as MuJoCo's reader does, including its rounding.

A polygon is seen along an axis of the file. An ear is a corner that turns as the whole polygon does
and that has no other corner in its triangle. The first ear is cut off, and then the corners after
it are tried.
"""

import numpy as np

_EPS = np.finfo(np.float32).eps
_QUADS = np.array(  # the rest of a quad without the ear that begins at corner 0, 1, 2, 3
    [[[0, 1, 2], [0, 2, 3]], [[1, 2, 3], [0, 1, 3]], [[2, 3, 0], [0, 1, 2]], [[3, 0, 1], [1, 2, 3]]]
)


def cut(polygons: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Triangles of polygons (m, n, 3) with n > 3 corners.

    Returns:
        For each triangle its polygon (k,) and the places of its corners in it (k, 3). A polygon
        that winds through itself may have fewer than n - 2 triangles.
    """
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        flat = _seen(polygons.astype(np.float32))
        if polygons.shape[1] == 4:
            return _cut_quads(flat)
        found = [_cut_one(one, area) for one, area in zip(flat, _area(flat), strict=True)]
    rows = np.repeat(np.arange(len(found)), [len(one) for one in found])
    return rows, np.array([triangle for one in found for triangle in one], int).reshape(-1, 3)


def _seen(polygons: np.ndarray) -> np.ndarray:
    """Corners (m, n, 2) without the axis that is nearest to the normal of the first real corner."""
    edge = np.roll(polygons, -1, axis=1) - polygons
    after = np.roll(edge, -1, axis=1)
    size = np.stack(
        [
            np.abs(edge[..., i] * after[..., j] - edge[..., j] * after[..., i])
            for i, j in ((1, 2), (2, 0), (0, 1))
        ],
        axis=-1,
    )
    first = np.argmax((size > _EPS).any(axis=-1), axis=1)
    x, y, z = size[np.arange(len(size)), first].T
    proper = (size > _EPS).any(axis=(1, 2))
    along_x = ~proper | ((x > y) & (x > z))
    one = np.where(along_x, 1, 0)
    two = np.where(~along_x & (z > x) & (z > y), 1, 2)
    return np.stack(
        [np.take_along_axis(polygons, axis[:, None, None], 2)[..., 0] for axis in (one, two)],
        axis=-1,
    )


def _area(flat: np.ndarray) -> np.ndarray:
    """Signed areas (m,) of polygons (m, n, 2), summed corner by corner."""
    after = np.roll(flat, -1, axis=1)
    parts = (flat[..., 0] * after[..., 1] - flat[..., 1] * after[..., 0]) * np.float32(0.5)
    return np.cumsum(parts, axis=1, dtype=np.float32)[:, -1]


def _is_ear(triangle: np.ndarray, others: np.ndarray, area: np.ndarray) -> np.ndarray:
    """Whether corners (..., 3, 2) of polygons of signed area (...) are ears.

    Args:
        triangle: the corner with the corners before and after it.
        others: the other corners (..., k, 2).
        area: area of the whole polygon.
    """
    x, y = triangle[..., 0], triangle[..., 1]
    turn = (x[..., 1] - x[..., 0]) * (y[..., 2] - y[..., 1])
    turn = turn - (y[..., 1] - y[..., 0]) * (x[..., 2] - x[..., 1])
    inside = np.zeros(others.shape[:-1], bool)
    for i, j in ((0, 2), (1, 0), (2, 1)):
        xi, yi, xj, yj = (a[..., k][..., None] for k in (i, j) for a in (x, y))
        crosses = (yi > others[..., 1]) != (yj > others[..., 1])
        at = (xj - xi) * (others[..., 1] - yi) / (yj - yi) + xi
        inside ^= crosses & (others[..., 0] < at)
    return ~(turn * area < 0) & ~inside.any(axis=-1)


def _cut_quads(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`cut` for flat quads (m, 4, 2): chooses one of two diagonals and one of four corners."""
    area, rings = _area(flat), [np.roll(flat, -k, axis=1) for k in range(4)]
    ears = np.stack([_is_ear(ring[:, :3], ring[:, 3:], area) for ring in rings], axis=1)
    rows = np.flatnonzero(ears.any(axis=1))
    return np.repeat(rows, 2), _QUADS[np.argmax(ears[rows], axis=1)].reshape(-1, 3)


def _cut_one(flat: np.ndarray, area: np.ndarray) -> list[list[int]]:
    """The triangles of one flat polygon (n, 2)."""
    rest, found, at, missed = list(range(len(flat))), [], 0, 0
    while len(rest) > 3 and missed < len(rest):
        at %= len(rest)
        ring = rest[at:] + rest[:at]
        if not _is_ear(flat[ring[:3]], flat[ring[3:]], area):
            at, missed = at + 1, missed + 1
            continue
        found.append(ring[:3])
        rest.remove(ring[1])
        if missed == len(flat) - 1:  # MuJoCo has no tries left when the last corner is the ear
            break
        missed = 0
    return [*found, rest] if len(rest) == 3 else found
