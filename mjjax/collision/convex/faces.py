"""Features of boxes and meshes: faces around a vertex, edges that leave it, polygons of faces.

Faces of a box are numbered +x, -x, +y, -y, +z, -z, those of a mesh by its polygons. Lists have as
many rows as any shape needs, with a mask of those that are there.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.convex.lanes import cross, dot, keep, norm, normalize, turn, turn_back
from mjjax.collision.convex.support import Sides
from mjjax.collision.shapes import Pools
from mjjax.core.enums import GeomType

ALIGNED = 0.99999872  # cosine of 1.6e-3 rad
# Corners of the faces of a cube, clockwise seen from outside, as MuJoCo lists them.
BOX_FACES = np.array(
    [
        [[1, 1, 1], [1, 1, -1], [1, -1, -1], [1, -1, 1]],
        [[-1, 1, -1], [-1, 1, 1], [-1, -1, 1], [-1, -1, -1]],
        [[-1, 1, -1], [1, 1, -1], [1, 1, 1], [-1, 1, 1]],
        [[-1, -1, 1], [1, -1, 1], [1, -1, -1], [-1, -1, -1]],
        [[-1, 1, 1], [1, 1, 1], [1, -1, 1], [-1, -1, 1]],
        [[1, 1, -1], [-1, 1, -1], [-1, -1, -1], [1, -1, -1]],
    ]
)


class Feature(NamedTuple):
    """A vertex, an edge or a face of N shapes, by its vertices.

    Attributes:
        dim: (N,) number of different vertices.
        label: (3, N) vertices; the first `dim` are different.
        point: (3, 3, N) where they are [m].
    """

    dim: jax.Array
    label: jax.Array
    point: jax.Array


def feature_of(label: jax.Array, point: jax.Array) -> Feature:
    """The feature with vertices (3, N) at (3, 3, N)."""
    a, b, c = label
    second = a != b
    third = second & (c != a) & (c != b)
    dim = jnp.where(third, 3, jnp.where(second | (a != c), 2, 1))
    label = jnp.stack([a, jnp.where(second, b, c), c])
    return Feature(dim, label, jnp.stack([point[0], keep(second, point[1], point[2]), point[2]]))


class Candidates(NamedTuple):
    """Faces or edges of N shapes in K rows.

    Attributes:
        on: (K, N) which rows are there.
        id: (K, N) face.
        direction: (K, 3, N) normal of the face or direction of the edge, world axes.
        end: (K, 3, N) far end of the edge [m].
    """

    on: jax.Array
    id: jax.Array
    direction: jax.Array
    end: jax.Array


def faces_around(pools: Pools, side: Sides, f: Feature, outward: jax.Array) -> Candidates:
    """The faces that have all vertices of a feature.

    Args:
        pools: the pools.
        side: N shapes, boxes or meshes.
        f: their features.
        outward: (3, N) the direction in which a box's face is sought if its vertices do not tell.
    """
    box = _box_faces(side, f, outward)
    polygons = pools.polygons
    if not len(polygons.map):
        return box
    is_mesh = side.kind >= GeomType.MESH
    lists = [_polygons_of(pools, side, f.label[k], is_mesh) for k in range(3)]
    on, ids = lists[0]
    for k in (1, 2):
        shared = jnp.any((ids[:, None] == lists[k][1][None]) & lists[k][0][None], axis=1)
        on &= shared | (f.dim <= k)[None]
    rank = jnp.cumsum(on, axis=0, dtype=jnp.int32)
    on &= rank <= jnp.where(f.dim == 3, 1, jnp.where(f.dim == 2, 2, len(ids)))[None]
    world = side.offset // max(len(pools.hulls.vert), 1)
    row = jnp.where(on, ids + (side.poly + world * len(polygons.vert_adr))[None], 0)
    normal = jnp.moveaxis(pools.polygon_normal[row], -1, 1)
    normal = jnp.stack([turn(side.mat, v) for v in normal])
    return _either(is_mesh, Candidates(on, ids, normal, jnp.zeros_like(normal)), box)


def edges_from(pools: Pools, side: Sides, f: Feature) -> Candidates:
    """The edge of a feature with two vertices, or all that leave its only vertex."""
    size = side.size
    corner = f.label[0]
    sign = jnp.stack([jnp.where((corner >> i) & 1 > 0, 1, -1) for i in range(3)])
    local = sign.astype(size.dtype) * size
    flip = 1 - 2 * np.eye(3)
    ends = jnp.asarray(flip, size.dtype)[:, :, None] * local[None]
    ends = jnp.stack([turn(side.mat, v) + side.pos for v in ends])
    all_on = jnp.ones((3, len(corner)), bool)
    found = Candidates(all_on, jnp.zeros_like(all_on, jnp.int32), ends, ends)
    polygons = pools.polygons
    if len(polygons.map):
        is_mesh = side.kind >= GeomType.MESH
        on, row = _map_rows(pools, side, corner, is_mesh)
        before = jnp.asarray(polygons.before, jnp.int32)[row] + (side.first + side.offset)[None]
        local = jnp.moveaxis(pools.vert[jnp.where(on, before, 0)], -1, 1)
        ends = jnp.stack([turn(side.mat, v) + side.pos for v in local])
        mesh = Candidates(on, jnp.zeros_like(row), ends, ends)
        found = _either(is_mesh, mesh, found)
    single = f.dim == 2
    first = np.arange(len(found.on), dtype=np.int32)[:, None] == 0
    end = keep(single, jnp.broadcast_to(f.point[1], found.end.shape), found.end)
    return Candidates(
        jnp.where(single[None], first, found.on), found.id, normalize(end - f.point[:1]), end
    )


def polygon_of(pools: Pools, side: Sides, face: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Vertices (P, 3, N) of a face (N,), clockwise seen from outside, and how many there are."""
    table = jnp.asarray(BOX_FACES, side.size.dtype)[jnp.clip(face, 0, 5)]
    corners = jnp.moveaxis(table, 0, -1) * side.size[None]
    count = jnp.full_like(face, 4)
    polygons = pools.polygons
    if len(polygons.map):
        is_mesh = side.kind >= GeomType.MESH
        row = jnp.where(is_mesh, side.poly + face, 0)
        adr, num = (jnp.asarray(t, jnp.int32)[row] for t in (polygons.vert_adr, polygons.vert_num))
        length = max(4, int(polygons.vert_num.max()))
        place = np.arange(length, dtype=np.int32)[:, None]
        on = is_mesh[None] & (place < num[None])
        last = (adr + num)[None] - 1 - place
        vertex = jnp.asarray(polygons.vert, jnp.int32)[jnp.where(on, last, 0)]
        local = pools.vert[jnp.where(on, vertex + (side.first + side.offset)[None], 0)]
        corners = jnp.pad(corners, [(0, length - 4), (0, 0), (0, 0)])
        corners = keep(is_mesh, jnp.moveaxis(local, -1, 1), corners)
        count = jnp.where(is_mesh, num, count)
    return jnp.stack([turn(side.mat, v) + side.pos for v in corners]), count


def _either(is_mesh: jax.Array, mesh: Candidates, box: Candidates) -> Candidates:
    """The rows of the one or the other; both padded to the same number."""
    rows = max(len(mesh.on), len(box.on))

    def padded(x: jax.Array) -> jax.Array:
        return jnp.pad(x, [(0, rows - len(x))] + [(0, 0)] * (x.ndim - 1))

    return jax.tree.map(lambda a, b: keep(is_mesh, padded(a), padded(b)), mesh, box)


def _box_faces(side: Sides, f: Feature, outward: jax.Array) -> Candidates:
    """Faces of boxes: on every axis the one that all vertices share."""
    used = np.arange(3, dtype=np.int32)[:, None] < f.dim[None]
    shared, ids = [], []
    for i in range(3):
        up = (f.label >> i) & 1 > 0
        above, below = jnp.all(up | ~used, axis=0), jnp.all(~up | ~used, axis=0)
        shared.append(above | below)
        ids.append(jnp.where(above, 2 * i, 2 * i + 1))
    on = jnp.stack(shared)
    local = normalize(turn_back(side.mat, outward))
    proper = jnp.sum(on, axis=0, dtype=jnp.int32) == 4 - f.dim
    close = jnp.abs(local) > ALIGNED
    on = jnp.where(proper[None], on, close)
    axis = 2 * np.arange(3, dtype=np.int32)[:, None]
    ids = jnp.where(proper[None], jnp.stack(ids), axis + (local < 0).astype(jnp.int32))
    sign = jnp.where(ids % 2 == 0, 1, -1).astype(side.size.dtype)
    normal = jnp.moveaxis(side.mat, 1, 0) * sign[:, None]
    return Candidates(on, ids, normal, jnp.zeros_like(normal))


def _map_rows(
    pools: Pools, side: Sides, vertex: jax.Array, is_mesh: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Which entries of the map of polygons belong to vertices (N,): mask and rows (K, N)."""
    tables = pools.polygons
    place = np.arange(max(3, int(tables.map_num.max())), dtype=np.int32)[:, None]
    at = jnp.where(is_mesh, side.first + vertex, 0)
    adr, num = (jnp.asarray(t, jnp.int32)[at] for t in (tables.map_adr, tables.map_num))
    on = is_mesh[None] & (place < num[None])
    return on, jnp.where(on, adr[None] + place, 0)


def _polygons_of(
    pools: Pools, side: Sides, vertex: jax.Array, is_mesh: jax.Array
) -> tuple[jax.Array, jax.Array]:
    on, row = _map_rows(pools, side, vertex, is_mesh)
    return on, jnp.where(on, jnp.asarray(pools.polygons.map, jnp.int32)[row], -1)


def quad_area(corners: list[jax.Array]) -> jax.Array:
    """Area (N,) of quadrilaterals, whose corners may lie in no plane."""
    a, b, c, d = corners
    return 0.5 * norm(cross(d - a, b - d) + cross(c - b, a - c))


def first_pair(mask: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """First row and column of a mask (A, B, N) that is set, rows before columns; whether any is."""
    a, b, n = mask.shape
    flat = mask.reshape(a * b, n)
    number = np.arange(a * b, dtype=np.int32)[:, None]
    index = jnp.min(jnp.where(flat, number, a * b), axis=0)
    found = index < a * b
    index = jnp.where(found, index, 0)
    return index // b, index % b, found


def against(one: Candidates, two: Candidates) -> jax.Array:
    """Cosines (A, B, N) of the angles between directions; 0 where one is not there."""
    cosine = dot(one.direction[:, None], two.direction[None])
    return jnp.where(one.on[:, None] & two.on[None], cosine, 0)
