"""Depths in single precision, made exact: Newton's method on the support function.

The depth is the least of F(n) = h1(n) + h2(-n) over unit vectors n, where h are the support
functions. The polytope leaves an error of the normal of the square root of its own: 1e-2 in
float32. So the features that touch are taken from it (a smooth piece or vertex, an edge, a face, on
each side), the normal is computed for each combination of them, and the one with the least F is
the result. In float64 the result stays MuJoCo's, which is not converged.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.collision.convex.lanes import cross, dot, keep, norm, normalize, pick, turn, turn_back
from mjjax.collision.convex.simplex import FAR
from mjjax.collision.convex.support import Sides, support
from mjjax.collision.shapes import Pools
from mjjax.core.enums import GeomType

# Ranks of the features of both sides: 0 smooth piece or vertex, 1 edge, 2 face.
RANKS = ((2, 0), (0, 2), (1, 1), (1, 0), (0, 1), (0, 0))
STEPS = 6
FLAT = 1e-3  # sine of the angle up to which an edge lies flat on the other side
NEAR = 0.8  # a normal may move by this much, or the feature was not the one that touches


class _Piece(NamedTuple):
    """What touches on one side: a curved piece, or features of growing rank.

    Attributes:
        curved: (N,) whether it is an ellipsoid, cylinder, capsule or sphere.
        scale: (3, N) semi-axes of the ellipsoid that has its curvature, in its frame [m].
        half: (N,) half length along its axis [m].
        point: (3, N) the vertex, where it is not curved [m].
        edge: (3, N) direction of the edge or straight line, zero where there is none.
        face: (3, N) normal of the face or flat side, zero where there is none.
    """

    curved: jax.Array
    scale: jax.Array
    half: jax.Array
    point: jax.Array
    edge: jax.Array
    face: jax.Array


class Touch(NamedTuple):
    """Signed distances of N pairs of shapes.

    Attributes:
        dist: (N,) distance [m], negative in penetration, `FAR` beyond what is of interest; 0 in
            penetration of which nothing more is known.
        one: (3, N) nearest or deepest point of geom 1, relative to geom 1 [m].
        two: (3, N) that of geom 2, relative to geom 1 [m].
        normal: (3, N) unit vector from geom 1 to geom 2.
        label: (3, 2, N) vertices of both sides that the points lie between.
        weight: (3, N) their barycentric coordinates.
    """

    dist: jax.Array
    one: jax.Array
    two: jax.Array
    normal: jax.Array
    label: jax.Array
    weight: jax.Array


def polish(pools: Pools, sides: Sides, t: Touch) -> Touch:
    """Exact distances and normals of pairs with a curved side."""
    n = t.dist.shape[0]
    halves = [jax.tree.map(lambda x, h=h: x[..., h], sides) for h in (slice(n), slice(n, None))]
    pieces = [_piece(pools, h, t.label[:, k], t.weight) for k, h in enumerate(halves)]
    start = t.normal
    normals = [_normal(halves, pieces, start, ranks) for ranks in RANKS] + [start]
    ends = _ends(pools, sides._replace(inflate=jnp.zeros_like(sides.inflate)), normals)
    depths = [dot(v, one - two) for v, (one, two) in zip(normals, ends, strict=True)]
    depth, choice = jnp.full_like(t.dist, FAR), jnp.full(n, len(RANKS), jnp.int32)
    for k, found in enumerate(depths):
        near = norm(normals[k] - start) < NEAR
        better = near & (found < depth)
        depth, choice = jnp.where(better, found, depth), jnp.where(better, k, choice)
    normal, one, two = (
        pick(jnp.stack(x), choice) for x in (normals, [e[0] for e in ends], [e[1] for e in ends])
    )
    shift = depth[None] * normal
    middle = _middle(pieces, t, normal, one - 0.5 * shift, two + 0.5 * shift)
    on = (t.dist < FAR) & (t.dist != 0) & (pieces[0].curved | pieces[1].curved)
    shift = shift + (sides.inflate[:n] + sides.inflate[n:])[None] * normal
    one, two = middle + 0.5 * shift, middle - 0.5 * shift
    new = t._replace(dist=-dot(shift, normal), one=one, two=two, normal=normal)
    return jax.tree.map(lambda a, b: keep(on, a, b), new, t)


def _middle(
    pieces: list[_Piece], t: Touch, normal: jax.Array, one: jax.Array, two: jax.Array
) -> jax.Array:
    """Where the contact is (3, N): at the side that touches in a point, else where it was.

    Args:
        pieces: both sides.
        t: what is improved.
        normal: (3, N) unit.
        one: (3, N) where it would be by the support point of geom 1.
        two: (3, N) the same of geom 2.
    """
    pointed = []
    for p in pieces:
        on_edge = jnp.abs(dot(normalize(p.edge), normal)) < FLAT
        on_face = norm(cross(normalize(p.face), normal)) < FLAT
        on_edge &= dot(p.edge, p.edge) > 0
        pointed.append(~on_edge & ~(on_face & (dot(p.face, p.face) > 0)))
    old = 0.5 * (t.one + t.two)
    old = old + dot(normal, 0.5 * (one + two) - old)[None] * normal
    middle = keep(pointed[0], one, keep(pointed[1], two, old))
    return keep(pointed[0] & pointed[1], 0.5 * (one + two), middle)


def _piece(pools: Pools, side: Sides, label: jax.Array, weight: jax.Array) -> _Piece:
    """The features of one side: the vertices that bear most of the deepest point come first."""
    kind, size = side.kind, side.size
    zero = jnp.zeros_like(size[0])
    round_ = side.round
    long = (kind == GeomType.CAPSULE) | (kind == GeomType.CYLINDER)
    flat = kind == GeomType.CYLINDER
    curved = round_ | flat | (kind == GeomType.ELLIPSOID)
    scale = jnp.stack([size[0], jnp.where(round_ | flat, size[0], size[1])])
    third = jnp.where(round_, size[0], jnp.where(flat, 0, size[2]))
    scale = keep(curved, jnp.concatenate([scale, third[None]]), jnp.zeros_like(size))

    same = label[:, None] == label[None]
    share = jnp.sum(jnp.where(same, weight[None], 0), axis=1)
    first = jnp.argmax(share, axis=0).astype(jnp.int32)
    top = pick(label, first)
    others = jnp.where(label == top[None], -jnp.inf, share)
    second = jnp.argmax(others, axis=0).astype(jnp.int32)
    last = (3 - first - second) % 3
    a, b, c = (vertex_at(pools, side, pick(label, k)) for k in (first, second, last))
    has_edge = pick(label, second) != top
    has_face = has_edge & (pick(label, last) != top) & (pick(label, last) != pick(label, second))
    edge = keep(has_edge, b - a, 0 * a)
    face = keep(has_face, cross(b - a, c - a), 0 * a)
    axis = side.mat[:, 2]
    edge = keep(curved, jnp.where(long[None], axis, 0), edge)
    face = keep(curved, jnp.where(flat[None], axis, 0), face)
    return _Piece(curved, scale, jnp.where(long, size[1], zero), a, edge, face)


def vertex_at(pools: Pools, side: Sides, label: jax.Array) -> jax.Array:
    """Where the corners of boxes and vertices of hulls with labels (N,) are (3, N)."""
    signs = jnp.stack([jnp.where((label >> i) & 1 > 0, 1, -1) for i in range(3)])
    point = signs.astype(side.size.dtype) * side.size
    if len(pools.hulls.vert):
        mesh = (side.kind >= GeomType.MESH) & (label >= 0)
        row = jnp.where(mesh, label + side.first + side.offset, 0)
        point = keep(mesh, pools.vert[row].T, point)
    return turn(side.mat, point) + side.pos


def _ends(
    pools: Pools, sides: Sides, normals: list[jax.Array]
) -> list[tuple[jax.Array, jax.Array]]:
    """Support points of both sides for several normals, in one call."""
    n = normals[0].shape[1]
    many = len(normals)
    direction = jnp.concatenate([v for d in normals for v in (d, -d)], axis=1)
    repeated = jax.tree.map(lambda x: jnp.concatenate([x] * many, axis=-1), sides)
    hint = jnp.full(2 * n * many, -1, jnp.int32)
    point, _ = support(pools, repeated, direction, hint, hint > 0, hint < 0)
    parts = jnp.split(point, 2 * many, axis=1)
    return list(zip(parts[::2], parts[1::2], strict=True))


def _normal(
    halves: list[Sides], pieces: list[_Piece], start: jax.Array, ranks: tuple[int, int]
) -> jax.Array:
    """The normal (3, N) at which features of given ranks touch."""
    towards = [p.face for p, r in zip(pieces, ranks, strict=True) if r == 2]
    edges = [normalize(p.edge) for p, r in zip(pieces, ranks, strict=True) if r == 1]
    exists = jnp.ones_like(start[0], bool)
    for p, r in zip(pieces, ranks, strict=True):
        feature = p.face if r == 2 else p.edge
        exists &= (dot(feature, feature) > 0) | (r == 0)
    if len(edges) == 2:
        towards = [cross(*edges)]
    if towards:
        exists &= dot(towards[0], towards[0]) > 0
        found = normalize(towards[0])
        found = keep(dot(found, start) < 0, -found, found)
        return keep(exists, found, start)

    line = edges[0] if edges else None

    def step(_: int, normal: jax.Array) -> jax.Array:
        return _newton(halves, pieces, normal, line)

    normal = start
    if line is not None:
        normal = normalize(start - line * dot(line, start)[None])
    return keep(exists, lax.fori_loop(0, STEPS, step, normal), start)


def _newton(
    halves: list[Sides], pieces: list[_Piece], normal: jax.Array, line: jax.Array | None
) -> jax.Array:
    """One step in the plane of the directions around `normal`, or across `line`."""
    if line is None:
        least = jnp.argmin(jnp.abs(normal), axis=0).astype(jnp.int32)
        unit = (np.arange(3, dtype=np.int32)[:, None] == least[None]).astype(normal.dtype)
        along = normalize(cross(normal, unit))
    else:
        along = line
    across = cross(normal, along)
    basis = (across, along)
    (a, h1), (b, h2) = (
        _curvature(side, piece, sign * normal, basis)
        for side, piece, sign in zip(halves, pieces, (1, -1), strict=True)
    )
    gap = a - b
    depth = dot(normal, gap)
    xx, yy = h1[0] + h2[0] - depth, h1[2] + h2[2] - depth
    xy = h1[1] + h2[1]
    gx, gy = dot(across, gap), dot(along, gap)
    if line is not None:
        proper = xx > 0
        x, y = -gx / jnp.where(proper, xx, 1), 0 * gx
    else:
        square = xx * yy - xy * xy
        proper = (square > 0) & (xx + yy > 0)
        square = jnp.where(proper, square, 1)
        x, y = -(yy * gx - xy * gy) / square, -(xx * gy - xy * gx) / square
    size = jnp.sqrt(x * x + y * y)
    shorten = jnp.minimum(1, NEAR / jnp.where(size > NEAR, size, NEAR))
    moved = normal + (x * shorten)[None] * across + (y * shorten)[None] * along
    return keep(proper, normalize(moved), normal)


def _curvature(
    side: Sides, piece: _Piece, normal: jax.Array, basis: tuple[jax.Array, jax.Array]
) -> tuple[jax.Array, tuple[jax.Array, jax.Array, jax.Array]]:
    """Support point (3, N), and the second derivatives of the support function along two axes."""
    local = turn_back(side.mat, normal)
    q = piece.scale * local
    length = norm(q)
    proper = length > 0
    inverse = jnp.where(proper, 1 / jnp.where(proper, length, 1), 0)
    end = jnp.stack([0 * length, 0 * length, jnp.where(local[2] >= 0, piece.half, -piece.half)])
    point = turn(side.mat, piece.scale * q * inverse[None] + end) + side.pos
    u, v = (piece.scale * turn_back(side.mat, t) for t in basis)
    qu, qv = (dot(q, t) * inverse for t in (u, v))
    second = (
        (dot(u, u) - qu * qu) * inverse,
        (dot(u, v) - qu * qv) * inverse,
        (dot(v, v) - qv * qv) * inverse,
    )
    return keep(piece.curved, point, piece.point), second
