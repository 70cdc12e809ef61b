"""Capsules against capsules: the nearest points of two segments."""

import jax.numpy as jnp
import numpy as np

from mjjax.collision.primitive.sphere import touch_balls
from mjjax.collision.shape.contact_set import ContactSet, filled, first, tolerance
from mjjax.core.constants import MINVAL
from mjjax.math import safe
from mjjax.math.quat import cross
from mjjax.xla.linalg import dot, matmul
from mjjax.xla.namespace import Array, where

ENDS = np.array([1, -1])
# The candidate is the nearest pair of points. If the axes are parallel, there are four candidates:
# the ends of capsule 1, then the ends of capsule 2.
GENERAL = np.array([True, False, False, False])
END_OF_1 = np.array([True, True, False, False])


def capsule_capsule(
    pos1: Array, mat1: Array, size1: Array, pos2: Array, mat2: Array, size2: Array, margin: Array
) -> ContactSet:
    """Two capsules: the nearest points of their axes, or two contacts if the axes are parallel.

    Points of the axes are `pos + x * half` with x in [-1, 1]. If the axes are parallel, each of the
    four ends is tried with the nearest point of the other axis. The first two that touch are kept.
    """
    half1, half2 = size1[1] * mat1[:, 2], size2[1] * mat2[:, 2]
    offset = pos2 - pos1
    x, parallel = _nearest(half1, half2, offset)
    gap = offset[None] + x[:, 1:] * half2[None] - x[:, :1] * half1[None]
    reach = size1[0] + size2[0] + margin
    near = dot(gap, gap) <= reach * reach
    pick = first(near & (parallel | GENERAL), 2)
    x = matmul(pick.astype(x.dtype), x)
    centre1 = pos1[None] + x[:, :1] * half1[None]
    centre2 = pos2[None] + x[:, 1:] * half2[None]
    spare = cross(mat1[:, 2], mat2[:, 2])
    touch = touch_balls(centre1, size1[0], centre2, size2[0], spare, margin)
    return touch._replace(dist=filled(jnp.any(pick, axis=1), touch.dist))


def _nearest(half1: Array, half2: Array, offset: Array) -> tuple[Array, Array]:
    """Candidate pairs of points (4, 2) on two segments, and whether the segments are parallel.

    If r is the part of `half1` that is normal to `half2`, the lines are nearest at
    x1 = r.offset / r.r. To find the nearest points of the segments, x1 is clipped, then the best x2
    is taken for this x1, and then the best x1 for this x2.
    """
    vectors = jnp.stack([half1, half2, offset])
    gram = matmul(vectors, vectors.T)
    ends = jnp.asarray(ENDS, offset.dtype)
    normal = half1 - safe.divide(gram[0, 1], gram[1, 1]) * half2
    square = jnp.sum(normal * normal)
    # `normal` has the rounding error of a subtraction, so its square has the square of this error.
    least = tolerance(jnp.ones_like(square)) ** 2 * gram[0, 0] * gram[1, 1]
    parallel = square * gram[1, 1] < jnp.maximum(least, MINVAL)
    line = jnp.sum(normal * offset) / where(parallel, 1, square)
    start = where(parallel, ends, jnp.clip(line, -1, 1))
    answer = jnp.clip(safe.divide(gram[0, 1] * start - gram[1, 2], gram[1, 1]), -1, 1)
    x2 = jnp.concatenate([answer, ends])
    back = jnp.clip(safe.divide(gram[0, 1] * x2 + gram[0, 2], gram[0, 0]), -1, 1)
    x1 = where(parallel & END_OF_1, jnp.concatenate([ends, ends]), back)
    return jnp.stack([x1, x2], axis=1), parallel
