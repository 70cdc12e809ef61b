"""The point of a simplex nearest to the origin, for simplices of one to four vertices.

This is the signed-volumes method (Montanari, Petrinic, Barbieri 2017) with MuJoCo's choices: if the
rounding of MuJoCo decides, the same quantities are compared here. All six edges and four faces of a
tetrahedron are computed; a simplex with fewer vertices uses those that it has.
"""

import functools
import operator
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from mjjax.collision.shape.lanes import Vec, combine, cross, dot, when_any
from mjjax.core.constants import MINVAL
from mjjax.xla.namespace import where

# Face k lies opposite to vertex k; a simplex of three vertices is the last one, and the last side
# of that is a simplex of two.
FACES = ((1, 2, 3), (0, 2, 3), (0, 1, 3), (0, 1, 2))
TRIANGLE_SIDES = ((1, 2), (0, 2), (0, 1))  # sides of a triangle, the k-th opposite to corner k
FAR = 1e10
INSIDE, NOTHING = 9, 10  # instead of the number of a side or face

Weights = list[jax.Array]


def nearest(corners: list[Vec], count: jax.Array, on: jax.Array) -> Weights:
    """Barycentric coordinates, four arrays (N,), of the points nearest to the origin.

    Args:
        corners: three arrays (4, N), the corners of the `FACES` of a tetrahedron; corners that are
            vertices beyond `count` are ignored.
        count: (N,) number of vertices.
        on: (N,) items to do; the results of the others mean nothing.
    """
    sides, foot, minors = when_any(on, _features, corners)
    choice, area, shares = when_any(on, _nearest_sides, corners, sides, foot, minors)
    # no plane: MuJoCo takes the first side, as for a simplex of two vertices
    inside = [x / where(choice == INSIDE, area, 1) for x in shares]
    faces = _chosen(
        choice, [_spread(side, w) for side, w in zip(TRIANGLE_SIDES, sides, strict=True)], inside
    )
    return _of_simplex(corners, faces, sides, count, on)


def _of_simplex(
    corners: list[Vec],
    faces: Weights,
    sides: list[Weights],
    count: jax.Array,
    on: jax.Array,
) -> Weights:
    """`nearest`, given the coordinates of the nearest points of the faces and of their sides."""
    choice, cofactors = when_any(on, _nearest_faces, corners, faces)
    total = cofactors[0] + cofactors[1] + cofactors[2] + cofactors[3]
    none = jnp.zeros_like(total)
    full = [_spread(ids, [w[k] for w in faces], 4) for k, ids in enumerate(FACES)]
    inside = [x / where(choice == INSIDE, total, 1) for x in cofactors]
    solid = _chosen(choice, full, inside)
    point = [none + 1, none, none, none]
    line = [*(w[3] for w in sides[2]), none, none]
    triangle = [*(w[3] for w in faces), none]
    return [
        where(count == 1, a, where(count == 2, b, where(count == 3, c, d)))
        for a, b, c, d in zip(point, line, triangle, solid, strict=True)
    ]


def _spread(places: Sequence[int], weight: Weights, size: int = 3) -> Weights:
    """Coordinates of some vertices as coordinates of all of them."""
    full = [jnp.zeros_like(weight[0])] * size
    for place, w in zip(places, weight, strict=True):
        full[place] = w
    return full


def _chosen(choice: jax.Array, candidates: Sequence[Weights], inside: Weights) -> Weights:
    """The candidate with the number `choice`, or what holds inside; zero if there is none."""
    found = [where(choice == INSIDE, w, 0) for w in inside]
    for k, candidate in enumerate(candidates):
        found = [where(choice == k, w, f) for w, f in zip(candidate, found, strict=True)]
    return found


def same_sign(a: jax.Array, b: jax.Array) -> jax.Array:
    """Whether both are positive or both negative."""
    return ((a > 0) & (b > 0)) | ((a < 0) & (b < 0))


def project_plane(a: Vec, b: Vec, c: Vec) -> tuple[Vec, jax.Array]:
    """The origin's projection on the plane of a triangle; whether there is no plane.

    It uses the sides at b, or those at c if the area is tiny or the plane passes through b.
    """
    cb = c - b
    at_b, at_c = cross(cb, b - a), cross(c - a, cb)
    (hb, sb), (hc, sc) = ((dot(n, v), dot(n, n)) for n, v in ((at_b, b), (at_c, c)))
    proper = (hb != 0) & (sb > MINVAL)
    scale = where(proper, hb, hc) / where(proper, sb, where(sc == 0, 1, sc))
    foot = [where(proper, x, y) * scale for x, y in zip(at_b, at_c, strict=True)]
    return Vec(*foot), (sb == 0) | (~proper & (sc == 0))


def plane_weights(
    corners: Sequence[Vec], point: Vec, minors: Sequence[jax.Array] | None = None
) -> tuple[jax.Array, Weights]:
    """Barycentric coordinates of points of the planes of triangles, times the returned area.

    They are computed in the coordinate plane onto which the triangle's shadow is largest.
    """
    x, y, z = plane_minors(corners) if minors is None else minors
    size = [jnp.abs(m) for m in (x, y, z)]
    first = (size[0] >= size[1]) & (size[0] >= size[2])
    second = ~first & (size[1] >= size[2])
    area = where(first, x, where(second, y, z))
    *triangle, (x, y) = [
        (where(first, v.y, v.x), where(first | second, v.z, v.y)) for v in (*corners, point)
    ]

    def signed(u: tuple[jax.Array, jax.Array], v: tuple[jax.Array, jax.Array]) -> jax.Array:
        return x * u[1] + y * v[0] + u[0] * v[1] - x * v[1] - y * u[0] - v[0] * u[1]

    return area, [signed(triangle[i], triangle[j]) for i, j in ((1, 2), (2, 0), (0, 1))]


def plane_minors(corners: Sequence[Vec]) -> list[jax.Array]:
    """Areas of the shadows of triangles on the planes yz, xz and xy, twice, with signs."""
    a, b, c = (tuple(v) for v in corners)

    def minor(i: int, j: int) -> jax.Array:
        return b[i] * c[j] - b[j] * c[i] - a[i] * c[j] + a[j] * c[i] + a[i] * b[j] - a[j] * b[i]

    return [minor(1, 2), minor(0, 2), minor(0, 1)]


def _edge(a: Vec, b: Vec) -> Weights:
    """Barycentric coordinates, two arrays, for segments."""
    side = b - a
    scale = -(dot(b, side) / dot(side, side))
    point = b + side * scale
    longest, first, second = a.x - b.x, point.x - b.x, a.x - point.x
    for u, v, p in ((a.y, b.y, point.y), (a.z, b.z, point.z)):
        longer = jnp.abs(u - v) >= jnp.abs(longest)
        longest = where(longer, u - v, longest)
        first = where(longer, p - v, first)
        second = where(longer, u - p, second)
    within = same_sign(longest, first) & same_sign(longest, second)
    return [where(within, first / longest, 0), where(within, second / longest, 1)]


def _features(
    corners: list[Vec],
) -> tuple[list[Weights], tuple[Vec, jax.Array], list[jax.Array]]:
    """Of triangles (k, N): the nearest points of their sides, feet and minors."""
    sides = [_edge(corners[i], corners[j]) for i, j in TRIANGLE_SIDES]
    return sides, project_plane(*corners), plane_minors(corners)


def _nearest_sides(
    corners: list[Vec],
    sides: list[Weights],
    foot: tuple[Vec, jax.Array],
    minors: list[jax.Array],
) -> tuple[jax.Array, jax.Array, Weights]:
    """Which side of triangles (k, N) is nearest, or `INSIDE`; the coordinates of the foot."""
    point, flat = foot
    area, shares = plane_weights(corners, point, minors)
    squares = []
    for (i, j), weight in zip(TRIANGLE_SIDES, sides, strict=True):
        on_side = combine(weight, [corners[i], corners[j]])
        squares.append(dot(on_side, on_side))
    choice = _closest(squares, [same_sign(area, p) for p in shares])
    return where(flat, 2, choice), area, shares


def _nearest_faces(corners: list[Vec], faces: Weights) -> tuple[jax.Array, Weights]:
    """Which face of tetrahedra is nearest, or `INSIDE` (N,); the cofactors of the vertices."""
    a, b, c, d = vertices = [corners[0][1], *(corner[0] for corner in corners)]
    bc, cd = cross(b, c), cross(c, d)
    cofactors = [-dot(b, cd), dot(a, cd), -dot(a, cross(b, d)), dot(a, bc)]
    total = cofactors[0] + cofactors[1] + cofactors[2] + cofactors[3]
    squares = []
    for k, ids in enumerate(FACES):
        point = combine([w[k] for w in faces], [vertices[i] for i in ids])
        squares.append(dot(point, point))
    return _closest(squares, [same_sign(total, x) for x in cofactors]), cofactors


def _closest(squares: Sequence[jax.Array], towards: Sequence[jax.Array]) -> jax.Array:
    """Which has the least squared distance of those that the origin is not towards.

    `INSIDE` if it is towards all of them.
    """
    choice = jnp.full_like(squares[0], INSIDE, jnp.int32)
    least = jnp.full_like(squares[0], FAR)
    for k, (square, inward) in enumerate(zip(squares, towards, strict=True)):
        nearer = ~inward if k == 0 else ~inward & (square < least)
        choice = where(nearer, k, choice)
        least = where(nearer, square, least)
    none = (choice == INSIDE) & ~functools.reduce(operator.and_, towards)
    return where(none, NOTHING, choice)
