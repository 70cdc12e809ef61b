"""The point of a simplex nearest to the origin, for simplices of one to four vertices.

The signed-volumes method (Montanari, Petrinic, Barbieri 2017) with MuJoCo's choices: where its
rounding decides, the same quantities are compared. All six edges and four faces of a tetrahedron
are computed; a simplex of fewer vertices uses its own.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from mjjax.collision.convex.lanes import Vec, combine, cross, dot, when_any
from mjjax.core.constants import MINVAL

# Face k lies opposite to vertex k; a simplex of three vertices is the last one, and the last side
# of that is a simplex of two.
FACES = ((1, 2, 3), (0, 2, 3), (0, 1, 3), (0, 1, 2))
SIDES = ((1, 2), (0, 2), (0, 1))  # sides of a triangle, the k-th opposite to corner k
FAR = 1e10

Weights = list[jax.Array]


def nearest(corners: list[Vec], count: jax.Array, on: jax.Array) -> Weights:
    """Barycentric coordinates, four arrays (N,), of the points nearest to the origin.

    Args:
        corners: three of (4, N), those of the `FACES` of a tetrahedron; what comes from vertices
            beyond `count` is ignored.
        count: (N,) number of vertices.
        on: (N,) items to do; the others get anything.
    """
    faces, edge = when_any(on, _faces, corners)
    return when_any(on, _nearest, corners, faces, edge, count)


def _nearest(corners: list[Vec], faces: Weights, edge: Weights, count: jax.Array) -> Weights:
    none = jnp.zeros_like(edge[0])
    point = [none + 1, none, none, none]
    line = [*edge, none, none]
    triangle = [*(w[3] for w in faces), none]
    solid = _solid(corners, faces)
    return [
        jnp.where(count == 1, a, jnp.where(count == 2, b, jnp.where(count == 3, c, d)))
        for a, b, c, d in zip(point, line, triangle, solid, strict=True)
    ]


def same_sign(a: jax.Array, b: jax.Array) -> jax.Array:
    """Whether both are positive or both negative."""
    return ((a > 0) & (b > 0)) | ((a < 0) & (b < 0))


def project_plane(a: Vec, b: Vec, c: Vec) -> tuple[Vec, jax.Array]:
    """The origin's projection on the plane of a triangle; whether there is no plane.

    By the sides at b, or for a tiny area or a plane through b those at c.
    """
    cb = c - b
    at_b, at_c = cross(cb, b - a), cross(c - a, cb)
    (hb, sb), (hc, sc) = ((dot(n, v), dot(n, n)) for n, v in ((at_b, b), (at_c, c)))
    proper = (hb != 0) & (sb > MINVAL)
    scale = jnp.where(proper, hb, hc) / jnp.where(proper, sb, jnp.where(sc == 0, 1, sc))
    foot = [jnp.where(proper, x, y) * scale for x, y in zip(at_b, at_c, strict=True)]
    return Vec(*foot), (sb == 0) | (~proper & (sc == 0))


def plane_weights(corners: Sequence[Vec], point: Vec) -> tuple[jax.Array, Weights]:
    """Barycentric coordinates of points of the planes of triangles, times the returned area.

    They are computed in the coordinate plane onto which the triangle's shadow is largest.
    """
    a, b, c = (tuple(v) for v in corners)

    def minor(i: int, j: int) -> jax.Array:
        return b[i] * c[j] - b[j] * c[i] - a[i] * c[j] + a[j] * c[i] + a[i] * b[j] - a[j] * b[i]

    minors = [minor(1, 2), minor(0, 2), minor(0, 1)]
    size = [jnp.abs(m) for m in minors]
    first = (size[0] >= size[1]) & (size[0] >= size[2])
    second = ~first & (size[1] >= size[2])
    area = jnp.where(first, minors[0], jnp.where(second, minors[1], minors[2]))
    flat = [
        (jnp.where(first, v[1], v[0]), jnp.where(first | second, v[2], v[1]))
        for v in (a, b, c, tuple(point))
    ]
    *triangle, (x, y) = flat

    def signed(u: tuple[jax.Array, jax.Array], v: tuple[jax.Array, jax.Array]) -> jax.Array:
        return x * u[1] + y * v[0] + u[0] * v[1] - x * v[1] - y * u[0] - v[0] * u[1]

    return area, [signed(triangle[i], triangle[j]) for i, j in ((1, 2), (2, 0), (0, 1))]


def _edge(a: Vec, b: Vec) -> Weights:
    """Barycentric coordinates, two arrays, for segments."""
    side = b - a
    scale = -(dot(b, side) / dot(side, side))
    point = b + side * scale
    longest, first, second = a.x - b.x, point.x - b.x, a.x - point.x
    for u, v, p in ((a.y, b.y, point.y), (a.z, b.z, point.z)):
        longer = jnp.abs(u - v) >= jnp.abs(longest)
        longest = jnp.where(longer, u - v, longest)
        first = jnp.where(longer, p - v, first)
        second = jnp.where(longer, u - p, second)
    within = same_sign(longest, first) & same_sign(longest, second)
    return [jnp.where(within, first / longest, 0), jnp.where(within, second / longest, 1)]


def _faces(corners: list[Vec]) -> tuple[Weights, Weights]:
    """Barycentric coordinates: three arrays (4, N) for the faces; two (N,) for a last side."""
    point, flat = project_plane(*corners)
    area, shares = plane_weights(corners, point)
    towards = [same_sign(area, p) for p in shares]
    none = jnp.zeros_like(area)
    candidates = []
    for i, j in SIDES:
        weight = _edge(corners[i], corners[j])
        on_side = combine(weight, [corners[i], corners[j]])
        full = [none, none, none]
        full[i], full[j] = weight
        candidates.append((full, dot(on_side, on_side)))
    best = _closest(candidates, towards)
    inside = towards[0] & towards[1] & towards[2]
    best = [jnp.where(inside, p / area, w) for p, w in zip(shares, best, strict=True)]
    # no plane: MuJoCo takes the first side
    first = candidates[2][0]
    best = [jnp.where(flat, x, w) for x, w in zip(first, best, strict=True)]
    return best, [first[0][-1], first[1][-1]]


def _solid(corners: list[Vec], faces: Weights) -> Weights:
    """Barycentric coordinates, four arrays (N,), for tetrahedra, given those of their faces."""
    vertices = [corners[0][1], *(corner[0] for corner in corners)]
    a, b, c, d = vertices
    bc, cd = cross(b, c), cross(c, d)
    cofactors = [-dot(b, cd), dot(a, cd), -dot(a, cross(b, d)), dot(a, bc)]
    total = cofactors[0] + cofactors[1] + cofactors[2] + cofactors[3]
    towards = [same_sign(total, x) for x in cofactors]
    none = jnp.zeros_like(total)
    candidates = []
    for k, ids in enumerate(FACES):
        weight = [w[k] for w in faces]
        point = combine(weight, [vertices[i] for i in ids])
        full = [none] * 4
        for i, w in zip(ids, weight, strict=True):
            full[i] = w
        candidates.append((full, dot(point, point)))
    best = _closest(candidates, towards)
    inside = towards[0] & towards[1] & towards[2] & towards[3]
    return [jnp.where(inside, x / total, w) for x, w in zip(cofactors, best, strict=True)]


def _closest(
    candidates: Sequence[tuple[Weights, jax.Array]], towards: Sequence[jax.Array]
) -> Weights:
    """The weights with the least squared distance of those that the origin is not towards."""
    weights = [jnp.zeros_like(candidates[0][1])] * len(candidates[0][0])
    least = jnp.full_like(candidates[0][1], FAR)
    for k, ((new, square), inward) in enumerate(zip(candidates, towards, strict=True)):
        nearer = ~inward if k == 0 else ~inward & (square < least)
        weights = [jnp.where(nearer, x, w) for x, w in zip(new, weights, strict=True)]
        least = jnp.where(nearer, square, least)
    return weights
