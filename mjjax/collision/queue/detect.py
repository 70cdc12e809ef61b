"""Contacts by a queue over the pairs of all worlds; the cost depends on the number of near pairs.

For each class of kernel the broad phase makes a queue of pairs, by world and by pair. The kernel
treats the queue in chunks until none is left, so that no pair is dropped before its distance is
known. All surrounding `vmap`s share one queue (`collision/queue/worlds.py`).

The queue has no derivative. The derivative of the contacts is computed for the final slots
(`collision/queue/moving.py`).
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.collision.plan.broad import WORD_BITS, Near, chosen, packed, queue, spheres_near
from mjjax.collision.plan.numbers import bodies_of
from mjjax.collision.plan.params import lookup
from mjjax.collision.plan.search import KernelClass, SearchPlan
from mjjax.collision.queue.contact_list import (
    BY_CANDIDATE,
    BY_PAIR,
    ContactList,
    Slots,
    append,
    empty_list,
    in_slots,
    trim,
)
from mjjax.collision.queue.moving import moving
from mjjax.collision.queue.scene import (
    Bounds,
    CollisionScene,
    margins,
    near_by_boxes,
    touch,
    worlds_last,
)
from mjjax.collision.queue.sweep import Buffer, Sweep
from mjjax.collision.queue.worlds import over_worlds
from mjjax.collision.shape.contact_set import NO_CONTACT
from mjjax.xla.loops import cond, while_loop
from mjjax.xla.namespace import Array, where

CHUNK_CPU = 128  # pairs at a time: what fits into the cache;
CHEAP_CPU = 256  # or this many contacts, where kernels are cheap and trips are not
QUEUE_CHUNK = 8192  # on accelerators, where every trip of a loop waits for the host


def detect(search: SearchPlan, scene: CollisionScene, bounds: Bounds, slots: int) -> Slots:
    """Contacts of a world in slots, with their derivatives.

    Args:
        search: how to search.
        scene: geoms.
        bounds: their bounds.
        slots: number of slots; the deepest contacts are kept.
    """
    found = over_worlds(functools.partial(_search, search, slots), (scene, bounds))
    return found._replace(touch=moving(search, scene, found))


def _search(
    search: SearchPlan, slots: int, worlds: int, tree: tuple[CollisionScene, Bounds]
) -> Slots:
    """Contacts of all worlds in slots (W, K)."""
    scene, bounds = tree
    lines = [_line_of(search, classes, scene, worlds) for classes in search.lines]
    width = 4 + max(line.width for line in lines)
    places = 2 * worlds * slots + max(line.room for line in lines)
    parts = 1 + len(search.classes)
    found = empty_list(places, width, parts, worlds, scene.pos.value.dtype)
    keys = BY_PAIR if search.swept else BY_CANDIDATE
    sweep: Any = Sweep(search, scene, bounds, worlds) if search.swept else None
    sources = [
        None if line.swept else _of_list(search, line, scene, bounds, worlds) for line in lines
    ]

    def left(state: QueueState) -> Array:
        more = jnp.stack([at.left() for at in state.lines])
        return jnp.any(more) if sweep is None else jnp.any(more) | sweep.left(state.buffer)

    def go_through(state: QueueState) -> QueueState:
        state = _swept(lines, sweep, state) if sweep else state
        places, found = [], state.found
        for line, source, at in zip(lines, sources, state.lines, strict=True):
            source = source or _of_buffer(search, sweep, state.buffer, line)
            at, found = _drain(search, line, scene, bounds, source, at, found)
            places.append(at)
        state = QueueState(tuple(places), found, state.buffer)
        full = left(state) | jnp.any(jnp.sum(found.count, axis=0, dtype=jnp.int32) > slots)
        found = cond(full, lambda x: trim(x, slots, keys), lambda x: x, found)
        return state._replace(found=found)

    begin = tuple(
        line.begin(source.near.total if source else jnp.int32(0))
        for line, source in zip(lines, sources, strict=True)
    )
    state = QueueState(begin, found, sweep.empty() if sweep else None)
    return in_slots(while_loop(left, go_through, state).found, slots, keys)


class Line(NamedTuple):
    """Classes that go through one loop, one after the other; static.

    Attributes:
        classes: their places among all.
        kinds: the classes.
        chunk: pairs at a time.
        room: places in the list that a chunk may take.
        width: length of the certificates.
    """

    classes: tuple[int, ...]
    kinds: tuple[KernelClass, ...]
    chunk: int
    room: int
    width: int

    @property
    def swept(self) -> bool:
        """Whether the pairs are found by sweep and prune."""
        return self.kinds[0].swept

    def begin(self, total: Array) -> "QueuePlace":
        """The place at the beginning of a queue."""
        held = 2 * self.chunk if self.kinds[0].tested else 0
        return QueuePlace(total, jnp.int32(0), jnp.zeros(held, jnp.int32), jnp.int32(0))


def _line_of(
    search: SearchPlan, classes: tuple[int, ...], scene: CollisionScene, worlds: int
) -> Line:
    kinds = tuple(search.classes[k] for k in classes)
    chunk = _chunk(kinds, worlds * sum(len(kind.pairs) for kind in kinds))
    some, used = (jax.ShapeDtypeStruct((chunk,), t) for t in (jnp.int32, bool))
    tested = functools.partial(touch, search, kinds, 0, scene)
    _, certificate = jax.eval_shape(tested, some, some, used)
    return Line(classes, kinds, chunk, chunk * certificate.shape[1], certificate.shape[2])


class QueuePlace(NamedTuple):
    """The progress of a queue.

    Attributes:
        total: entries of the queue.
        start: entries taken from it.
        held: (2 C,) entries that wait for the kernel after a comparison of boxes.
        nheld: number of entries that wait.
    """

    total: Array
    start: Array
    held: Array
    nheld: Array

    def left(self) -> Array:
        """Whether pairs are left."""
        return (self.start < self.total) | (self.nheld > 0)


class QueueState(NamedTuple):
    """State of the search.

    Attributes:
        lines: how far each line has come.
        found: contacts so far.
        buffer: pairs found by sweep and prune, `None` without it.
    """

    lines: tuple[QueuePlace, ...]
    found: ContactList
    buffer: Any


class Source(NamedTuple):
    """The queue of a line, which consists of the queues of its classes, one after the other.

    Attributes:
        near: the queue.
        upto: (k,) number of entries up to each class, inclusive.
        pair: function of the place of a class in the line and of entries (n,) of this class; it
            returns their worlds, numbers and orders.
    """

    near: Near
    upto: Array
    pair: Callable[[Array, Array | int], tuple[Array, Array, Array]]


def _source(
    words: list[Array], widths: list[int], pair: Callable[[Array, Array, Array | int], tuple]
) -> Source:
    """Queue of classes by the words of each, `widths` of them for every world.

    Args:
        words: (worlds width,) of each class.
        widths: static.
        pair: what `Source` has, from the worlds (n,), the places of their bits within the world's
            words, and the class.
    """
    near = queue(jnp.concatenate(words))
    end = np.cumsum([len(x) for x in words], dtype=np.int32)
    first = np.concatenate([[0], end[:-1]]).astype(np.int32)

    def of_entry(entry: Array, which: Array | int) -> tuple[Array, Array, Array]:
        word, bit = near.take(entry)
        word = word - _at(first, which)
        width = _at(np.asarray(widths, np.int32), which)
        return pair(word // width, word % width * np.int32(WORD_BITS) + bit, which)

    return Source(near, near.upto[end - 1], of_entry)


def _at(table: np.ndarray, place: Array | int) -> Array:
    """Entry of a static table."""
    return jnp.asarray(table)[place] if isinstance(place, jax.Array) else table[place]


def _of_list(
    search: SearchPlan, line: Line, scene: CollisionScene, bounds: Bounds, worlds: int
) -> Source:
    """Queue of the pairs of a line by their bounding spheres, all of which are tested."""
    plan, count = search.plan, [len(kind.pairs) for kind in line.kinds]
    pairs = np.concatenate([kind.pairs for kind in line.kinds])
    first = np.cumsum([0, *count[:-1]], dtype=np.int32)
    pos, mat, rbound = map(worlds_last, (scene.pos, scene.mat, bounds.rbound))

    def words(kind: KernelClass) -> Array:
        geom = plan.geom[kind.pairs]
        margin = margins(search, scene, geom, plan.explicit[kind.pairs])
        near = spheres_near(pos, mat, rbound, margin, geom, kind.plane)
        near = jnp.broadcast_to(near, (len(geom), worlds))
        if bounds.discard is not None:
            near &= ~worlds_last(bounds.discard)[kind.pairs]
        return packed(near)

    def pair(world: Array, column: Array, which: Array | int) -> tuple[Array, Array, Array]:
        column = column + _at(first, which)
        number = lookup(plan.number[pairs], column)
        if search.swept:
            return world, number, bodies_of(search.structure, number)
        return world, number, lookup(plan.start[pairs], column)

    return _source([words(kind) for kind in line.kinds], [-(-n // WORD_BITS) for n in count], pair)


def _of_buffer(search: SearchPlan, sweep: Sweep, buffer: Buffer, line: Line) -> Source:
    """Queue of the pairs of a line in the buffer."""
    words = [sweep.of_class(buffer, part) for part in line.classes]

    def pair(world: Array, place: Array, which: Array | int) -> tuple[Array, Array, Array]:
        del world, which
        number = buffer.number[place]
        return buffer.world[place], number, bodies_of(search.structure, number)

    return _source(words, [len(x) for x in words], pair)


def _swept(lines: list[Line], sweep: Sweep, state: QueueState) -> QueueState:
    """Fills the buffer once its pairs are done, and puts the lines at its beginning."""
    swept = [line.swept for line in lines]
    left = [at.left() for at, mine in zip(state.lines, swept, strict=True) if mine]
    done = ~jnp.any(jnp.stack(left))
    buffer = cond(done, sweep.refill, lambda x: x, state.buffer)

    def at_beginning(line: Line, at: QueuePlace) -> QueuePlace:
        words = [sweep.of_class(buffer, part) for part in line.classes]
        total = queue(jnp.concatenate(words)).total
        return at._replace(total=total, start=where(done, 0, at.start))

    places = tuple(
        at_beginning(line, at) if line.swept else at
        for line, at in zip(lines, state.lines, strict=True)
    )
    return QueueState(places, state.found, buffer)


def _drain(
    search: SearchPlan,
    line: Line,
    scene: CollisionScene,
    bounds: Bounds,
    source: Source,
    at: QueuePlace,
    found: ContactList,
) -> tuple[QueuePlace, ContactList]:
    """Takes a line's pairs from its queue until none is left or the list is full."""
    slot = np.arange(line.chunk, dtype=np.int32)

    def take(at: QueuePlace) -> tuple[QueuePlace, Array, Array, Array | int]:
        """The next entries (C,), whether each is one, and their class within the line."""
        if line.kinds[0].tested:
            at = _held(search, line, scene, bounds, source, at)
            entry, used = at.held[: line.chunk], slot < at.nheld
            held = jnp.pad(at.held[line.chunk :], (0, line.chunk))
            left = jnp.maximum(at.nheld - line.chunk, 0)
            return at._replace(held=held, nheld=left), entry, used, 0
        which: Array | int = 0
        if len(line.kinds) > 1:
            which = jnp.sum(source.upto <= at.start, dtype=jnp.int32)
        end = source.upto[which]
        entry = at.start + slot
        start = jnp.minimum(at.start + line.chunk, end)
        return at._replace(start=start), jnp.minimum(entry, end - 1), entry < end, which

    def test(state: tuple[QueuePlace, ContactList]) -> tuple[QueuePlace, ContactList]:
        at, found = state
        at, entry, used, which = take(at)
        world, number, order = source.pair(entry, which)
        contacts, certificate = touch(search, line.kinds, which, scene, world, number, used)
        order = jnp.broadcast_to(order[:, None], contacts.dist.shape)
        if not search.swept:
            order += np.arange(order.shape[1], dtype=np.int32)[None]
        whole = _whole(world, order, number, certificate, found.whole.shape[1])
        exists = jnp.logical_and(used[:, None], contacts.dist < NO_CONTACT)
        return at, append(found, 1 + line.classes[0] + which, contacts, whole, exists)

    def room(state: tuple[QueuePlace, ContactList]) -> Array:
        at, found = state
        return at.left() & (found.fill + line.room <= found.real.shape[0])

    return while_loop(room, test, (at, found))


def _held(
    search: SearchPlan,
    line: Line,
    scene: CollisionScene,
    bounds: Bounds,
    source: Source,
    at: QueuePlace,
) -> QueuePlace:
    """Takes pairs whose boxes are near, until there is a chunk of them or none is left."""
    slot = np.arange(line.chunk, dtype=np.int32)

    def wanting(at: QueuePlace) -> Array:
        return (at.start < at.total) & (at.nheld < line.chunk)

    def refill(at: QueuePlace) -> QueuePlace:
        entry = at.start + slot
        use = entry < at.total
        entry = jnp.minimum(entry, at.total - 1)
        use &= near_by_boxes(search, scene, bounds, *source.pair(entry, 0)[:2])
        index, more = chosen(use)
        held = lax.dynamic_update_slice(at.held, entry[index], (at.nheld,))
        return at._replace(start=at.start + line.chunk, held=held, nheld=at.nheld + more)

    return while_loop(wanting, refill, at)


def _whole(world: Array, order: Array, number: Array, certificate: Array, width: int) -> Array:
    """World, order, number of the pair and within the pair, certificate (n, m, width)."""
    n, m = certificate.shape[:2]
    sub = np.arange(m, dtype=np.int32)[None]
    columns = [world[:, None], order, number[:, None], sub]
    columns = [jnp.broadcast_to(x, (n, m))[..., None] for x in columns]
    whole = jnp.concatenate([*columns, certificate], axis=-1)
    return jnp.pad(whole, ((0, 0), (0, 0), (0, width - whole.shape[-1])))


def _chunk(kinds: tuple[KernelClass, ...], pairs: int) -> int:
    """Pairs that go through a kernel at a time: a power of two, fewer if there are fewer."""
    most = QUEUE_CHUNK
    if jax.default_backend() == "cpu":
        ncon = max(kind.collider.ncon for kind in kinds)
        cheap = 0 if kinds[0].collider.costly else CHEAP_CPU // ncon
        most = max(CHUNK_CPU, 1 << (cheap.bit_length() - 1) if cheap else 0)
    return min(most, 1 << max(3, (pairs - 1).bit_length()))
