"""Depths in single precision, made exact: Newton's method on the support function.

The depth is the least value of F(n) = h1(n) + h2(-n) over unit vectors n, where h1 and h2 are the
support functions. The error that the polytope leaves in the normal is the square root of its own
error: 1e-2 in float32. So only the features that touch are taken from it, which on each side are a
smooth piece or vertex, an edge, or a face. The normal is computed for each combination of features,
and the one with the least F is the result. In float64 the result stays that of MuJoCo, which is not
converged.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp

from mjjax.collision.convex.faces import box_corner
from mjjax.collision.convex.simplex import FAR
from mjjax.collision.convex.support import Sides, both_ways, support
from mjjax.collision.shape.lanes import (
    Vec,
    cross,
    dot,
    keep,
    look_up,
    norm,
    normalize,
    pick,
    repeat,
    turn,
    turn_back,
    when_any,
)
from mjjax.collision.shape.shapes import Pools
from mjjax.core.enums import GeomType
from mjjax.xla.loops import cond, fori_loop
from mjjax.xla.namespace import where

STEPS = 6
FLAT_SINE = 3e-6  # sine of the angle up to which an edge lies flat on the other side: rounding
CROSSED = 1e-3  # sine of the angle from which on edges have one point in common
NEAR_NORMAL = 0.8  # a normal may move by this much, or the feature was not the one that touches


class _Pieces(NamedTuple):
    """What touches on each of L = 2 N sides: a curved piece, or features of growing rank.

    Attributes:
        curved: (L,) whether it is an ellipsoid, cylinder, capsule or sphere.
        scale: (L,) semi-axes of the ellipsoid that has its curvature, in its frame [m].
        half: (L,) half length along its axis [m].
        point: (L,) the vertex, where it is not curved [m].
        edge: (L,) direction of the edge or straight line, zero where there is none.
        face: (L,) normal of the face or flat side, zero where there is none.
    """

    curved: jax.Array
    scale: Vec
    half: jax.Array
    point: Vec
    edge: Vec
    face: Vec


class FeatureTouch(NamedTuple):
    """Signed distances of N pairs of shapes.

    Attributes:
        dist: (N,) distance [m], negative in penetration, `FAR` beyond the distance of interest; 0
            if only the fact of a penetration is known.
        one: (N,) nearest or deepest point of geom 1, relative to geom 1 [m].
        two: (N,) nearest or deepest point of geom 2, relative to geom 1 [m].
        normal: (N,) unit vector from geom 1 to geom 2.
        label: (2, 3, N) for each side the vertices between which the points lie.
        weight: (3, N) their barycentric coordinates.
    """

    dist: jax.Array
    one: Vec
    two: Vec
    normal: Vec
    label: jax.Array
    weight: jax.Array


def polish(pools: Pools, sides: Sides, t: FeatureTouch) -> FeatureTouch:
    """Exact distances and normals of pairs with a curved side."""
    curved = _curved(sides.kind).reshape(2, -1)
    on = (t.dist < FAR) & (t.dist != 0) & (curved[0] | curved[1])

    def exact(t: FeatureTouch) -> FeatureTouch:
        pieces = when_any(on, functools.partial(_pieces, pools, sides), t.label, t.weight)
        return _exact(pools, sides, t, pieces)

    return cond(jnp.any(on), lambda t: keep(on, exact(t), t), lambda t: t, t)


def _exact(pools: Pools, sides: Sides, t: FeatureTouch, pieces: _Pieces) -> FeatureTouch:
    """`polish` for all pairs, whether curved or not."""
    n = t.dist.shape[0]
    on = t.dist < FAR
    normals = when_any(on, functools.partial(_normals, sides), pieces, t.normal, on)
    many = normals.x.shape[0] // n
    hint = jnp.full(2 * many * n, -1, jnp.int32)

    def ask(normals: Vec) -> Vec:
        bare = sides.bare().repeat(many)
        on = jnp.tile(t.dist < FAR, 2 * many)
        return support(pools, bare, both_ways(normals), hint, hint >= 0, on)[0]

    point = when_any(t.dist < FAR, ask, normals)
    depth = dot(normals, point[: many * n] - point[many * n :])
    rows: tuple[Vec, Vec, jax.Array] = jax.tree.map(
        lambda x: x.reshape(*x.shape[:-1], -1, n), (normals, point, depth)
    )
    normals, point, depth = rows
    near = norm(normals - t.normal) < NEAR_NORMAL
    choice = jnp.argmin(where(near, depth, FAR), axis=0).astype(jnp.int32)
    depth, normal = look_up((depth, normals), choice)
    one, two = look_up(point, choice), look_up(point, choice + many)
    shift = normal * depth
    middle = _middle(pieces, t, normal, one - shift * 0.5, two + shift * 0.5)
    outward = sides.inflate[:n], sides.inflate[n:]
    middle = middle + normal * (0.5 * (outward[0] - outward[1]))
    shift = shift + normal * (outward[0] + outward[1])
    one, two = middle + shift * 0.5, middle - shift * 0.5
    return t._replace(dist=-dot(shift, normal), one=one, two=two, normal=normal)


def _middle(pieces: _Pieces, t: FeatureTouch, normal: Vec, one: Vec, two: Vec) -> Vec:
    """Where the contact is (N,): at the side that touches in a point, where edges cross, or where
    it was.

    Args:
        pieces: both sides.
        t: what is improved.
        normal: (N,) unit.
        one: (N,) where it would be by the support point of geom 1.
        two: (N,) the same of geom 2.
    """
    edge, face = (jax.tree.map(lambda x: x.reshape(2, -1), v) for v in (pieces.edge, pieces.face))
    on_edge = (dot(edge, edge) > 0) & (jnp.abs(dot(normalize(edge), normal)) < FLAT_SINE)
    on_face = (dot(face, face) > 0) & (norm(cross(normalize(face), normal)) < FLAT_SINE)
    pointed = ~on_edge & ~on_face
    old = (t.one + t.two) * 0.5
    old = old + normal * dot(normal, (one + two) * 0.5 - old)
    u, v = (normalize(edge[k]) for k in range(2))
    angle = dot(cross(u, v), normal)
    crossed = on_edge[0] & on_edge[1] & ~on_face[0] & ~on_face[1] & (jnp.abs(angle) > CROSSED)
    along = dot(cross(two - one, v), normal) / where(crossed, angle, 1)
    old = keep(crossed, one + u * along, old)
    middle = keep(pointed[0], one, keep(pointed[1], two, old))
    return keep(pointed[0] & pointed[1], (one + two) * 0.5, middle)


def _curved(kind: jax.Array) -> jax.Array:
    """Whether shapes are spheres, capsules, ellipsoids or cylinders."""
    return (kind != GeomType.BOX) & (kind < GeomType.MESH) & (kind != GeomType.HFIELD)


def _pieces(pools: Pools, side: Sides, label: jax.Array, weight: jax.Array) -> _Pieces:
    """The features of all sides: vertices that bear most of the deepest point come first.

    Args:
        pools: the pools.
        side: L = 2 N sides.
        label: (2, 3, N) vertices of both sides.
        weight: (3, N) their barycentric coordinates.
    """
    label = jnp.concatenate(list(label), axis=1)
    weight = jnp.concatenate([weight, weight], axis=1)
    kind, size = side.kind, side.size
    zero = jnp.zeros_like(size.x)
    none = Vec(zero, zero, zero)
    round_ = side.round
    long = (kind == GeomType.CAPSULE) | (kind == GeomType.CYLINDER)
    flat = kind == GeomType.CYLINDER
    curved = _curved(kind)
    third = where(round_, size.x, where(flat, 0, size.z))
    scale = keep(curved, Vec(size.x, where(round_ | flat, size.x, size.y), third), none)

    ids = list(label)
    share = [jnp.sum(where(label == mine[None], weight, 0), axis=0) for mine in ids]
    first = _largest(share)
    top = pick(ids, first)
    others = [where(mine == top, -jnp.inf, x) for mine, x in zip(ids, share, strict=True)]
    second = _largest(others)
    last = (3 - first - second) % 3
    middle, end = pick(ids, second), pick(ids, last)
    a, b, c = (vertex_at(pools, side, v) for v in (top, middle, end))
    has_edge = middle != top
    has_face = has_edge & (end != top) & (end != middle)
    edge = keep(has_edge, b - a, none)
    face = keep(has_face, cross(b - a, c - a), none)
    axis = Vec(*(row.z for row in side.mat))
    edge = keep(curved, keep(long, axis, none), edge)
    face = keep(curved, keep(flat, axis, none), face)
    return _Pieces(curved, scale, where(long, size.y, zero), a, edge, face)


def _largest(values: list[jax.Array]) -> jax.Array:
    """Which of some arrays (N,) is the largest, of equal ones the first."""
    best, top = jnp.zeros_like(values[0], jnp.int32), values[0]
    for k, value in enumerate(values[1:], 1):
        best, top = where(value > top, k, best), jnp.maximum(value, top)
    return best


def vertex_at(pools: Pools, side: Sides, label: jax.Array) -> Vec:
    """Positions (N,) of the corners of boxes and prisms and vertices of hulls with labels (N,)."""
    point = box_corner(side.size, label)
    if len(pools.hulls.vert):
        mesh = (side.kind >= GeomType.MESH) & (label >= 0)
        row: jax.Array = where(mesh, label + side.first + side.offset, 0)
        point = keep(mesh, Vec.of(pools.vert[row].T), point)
    if (prism := side.prism) is not None:
        point = keep(side.kind == GeomType.HFIELD, look_up(prism, label), point)
    return turn(side.mat, point) + side.pos


def _normals(sides: Sides, pieces: _Pieces, start: Vec, on: jax.Array) -> Vec:
    """Normals (7 N,) at which combinations of features touch; `start` where there are none.

    A face on the other side, for both sides; two edges; an edge, of either side, on something
    curved or a vertex; neither; and `start` itself.
    """
    n = start.x.shape[0]
    has_edge = dot(pieces.edge, pieces.edge) > 0
    edge = keep(has_edge, normalize(pieces.edge), pieces.edge)  # zero where there is none
    edges, faces = ((v[:n], v[n:]) for v in (edge, pieces.face))
    found = [_towards(v, start) for v in (*faces, cross(*edges))]
    line = _joined(*edges, edge[:n] * 0)
    some = jnp.concatenate([has_edge, jnp.ones(n, bool)])
    thrice = _joined(start, start, start)
    straight = normalize(thrice - line * dot(line, thrice))
    repeated = jnp.tile(on, 3), sides.repeat(3), jax.tree.map(lambda x: repeat(x, 3), pieces)

    def step(_: int, normal: Vec) -> Vec:
        return _newton(*repeated, normal, line)

    polished = fori_loop(0, STEPS, step, straight)
    return _joined(*found, keep(some, polished, thrice), start)


def _joined(*vectors: Vec) -> Vec:
    return jax.tree.map(lambda *x: jnp.concatenate(x), *vectors)


def _towards(normal: Vec, start: Vec) -> Vec:
    """The unit vector along a normal, on the side of `start`, which it is where there is none."""
    unit = normalize(normal)
    unit = keep(dot(unit, start) < 0, -unit, unit)
    return keep(dot(normal, normal) > 0, unit, start)


def _newton(on: jax.Array, sides: Sides, pieces: _Pieces, normal: Vec, line: Vec) -> Vec:
    """One step in the plane of the directions around `normal`, or across `line` if not zero."""
    lined = dot(line, line) > 0

    def around(normal: Vec, line: Vec) -> tuple[Vec, Vec, jax.Array]:
        least = _largest([-jnp.abs(v) for v in normal])
        unit = Vec(*((least == k).astype(normal.x.dtype) for k in range(3)))
        along = keep(lined, line, normalize(cross(normal, unit)))
        height = turn_back(sides.mat, both_ways(normal)).z
        return cross(normal, along), along, where(height >= 0, pieces.half, -pieces.half)

    # which end of a long side is a matter of rounding where the normal is across it: decided once
    across, along, end = when_any(on, around, normal, line)
    curvature = functools.partial(_curvature, sides, pieces)
    point, (xx, xy, yy) = when_any(on, curvature, end, normal, (across, along))
    n = lined.shape[0]
    gap = point[:n] - point[n:]
    depth = dot(normal, gap)
    xx, yy = xx[:n] + xx[n:] - depth, yy[:n] + yy[n:] - depth
    xy = xy[:n] + xy[n:]
    gx, gy = dot(across, gap), dot(along, gap)
    square = xx * yy - xy * xy
    proper = where(lined, xx > 0, (square > 0) & (xx + yy > 0))
    divisor = where(proper, where(lined, xx, square), 1)
    x = where(lined, -gx, xy * gy - yy * gx) / divisor
    y = where(lined, 0, xy * gx - xx * gy) / divisor
    size = jnp.sqrt(x * x + y * y)
    shorten = jnp.minimum(1, NEAR_NORMAL / where(size > NEAR_NORMAL, size, NEAR_NORMAL))
    moved = normal + across * (x * shorten) + along * (y * shorten)
    return keep(proper, normalize(moved), normal)


def _curvature(
    side: Sides, piece: _Pieces, end: jax.Array, normal: Vec, basis: tuple[Vec, Vec]
) -> tuple[Vec, tuple[jax.Array, jax.Array, jax.Array]]:
    """Support points (L,) for normals (N,), outward for the first sides and inward for the others.

    Args:
        side: the sides.
        piece: what touches.
        end: (L,) where along its axis a long side touches [m].
        normal: (N,) unit.
        basis: two directions (N,).

    Returns:
        The points; the second derivatives (L,) of the support function along two directions (N,).
    """

    def scaled(v: Vec) -> Vec:
        return Vec(*(x * s for x, s in zip(v, piece.scale, strict=True)))

    local = turn_back(side.mat, both_ways(normal))
    q = scaled(local)
    length = norm(q)
    proper = length > 0
    inverse = where(proper, 1 / where(proper, length, 1), 0)
    x, y, z = scaled(q) * inverse
    point = turn(side.mat, Vec(x, y, z + end)) + side.pos
    u, v = (scaled(turn_back(side.mat, both_ways(t))) for t in basis)
    qu, qv = (dot(q, t) * inverse for t in (u, v))
    second = (
        (dot(u, u) - qu * qu) * inverse,
        (dot(u, v) - qu * qv) * inverse,
        (dot(v, v) - qv * qv) * inverse,
    )
    return keep(piece.curved, point, piece.point), second
