"""Support functions: the point of a shape that lies furthest in a direction.

All kinds are evaluated for all items and one is selected. Meshes share one climb over the hulls in
the pool. Both sides of the pairs are one array of shapes, so that the program holds one copy.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.shape.lanes import (
    Rotation,
    Vec,
    dot,
    keep,
    norm,
    pick,
    repeat,
    turn,
    turn_back,
    when_any,
)
from mjjax.collision.shape.shapes import BLOCK, HEADER, Pools, Shape
from mjjax.core.constants import MINVAL
from mjjax.core.enums import GeomType
from mjjax.xla.loops import while_loop
from mjjax.xla.namespace import where

LEVEL = 4  # times the rounding error: slopes and heights that differ by less are equal


class Sides(NamedTuple):
    """The shapes of both sides, L = 2 N of them: first those of geom 1, then those of geom 2.

    Attributes:
        real: (16 or 34, L) position [m], rotation by rows, size [m], inflation of the surface
            [m]; if there are height fields, also the six corners of the prism [m].
        whole: (5, L) `GeomType`, with SDFs as meshes; first vertex and first face of the hull in
            the static tables; number to add to the address of a vertex; whether all vertices of
            the mesh are compared.
    """

    real: jax.Array
    whole: jax.Array

    @property
    def pos(self) -> Vec:
        """(L,) position [m]."""
        return Vec.of(self.real[:3])

    @property
    def mat(self) -> Rotation:
        """(L,) rotation, by rows."""
        return Vec.of(self.real[3:6]), Vec.of(self.real[6:9]), Vec.of(self.real[9:12])

    @property
    def size(self) -> Vec:
        """(L,) sizes [m]."""
        return Vec.of(self.real[12:15])

    @property
    def inflate(self) -> jax.Array:
        """(L,) length by which the surface is moved outward [m]."""
        return self.real[15]

    @property
    def prism(self) -> Vec | None:
        """(6, L) corners of prisms of height fields [m]; `None` if there are no height fields."""
        rest = self.real[16:]
        return Vec.of(rest.reshape(3, 6, -1)) if len(rest) else None

    @property
    def kind(self) -> jax.Array:
        """(L,) `GeomType`, with SDFs as meshes."""
        return self.whole[0]

    @property
    def first(self) -> jax.Array:
        """(L,) first vertex of the hull in the static tables."""
        return self.whole[1]

    @property
    def poly(self) -> jax.Array:
        """(L,) first face of the hull in the static tables."""
        return self.whole[2]

    @property
    def offset(self) -> jax.Array:
        """(L,) number to add to the address of a vertex."""
        return self.whole[3]

    @property
    def exhaustive(self) -> jax.Array:
        """(L,) whether all vertices of the mesh are compared."""
        return self.whole[4] > 0

    def moved(self, pos: Vec, mat: Rotation) -> "Sides":
        """The same shapes elsewhere."""
        pose = jnp.stack([*pos, *mat[0], *mat[1], *mat[2]])
        return self._replace(real=jnp.concatenate([pose, self.real[12:]]))

    def bare(self) -> "Sides":
        """The same shapes, not inflated."""
        return self._replace(real=self.real.at[15].set(0))

    @property
    def round(self) -> jax.Array:
        """(L,) whether the shape is a point or a segment with a radius."""
        return (self.kind == GeomType.SPHERE) | (self.kind == GeomType.CAPSULE)

    @property
    def has_core(self) -> jax.Array:
        """(L,) whether the shape is a smaller shape with a radius; in MuJoCo only `round` ones are.

        In float32 inflated shapes are as well, because a distance is exact, unlike a depth.
        """
        single = self.real.dtype == np.float32
        return self.round | ((self.inflate > 0) & single)

    def radius(self) -> jax.Array:
        """(L,) distance of the surface from the core [m]."""
        own = where(self.round, self.size.x, 0)
        return where(self.has_core, own + self.inflate, 0)

    @property
    def polyhedral(self) -> jax.Array:
        """(L,) whether the shape has corners only; an inflated shape has none."""
        flat = (self.kind == GeomType.BOX) | (self.kind >= GeomType.MESH)
        return (flat | (self.kind == GeomType.HFIELD)) & (self.inflate == 0)

    def rounding(self) -> jax.Array:
        """(N,) largest rounding error of a point of a pair [m]; zero in float64.

        In float64 it is far below MuJoCo's own limits, which then decide. In float32 differences
        below it mean nothing: an iteration that waits for less would never end, or end at random.
        """
        eps = jnp.finfo(self.real.dtype).eps
        reach = norm(self.pos) + norm(self.size) + self.inflate
        n = self.kind.shape[0] // 2
        scale = jnp.maximum(reach[:n], reach[n:])
        return scale * (0 if self.real.dtype == np.float64 else 4 * float(eps))

    def centre(self) -> Vec:
        """(L,) points from which the search starts."""
        if (prism := self.prism) is None:
            return self.pos
        mean = self.pos + turn(self.mat, jax.tree.map(lambda x: jnp.mean(x, axis=0), prism))
        return keep(self.kind == GeomType.HFIELD, mean, self.pos)

    def repeat(self, times: int) -> "Sides":
        """The pairs repeated several times, in the same arrangement."""
        return jax.tree.map(lambda x: repeat(x, times), self)


def sides_of(pools: Pools, one: Shape, two: Shape, inflate: jax.Array) -> Sides:
    """Both sides of N pairs; `inflate` (N,) is half of the margin [m].

    Positions are relative to geom 1: far from the origin differences would be rounded.
    """
    pos = jnp.concatenate([jnp.zeros_like(one.pos), two.pos - one.pos])
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
    outward = where(field, 0, jnp.concatenate([inflate, inflate]))
    real = [pos.T, mat.reshape(-1, 9).T, size.T, outward[None]]
    if one.cell is not None:
        cells = [no[: len(no) // 2] if side.cell is None else side.cell for side in (one, two)]
        x, y, z = prisms(pools, where(field, asset, 0), jnp.concatenate(cells), offset)
        # by the whole margin, on top of what the other geom is inflated by: as MuJoCo does
        real += [x, y, z.at[3:].add(2 * jnp.concatenate([inflate, inflate]))]
    numbers = [kind, first, poly, offset, whole.astype(jnp.int32)]
    return Sides(jnp.concatenate(real), jnp.stack(numbers).astype(jnp.int32))


def hfield_size(pools: Pools, field: jax.Array, offset: jax.Array) -> jax.Array:
    """Half sizes, highest point and base (L, 4) of height fields [m]."""
    first = _table(pools.hfield_adr)[field] + offset - HEADER
    return pools.heights[first[:, None] + np.arange(HEADER, dtype=np.int32)[None]]


def prisms(pools: Pools, field: jax.Array, cell: jax.Array, offset: jax.Array) -> Vec:
    """Corners (6, L) of prisms of height fields: three at the base, those above in order.

    Triangles of a row of cells share their corners: the k-th has the corners k to k + 2 of the
    zigzag between the row's two lines of points, which begins at the upper one.
    """
    adr, ncol, nrow = (
        _table(t)[field] for t in (pools.hfield_adr, pools.hfield_ncol, pools.hfield_nrow)
    )
    half_x, half_y, top, depth = hfield_size(pools, field, offset).T
    in_row = 2 * (ncol - 1)
    row, start = cell // in_row, cell % in_row
    place = start[None] + np.arange(3, dtype=np.int32)[:, None]
    col, line = place // 2, row[None] + 1 - place % 2

    def spread(half: jax.Array, points: jax.Array, at: jax.Array) -> jax.Array:
        step = 2 * half / (points - 1).astype(half.dtype)
        return step[None] * at.astype(half.dtype) - half[None]

    x, y = spread(half_x, ncol, col), spread(half_y, nrow, line)
    height = pools.heights[(adr + offset)[None] + line * ncol[None] + col] * top[None]
    base = jnp.broadcast_to(-depth[None], height.shape)
    return Vec(*(jnp.concatenate(pair) for pair in ((x, x), (y, y), (base, height))))


def support(
    pools: Pools,
    sides: Sides,
    direction: Vec,
    hint: jax.Array,
    core: jax.Array,
    on: jax.Array,
    *,
    native: bool = True,
) -> tuple[Vec, jax.Array]:
    """Furthest points in a direction.

    If several points are equally far, MuJoCo takes another one without flag `nativeccd`: of an edge
    of a box or capsule the middle, and of a mesh of any size the vertex nearest to the start.

    Args:
        pools: the pools.
        sides: L shapes.
        direction: (L,) unit vectors, world axes.
        hint: (L,) vertices from which the search over a mesh starts, -1 for none.
        core: (L,) whether to take the core of shapes that have one: the point or segment inside
            a sphere or capsule.
        on: (L,) which points are needed.
        native: the flag.

    Returns:
        The points (L,); the corner of a box or vertex of a hull (L,), -1 if there is none.
    """
    local = when_any(on, turn_back, sides.mat, direction)
    radius = where(core & sides.round, 0, sides.size.x)
    point, corner = _primitive(sides.kind, sides.size, local, radius, native)
    vertex = where(sides.kind == GeomType.BOX, corner, -1)
    mesh = sides.kind >= GeomType.MESH
    if len(pools.hulls.vert):
        climbed = _climb(pools, sides, local, hint, on & mesh, native)
        row: jax.Array = where(mesh, climbed + sides.first + sides.offset, 0)
        point = keep(mesh, Vec.of(pools.vert[row].T), point)
        vertex = where(mesh, climbed, vertex)
    if (prism := sides.prism) is not None:
        field = sides.kind == GeomType.HFIELD
        place = when_any(on, _prism_corner, prism, local)
        point = keep(field, pick([prism[k] for k in range(6)], place), point)
        vertex = where(field, place, vertex)
    margin = where(core & sides.has_core, 0, sides.inflate)
    return turn(sides.mat, point) + sides.pos + direction * margin, vertex


def both_ways(direction: Vec) -> Vec:
    """Directions (N,) for the first sides, then their opposites for the second: (2 N,)."""
    sign = jnp.asarray([[1], [-1]], direction.x.dtype)
    return jax.tree.map(lambda x: (sign * x[None]).ravel(), direction)


def _primitive(
    kind: jax.Array, size: Vec, local: Vec, radius: jax.Array, native: bool
) -> tuple[Vec, jax.Array]:
    """Support points (L,) of everything without vertices in a pool; corner (L,) of the box."""
    x, y, z = size

    def end_of(half: jax.Array, slope: jax.Array) -> jax.Array:
        return where(slope >= 0, half, -half) if native else jnp.sign(slope) * half

    ball = local * radius
    end = end_of(y, local.z)
    capsule = Vec(ball.x, ball.y, ball.z + end)

    scaled = Vec(local.x * x, local.y * y, local.z * z)
    length = norm(scaled)
    proper = length >= MINVAL
    unit = scaled / where(proper, length, 1)
    ellipsoid = Vec(where(proper, unit.x * x, x), unit.y * y, unit.z * z)

    across = local.x * local.x + local.y * local.y
    upright = across <= MINVAL * MINVAL
    scale = where(upright, 0, x / jnp.sqrt(where(upright, 1, across)))
    # MuJoCo's sign of zero is zero: the middle of the side, not its end
    cylinder = Vec(local.x * scale, local.y * scale, jnp.sign(local.z) * y)

    box = Vec(*(end_of(s, v) for s, v in zip(size, local, strict=True)))
    corner = sum((b > 0).astype(jnp.int32) << i for i, b in enumerate(box))
    kinds = (GeomType.CAPSULE, GeomType.ELLIPSOID, GeomType.CYLINDER, GeomType.BOX)
    point = ball
    for name, found in zip(kinds, (capsule, ellipsoid, cylinder, box), strict=True):
        point = keep(kind == name, found, point)
    return point, jnp.asarray(corner)


def _prism_corner(prism: Vec, local: Vec) -> jax.Array:
    """Corner (L,) of the prism: of the base if the direction points down, else of the top.

    Out of an upright wall the direction is horizontal and corners are equally high: in MuJoCo
    exactly, here but for rounding (products and sums are rounded together), which must not decide.
    """
    height = dot(prism, local)
    best, place = [], []
    for k in (0, 3):
        top, at = height[k], jnp.full_like(local.x, k, jnp.int32)
        for i in (k + 1, k + 2):
            higher = height[i] - top > LEVEL * jnp.finfo(top.dtype).eps * jnp.abs(top)
            top, at = where(higher, height[i], top), where(higher, i, at)
        best.append(top)
        place.append(at)
    down = local.z < -LEVEL * jnp.finfo(local.z.dtype).eps
    return where(down, place[0], place[1]).astype(jnp.int32)


class _SupportClimb(NamedTuple):
    """A search over hulls: `vertex` is where it stands, `best` the highest neighbour so far."""

    vertex: jax.Array
    best: jax.Array
    height: jax.Array
    block: jax.Array
    left: jax.Array


def _climb(
    pools: Pools, sides: Sides, local: Vec, hint: jax.Array, on: jax.Array, native: bool
) -> jax.Array:
    """Vertices (L,) of the hulls that lie furthest, found from neighbour to neighbour.

    As in MuJoCo the neighbours are compared with each other first, not with the start: the first
    step is taken even if it leads down. Of equally high ones the first is taken. Without flag
    `nativeccd` they are compared with the start, too, and small meshes are climbed as well.
    """
    hulls = pools.hulls
    names = ("block_adr", "block_num") if native else ("near_adr", "near_num")
    block_adr, block_num = (_table(getattr(hulls, name)) for name in names)
    blocks = _table(hulls.blocks)
    exhaustive = sides.exhaustive & native

    def height(vertex: jax.Array) -> jax.Array:
        shape = (1,) * (vertex.ndim - 1) + (-1,)
        row = pools.vert[vertex + (sides.first + sides.offset).reshape(shape)]
        x, y, z = (v.reshape(shape) for v in local)
        return row[..., 0] * x + row[..., 1] * y + row[..., 2] * z

    def start(vertex: jax.Array) -> tuple[jax.Array, jax.Array]:
        row = where(on, vertex + sides.first, 0)
        return block_adr[row], block_num[row]

    def step(s: _SupportClimb) -> _SupportClimb:
        going = s.left > 0
        near = blocks[where(going, s.block, 0)].T
        heights = height(where(going[None], near, 0))
        best, top = s.best, s.height
        for k in range(BLOCK):
            higher = heights[k] > top
            best, top = where(higher, near[k], best), where(higher, heights[k], top)
        left = s.left - 1
        move = (left == 0) & (best != s.vertex) & ~exhaustive
        vertex = where(left == 0, best, s.vertex)
        adr, num = start(vertex)
        block, left = where(move, adr, s.block + 1), where(move, num, left)
        new = _SupportClimb(vertex, best, top, block, left)
        return jax.tree.map(lambda a, b: where(going, a, b), new, s)

    begin = hint
    if not native:
        first = _table(np.repeat(hulls.start, hulls.vert_num))
        begin = where(hint < 0, first[where(on, sides.first, 0)], hint)
    vertex = where(on, jnp.maximum(begin, 0), 0)
    lowest = jnp.full_like(local.x, -jnp.inf)
    known = exhaustive & (hint >= 0) if native else True
    top = where(known & on, height(vertex), lowest)
    block, left = start(vertex)
    at = _SupportClimb(vertex, vertex, top, block, where(on, left, 0))
    return while_loop(lambda s: jnp.any(s.left > 0), step, at).best


def _table(table: np.ndarray) -> jax.Array:
    return jnp.asarray(table, bool if table.dtype == bool else jnp.int32)
