"""Support functions: the point of a shape that lies furthest in a direction.

All kinds are evaluated for all items and one is selected; meshes share one climb over the hulls in
the pool. Both sides of the pairs are one array of shapes, so that the program holds one copy.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.collision.convex.lanes import dot, keep, norm, pick, turn, turn_back
from mjjax.collision.shapes import BLOCK, HEADER, Pools, Shape
from mjjax.core.constants import MINVAL
from mjjax.core.enums import GeomType


class Sides(NamedTuple):
    """The shapes of both sides, L = 2 N of them: first those of geom 1, then those of geom 2.

    Attributes:
        pos: (3, L) position [m].
        mat: (3, 3, L) rotation.
        size: (3, L) sizes [m].
        kind: (L,) `GeomType`, meshes and SDFs as meshes.
        inflate: (L,) by how much the surface is moved outward [m].
        first: (L,) first vertex of the hull in the static tables.
        poly: (L,) first face of the hull in the static tables.
        offset: (L,) what to add to the address of a vertex.
        whole: (L,) whether all vertices of the mesh are compared.
        prism: (6, 3, L) corners of the prism of a height field [m]; no corners where there is none.
    """

    pos: jax.Array
    mat: jax.Array
    size: jax.Array
    kind: jax.Array
    inflate: jax.Array
    first: jax.Array
    poly: jax.Array
    offset: jax.Array
    whole: jax.Array
    prism: jax.Array

    @property
    def round(self) -> jax.Array:
        """(L,) whether the shape is a point or a segment with a radius."""
        return (self.kind == GeomType.SPHERE) | (self.kind == GeomType.CAPSULE)

    @property
    def has_core(self) -> jax.Array:
        """(L,) whether the shape is a smaller one with a radius: in MuJoCo, `round` ones.

        In float32 what is inflated is, too: its distance is exact, unlike a depth.
        """
        single = self.pos.dtype == np.float32
        return self.round | ((self.inflate > 0) & single)

    def radius(self) -> jax.Array:
        """(L,) distance of the surface from the core [m]."""
        own = jnp.where(self.round, self.size[0], 0)
        return jnp.where(self.has_core, own + self.inflate, 0)

    @property
    def polyhedral(self) -> jax.Array:
        """(L,) whether the shape has corners only: what is inflated has none."""
        flat = (self.kind == GeomType.BOX) | (self.kind >= GeomType.MESH)
        return (flat | (self.kind == GeomType.HFIELD)) & (self.inflate == 0)

    def rounding(self) -> jax.Array:
        """(N,) what rounding may change in a point of a pair [m]; zero in float64.

        In float64 it is far below MuJoCo's own limits, which then decide. In float32 differences
        below it mean nothing: an iteration that waits for less would not end, or end at random.
        """
        eps = jnp.finfo(self.pos.dtype).eps
        reach = norm(self.pos) + norm(self.size) + self.inflate
        n = self.kind.shape[0] // 2
        scale = jnp.maximum(reach[:n], reach[n:])
        return scale * (0 if self.pos.dtype == np.float64 else 4 * float(eps))

    def centre(self) -> jax.Array:
        """(3, L) points from which the search starts."""
        if not len(self.prism):
            return self.pos
        mean = self.pos + turn(self.mat, jnp.mean(self.prism, axis=0))
        return keep(self.kind == GeomType.HFIELD, mean, self.pos)

    def take(self, index: jax.Array) -> "Sides":
        """The pairs of some items (E,), in the same arrangement."""
        both = jnp.concatenate([index, index + self.kind.shape[0] // 2])
        return jax.tree.map(lambda x: x[..., both], self)


def sides_of(pools: Pools, one: Shape, two: Shape, inflate: jax.Array) -> Sides:
    """Both sides of N pairs; `inflate` (N,) is the half of the margin [m].

    Positions are relative to geom 1: far from the origin differences would be rounded.
    """
    pos = jnp.concatenate([jnp.zeros_like(one.pos), two.pos - one.pos]).T
    mat, size, kind, asset, offset = (
        jnp.concatenate([getattr(one, name), getattr(two, name)])
        for name in ("mat", "size", "kind", "asset", "offset")
    )
    hulls, no = pools.hulls, jnp.zeros_like(kind)
    first, poly, whole = no, no, no > 0
    if len(hulls.vert):
        mesh = jnp.maximum(asset, 0)
        first = _table(hulls.vert_adr)[mesh]
        poly = _table(pools.polygons.adr)[mesh]
        whole = _table(hulls.whole)[mesh] & (kind >= GeomType.MESH)
    field = kind == GeomType.HFIELD
    prism = jnp.zeros((0, 3, len(kind)), pos.dtype)
    if one.cell is not None:
        cells = [no[: len(no) // 2] if side.cell is None else side.cell for side in (one, two)]
        prism = prisms(pools, jnp.where(field, asset, 0), jnp.concatenate(cells), offset)
        # by the whole margin, on top of what the other geom is inflated by: as MuJoCo does
        prism = prism.at[3:, 2].add(2 * jnp.concatenate([inflate, inflate]))
    inflate = jnp.where(field, 0, jnp.concatenate([inflate, inflate]))
    mat = jnp.moveaxis(mat, 0, -1)
    return Sides(pos, mat, size.T, kind, inflate, first, poly, offset, whole, prism)


def hfield_size(pools: Pools, field: jax.Array, offset: jax.Array) -> jax.Array:
    """Half sizes, highest point and base (L, 4) of height fields [m]."""
    first = _table(pools.hfield_adr)[field] + offset - HEADER
    return pools.heights[first[:, None] + np.arange(HEADER, dtype=np.int32)[None]]


def prisms(pools: Pools, field: jax.Array, cell: jax.Array, offset: jax.Array) -> jax.Array:
    """Corners (6, 3, L) of prisms of height fields: three at the base, those above in order.

    Triangles of a row of cells share their corners: the k-th has the corners k to k + 2 of the
    zigzag between the row's two lines of points, which begins at the upper one.
    """
    adr, ncol, nrow = (
        _table(t)[field] for t in (pools.hfield_adr, pools.hfield_ncol, pools.hfield_nrow)
    )
    size = hfield_size(pools, field, offset).T
    in_row = 2 * (ncol - 1)
    row, start = cell // in_row, cell % in_row
    corners = []
    for k in range(3):
        col, line = (start + k) // 2, row + 1 - (start + k) % 2
        x = 2 * size[0] / (ncol - 1).astype(size.dtype) * col.astype(size.dtype) - size[0]
        y = 2 * size[1] / (nrow - 1).astype(size.dtype) * line.astype(size.dtype) - size[1]
        height = pools.heights[adr + offset + line * ncol + col] * size[2]
        corners.append([jnp.stack([x, y, -size[3]]), jnp.stack([x, y, height])])
    return jnp.stack([c[0] for c in corners] + [c[1] for c in corners])


def support(
    pools: Pools,
    sides: Sides,
    direction: jax.Array,
    hint: jax.Array,
    core: jax.Array,
    on: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """Furthest points in a direction.

    Args:
        pools: the pools.
        sides: L shapes.
        direction: (3, L) unit vectors, world axes.
        hint: (L,) vertices from which the search over a mesh starts, -1 for none.
        core: (L,) whether to take the core of shapes that have one: the point or segment inside
            of a sphere or capsule.
        on: (L,) which points are needed.

    Returns:
        The points (3, L); the corner of a box or vertex of a hull (L,), -1 where there is none.
    """
    local = turn_back(sides.mat, direction)
    radius = jnp.where(core & sides.round, 0, sides.size[0])
    point, corner = _primitive(sides.kind, sides.size, local, radius)
    vertex = jnp.where(sides.kind == GeomType.BOX, corner, -1)
    mesh = sides.kind >= GeomType.MESH
    if len(pools.hulls.vert):
        climbed = _climb(pools, sides, local, hint, on & mesh)
        row = jnp.where(mesh, climbed + sides.first + sides.offset, 0)
        point = keep(mesh, pools.vert[row].T, point)
        vertex = jnp.where(mesh, climbed, vertex)
    if len(sides.prism):
        field = sides.kind == GeomType.HFIELD
        place = _prism_corner(sides.prism, local)
        point = keep(field, pick(sides.prism, place), point)
        vertex = jnp.where(field, place, vertex)
    margin = jnp.where(core & sides.has_core, 0, sides.inflate)
    return turn(sides.mat, point) + sides.pos + direction * margin[None], vertex


def _primitive(
    kind: jax.Array, size: jax.Array, local: jax.Array, radius: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Support points (3, L) of everything without vertices in a pool; corner (L,) of the box."""
    x, y, _ = size
    up = local[2] >= 0
    ball = local * radius[None]
    capsule = ball.at[2].add(jnp.where(up, y, -y))

    scaled = local * size
    length = norm(scaled)
    proper = length >= MINVAL
    ellipsoid = scaled / jnp.where(proper, length, 1)[None] * size
    ellipsoid = keep(proper, ellipsoid, jnp.stack([x, 0 * x, 0 * x]))

    across = local[0] * local[0] + local[1] * local[1]
    upright = across <= MINVAL * MINVAL
    scale = jnp.where(upright, 0, x / jnp.sqrt(jnp.where(upright, 1, across)))
    # MuJoCo's sign of zero is zero: the middle of the side, not its end
    cylinder = jnp.stack([local[0] * scale, local[1] * scale, jnp.sign(local[2]) * y])

    positive = local >= 0
    box = jnp.where(positive, size, -size)
    outward = (box > 0).astype(jnp.int32)
    corner = outward[0] + outward[1] * 2 + outward[2] * 4
    kinds = (GeomType.CAPSULE, GeomType.ELLIPSOID, GeomType.CYLINDER, GeomType.BOX)
    point = ball
    for name, found in zip(kinds, (capsule, ellipsoid, cylinder, box), strict=True):
        point = keep(kind == name, found, point)
    return point, corner


def _prism_corner(prism: jax.Array, local: jax.Array) -> jax.Array:
    """Corner (L,) of the prism: of the base if the direction points down, else of the top."""
    height = dot(prism, local[None])
    best, place = [], []
    for k in (0, 3):
        top, at = height[k], jnp.full_like(local[0], k, jnp.int32)
        for i in (k + 1, k + 2):
            higher = height[i] > top
            top, at = jnp.where(higher, height[i], top), jnp.where(higher, i, at)
        best.append(top)
        place.append(at)
    return jnp.where(local[2] < 0, place[0], place[1])


class _Climb(NamedTuple):
    """A search over hulls: `vertex` is where it stands, `best` the highest neighbour so far."""

    vertex: jax.Array
    best: jax.Array
    height: jax.Array
    block: jax.Array
    left: jax.Array


def _climb(pools: Pools, sides: Sides, local: jax.Array, hint: jax.Array, on: jax.Array):
    """Vertices (L,) of the hulls that lie furthest, found from neighbour to neighbour.

    As in MuJoCo the neighbours are compared with each other first, not with the start: the first
    step is taken even if it leads down. Of equally high ones the first is taken.
    """
    hulls = pools.hulls
    block_adr, block_num = _table(hulls.block_adr), _table(hulls.block_num)
    blocks = _table(hulls.blocks)

    def height(vertex: jax.Array) -> jax.Array:
        shape = (1,) * (vertex.ndim - 1) + (-1,)
        row = pools.vert[vertex + (sides.first + sides.offset).reshape(shape)]
        x, y, z = (v.reshape(shape) for v in local)
        return row[..., 0] * x + row[..., 1] * y + row[..., 2] * z

    def start(vertex: jax.Array) -> tuple[jax.Array, jax.Array]:
        row = jnp.where(on, vertex + sides.first, 0)
        return block_adr[row], block_num[row]

    def step(s: _Climb) -> _Climb:
        going = s.left > 0
        near = blocks[jnp.where(going, s.block, 0)].T
        heights = height(jnp.where(going[None], near, 0))
        best, top = s.best, s.height
        for k in range(BLOCK):
            higher = heights[k] > top
            best, top = jnp.where(higher, near[k], best), jnp.where(higher, heights[k], top)
        left = s.left - 1
        move = (left == 0) & (best != s.vertex) & ~sides.whole
        vertex = jnp.where(left == 0, best, s.vertex)
        adr, num = start(vertex)
        block, left = jnp.where(move, adr, s.block + 1), jnp.where(move, num, left)
        new = _Climb(vertex, best, top, block, left)
        return jax.tree.map(lambda a, b: jnp.where(going, a, b), new, s)

    vertex = jnp.where(on, jnp.maximum(hint, 0), 0)
    lowest = jnp.full_like(local[0], -jnp.inf)
    known = sides.whole & (hint >= 0) & on
    top = jnp.where(known, height(vertex), lowest)
    block, left = start(vertex)
    first = _Climb(vertex, vertex, top, block, jnp.where(on, left, 0))
    return lax.while_loop(lambda s: jnp.any(s.left > 0), step, first).best


def _table(table: np.ndarray) -> jax.Array:
    return jnp.asarray(table, bool if table.dtype == bool else jnp.int32)
