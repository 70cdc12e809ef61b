"""Sweep and prune: finds the near pairs among many geoms without a test of all pairs.

The geoms of a world are sorted along the axis on which they are spread the most, by the beginnings
of their bounding spheres. They stand in blocks of 32. Two blocks that overlap along this axis form
a tile. All spheres of one block are compared with all of the other, which gives a word of bits for
every geom. Tiles are numbered through all worlds and treated in chunks. The pairs that their bits
stand for are written to a buffer, except pairs that may not collide. No pair is lost, because the
buffer is filled again once its pairs have been treated.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.collision.plan.broad import WORD_BITS, Near, packed, queue, rounding
from mjjax.collision.plan.numbers import number_of
from mjjax.collision.plan.params import lookup
from mjjax.collision.plan.search import SearchPlan
from mjjax.collision.queue.scene import Bounds, CollisionScene
from mjjax.xla.loops import cond, while_loop
from mjjax.xla.namespace import Array, where
from mjjax.xla.place import on_processor

TILES_CPU, TILES = 64, 8192  # that are tested at a time
TAKEN_CPU, TAKEN = 1024, 65536  # pairs that are counted out at a time
FAR = 1e18  # [m], with a square in float32
# Of each geom of a block the bits of those that come later.
_LATER = np.array([2**WORD_BITS - 2 ** (k + 1) for k in range(WORD_BITS)], np.uint32)
ROOM = 16  # pairs in the buffer for each geom


class Sorted(NamedTuple):
    """The geoms of W worlds along an axis, in B blocks of 32 for each world.

    Attributes:
        table: (W B, 4, 32) centres and radii of the bounding spheres, margins included [m].
        place: (W B 32,) index among the swept geoms; places beyond the last geom hold any number.
        upto: (W B,) number of tiles of this and all earlier blocks.
    """

    table: Array
    place: Array
    upto: Array


class Buffer(NamedTuple):
    """Pairs that are near, and how far the sweep has come.

    Attributes:
        world: (R,) worlds of the pairs.
        number: (R,) numbers of the pairs.
        part: (R,) their classes.
        fill: number of pairs in the buffer.
        tile: tiles tested.
        blocks: (2, T) the blocks of the last tiles, counted through all worlds.
        near: bits of the last tiles.
        taken: number of pairs already taken from these bits.
    """

    world: Array
    number: Array
    part: Array
    fill: Array
    tile: Array
    blocks: Array
    near: Near
    taken: Array


class Sweep:
    """The sweep of all worlds; its `Buffer` starts `empty` and is refilled while pairs are left."""

    def __init__(
        self, search: SearchPlan, scene: CollisionScene, bounds: Bounds, worlds: int
    ) -> None:
        """Sorts the geoms."""
        assert search.swept is not None
        cpu = on_processor()
        self.search, self.swept = search, search.swept
        self.blocks = -(-len(self.swept.geoms) // WORD_BITS)
        most = worlds * self.blocks * (self.blocks + 1) // 2
        self.tiles = min(most, TILES_CPU if cpu else TILES)
        self.chunk = min(self.tiles * WORD_BITS * WORD_BITS, TAKEN_CPU if cpu else TAKEN)
        self.room = self.chunk + ROOM * worlds * len(self.swept.geoms)
        self.sorted = _sorted(search, scene, bounds, worlds, self.blocks)

    def empty(self) -> Buffer:
        """The buffer at the beginning of the sweep."""
        none, zero = jnp.zeros(self.room, jnp.int32), jnp.int32(0)
        blocks = jnp.zeros((2, self.tiles), jnp.int32)
        words = jnp.zeros(self.tiles * WORD_BITS, jnp.uint32)
        return Buffer(none, none, none, zero, zero, blocks, queue(words), zero)

    def left(self, buffer: Buffer) -> Array:
        """Whether there may be pairs that have not been in the buffer."""
        return (buffer.tile < self.sorted.upto[-1]) | (buffer.taken < buffer.near.total)

    def refill(self, buffer: Buffer) -> Buffer:
        """The buffer with the next pairs, as many as there is room for."""

        def tested(b: Buffer) -> Array:
            return (b.taken >= b.near.total) & (b.tile < self.sorted.upto[-1])

        def more(b: Buffer) -> Array:
            return self.left(b) & (b.fill + self.chunk <= self.room)

        def step(b: Buffer) -> Buffer:
            return self._take(while_loop(tested, self._test, b))

        return while_loop(more, step, buffer._replace(fill=jnp.int32(0)))

    def of_classes(self, buffer: Buffer, classes: tuple[int, ...]) -> Array:
        """Words with a bit for every place in the buffer, set for pairs of the classes."""
        chosen = np.isin(np.arange(len(self.search.classes)), classes)
        mine = jnp.asarray(chosen)[buffer.part]
        mine &= np.arange(self.room, dtype=np.int32) < buffer.fill
        return packed(mine[:, None])

    def _blocks_of(self, tile: Array) -> tuple[Array, Array]:
        """Both blocks of tiles (n,), counted through all worlds."""
        upto = self.sorted.upto
        one = jnp.searchsorted(upto, tile, side="right").astype(jnp.int32)
        one = jnp.minimum(one, len(upto) - 1)
        before = where(one > 0, upto[one - 1], 0)
        return one, jnp.minimum(one + tile - before, len(upto) - 1)

    def _test(self, b: Buffer) -> Buffer:
        """Tests the spheres of the next tiles."""
        tile = b.tile + np.arange(self.tiles, dtype=np.int32)
        one, two = self._blocks_of(tile)
        table, real = self.sorted.table, jnp.asarray(tile) < self.sorted.upto[-1]
        nothing = jnp.zeros((self.tiles, *table.shape[1:]), table.dtype)
        # looked up once, not again in every comparison
        row, column = cond(
            jnp.any(real), lambda: (table[one], table[two]), lambda: (nothing, nothing)
        )
        row, column = row[:, :, None], column[..., None]
        offset = row[:, :3] - column[:, :3]
        x, y, z = offset[:, 0], offset[:, 1], offset[:, 2]
        reach = row[:, 3] + column[:, 3]
        near = x * x + y * y + z * z <= (1 + rounding(reach)) * reach * reach
        near &= reach >= 0
        value = jnp.asarray(1 << np.arange(WORD_BITS), jnp.uint32)[None, :, None]
        words = jnp.sum(where(near, value, np.uint32(0)), axis=1, dtype=jnp.uint32)
        words &= where(
            (one == two)[:, None], jnp.asarray(_LATER)[None], np.uint32(2**WORD_BITS - 1)
        )
        words = where(real[:, None], words, np.uint32(0))
        near = queue(words.reshape(-1))
        blocks = jnp.stack([one, two])
        return b._replace(tile=b.tile + self.tiles, blocks=blocks, near=near, taken=jnp.int32(0))

    def _take(self, b: Buffer) -> Buffer:
        """Counts out the next pairs that are near, and keeps those that may collide."""
        slot = np.arange(self.chunk, dtype=np.int32)
        word, column = b.near.take(b.taken + slot)
        tile, row = word // WORD_BITS, word % WORD_BITS
        one, two = b.blocks[:, tile]
        world = one // self.blocks
        i, j = self.sorted.place[one * WORD_BITS + row], self.sorted.place[two * WORD_BITS + column]
        keep = (b.taken + slot < b.near.total) & (jnp.maximum(i, j) < len(self.swept.geoms))
        keep &= self._legal(i, j)
        upto = jnp.cumsum(keep, dtype=jnp.int32)
        target = where(keep, b.fill + upto - 1, self.room)

        def put(table: Array, value: Array) -> Array:
            return jnp.asarray(table).at[target].set(value, mode="drop", unique_indices=True)

        number = self._number(i, j)
        return b._replace(
            world=put(b.world, world),
            number=put(b.number, number),
            part=put(b.part, self.search.class_of(number)),
            fill=b.fill + upto[-1],
            taken=b.taken + self.chunk,
        )

    def _legal(self, i: Array, j: Array) -> Array:
        words = self.swept.legal
        word = jnp.asarray(words.reshape(-1))[i * words.shape[1] + j // WORD_BITS]
        return (word >> (j % WORD_BITS).astype(jnp.uint32)) & np.uint32(1) > 0

    def _number(self, i: Array, j: Array) -> Array:
        """Numbers of pairs of swept geoms: the lower type first, then the lower body."""
        i, j = jnp.minimum(i, j), jnp.maximum(i, j)
        first, second = (lookup(self.swept.geoms, x) for x in (i, j))
        kind = self.search.structure.geom_type
        swap = lookup(kind, first) > lookup(kind, second)
        geom = [where(swap, second, first), where(swap, first, second)]
        return number_of(self.search.structure, jnp.stack(geom, axis=1))


def _sorted(
    search: SearchPlan, scene: CollisionScene, bounds: Bounds, worlds: int, blocks: int
) -> Sorted:
    """Sorts the geoms of all worlds, each world along its own axis."""
    assert search.swept is not None
    geoms = search.swept.geoms
    pos, rbound = scene.pos.all()[:, geoms], bounds.rbound.all()[:, geoms]
    if search.override:
        margin = 0.5 * scene.o_margin.all()[:, None]
    else:
        margin = scene.margin.all()[:, geoms]
    radius = where(rbound > 0, jnp.maximum(rbound + margin, 0), jnp.inf)
    pos = jnp.broadcast_to(pos, (worlds, *pos.shape[1:]))
    radius = jnp.broadcast_to(radius, pos.shape[:2])

    along = jnp.take_along_axis(pos, _longest(pos)[:, None, None], axis=2)[..., 0]
    slack = rounding(along) * (jnp.abs(along) + radius)
    low, high = along - radius - slack, along + radius + slack
    low = where(jnp.isnan(low), jnp.inf, low)
    high = where(jnp.isnan(high), -jnp.inf, high)
    more = ((0, 0), (0, blocks * WORD_BITS - len(geoms)))
    low = jnp.pad(low, more, constant_values=jnp.inf)
    place = jnp.broadcast_to(np.arange(blocks * WORD_BITS, dtype=np.int32)[None], low.shape)
    low, place = lax.sort((low, place), dimension=1, num_keys=1)

    columns = [*(jnp.pad(pos[..., k], more) for k in range(3))]
    columns += [jnp.pad(x, more, constant_values=-FAR) for x in (radius, high)]
    *columns, high = (jnp.take_along_axis(x, place, axis=1) for x in columns)
    end = jax.vmap(lambda a, v: jnp.searchsorted(a, v, side="right"))(low, high)
    last = jnp.max(
        (end.astype(jnp.int32) - 1).reshape(worlds, blocks, WORD_BITS) // WORD_BITS, axis=2
    )
    count = jnp.maximum(last - np.arange(blocks, dtype=np.int32)[None], 0) + 1
    table = jnp.stack([x.reshape(worlds * blocks, WORD_BITS) for x in columns], axis=1)
    return Sorted(table, place.reshape(-1), jnp.cumsum(count.reshape(-1), dtype=jnp.int32))


def _longest(pos: Array) -> Array:
    """Axis (W,) along which positions (W, n, 3) vary the most; those not finite do not count."""
    finite = jnp.all(jnp.isfinite(pos), axis=2, keepdims=True)
    count = jnp.maximum(jnp.sum(finite, axis=1, keepdims=True, dtype=pos.dtype), 1)
    mean = jnp.sum(where(finite, pos, 0), axis=1, keepdims=True) / count
    off = where(finite, pos - mean, 0)
    return jnp.argmax(jnp.sum(off * off, axis=1), axis=1).astype(jnp.int32)
