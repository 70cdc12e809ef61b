"""Convex shapes by item, and the pools of vertices and heights that all items share.

The convex kernels work on batches of items (pairs of geoms of any kind). Traced integers say of
which kind an item is, which mesh it has, and where in the pools this mesh begins. So the program
does not grow with the number of meshes.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from mjjax.collision.shape.field_tables import FieldTables, field_tables, walked
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.xla.indexing import gather
from mjjax.xla.namespace import Array, namespace

BLOCK = 8  # neighbours that the climb over a hull looks at together
HEADER = 4  # numbers of a height field before its elevations
CLIMB_FROM = 10  # meshes with fewer vertices are searched whole, as in MuJoCo


class Shape(NamedTuple):
    """One side of N pairs of geoms.

    Attributes:
        pos: (N, 3) position [m], world frame.
        mat: (N, 3, 3) rotation to the world frame.
        size: (N, 3) sizes as in MuJoCo [m].
        kind: (N,) `GeomType`.
        asset: (N,) mesh or height field, -1 where there is none.
        offset: (N,) number added to addresses in the pools of floats: zero, or the place at which
            the item's world begins in the pools of several worlds.
        cell: (N,) triangle of the height field; each cell has two, and cells count by row and
            column. May be `None` if no side is a height field.
        field: (N,) like `offset`, but for the octree of an SDF geom or the boxes of a mesh's
            triangles; `None` stands for zero.
    """

    pos: Array
    mat: Array
    size: Array
    kind: Array
    asset: Array
    offset: Array
    cell: Array | None = None
    field: Array | None = None


class Hulls(NamedTuple):
    """Static tables of the hulls of M meshes with V vertices in all; ids count within a hull.

    A vertex's neighbours are in `blocks[block_adr[v] : block_adr[v] + block_num[v]]`, in MuJoCo's
    order; places beyond the last neighbour repeat it. In a mesh that is searched whole every vertex
    has all vertices as neighbours.

    Attributes:
        vert: (V,) vertex in `mesh_vert`.
        vert_adr: (M,) first vertex of the hull.
        vert_num: (M,) number of vertices, 0 where the mesh is not in the pool.
        whole: (M,) whether all vertices are compared, as in MuJoCo if there are few.
        block_adr: (V,) first block of neighbours.
        block_num: (V,) number of blocks.
        blocks: (B, 8) ids of neighbours.
        near_adr: (V,) like `block_adr`, but for the neighbours in the hull, even if the mesh is
            searched whole.
        near_num: (V,) number of these blocks.
        start: (M,) first vertex of the hull's own list.
    """

    vert: np.ndarray
    vert_adr: np.ndarray
    vert_num: np.ndarray
    whole: np.ndarray
    block_adr: np.ndarray
    block_num: np.ndarray
    blocks: np.ndarray
    near_adr: np.ndarray
    near_num: np.ndarray
    start: np.ndarray


class Polygons(NamedTuple):
    """Static tables of the faces of the hulls: Q polygons, in which coplanar triangles are joined.

    Attributes:
        adr: (M,) first polygon of the mesh.
        vert_adr: (Q,) first entry in `vert`.
        vert_num: (Q,) number of vertices.
        vert: vertices of the polygons, counter-clockwise seen from outside; ids within the hull.
        map_adr: (V,) first entry of a vertex in `map`.
        map_num: (V,) number of polygons around the vertex.
        map: polygons around the vertices; ids within the mesh.
        before: for each entry of `map`, the vertex that comes before the entry's own vertex in this
            polygon; ids within the hull.
    """

    adr: np.ndarray
    vert_adr: np.ndarray
    vert_num: np.ndarray
    vert: np.ndarray
    map_adr: np.ndarray
    map_num: np.ndarray
    map: np.ndarray
    before: np.ndarray


class Pools(NamedTuple):
    """Vertices and heights shared by all items. Arrays of several worlds are joined end to end.

    Attributes:
        vert: (V, 3) vertices of the hulls [m], in the frames of their meshes, and then the vertices
            of the triangles that are tried against signed distance fields.
        heights: (E,) one part for each height field: half sizes, highest point and base [m], and
            then its elevations.
        polygon_normal: (Q, 3) normals of the faces of the hulls.
        cell_box: (C, 6) centres and half sizes of the cells of octrees [m].
        cell_value: (C, 8) signed distances at their corners [m], x fastest.
        balls: (B, 4) centres and radii [m] of spheres around boxes of triangles.
        hulls: static tables of the hulls.
        polygons: static tables of the faces of the hulls; empty if faces were not asked for.
        hfield_adr: (nhfield,) first elevation in `heights`; static.
        hfield_nrow: (nhfield,) rows; static.
        hfield_ncol: (nhfield,) columns; static.
        fields: static tables of signed distance fields.
    """

    vert: Array
    heights: Array
    polygon_normal: Array
    cell_box: Array
    cell_value: Array
    balls: Array
    hulls: Hulls
    polygons: Polygons
    hfield_adr: np.ndarray
    hfield_nrow: np.ndarray
    hfield_ncol: np.ndarray
    fields: FieldTables

    @property
    def floats(self) -> tuple[Array, ...]:
        """The fields that are traced arrays."""
        return (
            self.vert,
            self.heights,
            self.polygon_normal,
            self.cell_box,
            self.cell_value,
            self.balls,
        )

    def with_floats(self, floats: Sequence[Array]) -> "Pools":
        """The same tables with other arrays."""
        return self._replace(**dict(zip(self._fields, floats, strict=False)))


def pools_of(model: Model, meshes: tuple[int, ...] | None = None, faces: bool = False) -> Pools:
    """The pools of a model.

    Args:
        model: model; its `mesh_vert`, `mesh_polynormal`, `hfield_size`, `hfield_data` are read.
        meshes: meshes to put into the pools; if `None`, all for which the compiler made a hull.
        faces: whether the faces of the hulls are needed, as for `multiccd`.
    """
    floats = float_pools(model, meshes, faces)
    return Pools(*floats, *tables_of(model.structure, meshes, faces))


def float_pools(
    model: Model, meshes: tuple[int, ...] | None, faces: bool
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """The fields of `Pools` with floats, from `vert` to `balls`."""
    s, xp = model.structure, namespace(model.hfield_data)
    fields = [model.hfield_data[:0]]
    for k, first in enumerate(s.hfield_adr):
        count = s.hfield_nrow[k] * s.hfield_ncol[k]
        fields += [model.hfield_size[k], model.hfield_data[first : first + count]]
    vert = gather(model.mesh_vert, np.append(hulls_of(s, meshes).vert, walked(s)))
    normal = model.mesh_vert[:0]
    if faces:
        normal = gather(model.mesh_polynormal, polygons_of(s, meshes)[1])
    cells = model.oct_aabb, model.oct_coeff
    return vert, xp.concatenate(fields), normal, *cells, model.mesh_nodeball


def tables_of(s: Structure, meshes: tuple[int, ...] | None, faces: bool) -> tuple[Any, ...]:
    """The static part of `Pools`."""
    count = s.hfield_nrow * s.hfield_ncol
    adr = (np.cumsum(count + HEADER) - count).astype(np.int32)
    polygons, _ = polygons_of(s, meshes if faces else ())
    hulls = hulls_of(s, meshes)
    fields = field_tables(s, len(hulls.vert))
    return hulls, polygons, adr, s.hfield_nrow, s.hfield_ncol, fields


@functools.lru_cache(maxsize=64)
def polygons_of(s: Structure, meshes: tuple[int, ...] | None = None) -> tuple[Polygons, np.ndarray]:
    """Tables of the faces of the hulls of `meshes`, and their rows (Q,) in `mesh_polynormal`."""
    hulls = hulls_of(s, meshes)
    adr = np.zeros(s.nmesh, np.int32)
    vert_num, vert, map_num, maps, before, rows = ([np.zeros(0, np.int32)] for _ in range(6))
    for mesh in np.flatnonzero(hulls.vert_num) if meshes != () else ():
        ids = hulls.vert[hulls.vert_adr[mesh] :][: hulls.vert_num[mesh]] - s.mesh_vertadr[mesh]
        local = np.zeros(s.mesh_vertnum[mesh], np.int32)
        local[ids] = np.arange(len(ids))
        own = np.arange(s.mesh_polynum[mesh]) + s.mesh_polyadr[mesh]
        adr[mesh] = sum(map(len, rows))
        loops = [s.mesh_polyvert[a:][:n] for a, n in _ranges(s, "mesh_polyvert", own)]
        vertices = ids + s.mesh_vertadr[mesh]
        around = [s.mesh_polymap[a:][:n] for a, n in _ranges(s, "mesh_polymap", vertices)]
        rows.append(own)
        vert_num.append(np.array([len(x) for x in loops], np.int32))
        vert.extend(local[x] for x in loops)
        map_num.append(np.array([len(x) for x in around], np.int32))
        maps.extend(around)
        for v, polygons in zip(ids, around, strict=True):
            places = [int(np.flatnonzero(loops[p] == v)[0]) for p in polygons]
            previous = [(k or len(loops[p])) - 1 for k, p in zip(places, polygons, strict=True)]
            before.append(local[[loops[p][k] for k, p in zip(previous, polygons, strict=True)]])
    vert_num, vert, map_num, maps, before, rows = (
        np.concatenate(x).astype(np.int32) for x in (vert_num, vert, map_num, maps, before, rows)
    )
    starts = [np.cumsum(n, dtype=np.int32) - n for n in (vert_num, map_num)]
    return Polygons(adr, starts[0], vert_num, vert, starts[1], map_num, maps, before), rows


def _ranges(s: Structure, name: str, index: np.ndarray) -> Iterator[tuple[int, int]]:
    adr, num = getattr(s, name + "adr"), getattr(s, name + "num")
    return ((int(adr[i]), int(num[i])) for i in index)


@functools.lru_cache(maxsize=64)
def hulls_of(s: Structure, meshes: tuple[int, ...] | None = None) -> Hulls:
    """Tables of the hulls of `meshes`; see `pools_of`."""
    chosen = np.flatnonzero(s.mesh_hulladr >= 0) if meshes is None else np.unique(meshes)
    vert_adr, vert_num, start, whole = (np.zeros(s.nmesh, t) for t in (*[np.int32] * 3, bool))
    vert, block_adr, block_num, near_adr, near_num = (np.zeros(0, np.int32) for _ in range(5))
    blocks = np.zeros((0, BLOCK), np.int32)
    for mesh in map(int, chosen):
        whole[mesh] = s.mesh_hulladr[mesh] < 0 or s.mesh_vertnum[mesh] < CLIMB_FROM
        if whole[mesh]:
            ids = np.arange(s.mesh_vertnum[mesh], dtype=np.int32)
            adr, num, table = _all_neighbours(ids)
        else:
            ids, adr, num, table = _graph(s, mesh)
        vert_adr[mesh], vert_num[mesh] = len(vert), len(ids)
        vert = np.append(vert, ids + s.mesh_vertadr[mesh])
        block_adr = np.append(block_adr, adr + len(blocks))
        block_num = np.append(block_num, num)
        blocks = np.concatenate([blocks, table])
        if whole[mesh] and s.mesh_hulladr[mesh] >= 0:
            start[mesh], adr, num, table = _graph_by_mesh(s, mesh)
            near_adr = np.append(near_adr, adr + len(blocks))
            blocks = np.concatenate([blocks, table])
        else:
            near_adr = np.append(near_adr, block_adr[len(near_adr) :])
        near_num = np.append(near_num, num)
    tables = vert, vert_adr, vert_num, whole, block_adr, block_num, blocks
    tables = *tables, near_adr, near_num, start
    return Hulls(*(t if t.dtype == bool else t.astype(np.int32) for t in tables))


def _all_neighbours(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Addresses, numbers and blocks of neighbours of vertices that all have the list `ids`."""
    table = _padded(ids)
    return np.zeros_like(ids), np.full_like(ids, len(table)), table


def _graph(s: Structure, mesh: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Ids in the mesh of a hull's vertices; addresses, numbers and blocks of their neighbours."""
    graph = s.mesh_hull[s.mesh_hulladr[mesh] :]
    n = int(graph[0])
    start, ids, lists = graph[2 : 2 + n], graph[2 + n : 2 + 2 * n], graph[2 + 2 * n :]
    end = np.flatnonzero(lists < 0)
    tables = [_padded(lists[a : end[np.searchsorted(end, a)]]) for a in start]
    num = np.array([len(t) for t in tables], np.int32)
    return ids, np.cumsum(num) - num, num, np.concatenate(tables)


def _graph_by_mesh(s: Structure, mesh: int) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """The first vertex of a hull, and the tables of `_graph` with ids of vertices of the mesh."""
    ids, adr, num, table = _graph(s, mesh)
    every = np.zeros((2, s.mesh_vertnum[mesh]), np.int32)
    every[:, ids] = adr, num
    return int(ids[0]), every[0], every[1], ids[table]


def _padded(ids: np.ndarray) -> np.ndarray:
    """A list of ids in rows of `BLOCK`; copies of the last id fill the last row."""
    return np.pad(ids, (0, -len(ids) % BLOCK), mode="edge").reshape(-1, BLOCK)
