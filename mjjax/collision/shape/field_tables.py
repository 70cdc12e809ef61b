"""Static tables of signed distance fields: the places of octree cells and of triangles."""

import functools
from typing import NamedTuple

import numpy as np

from mjjax.model.octree import leaf_grid, places
from mjjax.model.structure import Structure


class FieldTables(NamedTuple):
    """Tables of the octrees of M meshes, and of the triangles that are tried against them.

    Attributes:
        side: number of cells along each axis of the grids in which leaves are looked up.
        root: (M,) row of the root in the pool of cells, 0 where there is no octree.
        grid_adr: (M,) first entry of the grid.
        grid: row in the pool of cells of the leaf at each place of the grids, by x, y and z.
        node_adr: (M,) first box of triangles; boxes are in the order of MuJoCo's walk.
        node_end: (M,) box after the last one.
        skip: (n,) next box if a walk leaves this box out.
        leaf: (n,) whether a box holds a triangle.
        corner: (n, 3) vertices of this triangle in the pool, 0 for boxes without one.
    """

    side: int
    root: np.ndarray
    grid_adr: np.ndarray
    grid: np.ndarray
    node_adr: np.ndarray
    node_end: np.ndarray
    skip: np.ndarray
    leaf: np.ndarray
    corner: np.ndarray


def walked(s: Structure) -> np.ndarray:
    """Indices of all vertices of the meshes whose triangles are tried against fields."""
    chosen = np.flatnonzero(s.mesh_nodenum)
    parts = [np.arange(s.mesh_vertnum[k]) + s.mesh_vertadr[k] for k in chosen]
    return np.concatenate([np.zeros(0, int), *parts]).astype(np.int32)


@functools.lru_cache(maxsize=64)
def field_tables(s: Structure, first: int) -> FieldTables:
    """Makes the tables; the vertices from `walked` start at place `first` of the pool."""
    most = int(s.oct_depth.max(initial=0))
    side, grids, grid_adr = 1 << most, [], np.zeros(s.nmesh, np.int32)
    for k, mesh in enumerate(np.flatnonzero(s.mesh_octnum)):
        own = slice(s.mesh_octadr[mesh], s.mesh_octadr[mesh] + s.mesh_octnum[mesh])
        depth, child = s.oct_depth[own], s.oct_child[own]
        grid = leaf_grid(depth, child, places(depth, child, most), most)
        grid_adr[mesh] = k * side**3
        grids.append(grid.ravel() + s.mesh_octadr[mesh])
    start = np.zeros(s.nmesh, np.int32)
    chosen = np.flatnonzero(s.mesh_nodenum)
    count = s.mesh_vertnum[chosen]
    start[chosen] = first + np.cumsum(count) - count
    mesh = np.repeat(np.arange(s.nmesh), s.mesh_nodenum)
    leaf = s.mesh_nodeface >= 0
    face = s.mesh_faceadr[mesh] + np.maximum(s.mesh_nodeface, 0)
    corner = np.where(leaf[:, None], s.mesh_face[face] + start[mesh][:, None], 0)
    return FieldTables(
        side=side,
        root=np.maximum(s.mesh_octadr, 0).astype(np.int32),
        grid_adr=grid_adr,
        grid=np.concatenate([np.zeros(0, np.int32), *grids]).astype(np.int32),
        node_adr=s.mesh_nodeadr,
        node_end=(s.mesh_nodeadr + s.mesh_nodenum).astype(np.int32),
        skip=s.mesh_nodeskip,
        leaf=leaf,
        corner=corner.astype(np.int32),
    )
