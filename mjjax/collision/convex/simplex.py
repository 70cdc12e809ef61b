"""The point of a simplex nearest to the origin, for simplices of one to four vertices.

The signed-volumes method (Montanari, Petrinic, Barbieri 2017) with MuJoCo's choices: where its
rounding decides, the same quantities are compared. All six edges and four faces of a tetrahedron
are computed as two batches; a simplex of fewer vertices uses its own. Vectors are lists of their
components here: joined ones would be taken apart again in every line.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from mjjax.core.constants import MINVAL

EDGES = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
FACES = ((1, 2, 3), (0, 2, 3), (0, 1, 3), (0, 1, 2))  # face k lies opposite to vertex k
SIDES = ((1, 2), (0, 2), (0, 1))  # sides of a triangle, the k-th opposite to corner k
FAR = 1e10

Parts = Sequence[jax.Array]


def nearest(simplex: jax.Array, count: jax.Array) -> jax.Array:
    """Barycentric coordinates (4, N) of the point nearest to the origin.

    Args:
        simplex: vertices (4, 3, N); those from `count` on are ignored.
        count: (N,) number of vertices.
    """
    vertices = [parts(simplex[k]) for k in range(4)]

    def rows(ids: Sequence[int]) -> Parts:
        return [jnp.stack([vertices[i][axis] for i in ids]) for axis in range(3)]

    edge = _edges(*(rows([e[i] for e in EDGES]) for i in (0, 1)))
    corners = [rows([f[i] for f in FACES]) for i in range(3)]
    numbers = [[EDGES.index((f[i], f[j])) for f in FACES] for i, j in SIDES]
    opposite = [[jnp.stack([w[k] for k in ids]) for w in edge] for ids in numbers]
    face = _faces(corners, opposite)
    none = jnp.zeros_like(edge[0][0])
    point = [none + 1, none, none, none]
    line = [edge[0][0], edge[1][0], none, none]
    triangle = [*(w[3] for w in face), none]
    solid = _solid(vertices, corners, face)
    columns = zip(point, line, triangle, solid, strict=True)
    return jnp.stack(
        [
            jnp.where(count == 1, a, jnp.where(count == 2, b, jnp.where(count == 3, c, d)))
            for a, b, c, d in columns
        ]
    )


def parts(vector: jax.Array) -> Parts:
    """Components of vectors (..., 3, N)."""
    return [vector[..., i, :] for i in range(3)]


def same_sign(a: jax.Array, b: jax.Array) -> jax.Array:
    """Whether both are positive or both negative."""
    return ((a > 0) & (b > 0)) | ((a < 0) & (b < 0))


def project_plane(a: jax.Array, b: jax.Array, c: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The origin's projection (..., 3, N) on the plane of a triangle; whether there is no plane."""
    foot, flat = _project(parts(a), parts(b), parts(c))
    return jnp.stack(foot, axis=-2), flat


def plane_weights(
    corners: Sequence[jax.Array], point: jax.Array
) -> tuple[jax.Array, list[jax.Array]]:
    """Barycentric coordinates of points of the planes of triangles, times the returned area.

    Args:
        corners: three arrays (..., 3, N).
        point: (..., 3, N).
    """
    return _weights([parts(c) for c in corners], parts(point))


def _minus(a: Parts, b: Parts) -> Parts:
    return [x - y for x, y in zip(a, b, strict=True)]


def _dot(a: Parts, b: Parts) -> jax.Array:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: Parts, b: Parts) -> Parts:
    (x, y, z), (u, v, w) = a, b
    return [y * w - z * v, z * u - x * w, x * v - y * u]


def _project(a: Parts, b: Parts, c: Parts) -> tuple[Parts, jax.Array]:
    """As `project_plane`: by the sides at b, or for a tiny area or a plane through b those at c."""
    cb = _minus(c, b)
    at_b, at_c = _cross(cb, _minus(b, a)), _cross(_minus(c, a), cb)
    (hb, sb), (hc, sc) = ((_dot(n, v), _dot(n, n)) for n, v in ((at_b, b), (at_c, c)))
    proper = (hb != 0) & (sb > MINVAL)
    scale = jnp.where(proper, hb, hc) / jnp.where(proper, sb, jnp.where(sc == 0, 1, sc))
    foot = [jnp.where(proper, x, y) * scale for x, y in zip(at_b, at_c, strict=True)]
    return foot, (sb == 0) | (~proper & (sc == 0))


def _weights(corners: Sequence[Parts], point: Parts) -> tuple[jax.Array, list[jax.Array]]:
    """As `plane_weights`: in the coordinate plane onto which the triangle's shadow is largest."""
    a, b, c = corners

    def minor(i: int, j: int) -> jax.Array:
        return b[i] * c[j] - b[j] * c[i] - a[i] * c[j] + a[j] * c[i] + a[i] * b[j] - a[j] * b[i]

    minors = [minor(1, 2), minor(0, 2), minor(0, 1)]
    size = [jnp.abs(m) for m in minors]
    first = (size[0] >= size[1]) & (size[0] >= size[2])
    second = ~first & (size[1] >= size[2])
    area = jnp.where(first, minors[0], jnp.where(second, minors[1], minors[2]))
    flat = [
        (jnp.where(first, v[1], v[0]), jnp.where(first | second, v[2], v[1]))
        for v in (a, b, c, point)
    ]
    *triangle, (x, y) = flat

    def signed(u: tuple[jax.Array, jax.Array], v: tuple[jax.Array, jax.Array]) -> jax.Array:
        return x * u[1] + y * v[0] + u[0] * v[1] - x * v[1] - y * u[0] - v[0] * u[1]

    return area, [signed(triangle[i], triangle[j]) for i, j in ((1, 2), (2, 0), (0, 1))]


def _edges(a: Parts, b: Parts) -> Parts:
    """Barycentric coordinates, two arrays (k, N), for segments with components (k, N)."""
    side = _minus(b, a)
    scale = -(_dot(b, side) / _dot(side, side))
    point = [y + scale * s for y, s in zip(b, side, strict=True)]
    longest, first, second = a[0] - b[0], point[0] - b[0], a[0] - point[0]
    for i in (1, 2):
        longer = jnp.abs(a[i] - b[i]) >= jnp.abs(longest)
        longest = jnp.where(longer, a[i] - b[i], longest)
        first = jnp.where(longer, point[i] - b[i], first)
        second = jnp.where(longer, a[i] - point[i], second)
    within = same_sign(longest, first) & same_sign(longest, second)
    return [jnp.where(within, first / longest, 0), jnp.where(within, second / longest, 1)]


def _faces(corners: Sequence[Parts], opposite: Sequence[Parts]) -> Parts:
    """Barycentric coordinates, three arrays (k, N), for triangles.

    Args:
        corners: their corners, with components (k, N).
        opposite: coordinates, two arrays (k, N), of the nearest points of the sides.
    """
    point, flat = _project(*corners)
    area, shares = _weights(corners, point)
    towards = [same_sign(area, p) for p in shares]
    none = jnp.zeros_like(area)
    candidates = []
    for (i, j), (u, v) in zip(SIDES, opposite, strict=True):
        on_side = [u * x + v * y for x, y in zip(corners[i], corners[j], strict=True)]
        full = [none, none, none]
        full[i], full[j] = u, v
        candidates.append((full, _dot(on_side, on_side)))
    best = _closest(candidates, towards)
    inside = towards[0] & towards[1] & towards[2]
    best = [jnp.where(inside, p / area, w) for p, w in zip(shares, best, strict=True)]
    # no plane: MuJoCo takes the first side
    return [jnp.where(flat, x, w) for x, w in zip(candidates[2][0], best, strict=True)]


def _solid(vertices: Sequence[Parts], corners: Sequence[Parts], face: Parts) -> Parts:
    """Barycentric coordinates, four arrays (N,), for tetrahedra, given those of the faces."""
    a, b, c, d = vertices
    bc, cd = _cross(b, c), _cross(c, d)
    cofactors = [-_dot(b, cd), _dot(a, cd), -_dot(a, _cross(b, d)), _dot(a, bc)]
    total = cofactors[0] + cofactors[1] + cofactors[2] + cofactors[3]
    towards = [same_sign(total, x) for x in cofactors]
    point = [_dot(face, [v[i] for v in corners]) for i in range(3)]
    square = _dot(point, point)
    none = jnp.zeros_like(total)
    candidates = []
    for k, f in enumerate(FACES):
        full = [none] * 4
        for i in range(3):
            full[f[i]] = face[i][k]
        candidates.append((full, square[k]))
    best = _closest(candidates, towards)
    inside = towards[0] & towards[1] & towards[2] & towards[3]
    return [jnp.where(inside, x / total, w) for x, w in zip(cofactors, best, strict=True)]


def _closest(candidates: list[tuple[list[jax.Array], jax.Array]], towards: Parts) -> Parts:
    """The weights with the least squared distance of those that the origin is not towards."""
    weights = [jnp.zeros_like(candidates[0][1])] * len(candidates[0][0])
    least = jnp.full_like(candidates[0][1], FAR)
    for k, ((new, square), inward) in enumerate(zip(candidates, towards, strict=True)):
        nearer = ~inward if k == 0 else ~inward & (square < least)
        weights = [jnp.where(nearer, x, w) for x, w in zip(new, weights, strict=True)]
        least = jnp.where(nearer, square, least)
    return weights
