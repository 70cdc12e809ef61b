"""Meshes of unit size that MuJoCo makes itself, with one function per keyword of 'builtin'.

A maker takes the values of 'params'. A mesh without faces is the convex hull of its vertices. A
maker raises ValueError if a parameter is out of range.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mjjax.mjcf.meshfile import FileTriangles, real

_MAX_SUBDIVISION, _MAX_RINGS, _MAX_VERTICES = 4, 10, 100_000
_NO_FACES = np.zeros((0, 3), np.int32)
_FOVEATION = 5  # power by which gamma = 1 draws the rays of a wedge together
_EPS = 1e-14


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise ValueError(what)


def _require_few(vertices: float) -> None:
    _require(vertices <= _MAX_VERTICES, f"it would have more than {_MAX_VERTICES:,} vertices")


def _made(vert: ArrayLike, face: ArrayLike, normal: ArrayLike = ()) -> FileTriangles:
    faces = np.asarray(face, np.int32).reshape(-1, 3)
    return FileTriangles(real(vert, 3), faces, real(normal, 3))


def _power(x: np.ndarray, exponent: float) -> np.ndarray:
    """|x|^exponent with the sign of x."""
    return np.copysign(np.abs(x) ** exponent, x)


def sphere(subdivision: float) -> FileTriangles:
    """An icosahedron whose faces are cut in four, `subdivision` times."""
    n = int(subdivision)
    _require(0 <= n <= _MAX_SUBDIVISION, f"the subdivision must be 0 to {_MAX_SUBDIVISION}")
    t = (1 + np.sqrt(5)) / 2
    corners = [np.roll((a, b, 0.0), r) for r in range(3) for b in (t, -t) for a in (-1.0, 1.0)]
    vert = [(v / np.sqrt(1 + t * t)).astype(np.float32) for v in corners]
    strips = [0, 11, 5], [0, 5, 1], [0, 1, 7], [0, 7, 10], [0, 10, 11]
    strips += [1, 5, 9], [5, 11, 4], [11, 10, 2], [10, 7, 6], [7, 1, 8]
    strips += [3, 9, 4], [3, 4, 2], [3, 2, 6], [3, 6, 8], [3, 8, 9]
    strips += [4, 9, 5], [2, 4, 11], [6, 2, 10], [8, 6, 7], [9, 8, 1]
    faces = [list(face) for face in strips]
    for _ in range(n):
        faces = _subdivided(vert, faces)
    return _made(vert, faces)


def _subdivided(vert: list[np.ndarray], faces: list[list[int]]) -> list[list[int]]:
    """Each face cut in four; the midpoints of the edges go to `vert`, on the unit sphere.

    Precision and order of sums are those of MuJoCo, because rounding decides which principal axes a
    round mesh has.
    """
    middle: dict[tuple[int, int], int] = {}

    def between(i: int, j: int) -> int:
        key = (min(i, j), max(i, j))
        if key not in middle:
            x, y, z = point = vert[key[0]] + vert[key[1]]
            middle[key] = len(vert)
            vert.append(point / np.sqrt(x * x + y * y + z * z))
        return middle[key]

    found = []
    for a, b, c in faces:
        ca, bc, ab = between(a, b), between(b, c), between(c, a)
        found += [[a, ca, ab], [b, bc, ca], [c, ab, bc], [ca, bc, ab]]
    return found


def hemisphere(resolution: float) -> FileTriangles:
    """The upper half of an octahedron blown up to a ball, with a floor; ring k has 4 k vertices."""
    rings = int(resolution) + 1
    _require(1 <= rings <= _MAX_RINGS + 1, f"the resolution must be 0 to {_MAX_RINGS}")
    vert, start = [(0.0, 0.0, 1.0)], [0]
    for k in range(1, rings + 1):
        start.append(len(vert))
        for side, j in itertools.product(range(4), range(k)):
            x, y = ((k - j, j), (-j, k - j), (j - k, -j), (j, j - k))[side]
            point = np.array([x, y, rings - k], np.float64)
            vert.append(tuple(point / np.sqrt(np.sum(point * point))))
    faces = []
    for k, side, j in _places(rings):
        inner = [_on_ring(start, k, side * k + j + i) for i in range(2)]
        outer = [_on_ring(start, k + 1, side * (k + 1) + j + i) for i in range(2)]
        faces.append([inner[0], *outer])
        if j < k:
            faces.append([inner[0], outer[1], inner[1]])
    floor = len(vert)
    rim = [_on_ring(start, rings, i) for i in range(4 * rings + 1)]
    faces += [[a, floor, b] for a, b in itertools.pairwise(rim)]
    return _made([*vert, (0.0, 0.0, 0.0)], faces)


def _places(rings: int) -> list[tuple[int, int, int]]:
    """(ring, quarter, place) of the gaps between a ring and the next outer one."""
    return [(k, side, j) for k in range(rings) for side in range(4) for j in range(k + 1)]


def _on_ring(start: list[int], k: int, place: int) -> int:
    return start[k] + (place % (4 * k) if k else 0)


def cone(nvert: float, radius: float) -> FileTriangles:
    """A polygon below and a smaller one (or a tip) above; the hull of both."""
    _require_few(2 * nvert)
    angle = 2 * np.pi * np.arange(int(nvert)) / max(int(nvert), 1)
    ring = np.stack([np.cos(angle), np.sin(angle), -np.ones_like(angle)], axis=1)
    tip = np.array([[0.0, 0.0, 1.0]])
    top = ring * [radius, radius, -1] if radius > _EPS else tip
    return _made(np.concatenate([ring, top]), _NO_FACES)


def supersphere(resolution: float, e: float, n: float) -> FileTriangles:
    """A superellipsoid: `e` is the exponent around the z axis, `n` along it."""
    _require_few(resolution**2)
    res = int(resolution)
    _require(res > 2, "the resolution must be greater than 2")
    _require(e >= 0 and n >= 0, "the exponents cannot be negative")
    phi = -np.pi / 2 + np.pi * np.arange(1, res) / res
    theta = -np.pi + 2 * np.pi * np.arange(res) / res
    radius = _power(np.cos(phi), n)[:, None]
    x, y = radius * _power(np.cos(theta), e), radius * _power(np.sin(theta), e)
    z = np.broadcast_to(_power(np.sin(phi), n)[:, None], x.shape)
    rings = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    vert = np.concatenate([[[0.0, 0.0, -1.0]], rings, [[0.0, 0.0, 1.0]]])
    here = 1 + np.arange(res)
    there = np.roll(here, -1)
    faces = [np.stack([np.zeros_like(here), there, here], axis=1)]
    for low in range(0, res * (res - 2), res):
        high = low + res
        quads = [[here + low, there + low, here + high], [there + low, there + high, here + high]]
        faces.append(np.array(quads).transpose(2, 0, 1).reshape(-1, 3))
    last = res * (res - 2)
    faces.append(np.stack([here + last, there + last, np.full(res, len(vert) - 1)], axis=1))
    return _made(vert, np.concatenate(faces))


def supertorus(resolution: float, radius: float, s: float, t: float) -> FileTriangles:
    """A torus of large radius 1: `s` is the exponent of the tube, `t` of the ring."""
    _require_few(resolution**2)
    res = int(resolution)
    _require(res > 2, "the resolution must be greater than 2")
    _require(0 < radius <= 1, "the radius must be in (0, 1]")
    _require(s > 0 and t > 0, "the exponents must be positive")
    angle = 2 * np.pi * np.arange(res) / res
    reach = 1 + radius * _power(np.cos(angle), s)
    x, y = (_power(turn(angle), t)[:, None] * reach for turn in (np.cos, np.sin))
    z = np.broadcast_to(radius * _power(np.sin(angle), s), x.shape)
    index = np.arange(res * res).reshape(res, res)
    a, b = index, np.roll(index, -1, axis=0)
    c, d = np.roll(a, -1, axis=1), np.roll(b, -1, axis=1)
    face = np.stack([a, b, c, b, d, c], axis=-1).reshape(-1, 3)
    return _made(np.stack([x, y, z], axis=-1), face)


def _cells(n: int, gamma: float) -> np.ndarray:
    """Centres of n cells from -1 to 1; a larger `gamma` draws them to the middle."""
    edge = np.linspace(-1, 1, n + 1)
    edge = gamma * edge**_FOVEATION + (1 - gamma) * edge
    return (edge[1:] + edge[:-1]) / 2


def _check_resolution(*resolution: float) -> None:
    _require_few(math.prod(resolution))
    _require(min(map(int, resolution)) > 0, "the resolutions must be positive")


def wedge(
    horizontal: float, vertical: float, fov_h: float, fov_v: float, gamma: float
) -> FileTriangles:
    """The hull of the tips of directions of a field of view on the unit sphere, along -z.

    Each vertex has three normals: outward, and tangents along and across the field of view.
    """
    _check_resolution(horizontal, vertical)
    _require(0 < fov_h <= 180, "the horizontal field of view must be in (0, 180] degrees")
    _require(0 < fov_v <= 90, "the vertical field of view must be in (0, 90] degrees")
    _require(0 <= gamma <= 1, "gamma must be in [0, 1]")
    azimuth = np.radians(fov_h) * _cells(int(horizontal), gamma)[:, None]
    height = np.radians(fov_v) * _cells(int(vertical), gamma)
    x, z = np.sin(azimuth) * np.cos(height), -np.cos(azimuth) * np.cos(height)
    y = np.broadcast_to(np.sin(height), x.shape)
    zero = np.zeros_like(x)
    along = np.stack([np.cos(azimuth) + zero, zero, np.sin(azimuth) + zero], axis=-1)
    across = np.stack([-np.sin(azimuth) * y, np.cos(height) + zero, np.cos(azimuth) * y], axis=-1)
    tip = np.stack([x, y, z], axis=-1)
    return _made(tip, _NO_FACES, np.stack([tip, along, across], axis=-2))


def plate(horizontal: float, vertical: float) -> FileTriangles:
    """A grid in the plane z = -1; the three normals of each vertex are the axes."""
    _check_resolution(horizontal, vertical)
    x, y = np.meshgrid(_cells(int(horizontal), 0), _cells(int(vertical), 0), indexing="ij")
    index = np.arange(x.size).reshape(x.shape)
    a, b, c, d = index[:-1, :-1], index[:-1, 1:], index[1:, :-1], index[1:, 1:]
    face = np.stack([a, c, b, d, b, c], axis=-1).reshape(-1, 3)
    frames = np.tile(np.eye(3), (x.size, 1))
    return _made(np.stack([x, y, -np.ones_like(x)], axis=-1), face, frames)


class Builtin(NamedTuple):
    """A maker, the number of its parameters, and whether it is a surface without inside."""

    make: Callable[..., FileTriangles]
    nparam: int
    flat: bool = False


# by the number of the keyword
BUILTIN: dict[int, Builtin] = {
    1: Builtin(sphere, 1),
    2: Builtin(hemisphere, 1),
    3: Builtin(cone, 2),
    4: Builtin(supertorus, 4),
    5: Builtin(supersphere, 3),
    6: Builtin(wedge, 5),
    7: Builtin(plate, 2, flat=True),
}


def make(kind: int, params: Sequence[float]) -> FileTriangles:
    """The builtin mesh number `kind`.

    Raises:
        ValueError: the number of parameters is wrong, or a parameter is out of range.
    """
    builtin = BUILTIN[kind]
    if not np.isfinite(params).all():
        raise ValueError("params must be finite")
    if len(params) != builtin.nparam:
        raise ValueError(f"{len(params)} params are given, but it needs {builtin.nparam}")
    return builtin.make(*params)
