"""The separating axis of two boxes, and the two faces that meet along it.

Fifteen axes can separate two boxes: the normals of their faces, and the cross products of their
edges. The overlap along each axis is known in closed form, and the axis with the least overlap is
chosen. If it is the normal of a face, this face is the reference. The other box's lowest corner is
clipped against it, together with those edges at the corner that are flat enough. If the axis is a
product of edges, the reference is a face of box 1 at its edge, namely the one that is closest to
being normal to the axis. The face of box 2 is chosen in the same way.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from mjjax.collision.shape.contact_set import tolerance
from mjjax.math import safe
from mjjax.math.quat import cross
from mjjax.xla.linalg import dot, matmul, matmul3, matvec3, matvec3_t, smallest
from mjjax.xla.namespace import Array, where

BIAS = 1e-12  # if overlaps differ by less, relatively, the earlier axis is kept
FLAT_EDGE = 0.5  # edges whose angle to the reference face has a larger sine are not clipped
# Maps sizes to a symmetric matrix: entry (i, j) is the size along the third axis, zero for i = j.
_THIRD = np.array(
    [[[i != j and k not in (i, j) for k in range(3)] for j in range(3)] for i in range(3)]
)
# Rotations (6, 3, 3) from a box to its faces, with z outwards: first the upper faces, then the
# lower ones. They turn about such axes that the corners come in MuJoCo's order.
_TURN = np.array(
    [
        [[0, 0, -1], [0, 1, 0], [1, 0, 0]],
        [[1, 0, 0], [0, 0, -1], [0, 1, 0]],
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[0, 0, 1], [0, 1, 0], [-1, 0, 0]],
        [[1, 0, 0], [0, 0, 1], [0, -1, 0]],
        [[-1, 0, 0], [0, 1, 0], [0, 0, -1]],
    ]
)


class Facing(NamedTuple):
    """Which faces of two boxes meet.

    Attributes:
        apart: whether an axis separates the boxes by more than the margin.
        edge: whether the axis is a product of edges.
        second: whether the reference face belongs to box 2.
        turn: (3, 3) rotation from the reference box to its face, with z outwards.
        normal: (3,) if the axis is a product of edges, the axis in the frame of box 1, towards
            box 2.
        upper: (3,) for each axis, whether the clipped corner of the other box is on its upper side.
        first_edge: (3,) mask of the direction of one edge of the other box at that corner; all
            false if there is none.
        second_edge: (3,) mask of the direction of a second edge.
    """

    apart: Array
    edge: Array
    second: Array
    turn: Array
    normal: Array
    upper: Array
    first_edge: Array
    second_edge: Array


def facing(
    rot: Array, pos21: Array, pos12: Array, size1: Array, size2: Array, margin: Array
) -> Facing:
    """Chooses the faces.

    Args:
        rot: (3, 3) rotation of box 2 in the frame of box 1.
        pos21: (3,) centre of box 2 in the frame of box 1 [m].
        pos12: (3,) centre of box 1 in the frame of box 2 [m].
        size1: (3,) half sizes of box 1 [m].
        size2: (3,) half sizes of box 2 [m].
        margin: largest distance of contacts [m].
    """
    faces, edges = _overlaps(rot, pos21, pos12, size1, size2)
    scale = jnp.sum(size1 + size2)
    least_face, least_edge = smallest(faces), smallest(edges)
    apart = jnp.minimum(least_face, least_edge) < -margin
    edge = least_edge < least_face - jnp.sign(least_face) * _tie(least_face, scale)

    # Among equal overlaps of edges the first counts, but among equal distances the last.
    equal = edges <= least_edge + _tie(least_edge, scale)
    last = 8 - jnp.argmax(equal[::-1])
    index = where(least_edge > 0, jnp.argmax(equal), last)
    pair = (index == np.arange(9)).reshape(3, 3)
    by_edges = _edge_features(rot, pos21, jnp.any(pair, axis=1), jnp.any(pair, axis=0))

    shallow = jnp.argmax(faces <= least_face + _tie(least_face, scale))
    best = (shallow == np.arange(6)).reshape(3, 2)
    axis, second = jnp.any(best, axis=1), jnp.any(best[:, 1])
    negative = jnp.any(axis & (where(second, pos12, pos21) < 0))
    sine = matvec3(where(second, rot, rot.T), axis.astype(rot.dtype))
    flat = jnp.abs(sine) < FLAT_EDGE
    rank = jnp.cumsum(flat, dtype=jnp.int32)
    lower = where(negative, -sine, sine) < 0
    by_face = (axis, negative, lower, flat & (rank == 1), flat & (rank == 2))

    chosen = [where(edge, a, b) for a, b in zip(by_edges[:5], by_face, strict=True)]
    axis, negative, upper, first_edge, second_edge = chosen
    face = jnp.concatenate([axis & ~negative, axis & negative]).astype(rot.dtype)
    turn = matmul(face, jnp.asarray(_TURN.reshape(6, 9), rot.dtype)).reshape(3, 3)
    second &= ~edge
    return Facing(apart, edge, second, turn, by_edges[5], upper, first_edge, second_edge)


def _overlaps(
    rot: Array, pos21: Array, pos12: Array, size1: Array, size2: Array
) -> tuple[Array, Array]:
    """Overlaps [m] along the faces' normals (6,), boxes alternating, and the edges' products (9,).

    The overlap along a x b / |a x b| has an error: the rounding error of the sizes over |a x b|.
    This is added to the overlap. Otherwise edges that are almost parallel could separate the boxes,
    or have the least overlap, by noise.
    """
    steep = jnp.abs(rot)
    one = size1 + matvec3(steep, size2) - jnp.abs(pos21)
    two = size2 + matvec3_t(steep, size1) - jnp.abs(pos12)
    faces = jnp.stack([one, two], axis=1).reshape(6)

    dtype = rot.dtype
    square = matmul(jnp.asarray(1 - np.eye(3), dtype), rot * rot)
    parallel = square < tolerance(jnp.ones((), dtype)) ** 2
    length = jnp.sqrt(where(parallel, 1, square))
    third = jnp.asarray(_THIRD.reshape(9, 3), dtype)
    extent1, extent2 = (matmul(third, s).reshape(3, 3) for s in (size1, size2))
    axes = jnp.eye(3, dtype=dtype)
    moment = cross(jnp.broadcast_to(pos21, (3, 3)), axes)
    width = matmul3(extent1, steep) + matmul3(steep, extent2) - jnp.abs(matmul3(moment, rot))
    noise = 4 * float(jnp.finfo(dtype).eps) * jnp.sum(size1 + size2)
    edges = where(parallel, jnp.inf, (width + noise) / length)
    return faces, edges.reshape(9)


def _tie(overlap: Array, scale: Array) -> Array:
    """Difference up to which two overlaps [m] count as equal."""
    return BIAS * jnp.abs(overlap) + 16 * float(jnp.finfo(scale.dtype).eps) * scale


def _edge_features(rot: Array, pos21: Array, edge1: Array, edge2: Array) -> tuple[Array, ...]:
    """The faces at the edges with directions `edge1` (3,) of box 1 and `edge2` (3,) of box 2.

    Returns:
        The normal axis of box 1's face, whether it is the lower face, and then `upper`,
        `first_edge`, `second_edge` and `normal` of `Facing`.
    """
    one = edge1.astype(rot.dtype)
    row, column = matvec3_t(rot, one), matvec3(rot, edge2.astype(rot.dtype))
    product = cross(one, column)
    back = dot(product, pos21) < 0
    normal = safe.normalize(where(back, -product, product))[0]

    # The signs come from entries of the rotation, so they are exact if axes are parallel.
    after, before = jnp.roll(edge2, 1), jnp.roll(edge2, 2)
    rises = where(after, _entry(row, before) <= 0, _entry(row, after) > 0)
    upper = edge2 | (rises ^ back)
    across1, flat1 = _by_slope(edge1, jnp.abs(column))
    _, flat2 = _by_slope(edge2, jnp.abs(row))
    del flat1
    negative = ~jnp.any(across1 & ((product > 0) ^ back))
    return across1, negative, upper, edge2, flat2, normal


def _entry(row: Array, pick: Array) -> Array:
    return jnp.sum(where(pick, row, 0))


def _by_slope(edge: Array, slope: Array) -> tuple[Array, Array]:
    """The two other axes (3,), the one with lower slope first; equal ones are in MuJoCo's order."""
    usual = jnp.stack([edge[1], ~edge[1], jnp.zeros_like(edge[1])])
    other = ~(edge | usual)
    swap = _entry(slope, usual) < _entry(slope, other)
    return where(swap, usual, other), where(swap, other, usual)
