"""The point of a simplex nearest to the origin, for simplices of one to four corners.

This is the signed-volumes method (Montanari, Petrinic, Barbieri 2017) with MuJoCo's choices: if the
rounding of MuJoCo decides, the same quantities are compared here. Results are barycentric
coordinates, one for each corner, zero for those that do not bear the point.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.convex.convex_shape import static_table
from mjjax.collision.shape.vectors import Vec, choose, combine, cross, dot, put, row, rows_of, take
from mjjax.core.constants import MINVAL
from mjjax.xla.kernel_code import few_rounds, subroutine
from mjjax.xla.loops import cond
from mjjax.xla.namespace import where

# Face k of a tetrahedron is opposite to corner k, and so is side k of a triangle.
FACES = ((1, 2, 3), (0, 2, 3), (0, 1, 3), (0, 1, 2))
TRIANGLE_SIDES = ((1, 2), (0, 2), (0, 1))
FAR = 1e10


def nearest(points: jax.Array, count: jax.Array) -> jax.Array:
    """Barycentric coordinates (4,) of the point nearest to the origin.

    Args:
        points: (4, 3) the corners.
        count: number of corners.
    """
    shares, volume, inward = _shares(points)
    # of a triangle only the last face is there, and of a segment only its last side
    behind = where(count == 4, inward, np.arange(4) < 3)
    first, inside = jnp.zeros(4, points.dtype).at[0].set(1), (count == 4) & jnp.all(inward)

    def on_face(ids: jax.Array) -> jax.Array:
        return of_triangle(take(points, ids), count == 2)

    def outside() -> jax.Array:
        return cond(count == 1, lambda: first, lambda: _on_parts(points, FACES, on_face, behind))

    return cond(inside, lambda: shares / volume, outside)


@subroutine
def _shares(points: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The origin's coordinates (4,) in a tetrahedron, times a volume; the volume; their signs.

    The last are whether the origin is on the inner side of the faces.
    """
    a, b, c, d = rows_of(points)
    bc, cd = cross(b, c), cross(c, d)
    shares = [-dot(b, cd), dot(a, cd), -dot(a, cross(b, d)), dot(a, bc)]
    volume = shares[0] + shares[1] + shares[2] + shares[3]
    return jnp.stack(shares), volume, jnp.stack([same_sign(volume, x) for x in shares])


def of_triangle(points: jax.Array, flat: jax.Array) -> jax.Array:
    """Coordinates (3,) of the point of a triangle (3, 3) nearest to the origin.

    If it is `flat` or has no plane, only the side from corner 0 to corner 1 counts, as in MuJoCo.
    """
    a, b, c = rows_of(points)
    foot, degenerate = project_plane(a, b, c)
    area, parts = plane_weights(points, foot)
    flat |= degenerate
    inward = jnp.stack([same_sign(area, x) for x in parts])
    behind = where(flat, np.arange(3) < 2, inward)
    return cond(
        jnp.all(inward) & ~flat,
        lambda: jnp.stack(parts) / area,
        lambda: _on_parts(
            points, TRIANGLE_SIDES, lambda ids: of_segment(take(points, ids)), behind
        ),
    )


@subroutine
def of_segment(points: jax.Array) -> jax.Array:
    """Coordinates (2,) of the point of a segment (2, 3) nearest to the origin."""
    a, b = rows_of(points)
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
    return jnp.stack([where(within, first / longest, 0), where(within, second / longest, 1)])


def _on_parts(
    points: jax.Array,
    parts: tuple[tuple[int, ...], ...],
    nearest_of: Callable[[jax.Array], jax.Array],
    behind: jax.Array,
) -> jax.Array:
    """Coordinates (k,) of the nearest point on those sides or faces that the origin is outside of.

    Args:
        points: (k, 3) corners of the simplex.
        parts: corners of its sides or faces.
        nearest_of: finds the nearest point of a side or face with given corners.
        behind: of each side or face, whether it does not count.
    """
    none = jnp.zeros(len(points), points.dtype), jnp.asarray(FAR, points.dtype)

    def test(k: jax.Array, best: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        def compared() -> tuple[jax.Array, jax.Array]:
            ids = row(static_table(np.array(parts)), k)
            weight = nearest_of(ids)
            square = _square(weight, take(points, ids))
            spread = none[0]
            for i in range(len(parts[0])):
                spread = put(spread, ids[i], weight[i])
            return choose((k == 0) | (square < best[1]), (spread, square), best)

        return cond(row(behind, k), lambda: best, compared)

    return few_rounds(len(parts), test, none)[0]


@subroutine
def _square(weight: jax.Array, points: jax.Array) -> jax.Array:
    """Squared distance of a point by its coordinates (k,) in a simplex (k, 3)."""
    point = combine([weight[k] for k in range(len(points))], rows_of(points))
    return dot(point, point)


def same_sign(a: jax.Array, b: jax.Array) -> jax.Array:
    """Whether both are positive or both negative."""
    return ((a > 0) & (b > 0)) | ((a < 0) & (b < 0))


@subroutine
def project_plane(a: Vec, b: Vec, c: Vec) -> tuple[Vec, jax.Array]:
    """The origin's projection on the plane of a triangle; whether there is no plane.

    It uses the sides at b, or those at c if the area is tiny or the plane passes through b.
    """
    cb = c - b
    at_b, at_c = cross(cb, b - a), cross(c - a, cb)
    (hb, sb), (hc, sc) = ((dot(n, v), dot(n, n)) for n, v in ((at_b, b), (at_c, c)))
    proper = (hb != 0) & (sb > MINVAL)
    scale = where(proper, hb, hc) / where(proper, sb, where(sc == 0, 1, sc))
    foot = Vec(*(where(proper, x, y) * scale for x, y in zip(at_b, at_c, strict=True)))
    return foot, (sb == 0) | (~proper & (sc == 0))


@subroutine
def plane_weights(points: jax.Array, point: Vec) -> tuple[jax.Array, list[jax.Array]]:
    """Barycentric coordinates of a point in the plane of a triangle (3, 3), times the area.

    They are computed in the coordinate plane onto which the triangle's shadow is largest.
    """
    a, b, c = rows_of(points)

    def minor(i: str, j: str) -> jax.Array:
        u, v, w = ((getattr(p, i), getattr(p, j)) for p in (a, b, c))
        return v[0] * w[1] - v[1] * w[0] - u[0] * w[1] + u[1] * w[0] + u[0] * v[1] - u[1] * v[0]

    shadows = minor("y", "z"), minor("x", "z"), minor("x", "y")
    yz, xz, xy = (jnp.abs(x) for x in shadows)
    first = (yz >= xz) & (yz >= xy)
    second = ~first & (xz >= xy)
    area = where(first, shadows[0], where(second, shadows[1], shadows[2]))
    *triangle, (x, y) = [
        (where(first, v.y, v.x), where(first | second, v.z, v.y)) for v in (a, b, c, point)
    ]

    def signed(u: tuple[jax.Array, jax.Array], v: tuple[jax.Array, jax.Array]) -> jax.Array:
        return x * u[1] + y * v[0] + u[0] * v[1] - x * v[1] - y * u[0] - v[0] * u[1]

    return area, [signed(triangle[i], triangle[j]) for i, j in ((1, 2), (2, 0), (0, 1))]
