"""Mass properties of triangle meshes.

A solid is a sum of pyramids over its faces with a common apex. A shell is a sum of triangles. Sums
run in the order of the faces, because rounding decides which axes are found if principal moments
coincide, and the axes should be MuJoCo's.
"""

from typing import NamedTuple

import numpy as np

from mjjax.compiler.common.principal_axes import principal_axes
from mjjax.core.constants import MINVAL

CONVEX, LEGACY, EXACT, SHELL = range(4)  # the keywords of the attribute 'inertia'
_PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
_MIN_FACE = np.sqrt(MINVAL)  # the orientation of smaller faces does not matter [m^2]
_TRIANGLE_EPS = 1e-6  # relative violation of A + B >= C that is forgiven


class MeshFaces(NamedTuple):
    """Triangles: corners (m, 3, 3), unit normals and centres (m, 3), areas (m,)."""

    corner: np.ndarray
    normal: np.ndarray
    center: np.ndarray
    area: np.ndarray


class Solid(NamedTuple):
    """Mass properties for unit density.

    Attributes:
        volume: volume [m^3], or area of a shell [m^2].
        center: centre of mass (3,) [m].
        inertia: principal moments (3,) about it, decreasing [m^5, m^4].
        quat: orientation of the principal axes.
    """

    volume: float
    center: np.ndarray
    inertia: np.ndarray
    quat: np.ndarray


def faces_of(vert: np.ndarray, face: np.ndarray) -> MeshFaces:
    """The triangles `face` (m, 3) of vertices (n, 3)."""
    corner = vert[face]
    a, b, c = corner[:, 0], corner[:, 1], corner[:, 2]
    normal = np.cross(b - a, c - a)
    length = np.sqrt(np.sum(normal * normal, axis=1))
    proper = length >= MINVAL
    unit = normal / np.where(proper, length, 1)[:, None]
    area = np.where(proper, length / 2, 0.0)  # MuJoCo leaves out smaller faces
    return MeshFaces(corner, np.where(proper[:, None], unit, [1.0, 0, 0]), (a + b + c) / 3, area)


def _total(terms: np.ndarray) -> np.ndarray:
    """Sum over the first axis, one term after the other."""
    return np.cumsum(terms, axis=0)[-1]


def measure(vert: np.ndarray, face: np.ndarray, inside: np.ndarray, kind: int) -> Solid:
    """Mass properties of a mesh.

    Args:
        vert: vertices (n, 3).
        face: triangles (m, 3).
        inside: triangles that enclose the mass: those of the convex hull for `CONVEX`, else `face`.
        kind: definition of the inside. `EXACT` needs a closed, consistently oriented surface;
            `LEGACY` counts every pyramid as positive.

    Raises:
        ValueError: the mesh has no such inside.
    """
    faces = faces_of(vert, face)
    area = _total(faces.area)
    if area < MINVAL:
        raise ValueError("the surface of the mesh is too small")
    apex = _total(faces.area[:, None] * faces.center) / area
    center = _center(faces_of(vert, inside), apex, kind)
    faces = faces_of(vert - center, inside)
    weight = _weights(faces, np.zeros(3), kind)
    inertia, quat = principal_axes(_inertia(faces.corner, weight, kind)[None])
    _check_moments(inertia[0])
    return Solid(float(_total(weight)), center, inertia[0], quat[0])


def _weights(faces: MeshFaces, apex: np.ndarray, kind: int) -> np.ndarray:
    """Volumes (m,) of the pyramids over the faces; areas of a shell."""
    if kind == SHELL:
        return faces.area
    volume = np.sum((faces.center - apex) * faces.normal, axis=1) * faces.area / 3
    return np.abs(volume) if kind == LEGACY else volume


def _center(faces: MeshFaces, apex: np.ndarray, kind: int) -> np.ndarray:
    """Centre of mass of the pyramids, each a quarter of the way from its base to the apex.

    The apex is the centre of the faces, so the rule holds for shells too.
    """
    weight = _weights(faces, apex, kind)
    total = _total(weight)
    if total < MINVAL:
        wrong = "negative: its faces look inward" if total < 0 else "too small"
        raise ValueError(f"the volume of the mesh is {wrong}; set inertia to 'shell'")
    return _total(weight[:, None] * (faces.center * 3 / 4 + apex / 4)) / total


def _inertia(corner: np.ndarray, weight: np.ndarray, kind: int) -> np.ndarray:
    """Inertia matrix (3, 3) about the origin, from the second moments of the parts.

    For a pyramid with weight w, corners a, b, c and the origin as apex, the integral of x y is
    w / 20 (sum of x y over corners + sum of x times sum of y). A triangle has w / 12 instead.
    """
    a, b, c = corner[:, 0], corner[:, 1], corner[:, 2]
    parts = 12 if kind == SHELL else 20
    moment = []
    for i, j in _PAIRS:
        squares = 2 * (a[:, i] * a[:, j] + b[:, i] * b[:, j] + c[:, i] * c[:, j])
        for p, q in ((a, b), (a, c), (b, c)):
            squares = squares + p[:, i] * q[:, j] + p[:, j] * q[:, i]
        moment.append(_total(weight / parts * squares))
    xx, yy, zz, xy, xz, yz = moment
    return np.array([[yy + zz, -xy, -xz], [-xy, xx + zz, -yz], [-xz, -yz, xx + yy]])


def check_orientation(face: np.ndarray, area: np.ndarray) -> None:
    """Checks that each directed edge of faces (m, 3) with areas (m,) belongs to one face only.

    Raises:
        ValueError: two faces look to different sides.
    """
    large = face[area > _MIN_FACE]
    edges = np.stack([large, np.roll(large, -1, axis=1)], axis=-1).reshape(-1, 2)
    edges, count = np.unique(edges, axis=0, return_counts=True)
    if np.any(count > 1):
        i, j = edges[np.argmax(count > 1)] + 1
        raise ValueError(
            f"faces are not oriented consistently; see those with vertices {i} and {j} (from 1)"
        )


def _check_moments(inertia: np.ndarray) -> None:
    if inertia[2] <= 0:
        raise ValueError("the inertia of the mesh is not positive")
    if inertia[1] + inertia[2] < inertia[0] * (1 - _TRIANGLE_EPS):
        raise ValueError("the inertia of the mesh does not satisfy A + B >= C")
