"""Flat faces of a convex hull: triangles of almost the same normal, merged to polygons.

Triangles belong together if the angles of their normals round to the same hundredths. MuJoCo
collects them in a hash table and lists the polygons in the order of this table. The order decides,
for instance, the order of contacts. `_table_order` gives the same order.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from mjjax.core.constants import MINVAL

NORMAL_ANGLE = 0.01  # the angles of normals are rounded to multiples of this [rad]
_POLE = 1 - 1e-7  # from this height on a normal counts as vertical
# Numbers of buckets through which the table grows: the least prime beyond twice the last one.
_BUCKETS = (
    2,
    5,
    11,
    23,
    47,
    97,
    197,
    397,
    797,
    1597,
    3203,
    6421,
    12853,
    25717,
    51437,
    102877,
    205759,
)
Edge = tuple[int, int]


class FacePolygons(NamedTuple):
    """Polygons of one hull.

    Attributes:
        vertex: ids of the vertices of each polygon, counter-clockwise seen from outside.
        normal: (n, 3) unit normals.
    """

    vertex: list[np.ndarray]
    normal: np.ndarray

    def of_vertices(self, nvert: int) -> list[np.ndarray]:
        """The polygons around each vertex, ascending."""
        sizes = [len(v) for v in self.vertex]
        owner = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        corner = np.concatenate([np.zeros(0, np.int32), *self.vertex])
        order = np.argsort(corner, kind="stable")
        count = np.bincount(corner, minlength=nvert)
        return np.split(owner[order], np.cumsum(count)[:-1])


NO_POLYGONS = FacePolygons([], np.zeros((0, 3)))


def tables(polygons: Sequence[FacePolygons], nvert: Sequence[int]) -> dict[str, np.ndarray]:
    """The fields `mesh_poly*` of meshes with `nvert` vertices, in MuJoCo's layout."""
    vertex = [v for p in polygons for v in p.vertex]
    around = [a for p, n in zip(polygons, nvert, strict=True) for a in p.of_vertices(n)]
    normals = [np.zeros((0, 3)), *(p.normal for p in polygons)]
    f: dict[str, np.ndarray] = {"mesh_polynormal": np.concatenate(normals)}
    lists = {"": [p.vertex for p in polygons], "vert": vertex, "map": around}
    for name, parts in lists.items():
        count = np.array([len(part) for part in parts], np.int32)
        f[f"mesh_poly{name}num"] = count
        f[f"mesh_poly{name}adr"] = (np.cumsum(count) - count).astype(np.int32)
    for name in ("vert", "map"):
        f[f"mesh_poly{name}"] = np.concatenate([np.zeros(0, np.int32), *lists[name]])
    return f


def merge(source: np.ndarray, vert: np.ndarray, face: np.ndarray) -> FacePolygons:
    """Polygons of a hull.

    Args:
        source: vertices (n, 3) as they were when the hull was made; their normals decide.
        vert: vertices in the mesh frame, for the normals of the result.
        face: triangles (m, 3) of the hull, counter-clockwise seen from outside.
    """
    angles, proper = _angles(source, face)
    groups: dict[tuple[float, float], list[np.ndarray]] = {}
    for key, triangle in zip(map(tuple, angles[proper]), face[proper], strict=True):
        groups.setdefault(key, []).append(triangle)
    keys, members = list(groups), list(groups.values())
    found = [path for i in _table_order(keys) for path in _outlines(members[i])]
    vertex = [np.array(path, np.int32) for path in found if len(path) > 2]
    corner = np.array([v[:3] for v in vertex], int).reshape(-1, 3)
    return FacePolygons(vertex, _normals(vert, corner)[0])


def _normals(vert: np.ndarray, face: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unit normals (m, 3) of triangles; x, and false, where a triangle has no area."""
    a, b, c = (vert[face[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    length = np.sqrt(np.sum(normal * normal, axis=1, keepdims=True))
    proper = length >= MINVAL
    return np.where(proper, normal / np.where(proper, length, 1), [1, 0, 0]), proper[:, 0]


def _angles(vert: np.ndarray, face: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Azimuth and inclination (m, 2) of the normals in rounded multiples of `NORMAL_ANGLE`."""
    normal, proper = _normals(vert, face)
    x, y, z = normal.T + 0.0  # no negative zeros
    pole = np.abs(z) > _POLE
    azimuth = np.where(pole, 0, np.arctan2(y, x))
    inclination = np.where(pole, np.where(z < 0, np.pi, 0), np.arccos(np.clip(z, -1, 1)))
    scaled = np.stack([azimuth, inclination], axis=1) / NORMAL_ANGLE
    return np.trunc(scaled + np.copysign(0.5, scaled)) + 0.0, proper


def _outlines(triangles: Sequence[np.ndarray]) -> list[list[int]]:
    """Outlines of triangles, each with one part or several."""
    if len(triangles) == 1:
        return [triangles[0].tolist()]
    edges: dict[Edge, int] = {}  # each with the number of its part, in MuJoCo's order
    parts = 0
    for a, b, c in (t.tolist() for t in triangles):
        sides = [(a, b), (b, c), (c, a)]
        shared = [s[::-1] for s in sides if s[::-1] in edges]
        part = None
        for edge in shared:
            other = edges.pop(edge)
            if part is not None and other != part:
                part, gone = min(part, other), max(part, other)
                edges = {e: part if i == gone else i - (i > gone) for e, i in edges.items()}
                parts -= 1
            part = other if part is None else part
        if part is None:
            part, parts = parts, parts + 1
        edges |= {s: part for s in sides if s[::-1] not in shared}
    if len(edges) == 3:
        return [[edge[0] for edge in edges]]
    return [path for part in range(parts) for path in _outline(edges, part)]


def _outline(edges: dict[Edge, int], part: int) -> Iterable[list[int]]:
    """The outline of one part, from its first edge on."""
    own = [edge for edge, i in edges.items() if i == part]
    if not own:
        return
    first = next(iter(edges))
    after: dict[int, int] = {}
    for edge in own:
        if edge != first:
            after.setdefault(*edge)
    path = list(own[0])
    for _ in edges:
        if path[-1] not in after:
            return
        following = after[path[-1]]
        if following == path[0]:
            yield path
            return
        path.append(following)


def _table_order(keys: Sequence[tuple[float, float]]) -> list[int]:
    """Order in which the hash table lists keys that were put in one after the other.

    The keys of a bucket are together. A key that opens a bucket comes first of all keys. A key in a
    bucket with others comes first among these. When the table is full, it gets more buckets.
    """
    bits = np.array(keys, np.float64).reshape(-1, 2)
    codes = np.bitwise_xor.reduce(np.where(bits == 0, 0, bits).view(np.uint64), axis=1)
    sizes = iter(_BUCKETS)
    size, table = 0, {}
    for i in range(len(keys)):
        if i + 1 > size:
            size = next(sizes)
            table = _rebuilt(_listed(table), codes % np.uint64(size))
        table.setdefault(int(codes[i] % np.uint64(size)), []).insert(0, i)
    return _listed(table)


def _rebuilt(listed: list[int], bucket: np.ndarray) -> dict[int, list[int]]:
    """The table with other buckets: keys stay in their order until one joins an earlier bucket.

    Such a key comes first in its bucket. The last bucket is the first of the list.
    """
    table: dict[int, list[int]] = {}
    last = -1
    for i in listed:
        own = int(bucket[i])
        if own not in table:
            last = own
        members = table.setdefault(own, [])
        members.insert(len(members) if own == last else 0, i)
    return dict(reversed(table.items()))


def _listed(table: dict[int, list[int]]) -> list[int]:
    return [i for bucket in reversed(table.values()) for i in bucket]
