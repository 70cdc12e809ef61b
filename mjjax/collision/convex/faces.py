"""Features of a box or mesh: faces around a vertex, edges that leave it, polygons of faces.

Faces of a box are numbered +x, -x, +y, -y, +z, -z, those of a mesh by its polygons. Lists have as
many rows as any shape needs, with a mask of those that are there.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.convex.convex_shape import ConvexShape, static_table
from mjjax.collision.shape.shapes import Pools
from mjjax.collision.shape.vectors import (
    Vec,
    choose,
    cross,
    dot,
    norm,
    normalize,
    row,
    turn,
    turn_back,
)
from mjjax.xla.kernel_code import subroutine
from mjjax.xla.namespace import where

ALIGNED = 0.99999872  # cosine of 1.6e-3 rad
# Corners of the faces of a cube, clockwise seen from outside, as MuJoCo lists them; by label.
BOX_FACES = np.array(
    [[7, 3, 1, 5], [2, 6, 4, 0], [2, 3, 7, 6], [4, 5, 1, 0], [6, 7, 5, 4], [3, 2, 0, 1]]
)


class Feature(NamedTuple):
    """A vertex, an edge or a face, by its vertices.

    Attributes:
        dim: number of different vertices.
        label: (3,) vertices; the first `dim` are different.
        point: (3, 3) where they are [m].
    """

    dim: jax.Array
    label: jax.Array
    point: jax.Array


@subroutine
def feature_of(label: jax.Array, point: jax.Array) -> Feature:
    """The feature with vertices (3,) at points (3, 3)."""
    a, b, c = (row(label, k) for k in range(3))
    second = a != b
    third = second & (c != a) & (c != b)
    dim = where(third, 3, where(second | (a != c), 2, 1)).astype(jnp.int32)
    points = jnp.stack([point[0], where(second, point[1], point[2]), point[2]])
    return Feature(dim, jnp.stack([a, where(second, b, c), c]), points)


class Candidates(NamedTuple):
    """Faces or edges of a shape in K rows.

    Attributes:
        on: (K,) which rows are there.
        id: (K,) face.
        direction: K normals of the faces or directions of the edges, world axes.
        end: K far ends of the edges [m].
    """

    on: jax.Array
    id: jax.Array
    direction: Vec
    end: Vec


def faces_around(pools: Pools, shape: ConvexShape, f: Feature, outward: Vec) -> Candidates:
    """The faces that have all vertices of a feature.

    Args:
        pools: the pools.
        shape: a box or mesh.
        f: its feature.
        outward: the direction in which a box's face is sought if its vertices do not tell.
    """
    box = _box_faces(shape, f, outward)
    if not len(pools.polygons.map):
        return box
    lists = [_polygons_of(pools, shape, row(f.label, k)) for k in range(3)]
    on, ids = lists[0]
    for k in (1, 2):
        shared = jnp.any((ids[:, None] == lists[k][1][None]) & lists[k][0][None], axis=1)
        on &= shared | (f.dim <= k)
    # of an edge two faces count, and of three vertices one
    on &= jnp.cumsum(on, dtype=jnp.int32) <= where(f.dim == 1, len(ids), 4 - f.dim)
    world = shape.offset // max(len(pools.hulls.vert), 1)
    place = where(on, ids + shape.poly + world * len(pools.polygons.vert_adr), 0)
    normal = turn(shape.mat, Vec.of(pools.polygon_normal[place]))
    return _either(shape, Candidates(on, ids, normal, normal), box)


def edges_from(pools: Pools, shape: ConvexShape, f: Feature) -> Candidates:
    """The edge of a feature with two vertices, or all that leave its only vertex."""
    corner, pos = row(f.label, 0), Vec.of(shape.pos)
    # the corners next to it: one of the three signs is another one
    other = corner ^ np.asarray([1, 2, 4], np.int32)
    ends = turn(shape.mat, box_corner(shape, other)) + pos
    all_on = jnp.ones(3, bool)
    found = Candidates(all_on, jnp.zeros(3, jnp.int32), ends, ends)
    if len(pools.polygons.map):
        on, place = _map_rows(pools, shape, corner)
        before = static_table(pools.polygons.before)[place] + shape.first + shape.offset
        ends = turn(shape.mat, Vec.of(pools.vert[where(on, before, 0)])) + pos
        found = _either(shape, Candidates(on, jnp.zeros_like(place), ends, ends), found)
    single = f.dim == 2
    first = np.arange(len(found.on), dtype=np.int32) == 0
    end = choose(single, Vec.of(f.point[1:2]), found.end)
    on = where(single, first, found.on)
    return Candidates(on, found.id, normalize(end - Vec.of(f.point[0])), end)


def box_corner(shape: ConvexShape, label: jax.Array) -> Vec:
    """Corners of a box by label, in its frame: x, y, z positive are 1 + 2 + 4."""
    dtype = shape.size.dtype
    signs = [where((label >> i) & 1 > 0, 1, -1).astype(dtype) for i in range(3)]
    return Vec(*signs).times(Vec.of(shape.size))


def polygon_of(pools: Pools, shape: ConvexShape, face: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Vertices (P, 3) of a face, clockwise seen from outside, and how many there are."""
    corners = box_corner(shape, static_table(BOX_FACES)[jnp.clip(face, 0, 5)]).joined()
    count = jnp.int32(4)
    polygons, is_mesh = pools.polygons, shape.is_mesh
    if len(polygons.map):
        mine = where(is_mesh, shape.poly + face, 0)
        adr, num = (static_table(t)[mine] for t in (polygons.vert_adr, polygons.vert_num))
        length = max(4, int(polygons.vert_num.max()))
        place = np.arange(length, dtype=np.int32)
        on = is_mesh & (place < num)
        vertex = static_table(polygons.vert)[where(on, adr + num - 1 - place, 0)]
        local = pools.vert[where(on, vertex + shape.first + shape.offset, 0)]
        corners = where(is_mesh, local, jnp.pad(corners, ((0, length - 4), (0, 0))))
        count = where(is_mesh, num, count)
    return (turn(shape.mat, Vec.of(corners)) + Vec.of(shape.pos)).joined(), count


def _either(shape: ConvexShape, mesh: Candidates, box: Candidates) -> Candidates:
    """The rows of the one or the other; both padded to the same number."""
    rows = max(len(mesh.on), len(box.on))
    mesh, box = (
        jax.tree.map(lambda x: jnp.pad(x, (0, rows - len(x))), found) for found in (mesh, box)
    )
    return choose(shape.is_mesh, mesh, box)


def _box_faces(shape: ConvexShape, f: Feature, outward: Vec) -> Candidates:
    """Faces of a box: on every axis the one that all vertices share."""
    used = np.arange(3, dtype=np.int32) < f.dim
    shared, ids = [], []
    for i in range(3):
        up = (f.label >> i) & 1 > 0
        above, below = jnp.all(up | ~used), jnp.all(~up | ~used)
        shared.append(above | below)
        ids.append(where(above, 2 * i, 2 * i + 1))
    on = jnp.stack(shared)
    local = _direction_within(shape.mat, outward)
    proper = jnp.sum(on, dtype=jnp.int32) == 4 - f.dim
    on = where(proper, on, jnp.abs(local) > ALIGNED)
    axis = 2 * np.arange(3, dtype=np.int32)
    id_ = where(proper, jnp.stack(ids), axis + (local < 0).astype(jnp.int32)).astype(jnp.int32)
    sign = where(id_ % 2 == 0, 1, -1).astype(local.dtype)
    normal = Vec(*(row(shape.mat, k) * sign for k in range(3)))
    return Candidates(on, id_, normal, normal)


@subroutine
def _direction_within(mat: jax.Array, direction: Vec) -> jax.Array:
    """A direction (3,) in the frame with a rotation (3, 3), of length one."""
    return normalize(turn_back(mat, direction)).joined()


def _map_rows(pools: Pools, shape: ConvexShape, vertex: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Which entries of the map of polygons belong to a vertex: mask and rows (K,)."""
    tables, is_mesh = pools.polygons, shape.is_mesh
    place = np.arange(max(3, int(tables.map_num.max())), dtype=np.int32)
    at = where(is_mesh, shape.first + vertex, 0)
    adr, num = (static_table(t)[at] for t in (tables.map_adr, tables.map_num))
    on = is_mesh & (place < num)
    return on, where(on, adr + place, 0)


def _polygons_of(
    pools: Pools, shape: ConvexShape, vertex: jax.Array
) -> tuple[jax.Array, jax.Array]:
    on, place = _map_rows(pools, shape, vertex)
    return on, where(on, static_table(pools.polygons.map)[place], -1)


@subroutine
def quad_area(a: Vec, b: Vec, c: Vec, d: Vec) -> jax.Array:
    """Area of a quadrilateral, whose corners may lie in no plane."""
    return norm(cross(d - a, b - d) + cross(c - b, a - c)) * 0.5


def first_pair(mask: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """First row and column of a mask (A, B) that is set, rows before columns; whether any is."""
    flat = mask.ravel()
    index = jnp.min(where(flat, np.arange(flat.size, dtype=np.int32), flat.size))
    found = index < flat.size
    index = where(found, index, 0)
    return index // mask.shape[1], index % mask.shape[1], found


def against(one: Candidates, two: Candidates) -> jax.Array:
    """Cosines (A, B) of the angles between directions; 0 where one is not there."""
    a, b = (
        jax.tree.map(lambda x, s=s: x.reshape(s), v)
        for v, s in ((one.direction, (-1, 1)), (two.direction, (1, -1)))
    )
    return where(one.on[:, None] & two.on[None], dot(a, b), 0)
