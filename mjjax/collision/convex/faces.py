"""Features of boxes and meshes: faces around a vertex, edges that leave it, polygons of faces.

Faces of a box are numbered +x, -x, +y, -y, +z, -z, those of a mesh by its polygons. Lists have as
many rows as any shape needs, with a mask of those that are there.
"""

import operator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.convex.support import Sides
from mjjax.collision.shape.lanes import (
    Vec,
    cross,
    dot,
    keep,
    norm,
    normalize,
    over_rows,
    turn,
    turn_back,
)
from mjjax.collision.shape.shapes import Pools
from mjjax.core.enums import GeomType
from mjjax.xla.namespace import Array, where

ALIGNED = 0.99999872  # cosine of 1.6e-3 rad
# Corners of the faces of a cube, clockwise seen from outside, as MuJoCo lists them; by label.
BOX_FACES = np.array(
    [[7, 3, 1, 5], [2, 6, 4, 0], [2, 3, 7, 6], [4, 5, 1, 0], [6, 7, 5, 4], [3, 2, 0, 1]]
)


class Feature(NamedTuple):
    """A vertex, an edge or a face of N shapes, by its vertices.

    Attributes:
        dim: (N,) number of different vertices.
        label: (3, N) vertices; the first `dim` are different.
        point: (3, N) where they are [m].
    """

    dim: jax.Array
    label: jax.Array
    point: Vec


def feature_of(label: jax.Array, point: Vec) -> Feature:
    """The feature with vertices (3, N) at points (3, N)."""
    a, b, c = label
    second = a != b
    third = second & (c != a) & (c != b)
    dim = where(third, 3, where(second | (a != c), 2, 1))
    label = jnp.stack([a, where(second, b, c), c])
    point = jax.tree.map(lambda x: jnp.stack([x[0], where(second, x[1], x[2]), x[2]]), point)
    return Feature(dim, label, point)


class Candidates(NamedTuple):
    """Faces or edges of N shapes in K rows.

    Attributes:
        on: (K, N) which rows are there.
        id: (K, N) face.
        direction: (K, N) normal of the face or direction of the edge, world axes.
        end: (K, N) far end of the edge [m].
    """

    on: jax.Array
    id: jax.Array
    direction: Vec
    end: Vec


def faces_around(pools: Pools, side: Sides, f: Feature, outward: Vec) -> Candidates:
    """The faces that have all vertices of a feature.

    Args:
        pools: the pools.
        side: N shapes, boxes or meshes.
        f: their features.
        outward: (N,) the direction in which a box's face is sought if its vertices do not tell.
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
    on &= rank <= where(f.dim == 3, 1, where(f.dim == 2, 2, len(ids)))[None]
    world = side.offset // max(len(pools.hulls.vert), 1)
    row = where(on, ids + (side.poly + world * len(polygons.vert_adr))[None], 0)
    normal = turn(side.mat, _vectors(pools.polygon_normal, row))
    return _either(is_mesh, Candidates(on, ids, normal, normal), box)


def edges_from(pools: Pools, side: Sides, f: Feature) -> Candidates:
    """The edge of a feature with two vertices, or all that leave its only vertex."""
    corner = f.label[0]
    # the corners next to it: one of the three signs is another one
    other = corner[None] ^ np.asarray([[1], [2], [4]], np.int32)
    ends = turn(side.mat, box_corner(side.size, other)) + side.pos
    all_on = jnp.ones((3, len(corner)), bool)
    found = Candidates(all_on, jnp.zeros_like(all_on, jnp.int32), ends, ends)
    polygons = pools.polygons
    if len(polygons.map):
        is_mesh = side.kind >= GeomType.MESH
        on, row = _map_rows(pools, side, corner, is_mesh)
        before = jnp.asarray(polygons.before, jnp.int32)[row] + (side.first + side.offset)[None]
        ends = turn(side.mat, _vectors(pools.vert, where(on, before, 0))) + side.pos
        mesh = Candidates(on, jnp.zeros_like(row), ends, ends)
        found = _either(is_mesh, mesh, found)
    single = f.dim == 2
    first = np.arange(len(found.on), dtype=np.int32)[:, None] == 0
    end = keep(single, f.point[1][None], found.end)
    return Candidates(
        where(single[None], first, found.on), found.id, normalize(end - f.point[:1]), end
    )


def box_corner(size: Vec, label: jax.Array) -> Vec:
    """Corners of boxes by label: x, y, z positive are 1 + 2 + 4."""
    signs = [where((label >> i) & 1 > 0, 1, -1).astype(size.x.dtype) for i in range(3)]
    return Vec(*(over_rows(operator.mul, sign, x) for sign, x in zip(signs, size, strict=True)))


def polygon_of(pools: Pools, side: Sides, face: jax.Array) -> tuple[Vec, jax.Array]:
    """Vertices (P, N) of a face (N,), clockwise seen from outside, and how many there are."""
    corners = box_corner(side.size, jnp.asarray(BOX_FACES, jnp.int32)[jnp.clip(face, 0, 5)].T)
    count = jnp.full_like(face, 4)
    polygons = pools.polygons
    if len(polygons.map):
        is_mesh = side.kind >= GeomType.MESH
        row = where(is_mesh, side.poly + face, 0)
        adr, num = (jnp.asarray(t, jnp.int32)[row] for t in (polygons.vert_adr, polygons.vert_num))
        length = max(4, int(polygons.vert_num.max()))
        place = np.arange(length, dtype=np.int32)[:, None]
        on = is_mesh[None] & (place < num[None])
        last = (adr + num)[None] - 1 - place
        vertex = jnp.asarray(polygons.vert, jnp.int32)[where(on, last, 0)]
        local = _vectors(pools.vert, where(on, vertex + (side.first + side.offset)[None], 0))
        corners = jax.tree.map(lambda x: jnp.pad(x, [(0, length - 4), (0, 0)]), corners)
        corners = keep(is_mesh, local, corners)
        count = where(is_mesh, num, count)
    return turn(side.mat, corners) + side.pos, count


def _vectors(table: Array, rows: jax.Array) -> Vec:
    """Rows (K, N) of an array of vectors (V, 3)."""
    found = jnp.asarray(table)[rows]
    return Vec(*(found[..., i] for i in range(3)))


def _either(is_mesh: jax.Array, mesh: Candidates, box: Candidates) -> Candidates:
    """The rows of the one or the other; both padded to the same number."""
    rows = max(len(mesh.on), len(box.on))

    def padded(x: jax.Array) -> jax.Array:
        return jnp.pad(x, [(0, rows - len(x))] + [(0, 0)] * (x.ndim - 1))

    return jax.tree.map(lambda a, b: keep(is_mesh, padded(a), padded(b)), mesh, box)


def _box_faces(side: Sides, f: Feature, outward: Vec) -> Candidates:
    """Faces of boxes: on every axis the one that all vertices share."""
    used = np.arange(3, dtype=np.int32)[:, None] < f.dim[None]
    shared, ids = [], []
    for i in range(3):
        up = (f.label >> i) & 1 > 0
        above, below = jnp.all(up | ~used, axis=0), jnp.all(~up | ~used, axis=0)
        shared.append(above | below)
        ids.append(where(above, 2 * i, 2 * i + 1))
    on = jnp.stack(shared)
    local = normalize(turn_back(side.mat, outward)).joined()
    proper = jnp.sum(on, axis=0, dtype=jnp.int32) == 4 - f.dim
    close = jnp.abs(local) > ALIGNED
    on = where(proper[None], on, close)
    axis = 2 * np.arange(3, dtype=np.int32)[:, None]
    ids = where(proper[None], jnp.stack(ids), axis + (local < 0).astype(jnp.int32))
    sign = where(ids % 2 == 0, 1, -1).astype(local.dtype)
    normal = Vec(*(row.joined() * sign for row in side.mat))
    return Candidates(on, ids, normal, normal)


def _map_rows(
    pools: Pools, side: Sides, vertex: jax.Array, is_mesh: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Which entries of the map of polygons belong to vertices (N,): mask and rows (K, N)."""
    tables = pools.polygons
    place = np.arange(max(3, int(tables.map_num.max())), dtype=np.int32)[:, None]
    at = where(is_mesh, side.first + vertex, 0)
    adr, num = (jnp.asarray(t, jnp.int32)[at] for t in (tables.map_adr, tables.map_num))
    on = is_mesh[None] & (place < num[None])
    return on, where(on, adr[None] + place, 0)


def _polygons_of(
    pools: Pools, side: Sides, vertex: jax.Array, is_mesh: jax.Array
) -> tuple[jax.Array, jax.Array]:
    on, row = _map_rows(pools, side, vertex, is_mesh)
    return on, where(on, jnp.asarray(pools.polygons.map, jnp.int32)[row], -1)


def quad_area(corners: list[Vec]) -> jax.Array:
    """Area (N,) of quadrilaterals, whose corners may lie in no plane."""
    a, b, c, d = corners
    return norm(cross(d - a, b - d) + cross(c - b, a - c)) * 0.5


def first_pair(mask: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """First row and column of a mask (A, B, N) that is set, rows before columns; whether any is."""
    a, b, n = mask.shape
    flat = mask.reshape(a * b, n)
    number = np.arange(a * b, dtype=np.int32)[:, None]
    index = jnp.min(where(flat, number, a * b), axis=0)
    found = index < a * b
    index = where(found, index, 0)
    return index // b, index % b, found


def against(one: Candidates, two: Candidates) -> jax.Array:
    """Cosines (A, B, N) of the angles between directions; 0 where one is not there."""
    cosine = dot(one.direction[:, None], two.direction[None])
    return where(one.on[:, None] & two.on[None], cosine, 0)
