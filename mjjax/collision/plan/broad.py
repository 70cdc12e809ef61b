"""Broad phase: finds the pairs that are near, in all worlds, and makes a queue of them.

The bounding spheres of all pairs are compared at once. The answers are kept as bits, so that the
k-th near pair is found by counting bits. Oriented boxes (`boxes_near`) are compared for the pairs
that have passed this test, before their kernel is run. Both tests allow for rounding errors, so
that no pair that touches is left out.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.model import bounds
from mjjax.model.bounds import PRIMITIVES
from mjjax.xla.indexing import gather
from mjjax.xla.linalg import dot, matmul3, matvec3, matvec3_t
from mjjax.xla.namespace import Array, where

WORD_BITS = 32  # bits of a word


class Near(NamedTuple):
    """Queue of the pairs that are near, which are bits in words.

    Attributes:
        words: (n,) words with one bit for every pair.
        upto: (n,) number of near pairs in all words up to each word, inclusive.
    """

    words: Array
    upto: Array

    @property
    def total(self) -> Array:
        """Number of near pairs."""
        return self.upto[-1]

    def take(self, k: Array) -> tuple[Array, Array]:
        """Words and bits at which the k-th entries stand, for `k` (n,) less than `total`."""
        place = jnp.searchsorted(self.upto, k, side="right").astype(jnp.int32)
        place = jnp.minimum(place, self.upto.shape[0] - 1)
        word = self.words[place]
        rank = k - (self.upto[place] - lax.population_count(word).astype(jnp.int32))
        return place, _bit(word, rank)


def _bit(word: Array, rank: Array) -> Array:
    """Place of the set bit of a word with `rank` set bits below it, found by halving the word."""
    place = jnp.zeros_like(rank)
    for half in (16, 8, 4, 2, 1):
        low = lax.population_count(word & np.uint32((1 << half) - 1)).astype(jnp.int32)
        above = rank >= low
        rank = where(above, rank - low, rank)
        word = where(above, word >> np.uint32(half), word)
        place = where(above, place + half, place)
    return place


def packed(near: Array) -> Array:
    """Words (W width,) with the bits of `near` (n, W), by world, then by pair."""
    count, worlds = near.shape
    width = -(-count // WORD_BITS)
    near = jnp.pad(near, ((0, width * WORD_BITS - count), (0, 0))).reshape(width, WORD_BITS, worlds)
    value = jnp.asarray(1 << np.arange(WORD_BITS), jnp.uint32)[None, :, None]
    words = jnp.sum(where(near, value, np.uint32(0)), axis=1, dtype=jnp.uint32)
    return words.T.reshape(-1)


def queue(words: Array) -> Near:
    """Queue of the bits that are set in words (n,)."""
    upto = jnp.cumsum(lax.population_count(words).astype(jnp.int32), dtype=jnp.int32)
    return Near(words, upto)


def spheres_near(
    pos: Array,
    mat: Array,
    rbound: Array,
    margin: Array,
    geom: np.ndarray,
    plane: np.ndarray,
) -> Array:
    """Whether the bounding spheres of pairs (n, W) are within their margins.

    Args:
        pos: (ngeom, 3, W) positions [m].
        mat: (ngeom, 9, W) rotations.
        rbound: (ngeom, W) radii [m], 0 if a geom has no bounds; W may be 1 here and below.
        margin: (n, W) distances that count as near [m].
        geom: (n, 2) pairs.
        plane: (n,) whether the first geom is a plane; then the height of the second geom decides.
    """
    g1, g2 = geom.T
    offset = gather(pos, g2) - gather(pos, g1)
    one, two = gather(rbound, g1), gather(rbound, g2)
    reach = one + two + margin
    near = _dot(offset, offset) <= (1 + rounding(pos)) * reach * reach
    near = (near & (reach >= 0)) | (one <= 0) | (two <= 0)
    if not plane.any():
        return near
    height = _dot(offset, gather(mat[:, 2::3], g1))
    slack = rounding(pos) * (_dot(jnp.abs(offset), jnp.ones_like(offset)) + jnp.abs(reach))
    over = (height - reach <= slack) | (two <= 0)
    return where(plane[:, None], over, near)


def _dot(a: Array, b: Array) -> Array:
    """Inner products (n, W) of vectors (n, 3, W)."""
    return dot(jnp.swapaxes(a, 1, 2), jnp.swapaxes(b, 1, 2))


class Boxes(NamedTuple):
    """Bounding boxes of n geoms.

    Attributes:
        centre: (n, 3) world frame [m].
        mat: (n, 3, 3) axes in columns.
        half: (n, 3) half sizes [m].
    """

    centre: Array
    mat: Array
    half: Array


def current_bounds(
    kind: np.ndarray, size: Array, rbound: Array, aabb: Array
) -> tuple[Array, Array]:
    """`geom_rbound` (n,) and `geom_aabb` (n, 6); those of primitive shapes follow their sizes.

    Users change `geom_size`, for example to identify it. If bounds were too small, contacts would
    disappear.
    """
    primitive = np.isin(kind, PRIMITIVES)
    radius = where(primitive, bounds.rbound(kind, size), rbound)
    box = jnp.concatenate([jnp.zeros_like(size), bounds.half_sizes(kind, size)], axis=1)
    return radius, where(primitive[:, None], box, aabb)


def boxes_of(pos: Array, mat: Array, aabb: Array) -> Boxes:
    """Bounding boxes of geoms at positions (n, 3), rotations (n, 3, 3), with `geom_aabb` (n, 6)."""
    return Boxes(pos + matvec3(mat, aabb[:, :3]), mat, aabb[:, 3:])


def boxes_near(one: Boxes, two: Boxes, margin: Array) -> Array:
    """Whether no face of either box separates the boxes (n,) by more than the margins (n,)."""
    offset = two.centre - one.centre
    turn = jnp.abs(matmul3(jnp.swapaxes(one.mat, 1, 2), two.mat))
    near = jnp.ones(offset.shape[0], bool)
    for mine, other, between in (
        (one, two, turn),
        (two, one, jnp.swapaxes(turn, 1, 2)),
    ):
        away = jnp.abs(matvec3_t(mine.mat, offset))
        reach = mine.half + matvec3(between, other.half) + margin[:, None]
        slack = rounding(offset) * (jnp.sum(jnp.abs(offset), axis=1)[:, None] + jnp.abs(reach))
        near &= jnp.all(away - reach <= slack, axis=1)
    return near


def rounding(x: Array) -> float:
    """The largest relative difference that rounding is assumed to make."""
    return 16 * float(jnp.finfo(x.dtype).eps)
