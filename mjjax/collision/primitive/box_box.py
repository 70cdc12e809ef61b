"""Boxes against boxes: a face of one box is clipped against the reference face of the other.

In the frame of the reference face a point has coordinates (x, y, g). The line through the point
along the contact normal meets the plane of the face at (x, y), and g is the distance along this
line. The map is linear, so the other face becomes a parallelogram, while the reference face is a
rectangle. The candidates are, in MuJoCo's order: where edges of the parallelogram meet the four
lines of the rectangle, corners of the rectangle in the parallelogram, and corners of the
parallelogram in the rectangle.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from mjjax.collision.primitive.box_axes import Facing, facing
from mjjax.collision.shape.contact_set import ContactSet, filled, first, plus_minus, tolerance
from mjjax.math import safe
from mjjax.xla.linalg import dot, matmul3, matmul3_t, matmul_as_sums, matvec3, matvec3_t
from mjjax.xla.loops import scan
from mjjax.xla.namespace import Array, where

BOX_SLOTS = 9
FURTHER = 1.01  # contacts outside a box that is larger by this factor are dropped
BOX_SIDES = np.array([-1, 1])
RECTANGLE = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
# Corners of the parallelogram; then, for each of its edges, the corner where it starts and its
# direction.
RECTANGLE_CORNERS = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
STARTS, DIRECTION = RECTANGLE_CORNERS[[0, 0, 1, 2]], np.array([0, 1, 1, 0])


class BoxFaces(NamedTuple):
    """The rectangle and the parallelogram of the other box, in (x, y, g) [m].

    Attributes:
        size: (3,) half sizes of the reference box.
        normal: (3,) unit direction of the contact, away from the reference box.
        corner: (3,) corner of the parallelogram.
        edges: (2, 3) its two edges; zero if there is none.
        centre: (3,) centre of the other box, in the frame of the face.
        rot: (3, 3) rotation of the other box in the frame of the face.
        other: (3,) half sizes of the other box.
    """

    size: Array
    normal: Array
    corner: Array
    edges: Array
    centre: Array
    rot: Array
    other: Array


class ClippedPoints(NamedTuple):
    """Candidates: places (n, 2) in the plane of the face, distances g, distances of contacts."""

    place: Array
    height: Array
    dist: Array
    valid: Array


def box_box(
    pos1: Array, mat1: Array, size1: Array, pos2: Array, mat2: Array, size2: Array, margin: Array
) -> ContactSet:
    """Two boxes: the contacts of two faces, in nine slots."""
    rot = matmul3(mat1.T, mat2)
    pos21, pos12 = matvec3_t(mat1, pos2 - pos1), matvec3_t(mat2, pos1 - pos2)
    choice = facing(rot, pos21, pos12, size1, size2, margin)
    second = choice.second
    faces, regular = _faces(choice, rot, pos21, pos12, size1, size2)
    points = _candidates(faces, choice, margin)

    local = 0.5 * points.height[:, None] * faces.normal[None]
    local += jnp.pad(points.place, ((0, 0), (0, 1)))
    good = points.valid & ~_outside(local, faces, margin)
    pick = first(good & ~_repeated(local, good, jnp.sum(size1 + size2)), BOX_SLOTS)
    columns = jnp.concatenate([local, points.dist[:, None]], axis=1)
    chosen = matmul_as_sums(pick.astype(local.dtype), columns)
    exists = jnp.any(pick, axis=1) & ~choice.apart & regular

    to_world = matmul3_t(choice.turn, where(second, mat2, mat1))
    shift = jnp.stack([jnp.zeros((), local.dtype), jnp.zeros((), local.dtype), faces.size[2]])
    pos = where(second, pos2, pos1)[None] + matmul3(chosen[:, :3] + shift[None], to_world)
    normal = where(second, -1, 1) * matvec3_t(to_world, faces.normal)
    normal = jnp.broadcast_to(normal, pos.shape)
    return ContactSet(filled(exists, chosen[:, 3]), pos, normal, jnp.zeros_like(pos))


def _faces(
    choice: Facing, rot: Array, pos21: Array, pos12: Array, size1: Array, size2: Array
) -> tuple[BoxFaces, Array]:
    """The two faces, and false if the normal lies in the plane of the reference face."""
    second, turn = choice.second, choice.turn
    rot = matmul3(turn, where(second, rot.T, rot))
    centre = matvec3(turn, where(second, pos12, pos21))
    size = matvec3(jnp.abs(turn), where(second, size2, size1))
    other = where(second, size1, size2)
    normal = where(choice.edge, matvec3(turn, choice.normal), jnp.asarray([0, 0, 1], rot.dtype))
    regular = normal[2] > tolerance(jnp.ones((), rot.dtype))

    half = rot * (plus_minus(choice.upper, rot.dtype) * other)[None]
    corner = centre + jnp.sum(half, axis=1) - size * jnp.asarray([0, 0, 1], rot.dtype)
    picked = jnp.stack([choice.first_edge, choice.second_edge]).astype(rot.dtype)
    points = jnp.concatenate([corner[None], -2 * matmul3_t(picked, half)])
    height = points[:, 2:] / where(regular, normal[2], 1)
    points = jnp.concatenate([points[:, :2] - height * normal[None, :2], height], axis=1)
    return BoxFaces(size, normal, points[0], points[1:], centre, rot, other), regular


def _candidates(faces: BoxFaces, choice: Facing, margin: Array) -> ClippedPoints:
    """All 24 candidates.

    If the axis is a product of edges and no edge of the parallelogram meets the rectangle, corners
    outside the rectangle count as well. They are clipped to it, and the way to the clipped place is
    part of their distance.
    """
    both = jnp.any(choice.second_edge)
    there = jnp.stack([jnp.any(choice.first_edge), both, both, both])
    lines = _crossings(faces, there, margin)
    none = choice.edge & ~jnp.any(lines.valid)
    corners = _rectangle(faces, choice.edge, both, none, margin)

    size = faces.size[:2]
    slack = tolerance(jnp.ones((), size.dtype))
    ends = _points(faces, jnp.asarray(RECTANGLE_CORNERS, size.dtype))
    scaled = jnp.abs(ends[:, :2]) / size[None]
    within = where(choice.edge, scaled <= 1 + slack, scaled < 1 - slack)
    near = jnp.all(within, axis=1) | (none & (jnp.any(within, axis=1) | ~jnp.any(corners.valid)))
    near |= ~choice.edge & (np.arange(4) == 0)
    there = jnp.stack([jnp.ones((), bool), there[0], both, both])
    away = jnp.clip(ends[:, :2], -size[None], size[None]) - ends[:, :2]
    away = where(none, away, 0)
    dist = _signed(ends[:, 2], dot(away, away) + ends[:, 2] * ends[:, 2])
    dist = where(none, dist, ends[:, 2])
    valid = near & there & (dist <= margin)
    own = ClippedPoints(ends[:, :2] + 0.5 * away, ends[:, 2], dist, valid)
    return ClippedPoints(*(jnp.concatenate(x) for x in zip(lines, corners, own, strict=True)))


def _rectangle(
    faces: BoxFaces, edge: Array, both: Array, none: Array, margin: Array
) -> ClippedPoints:
    """Corners of the rectangle in the parallelogram: four candidates.

    Their coordinates (u, v) along the edges follow from division by the parallelogram's area. If
    the axis is a product of edges, MuJoCo does so only until it has accepted a corner. From then on
    it divides by the square of that corner's distance, so that hardly any further corner passes.
    """
    size = faces.size[:2]
    slack = tolerance(jnp.ones((), size.dtype))
    targets = jnp.asarray(RECTANGLE, size.dtype) * size[None]
    (ax, ay), (bx, by) = faces.edges[:, :2]
    offset = targets - faces.corner[None, :2]
    x, y = offset[:, 0], offset[:, 1]
    numerators = jnp.stack([by * x - bx * y, ax * y - ay * x], axis=1)
    least = tolerance(jnp.sum(faces.size + faces.other) ** 2)

    def corner(divisor: Array, inputs: tuple[Array, Array]) -> tuple[Array, tuple[Array, ...]]:
        target, numerator = inputs
        solved = jnp.abs(divisor) > least
        along = numerator / where(solved, divisor, 1)
        closed = (along >= -slack) & (along <= 1 + slack)
        inside = where(edge, closed, (along > slack) & (along < 1 - slack))
        near = solved & both & where(none, jnp.any(inside), jnp.all(inside))
        along = where(edge, jnp.clip(along, 0, 1), along)
        point = _points(faces, along[None])[0]
        way, height = target - point[:2], point[2]
        square = dot(way, way - 2 * height * faces.normal[:2]) + height * height
        dist = where(edge, _signed(height, square), height)
        place = where(edge, target - 0.5 * way, target)
        return where(near & edge, square, divisor), (place, height, dist, near)

    area = ax * by - ay * bx
    _, found = scan(corner, area, (targets, numerators), unroll=4)
    place, height, dist, near = found
    return ClippedPoints(place, height, dist, near & (dist <= margin))


def _crossings(faces: BoxFaces, there: Array, margin: Array) -> ClippedPoints:
    """Points where edges of the parallelogram meet lines of the rectangle: 16 candidates."""
    size = faces.size[:2]
    start = _points(faces, jnp.asarray(STARTS, size.dtype))
    way = faces.edges[DIRECTION]
    slack = tolerance(jnp.ones((), size.dtype))
    close = tolerance(jnp.sum(size))
    crosses = jnp.abs(way[:, :2]) > close
    sides = jnp.asarray(BOX_SIDES, size.dtype)[None, None]
    gap = size[None, :, None] * sides - start[:, :2, None]
    x = gap / where(crosses, way[:, :2], 1)[..., None]
    point = start[:, None, None] + x[..., None] * way[:, None, None]
    beside = jnp.abs(jnp.stack([point[:, 0, :, 1], point[:, 1, :, 0]], axis=1))
    valid = (crosses & there[:, None])[..., None] & (x >= -slack) & (x <= 1 + slack)
    valid &= beside <= size[None, ::-1, None] + close
    valid &= point[..., 2] <= margin
    point = point.reshape(16, 3)
    return ClippedPoints(point[:, :2], point[:, 2], point[:, 2], valid.reshape(16))


def _points(faces: BoxFaces, along: Array) -> Array:
    """Points (n, 3) of the parallelogram at coordinates (n, 2) along its edges."""
    spans = along[:, :1] * faces.edges[:1] + along[:, 1:] * faces.edges[1:]
    return faces.corner[None] + spans


def _signed(height: Array, square: Array) -> Array:
    """Distance, computed from its square; negative below the face."""
    return safe.sqrt(square) * plus_minus(height >= 0, height.dtype)


def _outside(local: Array, faces: BoxFaces, margin: Array) -> Array:
    """Whether points (n, 3) are outside one of the boxes and not well inside the other."""
    reach = jnp.stack([faces.size, faces.other])[:, None] + margin
    centre = faces.size * jnp.asarray([0, 0, -1], local.dtype)
    inner = matmul3(local - faces.centre[None] - centre[None], faces.rot)
    place = jnp.abs(jnp.stack([local - centre[None], inner]))
    beyond = jnp.any(place > FURTHER * reach, axis=-1)
    within = jnp.all(place < reach / FURTHER, axis=-1)
    return jnp.any(beyond & ~within[::-1], axis=0)


def _repeated(local: Array, good: Array, scale: Array) -> Array:
    """Whether a later one of the points (n, 3) stands at the same place."""
    later = np.triu(np.ones((len(local), len(local)), bool), 1)
    same = jnp.all(jnp.abs(local[:, None] - local[None]) <= tolerance(scale), axis=-1)
    return jnp.any(same & later & good[None], axis=1)
