"""Depths in single precision, made exact: Newton's method on the support function.

The depth is the least value of F(n) = h1(n) + h2(-n) over unit vectors n, where h1 and h2 are the
support functions. The error that the polytope leaves in the normal is the square root of its own
error: 1e-2 in float32. So only the features that touch are taken from it, which on each side are a
smooth piece or vertex, an edge, or a face. The normal is computed for each combination of features,
and the one with the least F is the result. In float64 the result stays that of MuJoCo, which is not
converged.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from mjjax.collision.convex.convex_shape import ConvexShape, ShapePair
from mjjax.collision.convex.faces import box_corner
from mjjax.collision.convex.simplex import FAR
from mjjax.collision.convex.support import Corner, Support
from mjjax.collision.shape.shapes import Pools
from mjjax.collision.shape.vectors import (
    Vec,
    choose,
    cross,
    dot,
    norm,
    normalize,
    put,
    row,
    rows_of,
    take,
    turn,
    turn_back,
)
from mjjax.core.enums import GeomType
from mjjax.xla.kernel_code import few_rounds, subroutine
from mjjax.xla.loops import cond, fori_loop, switch
from mjjax.xla.namespace import where

STEPS = 6
FLAT_SINE = 3e-6  # sine of the angle up to which an edge lies flat on the other side: rounding
CROSSED = 1e-3  # sine of the angle from which on edges have one point in common
NEAR_NORMAL = 0.8  # a normal may move by this much, or the feature was not the one that touches


class FeatureTouch(NamedTuple):
    """Signed distance of two shapes.

    Attributes:
        dist: distance [m], negative in penetration, `FAR` beyond the distance of interest; 0 if
            only the fact of a penetration is known.
        one: nearest or deepest point of geom 1, relative to geom 1 [m].
        two: nearest or deepest point of geom 2, relative to geom 1 [m].
        normal: unit vector from geom 1 to geom 2.
        label: (3, 2) the vertices of each geom between which the points lie.
        weight: (3,) their barycentric coordinates.
    """

    dist: jax.Array
    one: Vec
    two: Vec
    normal: Vec
    label: jax.Array
    weight: jax.Array


class _Piece(NamedTuple):
    """What touches on one side, or on both in rows: a curved piece, or features of growing rank.

    Attributes:
        curved: whether it is an ellipsoid, cylinder, capsule or sphere.
        scale: semi-axes of the ellipsoid that has its curvature, in its frame [m].
        half: half length along its axis [m].
        point: the vertex, where it is not curved [m].
        edge: unit direction of the edge or straight line, zero where there is none.
        face: normal of the face or flat side, zero where there is none.
    """

    curved: jax.Array
    scale: Vec
    half: jax.Array
    point: Vec
    edge: Vec
    face: Vec


class _Best(NamedTuple):
    """The normal with the least depth so far, the depth [m], and the support points of both."""

    depth: jax.Array
    normal: Vec
    one: Vec
    two: Vec


def polish(support: Support, pools: Pools, pair: ShapePair, t: FeatureTouch) -> FeatureTouch:
    """Exact distance and normal of a pair with a curved side."""
    on = (t.dist < FAR) & (t.dist != 0) & jnp.any(pair.both.curved)
    return cond(on, lambda t: _exact(support, pools, pair, t), lambda t: t, t)


def _exact(support: Support, pools: Pools, pair: ShapePair, t: FeatureTouch) -> FeatureTouch:
    """`polish` for a pair with a curved side."""

    def add(k: jax.Array, pieces: _Piece) -> _Piece:
        return put(pieces, k, _piece(pools, row(pair.both, k), t.label[:, k], t.weight))

    none = jnp.zeros(2, t.dist.dtype)
    empty = Vec(none, none, none)
    pieces = few_rounds(2, add, _Piece(none > 0, empty, none, empty, empty, empty))
    best = _deepest(support, pair, pieces, t)
    shift = best.normal * best.depth
    middle = _middle(pieces, t, best.normal, best.one - shift * 0.5, best.two + shift * 0.5)
    one, two = (pair.both.inflate[k] for k in range(2))
    middle = middle + best.normal * (0.5 * (one - two))
    shift = shift + best.normal * (one + two)
    return t._replace(
        dist=-dot(shift, best.normal),
        one=middle + shift * 0.5,
        two=middle - shift * 0.5,
        normal=best.normal,
    )


def _deepest(support: Support, pair: ShapePair, pieces: _Piece, t: FeatureTouch) -> _Best:
    """The normal with the least depth of those at which combinations of features touch.

    They are that of a face on the other side, for both sides; of two edges; of an edge, of either
    side, on something curved or a vertex; of neither; and the given one.
    """
    start, zero = t.normal, t.normal * 0
    edges, faces = _sides(pieces.edge), _sides(pieces.face)
    yes, no = jnp.asarray(True), jnp.asarray(False)
    between = (*faces, cross(*edges))
    across = [lambda v=v: _Candidate(v, zero, _some(v), no) for v in between]
    along = [lambda v=v: _Candidate(start - v * dot(v, start), v, _some(v), yes) for v in edges]
    rest = [lambda: _Candidate(start, zero, yes, yes), lambda: _Candidate(start, zero, yes, no)]
    candidates = [*across, *along, *rest]
    bare = ShapePair(pair.both._replace(inflate=jnp.zeros_like(pair.both.inflate)))
    hint = row(t.label, 0)

    def test(k: jax.Array, best: _Best) -> _Best:
        candidate = switch(k, candidates)
        begin = _towards(candidate.normal, start)

        def newton() -> Vec:
            def step(_: jax.Array, normal: Vec) -> Vec:
                return _newton(pair, pieces, normal, candidate.line)

            return fori_loop(0, STEPS, step, begin)

        def compared() -> _Best:
            new = support.of_pair(bare, normal, hint)
            depth = _depth(normal, new)
            found = _Best(depth, normal, Vec.of(new.one), Vec.of(new.two))
            return choose(depth < best.depth, found, best)

        normal = cond(candidate.exists & candidate.curves, newton, lambda: begin)
        near = candidate.exists & (norm(normal - start) < NEAR_NORMAL)
        return cond(near, compared, lambda: best)

    return fori_loop(0, len(candidates), test, _Best(zero.x + FAR, start, zero, zero))


class _Candidate(NamedTuple):
    """A normal, and what is to be done with it.

    Attributes:
        normal: along the normal, either way, of any length.
        line: direction across which it has to stay, zero if there is none.
        exists: whether there are such features.
        curves: whether Newton's method improves it.
    """

    normal: Vec
    line: Vec
    exists: jax.Array
    curves: jax.Array


def _sides(v: Vec) -> tuple[Vec, Vec]:
    """The vectors of both sides."""
    return row(v, 0), row(v, 1)


def _some(v: Vec) -> jax.Array:
    """Whether a vector is not zero."""
    return dot(v, v) > 0


@subroutine
def _depth(normal: Vec, corner: Corner) -> jax.Array:
    return dot(normal, Vec.of(corner.point))


@subroutine
def _middle(pieces: _Piece, t: FeatureTouch, normal: Vec, one: Vec, two: Vec) -> Vec:
    """Where the contact is: at the side that touches in a point, where edges cross, or as it was.

    Args:
        pieces: both sides.
        t: what is improved.
        normal: unit.
        one: where it would be by the support point of geom 1.
        two: the same of geom 2.
    """
    u, v = _sides(pieces.edge)
    on_edge = [_some(e) & (jnp.abs(dot(e, normal)) < FLAT_SINE) for e in (u, v)]
    on_face = [
        _some(f) & (norm(cross(normalize(f), normal)) < FLAT_SINE) for f in _sides(pieces.face)
    ]
    pointed = [~e & ~f for e, f in zip(on_edge, on_face, strict=True)]
    old = (t.one + t.two) * 0.5
    old = old + normal * dot(normal, (one + two) * 0.5 - old)
    angle = dot(cross(u, v), normal)
    crossed = on_edge[0] & on_edge[1] & ~on_face[0] & ~on_face[1] & (jnp.abs(angle) > CROSSED)
    along = dot(cross(two - one, v), normal) / where(crossed, angle, 1)
    old = choose(crossed, one + u * along, old)
    middle = choose(pointed[0], one, choose(pointed[1], two, old))
    return choose(pointed[0] & pointed[1], (one + two) * 0.5, middle)


def _piece(pools: Pools, shape: ConvexShape, label: jax.Array, weight: jax.Array) -> _Piece:
    """The features of a side: vertices that bear most of the deepest point come first.

    Args:
        pools: the pools.
        shape: the shape.
        label: (3,) the vertices.
        weight: (3,) their barycentric coordinates.
    """

    def cornered() -> _Piece:
        ids = _sorted(label, weight)
        return _corner_piece(ids, vertices_at(pools, shape, ids))

    return cond(shape.curved, lambda: _curved_piece(shape), cornered)


def _curved_piece(shape: ConvexShape) -> _Piece:
    """A sphere, capsule, ellipsoid or cylinder."""
    size, zero = Vec.of(shape.size), jnp.zeros_like(shape.inflate)
    flat = shape.kind == GeomType.CYLINDER
    long = flat | (shape.kind == GeomType.CAPSULE)
    third = where(shape.round, size.x, where(flat, 0, size.z))
    scale = Vec(size.x, where(shape.round | flat, size.x, size.y), third)
    none, axis = Vec(zero, zero, zero), Vec.of(shape.mat[:, 2])
    edge, face = choose(long, axis, none), choose(flat, axis, none)
    return _Piece(jnp.asarray(True), scale, where(long, size.y, 0), none, edge, face)


@subroutine
def _corner_piece(ids: jax.Array, points: jax.Array) -> _Piece:
    """A vertex, edge or face by its vertices (3,) at points (3, 3)."""
    top, middle, end = (row(ids, k) for k in range(3))
    a, b, c = rows_of(points)
    zero = jnp.zeros_like(a.x)
    none = Vec(zero, zero, zero)
    has_edge = (middle != top) & _some(b - a)
    has_face = has_edge & (end != top) & (end != middle)
    edge = choose(has_edge, normalize(b - a), none)
    face = choose(has_face, cross(b - a, c - a), none)
    return _Piece(jnp.asarray(False), none, zero, a, edge, face)


@subroutine
def _sorted(label: jax.Array, weight: jax.Array) -> jax.Array:
    """The vertices (3,), those that bear most first, by their coordinates (3,)."""
    ids, weights = ([row(x, k) for k in range(3)] for x in (label, weight))
    # a vertex that is there twice bears the sum
    share = [
        sum(where(other == mine, w, 0) for other, w in zip(ids, weights, strict=True))
        for mine in ids
    ]
    first = _largest(share)
    top = row(label, first)
    second = _largest([where(mine == top, -jnp.inf, x) for mine, x in zip(ids, share, strict=True)])
    return take(label, jnp.stack([first, second, (3 - first - second) % 3]))


def _largest(values: Sequence[Any]) -> jax.Array:
    """Which of some numbers is the largest, of equal ones the first."""
    best, top = jnp.zeros_like(values[0], jnp.int32), values[0]
    for k, value in enumerate(values[1:], 1):
        best, top = where(value > top, k, best), jnp.maximum(value, top)
    return best


def vertices_at(pools: Pools, shape: ConvexShape, label: jax.Array) -> jax.Array:
    """Positions (n, 3) of the corners of a box or prism or vertices of a hull with labels (n,)."""
    point = box_corner(shape, label).joined()
    if len(pools.hulls.vert):
        mesh = shape.is_mesh & (label >= 0)
        vertex = pools.vert[where(mesh, label + shape.first + shape.offset, 0)]
        point = where(mesh[:, None], vertex, point)
    if shape.prism is not None:
        corner = shape.prism[jnp.maximum(label, 0)]
        point = where(shape.kind == GeomType.HFIELD, corner, point)
    return (turn(shape.mat, Vec.of(point)) + Vec.of(shape.pos)).joined()


@subroutine
def _towards(normal: Vec, start: Vec) -> Vec:
    """The unit vector along a normal, on the side of `start`."""
    unit = normalize(normal)
    return choose(dot(unit, start) < 0, -unit, unit)


@subroutine
def _newton(pair: ShapePair, pieces: _Piece, normal: Vec, line: Vec) -> Vec:
    """One step in the plane of the directions around `normal`, or across `line` if not zero."""
    lined = dot(line, line) > 0
    basis = _basis(normal, line)
    across, along = basis

    def add(k: jax.Array, total: tuple[Vec, Vec]) -> tuple[Vec, Vec]:
        sign = where(k == 0, 1, -1).astype(line.x.dtype)
        point, second = _curvature(row(pair.both, k), row(pieces, k), normal * sign, basis)
        return total[0] + point * sign, total[1] + second

    gap, (xx, xy, yy) = few_rounds(2, add, (line * 0, line * 0))
    depth = dot(normal, gap)
    xx, yy = xx - depth, yy - depth
    gx, gy = dot(across, gap), dot(along, gap)
    square = xx * yy - xy * xy
    proper = where(lined, xx > 0, (square > 0) & (xx + yy > 0))
    divisor = where(proper, where(lined, xx, square), 1)
    x = where(lined, -gx, xy * gy - yy * gx) / divisor
    y = where(lined, 0, xy * gx - xx * gy) / divisor
    size = jnp.sqrt(x * x + y * y)
    shorten = jnp.minimum(1, NEAR_NORMAL / where(size > NEAR_NORMAL, size, NEAR_NORMAL))
    moved = normal + across * (x * shorten) + along * (y * shorten)
    return choose(proper, normalize(moved), normal)


@subroutine
def _basis(normal: Vec, line: Vec) -> tuple[Vec, Vec]:
    """Two unit vectors across a normal, the second along `line` if that is not zero."""
    least = _largest([-jnp.abs(v) for v in normal])
    unit = Vec(*((least == k).astype(normal.x.dtype) for k in range(3)))
    along = choose(dot(line, line) > 0, line, normalize(cross(normal, unit)))
    return cross(normal, along), along


@subroutine
def _curvature(
    shape: ConvexShape, piece: _Piece, normal: Vec, basis: tuple[Vec, Vec]
) -> tuple[Vec, Vec]:
    """The support point of a piece, and the second derivatives xx, xy, yy of its support function.

    Args:
        shape: the side.
        piece: what touches.
        normal: unit, outward.
        basis: two directions, along which the derivatives are.
    """
    local = _local(shape.mat, normal)
    # which end of a long side it is, is a matter of rounding where the normal is across it
    end = where(local.z >= 0, piece.half, -piece.half)
    q = local.times(piece.scale)
    length = norm(q)
    proper = length > 0
    inverse = where(proper, 1 / where(proper, length, 1), 0)
    x, y, z = q.times(piece.scale) * inverse
    point = turn(shape.mat, Vec(x, y, z + end)) + Vec.of(shape.pos)
    u, v = (turn_back(shape.mat, t).times(piece.scale) for t in basis)
    qu, qv = (dot(q, t) * inverse for t in (u, v))
    second = Vec(
        (dot(u, u) - qu * qu) * inverse,
        (dot(u, v) - qu * qv) * inverse,
        (dot(v, v) - qv * qv) * inverse,
    )
    return choose(piece.curved, point, piece.point), second


_local = subroutine(turn_back)
