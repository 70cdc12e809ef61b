"""Contacts by a queue over the pairs of all worlds: the cost follows the pairs that are near.

For each class of kernel the broad phase leaves a queue of pairs, by world and by pair. Chunks of
it go through the kernel until none is left, so that nothing is dropped before its distance is
known. Any `vmap`s around are one queue (`collision/worlds.py`).

The queue has no derivative. That of the contacts is found on the final slots
(`collision/moving.py`).
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.collision.broad import Near, chosen, queue, spheres_near
from mjjax.collision.contact_list import (
    BY_CANDIDATE,
    BY_PAIR,
    ContactList,
    Slots,
    append,
    empty_list,
    in_slots,
    trim,
)
from mjjax.collision.contact_set import NO_CONTACT
from mjjax.collision.moving import moving
from mjjax.collision.numbers import bodies_of
from mjjax.collision.params import lookup
from mjjax.collision.scene import Bounds, Scene, margins, near_by_boxes, touch, worlds_last
from mjjax.collision.search import KernelClass, Search
from mjjax.collision.sweep import Buffer, Sweep
from mjjax.collision.worlds import over_worlds
from mjjax.math.namespace import Array

CHUNK_CPU = 128  # pairs at a time: what fits into the cache;
CHEAP_CPU = 256  # or this many contacts, where kernels are cheap and trips are not
CHUNK = 8192  # on accelerators, where every trip of a loop waits for the host


def detect(search: Search, scene: Scene, bounds: Bounds, slots: int) -> Slots:
    """Contacts of a world in slots, with their derivatives.

    Args:
        search: how to search.
        scene: geoms.
        bounds: their bounds.
        slots: number of slots; the deepest contacts are kept.
    """
    found = over_worlds(functools.partial(_search, search, slots), (scene, bounds))
    return found._replace(touch=moving(search, scene, found))


def _search(search: Search, slots: int, worlds: int, tree: tuple[Scene, Bounds]) -> Slots:
    """Contacts of all worlds in slots (W, K)."""
    scene, bounds = tree
    chunks = [_chunk(kind, worlds * len(kind.pairs)) for kind in search.classes]
    forms = [
        _form(search, kind, scene, chunk)
        for kind, chunk in zip(search.classes, chunks, strict=True)
    ]
    room = [chunk * form[0] for chunk, form in zip(chunks, forms, strict=True)]
    width = 4 + max(form[1] for form in forms)
    parts = 1 + len(search.classes)
    found = empty_list(2 * worlds * slots + max(room), width, parts, worlds, scene.pos.value.dtype)
    keys = BY_PAIR if search.swept else BY_CANDIDATE
    sweep: Any = Sweep(search, scene, bounds, worlds) if search.swept else None
    sources = [
        None if kind.swept else _of_list(search, kind, scene, bounds, worlds)
        for kind in search.classes
    ]

    def left(state: State) -> Array:
        more = jnp.stack([line.left() for line in state.lines])
        return jnp.any(more) if sweep is None else jnp.any(more) | sweep.left(state.buffer)

    def go_through(state: State) -> State:
        state = _swept(search, sweep, state) if sweep else state
        lines, found = list(state.lines), state.found
        for part, source in enumerate(sources):
            source = source or _of_buffer(search, sweep, state.buffer, part)
            lines[part], found = _drain(
                search, part, scene, bounds, source, chunks[part], room[part], lines[part], found
            )
        state = State(tuple(lines), found, state.buffer)
        full = left(state) | jnp.any(jnp.sum(found.count, axis=0, dtype=jnp.int32) > slots)
        found = lax.cond(full, lambda x: trim(x, slots, keys), lambda x: x, found)
        return state._replace(found=found)

    lines = tuple(
        new_line(chunk, source.near.total if source else jnp.int32(0))
        for chunk, source in zip(chunks, sources, strict=True)
    )
    state = State(lines, found, sweep.empty() if sweep else None)
    return in_slots(lax.while_loop(left, go_through, state).found, slots, keys)


class Line(NamedTuple):
    """How far a queue has come.

    Attributes:
        total: entries of the queue.
        start: entries taken from it.
        held: (2 C,) entries taken that wait for the kernel.
        nheld: how many wait.
    """

    total: Array
    start: Array
    held: Array
    nheld: Array

    def left(self) -> Array:
        """Whether pairs are left."""
        return (self.start < self.total) | (self.nheld > 0)


class State(NamedTuple):
    """State of the search.

    Attributes:
        lines: one for each class.
        found: contacts so far.
        buffer: pairs found by sweep and prune, `None` without it.
    """

    lines: tuple[Line, ...]
    found: ContactList
    buffer: Any


class Source(NamedTuple):
    """The queue of a class.

    Attributes:
        near: the queue.
        pair: from the entries (n,) their worlds, numbers and orders.
    """

    near: Near
    pair: Callable[[Array], tuple[Array, Array, Array]]


def new_line(chunk: int, total: Array) -> Line:
    """At the beginning of a queue."""
    return Line(total, jnp.int32(0), jnp.zeros(2 * chunk, jnp.int32), jnp.int32(0))


def _of_list(
    search: Search, kind: KernelClass, scene: Scene, bounds: Bounds, worlds: int
) -> Source:
    """Queue of the pairs of a class by their bounding spheres, all of which are tested."""
    geom, explicit = search.plan.geom[kind.pairs], search.plan.explicit[kind.pairs]
    number, start = search.plan.number[kind.pairs], search.plan.start[kind.pairs]
    margin = margins(search, scene, geom, explicit)
    pos, mat, rbound = map(worlds_last, (scene.pos, scene.mat, bounds.rbound))
    near = spheres_near(pos, mat, rbound, margin, geom, kind.plane)
    near = jnp.broadcast_to(near, (len(geom), worlds))
    if bounds.discard is not None:
        near &= ~worlds_last(bounds.discard)[kind.pairs]
    near = queue(near)

    def pair(entry: Array) -> tuple[Array, Array, Array]:
        world, column = near.take(entry)
        its = lookup(number, column)
        if search.swept:
            return world, its, bodies_of(search.structure, its)
        return world, its, lookup(start, column)

    return Source(near, pair)


def _of_buffer(search: Search, sweep: Sweep, buffer: Buffer, part: int) -> Source:
    """Queue of the pairs of a class in the buffer."""
    near = sweep.of_class(buffer, part)

    def pair(entry: Array) -> tuple[Array, Array, Array]:
        _, place = near.take(entry)
        number = buffer.number[place]
        return buffer.world[place], number, bodies_of(search.structure, number)

    return Source(near, pair)


def _swept(search: Search, sweep: Sweep, state: State) -> State:
    """Fills the buffer once its pairs are done, and puts the classes at its beginning."""
    swept = [kind.swept for kind in search.classes]
    lines = [line.left() for line, mine in zip(state.lines, swept, strict=True) if mine]
    done = ~jnp.any(jnp.stack(lines))
    buffer = lax.cond(done, sweep.refill, lambda x: x, state.buffer)

    def at_beginning(part: int, line: Line) -> Line:
        total = sweep.of_class(buffer, part).total
        return line._replace(total=total, start=jnp.where(done, 0, line.start))

    lines = tuple(
        at_beginning(part, line) if mine else line
        for part, (line, mine) in enumerate(zip(state.lines, swept, strict=True))
    )
    return State(lines, state.found, buffer)


def _drain(
    search: Search,
    part: int,
    scene: Scene,
    bounds: Bounds,
    source: Source,
    chunk: int,
    most: int,
    line: Line,
    found: ContactList,
) -> tuple[Line, ContactList]:
    """Takes a class's pairs from its queue until none is left or the list is full."""
    kind = search.classes[part]
    slot = np.arange(chunk, dtype=np.int32)

    def refill(line: Line) -> Line:
        entry = line.start + slot
        use = entry < line.total
        entry = jnp.minimum(entry, line.total - 1)
        if kind.collider.batched and not kind.plane:
            use &= near_by_boxes(search, scene, bounds, *source.pair(entry)[:2])
        index, more = chosen(use)
        held = lax.dynamic_update_slice(line.held, entry[index], (line.nheld,))
        return line._replace(start=line.start + chunk, held=held, nheld=line.nheld + more)

    def wanting(line: Line) -> Array:
        return (line.start < line.total) & (line.nheld < chunk)

    def test(state: tuple[Line, ContactList]) -> tuple[Line, ContactList]:
        line, found = state
        line = lax.while_loop(wanting, refill, line)
        world, number, order = source.pair(line.held[:chunk])
        used = slot < line.nheld
        contacts, certificate = touch(search, kind, scene, world, number, used)
        order = jnp.broadcast_to(order[:, None], contacts.dist.shape)
        if not search.swept:
            order += np.arange(order.shape[1], dtype=np.int32)[None]
        whole = _whole(world, order, number, certificate, found.whole.shape[1])
        found = append(
            found,
            part + 1,
            contacts,
            whole,
            jnp.logical_and(used[:, None], contacts.dist < NO_CONTACT),
        )
        held = jnp.pad(line.held[chunk:], (0, chunk))
        return line._replace(held=held, nheld=jnp.maximum(line.nheld - chunk, 0)), found

    def room(state: tuple[Line, ContactList]) -> Array:
        line, found = state
        return line.left() & (found.fill + most <= found.real.shape[0])

    return lax.while_loop(room, test, (line, found))


def _whole(world: Array, order: Array, number: Array, certificate: Array, width: int) -> Array:
    """World, order, number of the pair and within the pair, certificate (n, m, width)."""
    n, m = certificate.shape[:2]
    sub = np.arange(m, dtype=np.int32)[None]
    columns = [world[:, None], order, number[:, None], sub]
    columns = [jnp.broadcast_to(x, (n, m))[..., None] for x in columns]
    whole = jnp.concatenate([*columns, certificate], axis=-1)
    return jnp.pad(whole, ((0, 0), (0, 0), (0, width - whole.shape[-1])))


def _chunk(kind: KernelClass, pairs: int) -> int:
    """Pairs that go through a kernel at a time: a power of two, fewer if there are fewer."""
    most = CHUNK
    if jax.default_backend() == "cpu":
        cheap = 0 if kind.collider.batched else CHEAP_CPU // kind.collider.ncon
        most = max(CHUNK_CPU, 1 << (cheap.bit_length() - 1) if cheap else 0)
    return min(most, 1 << max(3, (pairs - 1).bit_length()))


def _form(search: Search, kind: KernelClass, scene: Scene, chunk: int) -> tuple[int, int]:
    """Contacts of a pair of a class, and the length of their certificates."""
    some, used = (jax.ShapeDtypeStruct((chunk,), t) for t in (jnp.int32, bool))
    _, certificate = jax.eval_shape(functools.partial(touch, search, kind, scene), some, some, used)
    return certificate.shape[1:]
