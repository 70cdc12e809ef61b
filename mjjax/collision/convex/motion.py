"""Derivatives of contacts of convex shapes from the features that touch, not through a loop.

Let h be the support function of a shape. The signed distance of two shapes along a unit normal n is
d(n) = -h1(n) - h2(-n). Contacts are where d is stationary, and there b - a = d n for the support
points a of shape 1 and b of shape 2. So the distance changes by n . (db - da) at a fixed normal.
The normal turns by the solution of K dn = db - da in the tangent plane, where K = H1 + H2 + d I and
H is the Hessian of h. There is no Hessian in a direction e in which a surface is flat, that of an
edge or in a face. Such a direction replaces a row of the system by e . dn = -n . de.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.collision.convex.convex_shape import prism_of
from mjjax.collision.convex.perturbation import turned_about
from mjjax.collision.shape.contact_set import NO_CONTACT, ContactSet, make_frame, plus_minus
from mjjax.collision.shape.shapes import Pools, Shape
from mjjax.core.enums import GeomType
from mjjax.math import safe
from mjjax.math.quat import cross
from mjjax.xla.linalg import dot, matvec3, matvec3_t
from mjjax.xla.namespace import Array, where

_END = 1e-6  # a witness this close to the end of a segment or box, relative to it, is there
_LEVEL = 1e-6  # sine of the slope of an edge of a face that touches: what rounding may make it
_ROUNDING = 8  # errors of a normal or an axis, in units of the last place
_TINY = 1e-30
# A witness this close (relative to the size) to the rim of a cylinder is on it: that of a polytope
# of chords is off by the square of the angle between its points.
_RIM = 1e-3


class Touch(NamedTuple):
    """The surface of a shape where it touches, seen along the outward normal.

    Attributes:
        point: (3,) support point [m]; its derivative is that at a fixed normal.
        flats: (2, 3) directions in which the surface is flat, of any length; zero beyond `rank`.
        rank: number of flat directions: 0 for a vertex or a curved surface, 1 an edge, 2 a face.
        hessian: (3, 3) derivative of the support point with respect to the normal [m].
    """

    point: Array
    flats: Array
    rank: Array
    hessian: Array


def motion(
    pools: Pools,
    one: Shape,
    two: Shape,
    margin: Array,
    contact: ContactSet,
    certificate: Array,
) -> ContactSet:
    """One contact (fields without a slot axis) as a function of the shapes.

    The value is the given contact, and the derivative with respect to the shapes is that of this
    contact. If the normal is not determined (vertex on vertex at distance zero), its derivative is
    bounded by the rounding error of the shapes' sizes.

    Args:
        pools: vertices of meshes.
        one: shape of geom 1, unbatched.
        two: shape of geom 2, unbatched.
        margin: not used, because the shapes themselves touch, not the inflated ones.
        contact: contact that the narrow phase found for the shapes.
        certificate: (6, or more) vertices that touch, three of each shape, -1 for none.
    """
    del margin
    exists = contact.dist < NO_CONTACT
    normal = where(exists, contact.normal, jnp.asarray([1.0, 0, 0], contact.normal.dtype))
    half = 0.5 * where(exists, contact.dist, 0) * normal
    a = _touch(pools, one, normal, contact.pos - half, certificate[:3])
    b = _touch(pools, two, -normal, contact.pos + half, certificate[3:6])
    gap = b.point - a.point
    dist = contact.dist + dot(normal, _change(gap))
    turned = _turned(normal, dist, gap, a, b, _scale(one, two))
    pos = contact.pos + _change(_midpoint(normal, turned, dist, a, b))
    return ContactSet(dist, pos, turned, contact.tangent)


def further_motion(
    pools: Pools,
    one: Shape,
    two: Shape,
    margin: Array,
    contact: ContactSet,
    certificate: Array,
    first: ContactSet,
) -> ContactSet:
    """`motion` of a contact of shapes that were turned about the `first` one of their pair.

    Its distance is that of the first one. The last entry of `certificate` (7,) says which turn.
    """
    turn = certificate[6]
    one, two = turned_about(one, first, turn, 1), turned_about(two, first, turn, -1)
    moved = motion(pools, one, two, margin, contact, certificate)
    return moved._replace(dist=contact.dist + _change(first.dist))


def _change(x: Array) -> Array:
    """Zero, with the derivative of `x`."""
    return x - lax.stop_gradient(x)


def _scale(one: Shape, two: Shape) -> Array:
    """A length that grows with the shapes [m]."""
    return lax.stop_gradient(jnp.sum(one.size) + jnp.sum(two.size))


def _flats(a: Touch, b: Touch) -> tuple[Array, Array]:
    """The flat directions (2, 3), unit, that bind the normal, and how many (0, 1 or 2).

    A face binds it in two, that of the first shape before that of the second, and otherwise an
    edge of each shape; parallel edges count once.
    """
    edges = jnp.stack([a.flats[0], b.flats[0]])
    swapped = where(a.rank > 0, edges, edges[::-1])
    pair = where(a.rank == 2, a.flats, where(b.rank == 2, b.flats, swapped))
    pair = safe.divide(pair, safe.norm(pair, keepdims=True))
    sine = jnp.sum(cross(pair[0], pair[1]) ** 2)
    independent = sine > float(jnp.finfo(pair.dtype).eps) ** 0.5
    some = (a.rank > 0) | (b.rank > 0)
    return pair, where(some & independent, 2, some.astype(jnp.int32))


def _turned(normal: Array, dist: Array, gap: Array, a: Touch, b: Touch, scale: Array) -> Array:
    """The normal, with its derivative."""
    basis = make_frame(normal, jnp.zeros_like(normal))[1:]
    pair, count = _flats(a, b)
    stiffness = a.hessian + b.hessian + dist * jnp.eye(3, dtype=gap.dtype)
    # rows: curved in two directions; flat in the first and curved across it; flat in both
    across = cross(normal, pair[0])
    bound = jnp.stack([count > 0, count > 1])
    free = jnp.stack([basis[0], where(count == 1, across, basis[1])])
    rows = where(bound[:, None], pair, _times(free, stiffness))
    right = where(bound, -_times(pair, normal[:, None])[:, 0], _times(free, gap[:, None])[:, 0])
    matrix = _times(rows, basis.T)
    floor = where(count == 2, 1, where(count == 1, scale, scale * scale))
    y = _solve2(matrix, _change(right), float(jnp.finfo(gap.dtype).eps) * floor)
    return safe.normalize(normal + y[0] * basis[0] + y[1] * basis[1])[0]


def _midpoint(normal: Array, turned: Array, dist: Array, a: Touch, b: Touch) -> Array:
    """The middle between the surfaces: what is less flat leads, crossing edges both."""
    delta = _change(turned)
    first = a.point + matvec3(a.hessian, delta)
    second = b.point - matvec3(b.hessian, delta)
    half = 0.5 * dist * turned
    # crossing edges: first + s e1 + dist n = second + t e2
    basis = make_frame(normal, jnp.zeros_like(normal))[1:]
    edges = jnp.stack([a.flats[0], -b.flats[0]])
    edges = safe.divide(edges, safe.norm(edges, keepdims=True))
    crossing = (a.rank == 1) & (b.rank == 1) & (_flats(a, b)[1] == 2)
    offset = _times(basis, (second - first - 2 * half)[:, None])[:, 0]
    matrix = where(crossing, _times(basis, edges.T), jnp.eye(2, dtype=offset.dtype))
    slide = _solve2(matrix, _change(offset), float(jnp.finfo(offset.dtype).eps))
    first = first + where(crossing, slide[0], 0) * edges[0]
    return where(a.rank <= b.rank, first + half, second - half)


def _times(a: Array, b: Array) -> Array:
    """Product of small matrices, written out."""
    return jnp.sum(a[:, :, None] * b[None], axis=1)


def _solve2(matrix: Array, right: Array, floor: Array | float) -> Array:
    """Solution (2,) of two equations; the determinant is kept away from zero by `floor`."""
    (p, q), (r, s) = matrix
    det = p * s - q * r
    det = where(jnp.abs(det) < floor, plus_minus(det >= 0, det.dtype) * floor, det)
    return jnp.stack([s * right[0] - q * right[1], p * right[1] - r * right[0]]) / det


def _touch(pools: Pools, shape: Shape, normal: Array, witness: Array, ids: Array) -> Touch:
    """Where a shape touches along its outward normal, near a point of its surface."""
    found = _polytope(pools, shape, normal, witness, ids)
    for kinds, function in _PRIMITIVES.items():
        other = function(shape, normal, witness)
        mine = jnp.any(shape.kind == jnp.asarray(kinds, jnp.int32))
        found = Touch(*(where(mine, x, y) for x, y in zip(other, found, strict=True)))
    return found


def _polytope(pools: Pools, shape: Shape, normal: Array, witness: Array, ids: Array) -> Touch:
    """Meshes and prisms: a vertex, an edge, or a face of which three vertices are known."""
    corner = _vertices(pools, shape, jnp.maximum(ids, 0))
    second = (ids[1] >= 0) & (ids[1] != ids[0])
    third = (ids[2] >= 0) & (ids[2] != ids[0]) & (ids[2] != ids[1])
    arms = corner[1:] - corner[:1]
    none = jnp.zeros_like(arms[0])
    one = where(second, arms[0], where(third, arms[1], none))
    two = where(second & third, arms[1], none)
    flats = jnp.stack([one, where(_parallel(one, two), none, two)])
    if len(pools.hulls.vert):
        flats = _completed(pools, shape, normal, ids[0], flats)
    rank = jnp.sum(jnp.any(flats != 0, axis=1), dtype=jnp.int32)
    weight = lax.stop_gradient(_barycentric(flats, witness - corner[0]))
    point = corner[0] + jnp.sum(weight[:, None] * flats, axis=0)
    return Touch(point, flats, rank, jnp.zeros((3, 3), point.dtype))


def _completed(pools: Pools, shape: Shape, normal: Array, vertex: Array, flats: Array) -> Array:
    """Flat directions where an edge may be a diagonal of a face: then a neighbour is level, too."""
    hulls = pools.hulls
    on = (shape.kind >= GeomType.MESH) & jnp.any(flats[0] != 0) & jnp.all(flats[1] == 0)
    start = where(on, jnp.maximum(vertex, 0), 0)
    row = where(on, jnp.asarray(hulls.vert_adr, jnp.int32)[jnp.maximum(shape.asset, 0)], 0)
    count = jnp.asarray(hulls.block_num, jnp.int32)[start + row]
    block = np.arange(hulls.block_num.max(), dtype=np.int32)
    block = jnp.asarray(hulls.block_adr, jnp.int32)[start + row] + jnp.minimum(block, count - 1)
    near = jnp.asarray(hulls.blocks, jnp.int32)[block].reshape(-1)
    arms = _vertices(pools, shape, near) - _vertices(pools, shape, start[None])
    length = jnp.sqrt(jnp.sum(arms * arms, axis=1))
    level = jnp.abs(jnp.sum(arms * normal[None], axis=1)) <= _LEVEL * length
    sine = where(level, jnp.sum(cross(arms, flats[:1]) ** 2, axis=1), -1)
    best = arms[_argmax(sine)]
    second = where(on & (jnp.max(sine) > 0) & ~_parallel(best, flats[0]), best, flats[1])
    return jnp.stack([flats[0], second])


def _argmax(x: Array) -> Array:
    return jnp.argmax(x).astype(jnp.int32)


def _parallel(a: Array, b: Array) -> Array:
    square = jnp.sum(a * a) * jnp.sum(b * b)
    return jnp.sum(cross(a, b) ** 2) <= float(jnp.finfo(a.dtype).eps) ** 0.5 * square


def _vertices(pools: Pools, shape: Shape, ids: Array) -> Array:
    """Vertices (k, 3) of a mesh or of the prism of a height field, world frame [m]."""
    local = jnp.zeros((len(ids), 3), shape.size.dtype)
    if len(pools.hulls.vert):
        on_mesh = shape.kind >= GeomType.MESH
        first = jnp.asarray(pools.hulls.vert_adr, jnp.int32)[jnp.maximum(shape.asset, 0)]
        local = pools.vert[where(on_mesh, first + shape.offset + ids, 0)]
    if shape.cell is not None:
        field = shape.kind == GeomType.HFIELD
        prism = prism_of(pools, where(field, shape.asset, 0), shape.cell, shape.offset)
        local = where(field, prism[where(field, ids, 0)], local)
    return shape.pos[None] + jnp.sum(local[:, None] * shape.mat[None], axis=2)


def _barycentric(flats: Array, offset: Array) -> Array:
    """Coordinates (2,) of the projection of `offset` along two directions, zero or not."""
    length = jnp.sum(flats * flats, axis=1)
    gram = _times(flats, flats.T) + jnp.diag((length == 0).astype(flats.dtype))
    floor = float(jnp.finfo(flats.dtype).eps) * gram[0, 0] * gram[1, 1]
    return _solve2(gram, _times(flats, offset[:, None])[:, 0], floor)


def _round(shape: Shape, normal: Array, witness: Array) -> Touch:
    """Spheres, and capsules: the segment (flat along it) or an end of it, and a ball around it."""
    length = where(shape.kind == GeomType.CAPSULE, shape.size[1], 0)
    axis = shape.mat[:, 2]
    along = lax.stop_gradient(safe.divide(dot(witness - shape.pos, axis), length))
    within = jnp.abs(along) < 1 - _END
    radius = shape.size[0]
    point = shape.pos + jnp.clip(along, -1, 1) * length * axis + radius * normal
    flat = (length > 0) & within
    flats = where(flat, jnp.stack([axis, 0 * axis]), 0)
    return Touch(point, flats, flat.astype(jnp.int32), radius * jnp.eye(3, dtype=point.dtype))


def _box(shape: Shape, normal: Array, witness: Array) -> Touch:
    """A box is flat along the axes along which the witness is within it; at most along two."""
    # shapes of other types come by here, too, and lack sizes: what is not a number would spread
    part = safe.divide(matvec3_t(shape.mat, witness - shape.pos), shape.size)
    part = lax.stop_gradient(jnp.clip(part, -1, 1))
    slope = jnp.abs(matvec3_t(shape.mat, normal))
    # deep inside, the axis nearest to the normal is that of the face
    within = (jnp.abs(part) < 1 - _END) & (np.arange(3, dtype=np.int32) != _argmax(slope)[None])
    axes = where(within[:, None], shape.mat.T, 0)
    first = _argmax(within)
    flats = jnp.stack([axes[first], jnp.sum(axes, axis=0) - axes[first]])
    rank = jnp.sum(within, dtype=jnp.int32)
    point = shape.pos + matvec3(shape.mat, part * shape.size)
    return Touch(point, flats, rank, jnp.zeros((3, 3), point.dtype))


def _ellipsoid(shape: Shape, normal: Array, witness: Array) -> Touch:
    """h(n) = |S R' n|, with S the half axes."""
    del witness
    square = shape.size * shape.size
    m = matvec3_t(shape.mat, normal)
    length = safe.norm(shape.size * m)
    scaled = square * m
    local = safe.divide(scaled, length)
    inner = jnp.diag(square) - scaled[:, None] * scaled[None] / jnp.maximum(length**2, _TINY)
    hessian = _times(_times(shape.mat, safe.divide(inner, length)), shape.mat.T)
    flats = jnp.zeros((2, 3), local.dtype)
    return Touch(shape.pos + matvec3(shape.mat, local), flats, jnp.int32(0), hessian)


def _cylinder(shape: Shape, normal: Array, witness: Array) -> Touch:
    """A cap (flat in both directions), the side (flat along the axis) or the rim between them."""
    radius, height = shape.size[0], shape.size[1]
    axis = shape.mat[:, 2]
    local = lax.stop_gradient(matvec3_t(shape.mat, witness - shape.pos))
    part = local / lax.stop_gradient(jnp.stack([radius, radius, height]))
    along = dot(normal, axis)
    outward, slope = safe.normalize(normal - along * axis)
    # a face that is level up to rounding touches with the face: where on the rim is not known
    level = lax.stop_gradient(slope[0]) <= _ROUNDING * float(jnp.finfo(slope.dtype).eps)
    cap = level | (part[0] ** 2 + part[1] ** 2 < (1 - _RIM) ** 2)
    side = ~cap & (jnp.abs(part[2]) < 1 - _RIM)
    up = plus_minus(along > 0, along.dtype)
    disc = radius * (part[0] * shape.mat[:, 0] + part[1] * shape.mat[:, 1])
    rise = where(side, part[2], up) * height
    point = shape.pos + rise * axis + where(cap, disc, radius * outward)
    round_ = cross(axis, outward)
    bend = where(cap, 0, safe.divide(radius, slope[0]))
    flats = where(cap, shape.mat[:, :2].T, where(side, jnp.stack([axis, 0 * axis]), 0))
    rank = where(cap, 2, side.astype(jnp.int32))
    return Touch(point, flats, rank, bend * round_[:, None] * round_[None])


_PRIMITIVES = {
    (GeomType.SPHERE, GeomType.CAPSULE): _round,
    (GeomType.BOX,): _box,
    (GeomType.ELLIPSOID,): _ellipsoid,
    (GeomType.CYLINDER,): _cylinder,
}
