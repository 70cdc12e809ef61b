"""A convex shape as the algorithms for one pair need it."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.shape.shapes import HEADER, Pools, Shape
from mjjax.collision.shape.vectors import Vec, norm, row, turn
from mjjax.core.enums import GeomType
from mjjax.xla.kernel_code import subroutine
from mjjax.xla.namespace import Array, where


class ConvexShape(NamedTuple):
    """One shape of a pair.

    Attributes:
        pos: (3,) position relative to geom 1 of the pair [m].
        mat: (3, 3) rotation to the world frame.
        size: (3,) sizes as in MuJoCo [m].
        inflate: length by which the surface is moved outward [m].
        kind: `GeomType`, with SDFs as meshes.
        first: first vertex of the hull in the static tables.
        poly: first face of the hull in the static tables.
        offset: number to add to the address of a vertex.
        exhaustive: whether all vertices of the mesh are compared.
        prism: (6, 3) corners of the prism of a height field [m], three at the base, those above in
            order; `None` if no shape of the program is a height field.
    """

    pos: jax.Array
    mat: jax.Array
    size: jax.Array
    inflate: jax.Array
    kind: jax.Array
    first: jax.Array
    poly: jax.Array
    offset: jax.Array
    exhaustive: jax.Array
    prism: jax.Array | None

    @property
    def is_mesh(self) -> jax.Array:
        """Whether it has vertices in the pool."""
        return self.kind >= GeomType.MESH

    @property
    def round(self) -> jax.Array:
        """Whether the shape is a point or a segment with a radius."""
        return (self.kind == GeomType.SPHERE) | (self.kind == GeomType.CAPSULE)

    @property
    def curved(self) -> jax.Array:
        """Whether it is a sphere, capsule, ellipsoid or cylinder."""
        return (self.kind != GeomType.BOX) & ~self.is_mesh & (self.kind != GeomType.HFIELD)

    @property
    def has_core(self) -> jax.Array:
        """Whether the shape is a smaller shape with a radius; in MuJoCo only `round` ones are.

        In float32 inflated shapes are as well, because a distance is exact, unlike a depth.
        """
        return self.round | ((self.inflate > 0) & (self.pos.dtype == np.float32))

    def radius(self) -> jax.Array:
        """Distance of the surface from the core [m]."""
        own = where(self.round, self.size[0], 0)
        return where(self.has_core, own + self.inflate, 0)

    @property
    def polyhedral(self) -> jax.Array:
        """Whether the shape has corners only; an inflated shape has none."""
        return ~self.curved & (self.inflate == 0)

    def centre(self) -> Vec:
        """The point from which the search starts."""
        if self.prism is None:
            return Vec.of(self.pos)
        middle = turn(self.mat, Vec.of(jnp.mean(self.prism, axis=0))).joined()
        field = self.kind == GeomType.HFIELD
        return Vec.of(self.pos + where(field, middle, 0))


class ShapePair(NamedTuple):
    """The two shapes of a pair, in the rows of `both`."""

    both: ConvexShape

    @classmethod
    def of(cls, one: ConvexShape, two: ConvexShape) -> "ShapePair":
        """The pair of two shapes."""
        return cls(jax.tree.map(lambda *x: jnp.stack(x), one, two))

    @property
    def one(self) -> ConvexShape:
        """Geom 1."""
        return row(self.both, 0)

    @property
    def two(self) -> ConvexShape:
        """Geom 2."""
        return row(self.both, 1)

    def rounding(self) -> jax.Array:
        """Largest rounding error of a point of the pair [m]; zero in float64.

        In float64 it is far below MuJoCo's own limits, which then decide. In float32 differences
        below it mean nothing: an iteration that waits for less would never end, or end at random.
        """
        dtype = self.both.pos.dtype
        errors = 0 if dtype == np.float64 else 4 * float(jnp.finfo(dtype).eps)
        return _reach(self) * errors


@subroutine
def _reach(pair: ShapePair) -> jax.Array:
    """Largest distance from geom 1 of a point of a pair, roughly [m]."""
    reach = [norm(Vec.of(s.pos)) + norm(Vec.of(s.size)) + s.inflate for s in (pair.one, pair.two)]
    return jnp.maximum(*reach)


def shape_pair(pools: Pools, one: Shape, two: Shape, inflate: jax.Array) -> ShapePair:
    """The shapes of a pair, inflated by half of the margin.

    Positions are relative to geom 1: far from the origin differences would be rounded.

    Args:
        pools: the pools.
        one: geom 1, unbatched.
        two: geom 2, unbatched.
        inflate: half of the margin [m].
    """
    if one.cell is not None and two.cell is None:  # only the first one can be a height field
        two = two._replace(cell=jnp.zeros_like(one.cell))
    shapes = (s._replace(pos=s.pos - one.pos) for s in (one, two))
    return ShapePair.of(*(_convex_shape(pools, s, inflate) for s in shapes))


def _convex_shape(pools: Pools, shape: Shape, inflate: jax.Array) -> ConvexShape:
    hulls, kind = pools.hulls, jnp.asarray(shape.kind, jnp.int32)
    first = poly = jnp.int32(0)
    exhaustive = kind > kind
    if len(hulls.vert):
        mesh = jnp.maximum(shape.asset, 0)
        first = static_table(hulls.vert_adr)[mesh]
        poly = static_table(pools.polygons.adr)[mesh]
        exhaustive = static_table(hulls.whole)[mesh] & (kind >= GeomType.MESH)
    field, prism = kind == GeomType.HFIELD, None
    if shape.cell is not None:
        prism = prism_of(pools, where(field, shape.asset, 0), shape.cell, shape.offset)
        # by the whole margin, on top of what the other geom is inflated by: as MuJoCo does
        up = np.zeros((6, 3))
        up[3:, 2] = 2
        prism = prism + inflate * jnp.asarray(up, prism.dtype)
    return ConvexShape(
        jnp.asarray(shape.pos),
        jnp.asarray(shape.mat),
        jnp.asarray(shape.size),
        where(field, 0, inflate),
        kind,
        first,
        poly,
        jnp.asarray(shape.offset, jnp.int32),
        exhaustive,
        prism,
    )


def hfield_size(pools: Pools, field: Array, offset: Array) -> jax.Array:
    """Half sizes, highest point and base (4,) of a height field [m]."""
    first = static_table(pools.hfield_adr)[field] + offset - HEADER
    return jnp.asarray(pools.heights)[first + np.arange(HEADER, dtype=np.int32)]


def prism_of(pools: Pools, field: Array, cell: Array, offset: Array) -> jax.Array:
    """Corners (6, 3) of a prism of a height field: three at the base, those above in order.

    Triangles of a row of cells share their corners: the k-th has the corners k to k + 2 of the
    zigzag between the row's two lines of points, which begins at the upper one.
    """
    adr, ncol, nrow = (
        static_table(t)[field] for t in (pools.hfield_adr, pools.hfield_ncol, pools.hfield_nrow)
    )
    size = hfield_size(pools, field, offset)
    in_row = 2 * (ncol - 1)
    line, start = cell // in_row, cell % in_row
    place = start + np.arange(3, dtype=np.int32)
    col, line = place // 2, line + 1 - place % 2

    def spread(half: jax.Array, points: jax.Array, at: Array) -> jax.Array:
        step = 2 * half / (points - 1).astype(half.dtype)
        return step * at.astype(half.dtype) - half

    x, y = spread(size[0], ncol, col), spread(size[1], nrow, line)
    top = jnp.asarray(pools.heights)[adr + offset + line * ncol + col] * size[2]
    base = jnp.broadcast_to(-size[3], top.shape)
    return jnp.concatenate([jnp.stack([x, y, z], axis=1) for z in (base, top)])


def static_table(table: np.ndarray) -> jax.Array:
    """A table of structure as an array of a kernel."""
    return jnp.asarray(table, bool if table.dtype == bool else jnp.int32)
