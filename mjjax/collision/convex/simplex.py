"""The point of a simplex nearest to the origin, for simplices of one to four vertices.

The signed-volumes method (Montanari, Petrinic, Barbieri 2017) with MuJoCo's choices: where its
rounding decides, the same quantities are compared. All six edges and four faces of a tetrahedron
are computed as two batches; a simplex of fewer vertices uses its own.
"""

import jax
import jax.numpy as jnp

from mjjax.collision.convex.lanes import combine, cross, det, dot, keep, pick
from mjjax.core.constants import MINVAL

EDGES = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
FACES = ((1, 2, 3), (0, 2, 3), (0, 1, 3), (0, 1, 2))  # face k lies opposite to vertex k
FAR = 1e10


def nearest(simplex: jax.Array, count: jax.Array) -> jax.Array:
    """Barycentric coordinates (4, N) of the point nearest to the origin.

    Args:
        simplex: vertices (4, 3, N); those from `count` on are ignored.
        count: (N,) number of vertices.
    """
    edge = _edges(*(jnp.stack([simplex[e[i]] for e in EDGES]) for i in (0, 1)))
    corners = [jnp.stack([simplex[f[i]] for f in FACES]) for i in range(3)]
    opposite = [jnp.stack([edge[EDGES.index((f[i], f[j]))] for f in FACES]) for i, j in _SIDES]
    face = _faces(corners, opposite)
    none = jnp.zeros_like(edge[0, 0])
    point = jnp.stack([none + 1, none, none, none])
    line = jnp.stack([edge[0, 0], edge[0, 1], none, none])
    triangle = jnp.stack([*face[3], none])
    solid = _solid(simplex, corners, face)
    return pick(jnp.stack([point, line, triangle, solid]), count - 1)


_SIDES = ((1, 2), (0, 2), (0, 1))  # edges of a triangle, the k-th opposite to corner k


def same_sign(a: jax.Array, b: jax.Array) -> jax.Array:
    """Whether both are positive or both negative."""
    return ((a > 0) & (b > 0)) | ((a < 0) & (b < 0))


def project_plane(a: jax.Array, b: jax.Array, c: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The origin's projection (..., 3, N) on the plane of a triangle; whether there is no plane.

    The normal is computed from the sides at b; if the area is tiny or the plane goes through the
    origin, from those at a, and then at c.
    """
    ba, ca, cb = b - a, c - a, c - b
    found, bad, done = None, None, None
    for u, v, corner in ((cb, ba, b), (ba, ca, a), (ca, cb, c)):
        normal = cross(u, v)
        nv, nn = dot(normal, corner), dot(normal, normal)
        point = normal * (nv / jnp.where(nn == 0, 1, nn))[..., None, :]
        if found is None or bad is None or done is None:
            found, bad, done = point, nn == 0, (nv != 0) & (nn > MINVAL)
        else:
            found = jnp.where((done | bad)[..., None, :], found, point)
            bad = bad | (~done & (nn == 0))
            done = done | ((nv != 0) & (nn > MINVAL))
    assert found is not None and bad is not None
    return found, bad


def _edges(a: jax.Array, b: jax.Array) -> jax.Array:
    """Barycentric coordinates (k, 2, N) for segments (k, 3, N)."""
    side = b - a
    scale = -(dot(b, side) / dot(side, side))
    point = b + scale[..., None, :] * side
    axis = [a[..., i, :] - b[..., i, :] for i in range(3)]
    longest, first, second = (
        axis[0],
        point[..., 0, :] - b[..., 0, :],
        a[..., 0, :] - point[..., 0, :],
    )
    for i in (1, 2):
        longer = jnp.abs(axis[i]) >= jnp.abs(longest)
        longest = jnp.where(longer, axis[i], longest)
        first = jnp.where(longer, point[..., i, :] - b[..., i, :], first)
        second = jnp.where(longer, a[..., i, :] - point[..., i, :], second)
    within = same_sign(longest, first) & same_sign(longest, second)
    weights = jnp.stack([first / longest, second / longest], axis=-2)
    end = jnp.asarray([[0], [1]], a.dtype)
    return jnp.where(within[..., None, :], weights, end)


def plane_weights(corners: list[jax.Array], point: jax.Array) -> tuple[jax.Array, list[jax.Array]]:
    """Barycentric coordinates of points of the planes of triangles, times the returned area.

    Computed in the coordinate plane onto which the triangle's shadow is largest.

    Args:
        corners: three arrays (..., 3, N).
        point: (..., 3, N).
    """
    a, b, c = corners

    def minor(i: int, j: int) -> jax.Array:
        (ai, aj), (bi, bj), (ci, cj) = ((v[..., i, :], v[..., j, :]) for v in (a, b, c))
        return bi * cj - bj * ci - ai * cj + aj * ci + ai * bj - aj * bi

    planes = ((1, 2), (0, 2), (0, 1))
    minors = [minor(i, j) for i, j in planes]
    size = [jnp.abs(m) for m in minors]
    first = (size[0] >= size[1]) & (size[0] >= size[2])
    second = ~first & (size[1] >= size[2])

    def choose(values: list[jax.Array]) -> jax.Array:
        return jnp.where(first, values[0], jnp.where(second, values[1], values[2]))

    area = choose(minors)
    flat = [
        [choose([v[..., plane[k], :] for plane in planes]) for k in (0, 1)]
        for v in (a, b, c, point)
    ]
    (ax, ay), (bx, by), (cx, cy), (px, py) = flat

    def signed(ux: jax.Array, uy: jax.Array, vx: jax.Array, vy: jax.Array) -> jax.Array:
        return px * uy + py * vx + ux * vy - px * vy - py * ux - vx * uy

    parts = [signed(bx, by, cx, cy), signed(cx, cy, ax, ay), signed(ax, ay, bx, by)]
    return area, parts


def _faces(corners: list[jax.Array], opposite: list[jax.Array]) -> jax.Array:
    """Barycentric coordinates (k, 3, N) for triangles with `corners`, three arrays (k, 3, N).

    Args:
        corners: their corners.
        opposite: coordinates (k, 2, N) of the nearest points of the edges opposite to each.
    """
    point, flat = project_plane(*corners)
    area, parts = plane_weights(corners, point)
    towards = [same_sign(area, p) for p in parts]
    inside = towards[0] & towards[1] & towards[2]
    none = jnp.zeros_like(area)
    candidates = []
    for (i, j), weights in zip(_SIDES, opposite, strict=True):
        u, v = weights[..., 0, :], weights[..., 1, :]
        nearest_point = u[..., None, :] * corners[i] + v[..., None, :] * corners[j]
        full = [none, none, none]
        full[i], full[j] = u, v
        candidates.append((jnp.stack(full, axis=-2), dot(nearest_point, nearest_point)))
    best = _closest(candidates, towards)
    best = jnp.where(inside[..., None, :], jnp.stack([p / area for p in parts], axis=-2), best)
    # no plane: MuJoCo takes the first edge
    return jnp.where(flat[..., None, :], candidates[2][0], best)


def _solid(simplex: jax.Array, corners: list[jax.Array], face: jax.Array) -> jax.Array:
    """Barycentric coordinates (4, N) for tetrahedra, given those (4, 3, N) of the faces."""
    a, b, c, d = simplex
    cofactors = [-det(b, c, d), det(a, c, d), -det(a, b, d), det(a, b, c)]
    total = cofactors[0] + cofactors[1] + cofactors[2] + cofactors[3]
    towards = [same_sign(total, x) for x in cofactors]
    inside = towards[0] & towards[1] & towards[2] & towards[3]
    point = combine([face[:, i] for i in range(3)], corners)
    square = dot(point, point)
    none = jnp.zeros_like(total)
    candidates = []
    for k, f in enumerate(FACES):
        full = [none] * 4
        for i in range(3):
            full[f[i]] = face[k, i]
        candidates.append((jnp.stack(full), square[k]))
    best = _closest(candidates, towards)
    return keep(inside, jnp.stack([x / total for x in cofactors]), best)


def _closest(candidates: list[tuple[jax.Array, jax.Array]], towards: list[jax.Array]) -> jax.Array:
    """The weights with the least squared distance of those that the origin is not towards."""
    weights = jnp.zeros_like(candidates[0][0])
    least = jnp.full_like(candidates[0][1], FAR)
    for k, ((new, square), inward) in enumerate(zip(candidates, towards, strict=True)):
        nearer = ~inward if k == 0 else ~inward & (square < least)
        weights = jnp.where(nearer[..., None, :], new, weights)
        least = jnp.where(nearer, square, least)
    return weights
