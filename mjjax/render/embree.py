"""Triangles of meshes and height fields, and Embree, which finds the ones that rays meet.

`embreex` knows triangles only, and no instances. So each mesh is a scene of its own, in the frame
of its geom.
"""

import functools
import importlib.util
from typing import Any

import numpy as np

from mjjax.core.enums import GeomType
from mjjax.model.model import Model

_KEPT = 1024  # meshes whose trees are kept
OF_TRIANGLES = (GeomType.MESH, GeomType.SDF, GeomType.HFIELD)


@functools.cache
def is_there() -> bool:
    """Whether Embree is installed."""
    return importlib.util.find_spec("embreex") is not None


class Triangles:
    """Triangles that rays may meet, in the frame of a geom.

    Attributes:
        vert: (n, 3) corners [m].
        face: (m, 3) triangles.
        centre, radius: (3,) and () of a sphere around them [m].
    """

    def __init__(self, vert: np.ndarray, face: np.ndarray) -> None:
        from embreex.mesh_construction import TriangleMesh
        from embreex.rtcore_scene import EmbreeScene

        self.vert, self.face = vert, face
        self.centre = 0.5 * (vert.min(axis=0) + vert.max(axis=0))
        self.radius = np.linalg.norm(vert - self.centre, axis=1).max()
        self._scene: Any = EmbreeScene(_device(), robust=True)
        TriangleMesh(self._scene, vert.astype(np.float32), face.astype(np.int32))

    def first(
        self, start: np.ndarray, along: np.ndarray, limit: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Distances (n,) to the first triangles that rays meet, and these, -1 for none."""
        found = self._scene.run(*_single(start, along), dists=_copied(limit), output=True)
        return found["tfar"], found["primID"]

    def blocked(self, start: np.ndarray, along: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """Whether rays (n,) meet a triangle before they reach a distance (n,)."""
        rays = _single(start, along)
        return self._scene.run(*rays, dists=_copied(reach), query="OCCLUDED") >= 0


def _single(*arrays: np.ndarray) -> list[np.ndarray]:
    return [np.ascontiguousarray(x, np.float32) for x in arrays]


def _copied(limit: np.ndarray) -> np.ndarray:
    """Limits of rays, which Embree overwrites."""
    return np.array(limit, np.float32)


@functools.cache
def _device() -> Any:
    from embreex.rtcore import EmbreeDevice

    return EmbreeDevice()


def triangles_of(model: Model, geom: int) -> Triangles:
    """The triangles of a geom with a mesh or a height field, at its own frame."""
    s, data = model.structure, int(model.structure.geom_dataid[geom])
    if s.geom_type[geom] == GeomType.HFIELD:
        first, shape = s.hfield_adr[data], (int(s.hfield_nrow[data]), int(s.hfield_ncol[data]))
        height = model.hfield_data[first : first + shape[0] * shape[1]].reshape(shape)
        vert, face = _field(np.asarray(height), np.asarray(model.hfield_size[data]))
    else:
        first = s.mesh_vertadr[data]
        vert = np.asarray(model.mesh_vert[first : first + s.mesh_vertnum[data]])
        face = s.mesh_face[s.mesh_faceadr[data] :][: s.mesh_facenum[data]]
    # The content is the key, because models with one structure may differ in it.
    return _kept(vert.tobytes(), face.tobytes(), vert.dtype.str, face.dtype.str)


@functools.lru_cache(maxsize=_KEPT)
def _kept(vert: bytes, face: bytes, real: str, whole: str) -> Triangles:
    return Triangles(
        np.frombuffer(vert, real).reshape(-1, 3), np.frombuffer(face, whole).reshape(-1, 3)
    )


def _field(height: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Corners and triangles of a height field: its surface, the sides and the bottom of its base.

    Args:
        height: (nrow, ncol) elevations from 0 to 1.
        size: (4,) half sizes along x and y, height and depth [m].
    """
    rows, columns = height.shape
    x = np.linspace(-size[0], size[0], columns)
    y = np.linspace(-size[1], size[1], rows)
    top = np.stack([*np.meshgrid(x, y), height * size[2]], axis=-1).reshape(-1, 3)
    index = np.arange(rows * columns).reshape(rows, columns)
    here, right, above, across = index[:-1, :-1], index[:-1, 1:], index[1:, :-1], index[1:, 1:]
    # The edge, counterclockwise as seen from above, and the points of the bottom below it.
    ring = np.concatenate([index[0, :-1], index[:-1, -1], index[-1, :0:-1], index[:0:-1, 0]])
    low = len(top) + np.arange(len(ring))
    after, low_after = np.roll(ring, -1), np.roll(low, -1)
    a, b, c, d = low[np.cumsum([0, columns - 1, rows - 1, columns - 1])]
    parts = [
        (here, across, above),
        (here, right, across),
        (low, low_after, after),
        (low, after, ring),
        ([a, a], [c, d], [b, c]),
    ]
    face = [np.stack([np.ravel(x) for x in part], axis=1) for part in parts]
    vert = np.concatenate([top, top[ring] * [1, 1, 0] - [0, 0, size[3]]])
    return vert.astype(height.dtype), np.concatenate(face).astype(np.int32)
