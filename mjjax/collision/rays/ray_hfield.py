"""Rays against height fields: only the cells along the ray are tried.

The surface lies in a box over the plane z = 0 of the geom. A walk begins where the ray enters this
box and goes from cell to cell. Each cell has two triangles; the walk ends when it hits one or
leaves the box. Below the edges of the surface there are walls. The base under the height field is
treated as a box in `ray.py`.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.collision.rays.ray_shapes import box, triangle
from mjjax.core.constants import MINVAL
from mjjax.math.quat import cross
from mjjax.model.model import Model
from mjjax.xla.loops import while_loop
from mjjax.xla.namespace import Array, where

_SLACK = 1024  # triangles of the surface are enlarged by so many rounding errors
# Axis and side of each wall: at low and high x, at low and high y.
_AXIS, _SIDE = np.array([0, 0, 1, 1]), np.array([-1, 1, -1, 1])


class FieldHit(NamedTuple):
    """Hits of rays (n, m) with height fields.

    Attributes:
        dist: (n, m) distance in units of the ray's direction, -1 if nothing is met.
        normal: (n, m, 3) outward normal in the frame of the geom, not normalized.
    """

    dist: Array
    normal: Array


class _Grid(NamedTuple):
    """Height fields of rays (n, m): sizes (n, m, 4), numbers of cells (n, m, 2), elevations."""

    size: Array
    cells: Array
    first: Array
    data: Array

    def corner(self, cell: Array) -> Array:
        """Points (..., 3) of the surface at columns and rows (..., 2)."""
        shape = (1,) * (cell.ndim - 3)
        cells, size = (x.reshape(*x.shape[:2], *shape, -1) for x in (self.cells, self.size))
        first = self.first.reshape(*self.first.shape, *shape)
        height = self.data[first + cell[..., 1] * (cells[..., 0] + 1) + cell[..., 0]]
        place = (2 * cell.astype(size.dtype) / cells.astype(size.dtype) - 1) * size[..., :2]
        return jnp.concatenate([place, (height * size[..., 2])[..., None]], axis=-1)

    def triangles(self, cell: Array) -> Array:
        """The two triangles (n, m, 2, 3, 3) of cells (n, m, 2), upward."""
        square = np.array([[[0, 0], [1, 1], [0, 1]], [[0, 0], [1, 0], [1, 1]]], np.int32)
        return self.corner(cell[:, :, None, None] + square[None, None])


class _CellWalk(NamedTuple):
    """State of walks: cell (n, m, 2), triangle that is hit or -1, and whether they go on."""

    cell: Array
    hit: Array
    going: Array


def hfield_hits(
    model: Model, geoms: np.ndarray, start: Array, along: Array, seen: Array
) -> FieldHit:
    """Hits of rays with the surfaces and walls of height fields.

    Args:
        model: model.
        geoms: (m,) geoms, all with height fields.
        start: (n, m, 3) points where the rays start, in the frames of the geoms [m].
        along: (n, m, 3) directions of the rays.
        seen: (n, m) geoms that a ray can meet.
    """
    s = model.structure
    field = s.geom_dataid[geoms]
    cells = np.stack([s.hfield_ncol[field], s.hfield_nrow[field]], axis=-1) - 1
    shape = start.shape[:2]
    size = jnp.broadcast_to(model.hfield_size[field][None], (*shape, 4))
    numbers = jnp.broadcast_to(jnp.asarray(cells, jnp.int32)[None], (*shape, 2))
    first = jnp.broadcast_to(jnp.asarray(s.hfield_adr[field], jnp.int32)[None], shape)
    grid = _Grid(size, numbers, first, model.hfield_data)
    fixed = lax.stop_gradient((grid.size, grid.data, start, along))
    cell, hit = _walk(grid._replace(size=fixed[0], data=fixed[1]), fixed[2], fixed[3], seen)

    corners = grid.triangles(cell)
    corners = where((hit > 0)[..., None, None], corners[:, :, 1], corners[:, :, 0])
    a, b, c = (corners[..., k, :] for k in range(3))
    surface = where(hit >= 0, triangle(start, along, (a, b, c), np.inf), -1)
    walls = where(seen[..., None], _walls(grid, start, along), -1)
    dist = jnp.concatenate([surface[..., None], walls], axis=-1)
    away = where(dist >= 0, dist, jnp.inf)
    place = jnp.argmin(away, axis=-1)[..., None]
    outward = jnp.asarray(np.eye(3)[_AXIS] * _SIDE[:, None], dist.dtype)
    outward = jnp.broadcast_to(outward[None, None], (*shape, 4, 3))
    normals = jnp.concatenate([cross(b - a, c - a)[:, :, None], outward], axis=2)
    return FieldHit(
        jnp.take_along_axis(dist, place, axis=-1)[..., 0],
        jnp.take_along_axis(normals, place[..., None], axis=2)[:, :, 0],
    )


def _walk(grid: _Grid, start: Array, along: Array, seen: Array) -> tuple[Array, Array]:
    """Cells (n, m, 2) in which rays hit the surface, and their triangles; -1 means a miss."""
    half = grid.size[..., :3] * jnp.asarray([1, 1, 0.5], start.dtype)[None, None]
    middle = half * jnp.asarray([0, 0, 1], start.dtype)[None, None]
    part = box(start - middle, along, half)
    begin = jnp.maximum(part.enter, 0)
    width = 2 * grid.size[..., :2] / grid.cells.astype(start.dtype)
    way = along[..., :2]
    moves = jnp.abs(way) > MINVAL
    speed = where(moves, way, 1)
    forth = where(way > 0, 1, -1).astype(jnp.int32)
    # Rounding must not let a ray pass between two cells.
    slack = _SLACK * float(jnp.finfo(start.dtype).eps)

    def place(x: Array) -> Array:
        at = start[..., :2] + x[..., None] * way
        cell = jnp.floor((at + grid.size[..., :2]) / width).astype(jnp.int32)
        return jnp.clip(cell, 0, grid.cells - 1)

    def step(walk: _CellWalk) -> _CellWalk:
        corners = grid.triangles(walk.cell)
        parts = (corners[..., 0, :], corners[..., 1, :], corners[..., 2, :])
        found = triangle(start[:, :, None], along[:, :, None], parts, slack)
        found = where(found >= 0, found, jnp.inf)
        nearest = jnp.argmin(found, axis=-1).astype(jnp.int32)
        hit = where(jnp.min(found, axis=-1) < jnp.inf, nearest, -1)
        # This is the side through which the ray leaves the cell.
        line = (
            where(forth > 0, walk.cell + 1, walk.cell).astype(start.dtype) * width
            - grid.size[..., :2]
        )
        leaves = where(moves, (line - start[..., :2]) / speed, jnp.inf)
        axis = jnp.stack([leaves[..., 0] <= leaves[..., 1], leaves[..., 0] > leaves[..., 1]], -1)
        after = walk.cell + where(axis, forth, 0)
        within = jnp.all((after >= 0) & (after < grid.cells), axis=-1)
        more = (hit < 0) & within & (jnp.min(leaves, axis=-1) <= part.leave)
        going = walk.going
        return _CellWalk(
            where((going & more)[..., None], after, walk.cell),
            where(going, hit, walk.hit),
            going & more,
        )

    none = jnp.full(seen.shape, -1, jnp.int32)
    ahead = seen & part.meets & (part.leave >= 0)
    first = _CellWalk(place(begin), none, ahead)
    last = while_loop(lambda w: jnp.any(w.going), step, first)
    return last.cell, last.hit


def _walls(grid: _Grid, start: Array, along: Array) -> Array:
    """Hits (n, m, 4) of rays with the walls below the surface's edges, -1 for none."""
    size, way, point = (x[..., _AXIS] for x in (grid.size[..., :2], along, start))
    other = 1 - _AXIS
    moves = jnp.abs(way) > MINVAL
    x = (jnp.asarray(_SIDE, size.dtype)[None, None] * size - point) / where(moves, way, 1)
    at = start[..., other] + x * along[..., other]
    height = start[..., 2:] + x * along[..., 2:]
    reach, cells = grid.size[..., other], grid.cells[..., other]
    place = (at / reach + 1) * 0.5 * cells.astype(size.dtype)
    low = jnp.clip(jnp.floor(lax.stop_gradient(place)).astype(jnp.int32), 0, cells - 1)
    part = place - low.astype(size.dtype)
    edge = where(jnp.asarray(_SIDE > 0)[None, None], grid.cells[..., _AXIS], 0)

    def elevation(k: int) -> Array:
        along_x = jnp.asarray(other == 0)[None, None]
        columns, rows = where(along_x, low + k, edge), where(along_x, edge, low + k)
        return grid.corner(jnp.stack([columns, rows], axis=-1))[..., 2]

    top = (1 - part) * elevation(0) + part * elevation(1)
    good = moves & (x >= 0) & (jnp.abs(at) <= reach) & (height >= 0) & (height < top)
    return where(good, x, -1)
