"""Contacts by a queue over the pairs of all worlds; the cost depends on the number of near pairs.

For each line of kernels the broad phase makes a queue of pairs, by world and by pair. The kernels
treat the queue in chunks until none is left, so that no pair is dropped before its distance is
known. All surrounding `vmap`s share one queue (`over_worlds`).

The queue has no derivative. The derivative of the contacts is computed for the final slots
(`collision/queue/moving.py`).
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.plan.broad import WORD_BITS, Near, packed, queue, spheres_near
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
from mjjax.collision.shape.contact_set import NO_CONTACT
from mjjax.xla.loops import cond, while_loop
from mjjax.xla.namespace import Array, where
from mjjax.xla.place import on_processor
from mjjax.xla.worlds import over_worlds

CHUNK_CPU = 512  # pairs at a time: more do not fit into the cache, fewer make many rounds
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
    parts = 1 + len(lines)
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
        for part, (line, source, at) in enumerate(zip(lines, sources, state.lines, strict=True), 1):
            source = source or _of_buffer(search, sweep, state.buffer, line)
            at, found = _drain(search, line, part, scene, bounds, source, at, found)
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
    """Classes that go through one loop; static.

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
        return QueuePlace(total, jnp.int32(0))


def _line_of(
    search: SearchPlan, classes: tuple[int, ...], scene: CollisionScene, worlds: int
) -> Line:
    kinds = tuple(search.classes[k] for k in classes)
    chunk = _chunk(worlds * sum(len(kind.pairs) for kind in kinds))
    some, used = (jax.ShapeDtypeStruct((chunk,), t) for t in (jnp.int32, bool))
    _, certificate = jax.eval_shape(
        lambda which, *pair: touch(search, kinds, which, scene, *pair), some, some, some, used
    )
    return Line(classes, kinds, chunk, chunk * certificate.shape[1], certificate.shape[2])


class QueuePlace(NamedTuple):
    """The progress of a queue.

    Attributes:
        total: entries of the queue.
        start: entries taken from it.
    """

    total: Array
    start: Array

    def left(self) -> Array:
        """Whether pairs are left."""
        return self.start < self.total


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
    """The queue of a line.

    Attributes:
        near: the queue.
        pair: function of entries (n,); it returns the places of their classes in the line, their
            worlds, numbers and orders.
    """

    near: Near
    pair: Callable[[Array], tuple[Array, Array, Array, Array]]


def _of_list(
    search: SearchPlan, line: Line, scene: CollisionScene, bounds: Bounds, worlds: int
) -> Source:
    """Queue of the pairs of a line by their bounding spheres, all of which are tested."""
    plan, structure = search.plan, search.structure
    pairs = np.concatenate([kind.pairs for kind in line.kinds])
    classes = np.repeat(np.arange(len(line.kinds)), [len(kind.pairs) for kind in line.kinds])
    plane = np.array([kind.plane for kind in line.kinds])[classes]
    sort = np.argsort(pairs)
    pairs, classes, plane = pairs[sort], classes[sort].astype(np.int32), plane[sort]

    geom = plan.geom[pairs]
    pos, mat, rbound = map(worlds_last, (scene.pos, scene.mat, bounds.rbound))
    margin = margins(search, scene, geom, plan.explicit[pairs])
    close = spheres_near(pos, mat, rbound, margin, geom, plane)
    close = jnp.broadcast_to(close, (len(geom), worlds))
    if bounds.discard is not None:
        close &= ~worlds_last(bounds.discard)[pairs]
    near = queue(packed(close))
    width = np.int32(-(-len(pairs) // WORD_BITS))

    def pair(entry: Array) -> tuple[Array, Array, Array, Array]:
        word, bit = near.take(entry)
        place = word % width * np.int32(WORD_BITS) + bit
        number = lookup(plan.number[pairs], place)
        start = lookup(plan.start[pairs], place)
        order = bodies_of(structure, number) if search.swept else start
        return lookup(classes, place), word // width, number, order

    return Source(near, pair)


def _of_buffer(search: SearchPlan, sweep: Sweep, buffer: Buffer, line: Line) -> Source:
    """Queue of the pairs of a line in the buffer."""
    near = queue(sweep.of_classes(buffer, line.classes))

    def pair(entry: Array) -> tuple[Array, Array, Array, Array]:
        word, bit = near.take(entry)
        place = word * np.int32(WORD_BITS) + bit
        number = buffer.number[place]
        which = buffer.part[place] - np.int32(line.classes[0])
        return which, buffer.world[place], number, bodies_of(search.structure, number)

    return Source(near, pair)


def _swept(lines: list[Line], sweep: Sweep, state: QueueState) -> QueueState:
    """Fills the buffer once its pairs are done, and puts the lines at its beginning."""
    swept = [line.swept for line in lines]
    left = [at.left() for at, mine in zip(state.lines, swept, strict=True) if mine]
    done = ~jnp.any(jnp.stack(left))
    buffer = cond(done, sweep.refill, lambda x: x, state.buffer)

    def at_beginning(line: Line, at: QueuePlace) -> QueuePlace:
        total = queue(sweep.of_classes(buffer, line.classes)).total
        return at._replace(total=total, start=where(done, 0, at.start))

    places = tuple(
        at_beginning(line, at) if line.swept else at
        for line, at in zip(lines, state.lines, strict=True)
    )
    return QueueState(places, state.found, buffer)


def _drain(
    search: SearchPlan,
    line: Line,
    part: int,
    scene: CollisionScene,
    bounds: Bounds,
    source: Source,
    at: QueuePlace,
    found: ContactList,
) -> tuple[QueuePlace, ContactList]:
    """Takes a line's pairs from its queue until none is left or the list is full."""
    slot = np.arange(line.chunk, dtype=np.int32)

    def test(state: tuple[QueuePlace, ContactList]) -> tuple[QueuePlace, ContactList]:
        at, found = state
        entry = at.start + slot
        used = entry < at.total
        entry = jnp.minimum(entry, at.total - 1)
        at = at._replace(start=at.start + line.chunk)
        which, world, number, order = source.pair(entry)
        used &= _boxes_near(search, line, scene, bounds, which, world, number)
        contacts, certificate = touch(search, line.kinds, which, scene, world, number, used)
        order = jnp.broadcast_to(order[:, None], contacts.dist.shape)
        if not search.swept:
            order += np.arange(order.shape[1], dtype=np.int32)[None]
        whole = _whole(world, order, number, certificate, found.whole.shape[1])
        exists = jnp.logical_and(used[:, None], contacts.dist < NO_CONTACT)
        return at, append(found, part, contacts, whole, exists)

    def room(state: tuple[QueuePlace, ContactList]) -> Array:
        at, found = state
        return at.left() & (found.fill + line.room <= found.real.shape[0])

    return while_loop(room, test, (at, found))


def _boxes_near(
    search: SearchPlan,
    line: Line,
    scene: CollisionScene,
    bounds: Bounds,
    which: Array,
    world: Array,
    number: Array,
) -> Array:
    """Whether the boxes of pairs (n,) are near; true for classes whose boxes are not compared."""
    tested = np.array([kind.tested for kind in line.kinds])
    if not tested.any():
        return jnp.ones(len(which), bool)
    return near_by_boxes(search, scene, bounds, world, number) | ~jnp.asarray(tested)[which]


def _whole(world: Array, order: Array, number: Array, certificate: Array, width: int) -> Array:
    """World, order, number of the pair and within the pair, certificate (n, m, width)."""
    n, m = certificate.shape[:2]
    sub = np.arange(m, dtype=np.int32)[None]
    columns = [world[:, None], order, number[:, None], sub]
    columns = [jnp.broadcast_to(x, (n, m))[..., None] for x in columns]
    whole = jnp.concatenate([*columns, certificate], axis=-1)
    return jnp.pad(whole, ((0, 0), (0, 0), (0, width - whole.shape[-1])))


def _chunk(pairs: int) -> int:
    """Pairs that go through a kernel at a time: a power of two, fewer if there are fewer."""
    most = CHUNK_CPU if on_processor() else QUEUE_CHUNK
    return min(most, 1 << max(3, (pairs - 1).bit_length()))
