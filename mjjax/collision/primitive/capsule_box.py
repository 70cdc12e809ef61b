"""Capsules against boxes.

The first contact is at the point of the capsule's axis that is nearest to the box. This point is
sought among the ends that lie over a face and the nearest points to the twelve edges. The second
contact follows MuJoCo's rule: from the first point the axis is followed in the direction in which
it stays over the box, as far as it stays there. Both points are then the centres of balls that
touch the box. As in MuJoCo, the search does not notice an axis that pierces two faces with both
ends outside. Its result is then the nearest edge.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from mjjax.collision.primitive.plane import BOX_CORNERS
from mjjax.collision.primitive.sphere import touch_box
from mjjax.collision.shape.contact_set import NO_CONTACT, ContactSet, filled, plus_minus, tolerance
from mjjax.xla.linalg import dot, matmul, smallest
from mjjax.xla.namespace import Array, where

AXES = np.eye(3, dtype=bool)
# Middles of the cube's edges (3, 4, 3), by direction; among parallel edges x changes fastest.
EDGES = np.stack([np.where(AXES[j], 0, BOX_CORNERS[BOX_CORNERS[:, j] < 0]) for j in range(3)])


class CapsuleAxis(NamedTuple):
    """Axis of the capsule in the frame of the box: the points `centre + x * half`, -1 <= x <= 1.

    Attributes:
        centre: (3,) middle [m].
        half: (3,) vector from the middle to the upper end [m].
        axis: (3,) direction of `half`, unit.
        length: half length [m].
    """

    centre: Array
    half: Array
    axis: Array
    length: Array


class Nearest(NamedTuple):
    """Nearest points of segment and box, and how the segment is followed from there.

    Attributes:
        square: squared distance [m^2].
        x: place on the segment.
        point: (3,) point of the box [m].
        forth: direction in which the segment is followed, 1 or -1.
        bound: (3,) axes of the box; leaving the box along one of them ends the way.
        follow: whether there is a second contact.
    """

    square: Array
    x: Array
    point: Array
    forth: Array
    bound: Array
    follow: Array


def capsule_box(
    pos1: Array, mat1: Array, size1: Array, pos2: Array, mat2: Array, size2: Array, margin: Array
) -> ContactSet:
    """Capsule and box: contacts at the nearest point of the axis and where it leaves the box."""
    local = matmul(jnp.stack([pos1 - pos2, mat1[:, 2]]), mat2)
    half = size1[1] * local[1]
    segment = CapsuleAxis(local[0], half, local[1], size1[1])
    end = _nearest_end(segment, size2)
    edge = _nearest_edge(segment, size2)
    # MuJoCo starts its search from this value. It is a length but is compared with squared lengths,
    # so that a very thick capsule can miss a small box.
    start = margin + 2 * (size1[0] + size1[1] + jnp.sum(size2))
    best = jnp.minimum(end.square, start)
    on_edge = edge.square < best - tolerance(best)
    nearest = Nearest(*(where(on_edge, a, b) for a, b in zip(edge, end, strict=True)))

    # The second point is the segment's end, or the place where it leaves the box sideways.
    speed = jnp.abs(half)
    room = 1 - nearest.forth * nearest.x
    reach = size2 - nearest.forth * plus_minus(half > 0, half.dtype) * nearest.point
    # If an end is level with a face, this face does not bound the way from that end.
    leaves = nearest.bound & (on_edge | (reach > 0)) & (reach < room * speed)
    # The derivative divides by the square of the speed; if this underflows, the reach is zero.
    divisible = leaves & (speed * speed > float(jnp.finfo(half.dtype).tiny))
    way = reach / where(divisible, speed, 1)
    way = smallest(where(leaves, way, room))
    x = jnp.stack([nearest.x, nearest.x + nearest.forth * way])

    centre = pos1[None] + x[:, None] * (size1[1] * mat1[:, 2])[None]
    touch = touch_box(centre, size1[0], pos2, mat2, size2, margin)
    found = on_edge | (end.square < start)
    exists = jnp.stack([found, found & nearest.follow])
    return touch._replace(dist=filled(exists, touch.dist))


def _nearest_end(segment: CapsuleAxis, size: Array) -> Nearest:
    """The nearer of those ends of the segment that are over a face of the box or inside.

    If both are equally near, the lower end counts. From an end over a face the segment is followed
    towards its other end, within that face.
    """
    sides = jnp.asarray([[-1], [1]], size.dtype)
    ends = segment.centre[None] + sides * segment.half[None]
    beyond = ends - jnp.clip(ends, -size[None], size[None])
    over_face = jnp.sum(beyond != 0, axis=1, dtype=jnp.int32) <= 1
    square = where(over_face, dot(beyond, beyond), NO_CONTACT)
    upper = square[1] < square[0]
    x = plus_minus(upper, size.dtype)
    end = segment.centre + x * segment.half
    outside = jnp.abs(end) > size
    return Nearest(smallest(square), x, end, -x, ~outside, jnp.any(outside))


def _nearest_edge(segment: CapsuleAxis, size: Array) -> Nearest:
    """Nearest points of the segment and the twelve edges; of equally near ones the first counts."""
    x, y, clipped, parallel = _nearest_on_edges(segment, size)
    axes = jnp.asarray(AXES, size.dtype)[:, None]
    point = jnp.asarray(EDGES, size.dtype) + axes * y[..., None]
    gap = point * size[None, None] - segment.centre[None, None]
    gap = gap - x[..., None] * segment.half[None, None]
    square = where(parallel, NO_CONTACT, dot(gap, gap)).reshape(12)
    least = smallest(square)
    index = jnp.argmax(square <= least + tolerance(least))
    pick = (index == np.arange(12)).astype(size.dtype)
    columns = jnp.concatenate([point, x[..., None], clipped[..., None]], axis=-1)
    chosen = matmul(pick, columns.reshape(12, 5))
    along = jnp.sum(pick.reshape(3, 4), axis=1) > 0
    corner = chosen[4] != 0
    point = where(along & corner, chosen[4], chosen[:3])
    forth, bound, follow = _follow(segment, point, along, corner)
    return Nearest(least, chosen[3], point * size, forth, bound, follow)


def _nearest_on_edges(segment: CapsuleAxis, size: Array) -> tuple[Array, Array, Array, Array]:
    """Nearest points of the segment and each edge.

    The points of an edge are `middle + y * size_j * e_j`, so the squared distance is a quadratic
    form in x and y. Its minimum is clipped in y, then in x for this y, then again in y for this x.

    Returns:
        Four arrays. The first three have shape (3, 4): the place x on the segment and the place y
        on the edge, both in [-1, 1], and the end to which y was clipped, 1, -1 or 0. A clipping
        of y counts even if clipping x then moves y back into the edge. The fourth array (3, 1)
        says whether the edges are parallel to the segment.
    """
    centre, half = segment.centre, segment.half
    yy = (size * size)[:, None]
    xx = segment.length * segment.length
    xy = -(size * half)[:, None]
    along_y = (size * centre)[:, None]
    along_x = matmul(jnp.asarray(EDGES, size.dtype), size * half) - jnp.sum(half * centre)
    # This is yy * xx - xy * xy, without cancellation if edges are almost parallel to the segment.
    det = yy * matmul(jnp.asarray(~AXES, size.dtype), half * half)[:, None]
    parallel = det < tolerance(yy * xx)
    line = (xx * along_y - xy * along_x) / where(parallel, 1, det)
    y = jnp.clip(line, -1, 1)
    free = (along_x - xy * y) / where(xx > 0, xx, 1)
    x = jnp.clip(free, -1, 1)
    back = (along_y - xy * x) / yy
    again = jnp.clip(back, -1, 1)
    moved = jnp.abs(free) > 1
    clipped = jnp.sign(line - y)
    clipped = where(moved & (back != again), jnp.sign(back), clipped)
    return x, where(moved, again, y), clipped, parallel


def _follow(
    segment: CapsuleAxis, point: Array, along: Array, corner: Array
) -> tuple[Array, Array, Array]:
    """MuJoCo's rule for the second contact if the first one is at an edge or a corner.

    At a corner the segment enters the box along some axes and leaves it along the others. The lone
    axis is the one on which it does otherwise than on the other two. A segment that is close to the
    lone axis follows the edge along it; otherwise it follows the face normal to it. A segment that
    enters or leaves along all three axes has no second contact. At an edge the segment follows the
    face that it meets at the lower angle, if it enters along one of the two axes normal to the edge
    and leaves along the other.

    Args:
        segment: axis of the capsule.
        point: (3,) nearest point, scaled so that the box is a cube: 1 or -1 except along an edge.
        along: (3,) direction of the nearest edge.
        corner: whether the nearest point is a corner.

    Returns:
        The fields `forth`, `bound` and `follow` of `Nearest`.
    """
    inward = ((segment.half > 0) == (point < 0)) & (corner | ~along)
    count = jnp.sum(inward, dtype=jnp.int32)
    one = count == 1
    lone = inward == one
    slope = jnp.abs(segment.axis)
    steep = jnp.sum(where(lone, slope * slope, 0)) > 0.5
    after = jnp.roll(along, 1)
    difference = jnp.sum(where(after, slope, where(along, 0, -slope)))
    lower = ~along & (after == (difference > 0))
    up = where(corner, one == steep, jnp.any(lower & inward))
    forth = plus_minus(up, slope.dtype)
    bound = where(corner, lone == steep, lower | along)
    return forth, bound, one | (corner & (count == 2))
