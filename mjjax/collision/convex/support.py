"""Support functions: the point of a shape that lies furthest in a direction."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.convex.convex_shape import ConvexShape, ShapePair, static_table
from mjjax.collision.shape.shapes import BLOCK, Pools
from mjjax.collision.shape.vectors import Vec, dot, norm, put, row, take, turn, turn_back
from mjjax.core.constants import MINVAL
from mjjax.core.enums import GeomType
from mjjax.xla.kernel_code import few_rounds, subroutine
from mjjax.xla.loops import switch, while_loop
from mjjax.xla.namespace import Array, where

LEVEL = 4  # times the rounding error: slopes and heights that differ by less are equal


class Corner(NamedTuple):
    """A point of the Minkowski difference of two shapes, or several in rows.

    Attributes:
        point: (3,) the point, `one - two` [m].
        one: (3,) the point of geom 1 [m].
        two: (3,) the point of geom 2 [m].
        label: (2,) vertices of the geoms at these points; see `Support`.
    """

    point: jax.Array
    one: jax.Array
    two: jax.Array
    label: jax.Array

    @classmethod
    def empty(cls, count: int, dtype: np.dtype) -> "Corner":
        """Rows for some corners."""
        zero = jnp.zeros((count, 3), dtype)
        return cls(zero, zero, zero, jnp.full((count, 2), -1, jnp.int32))


class Support:
    """The support functions of the shapes of a program.

    If several points are equally far, MuJoCo takes another one without flag `nativeccd`: of an edge
    of a box or capsule the middle, and of a mesh of any size the vertex nearest to the start.

    Attributes:
        of_shape: function of a shape, a direction (unit, world axes), the vertex from which the
            search over a mesh starts (-1 for none), and whether to take the core of shapes that
            have one: the point or segment inside a sphere or capsule. It returns the furthest point
            and the corner of a box or prism or vertex of a hull, -1 if there is none.
    """

    def __init__(self, pools: Pools, native: bool = True) -> None:
        self.of_shape = subroutine(functools.partial(_support, pools, native))

    def of_pair(
        self, pair: ShapePair, direction: Vec, hint: jax.Array, core: jax.Array | bool = False
    ) -> Corner:
        """The corner of the Minkowski difference; `hint` (2,) is the label of another corner."""
        core, dtype = jnp.asarray(core), direction.x.dtype

        def of_side(
            k: jax.Array, found: tuple[jax.Array, jax.Array]
        ) -> tuple[jax.Array, jax.Array]:
            outward = direction * where(k == 0, 1, -1).astype(dtype)
            point, label = self.of_shape(row(pair.both, k), outward, row(hint, k), core)
            return put(found, k, (point.joined(), label))

        start = jnp.zeros((2, 3), dtype), jnp.zeros(2, jnp.int32)
        ends, label = few_rounds(2, of_side, start)
        one, two = row(ends, 0), row(ends, 1)
        return Corner(one - two, one, two, label)


def _support(
    pools: Pools,
    native: bool,
    shape: ConvexShape,
    direction: Vec,
    hint: jax.Array,
    core: jax.Array,
) -> tuple[Vec, jax.Array]:
    """The function of `Support`."""
    local = _turned_back(shape.mat, direction)
    size, none = Vec.of(shape.size), jnp.int32(-1)
    radius = where(core, 0, size.x)

    def mesh() -> tuple[Vec, jax.Array]:
        vertex = climb(pools, shape, local, hint, native)
        return Vec.of(row(pools.vert, vertex + shape.first + shape.offset)), vertex

    def prism() -> tuple[Vec, jax.Array]:
        assert shape.prism is not None
        corner = _prism_corner(shape.prism, local)
        return Vec.of(row(shape.prism, corner)), corner

    kinds: dict[tuple[GeomType, ...], Callable[[], tuple[Vec, jax.Array]]] = {
        (GeomType.SPHERE,): lambda: (local * radius, none),
        (GeomType.CAPSULE,): lambda: (_capsule(size, local, radius, native), none),
        (GeomType.ELLIPSOID,): lambda: (_ellipsoid(size, local), none),
        (GeomType.CYLINDER,): lambda: (_cylinder(size, local), none),
        (GeomType.BOX,): lambda: _box(size, local, native),
    }
    if len(pools.hulls.vert):
        kinds[GeomType.MESH, GeomType.SDF] = mesh
    if shape.prism is not None:
        kinds[(GeomType.HFIELD,)] = prism
    place = np.zeros(len(GeomType), np.int32)
    for k, names in enumerate(kinds):
        place[list(names)] = k
    point, vertex = switch(row(jnp.asarray(place), shape.kind), list(kinds.values()))
    margin = where(core & shape.has_core, 0, shape.inflate)
    return turn(shape.mat, point) + Vec.of(shape.pos) + direction * margin, vertex


_turned_back = subroutine(turn_back)


def _end(half: jax.Array, slope: jax.Array, native: bool) -> jax.Array:
    """Which end of a segment or box is further."""
    return where(slope >= 0, half, -half) if native else jnp.sign(slope) * half


def _capsule(size: Vec, local: Vec, radius: jax.Array, native: bool) -> Vec:
    ball = local * radius
    return Vec(ball.x, ball.y, ball.z + _end(size.y, local.z, native))


def _ellipsoid(size: Vec, local: Vec) -> Vec:
    scaled = local.times(size)
    length = norm(scaled)
    proper = length >= MINVAL
    unit = scaled / where(proper, length, 1)
    return Vec(where(proper, unit.x * size.x, size.x), unit.y * size.y, unit.z * size.z)


def _cylinder(size: Vec, local: Vec) -> Vec:
    across = local.x * local.x + local.y * local.y
    upright = across <= MINVAL * MINVAL
    scale = where(upright, 0, size.x / jnp.sqrt(where(upright, 1, across)))
    # MuJoCo's sign of zero is zero: the middle of the side, not its end
    return Vec(local.x * scale, local.y * scale, jnp.sign(local.z) * size.y)


def _box(size: Vec, local: Vec, native: bool) -> tuple[Vec, jax.Array]:
    point = Vec(*(_end(s, v, native) for s, v in zip(size, local, strict=True)))
    x, y, z = ((v > 0).astype(jnp.int32) for v in point)
    return point, x + 2 * y + 4 * z


def _prism_corner(prism: jax.Array, local: Vec) -> jax.Array:
    """Corner of the prism: of the base if the direction points down, else of the top.

    Out of an upright wall the direction is horizontal and corners are equally high: in MuJoCo
    exactly, here but for rounding (products and sums are rounded together), which must not decide.
    """
    eps = float(jnp.finfo(prism.dtype).eps)
    begin = where(local.z < -LEVEL * eps, 0, 3).astype(jnp.int32)
    heights = [_height(row(prism, begin + k), local) for k in range(3)]
    top, corner = heights[0], begin
    for k in (1, 2):
        higher = heights[k] - top > LEVEL * eps * jnp.abs(top)
        top, corner = where(higher, heights[k], top), where(higher, begin + k, corner)
    return corner


@subroutine
def _height(point: jax.Array, local: Vec) -> jax.Array:
    return dot(Vec.of(point), local)


class _Climb(NamedTuple):
    """A search over a hull.

    Attributes:
        vertex: where it stands.
        best: the highest neighbour so far, of all vertices on the way.
        height: its height.
        block: neighbours to look at next.
        left: how many blocks of neighbours are left.
    """

    vertex: jax.Array
    best: jax.Array
    height: jax.Array
    block: jax.Array
    left: jax.Array


def climb(pools: Pools, shape: ConvexShape, local: Vec, hint: jax.Array, native: bool) -> jax.Array:
    """The vertex of a hull that lies furthest, found from neighbour to neighbour.

    As in MuJoCo the neighbours are compared with each other first, not with the start: the first
    step is taken even if it leads down. Of equally high ones the first is taken. Without flag
    `nativeccd` they are compared with the start, too, and small meshes are climbed as well.
    """
    hulls = pools.hulls
    names = ("block_adr", "block_num") if native else ("near_adr", "near_num")
    block_adr, block_num = (static_table(getattr(hulls, name)) for name in names)
    blocks, origin = static_table(hulls.blocks), shape.first + shape.offset

    def neighbours_of(vertex: jax.Array) -> tuple[jax.Array, jax.Array]:
        return row((block_adr, block_num), vertex + shape.first)

    def step(s: _Climb) -> _Climb:
        near = row(blocks, s.block)
        heights = _heights(pools.vert, near + origin, local)
        best, height = s.best, s.height
        for k in range(BLOCK):
            higher = heights[k] > height
            best, height = where(higher, near[k], best), where(higher, heights[k], height)
        left = s.left - 1
        moved = (left == 0) & (best != s.vertex) & ~(shape.exhaustive & native)
        vertex = where(left == 0, best, s.vertex)
        block, count = neighbours_of(vertex)
        return _Climb(
            vertex, best, height, where(moved, block, s.block + 1), where(moved, count, left)
        )

    begin, known = jnp.maximum(hint, 0), shape.exhaustive & (hint >= 0)
    if not native:
        first = static_table(np.repeat(hulls.start, hulls.vert_num))
        begin, known = where(hint < 0, row(first, shape.first), hint), True
    height = _heights(pools.vert, (begin + origin)[None], local)[0]
    start = _Climb(begin, begin, where(known, height, -jnp.inf), *neighbours_of(begin))
    return while_loop(lambda s: s.left > 0, step, start).best


@subroutine
def _heights(vert: Array, rows: jax.Array, local: Vec) -> jax.Array:
    """How far vertices (n,) lie in a direction."""
    return dot(Vec.of(take(vert, rows)), local)
