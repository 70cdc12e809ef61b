"""Contacts by a queue over the pairs of all worlds: the cost follows the pairs that are near.

For each class of kernel the broad phase leaves a queue of pairs, by world and by pair. Chunks of
it go through the kernel until none is left, so that nothing is dropped before its distance is
known. Any `vmap`s around are one queue (`collision/worlds.py`).

The queue has no derivative. That of the contacts is found on the final slots
(`collision/moving.py`).
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.collision.broad import Near, queue, spheres_near
from mjjax.collision.contact_list import ContactList, Slots, append, empty_list, in_slots, trim
from mjjax.collision.contact_set import NO_CONTACT
from mjjax.collision.moving import moving
from mjjax.collision.params import lookup
from mjjax.collision.scene import Bounds, Scene, margins, near_by_boxes, touch, worlds_last
from mjjax.collision.search import KernelClass, Search
from mjjax.collision.worlds import over_worlds
from mjjax.math.namespace import Array

CHUNK_CPU = 128  # pairs at a time: what fits into the cache
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
    queues = [_near(search, kind, scene, bounds, worlds) for kind in search.classes]
    chunks = [_chunk(worlds * len(kind.pairs)) for kind in search.classes]
    forms = [
        _form(search, kind, scene, chunk)
        for kind, chunk in zip(search.classes, chunks, strict=True)
    ]
    room = [chunk * form[0] for chunk, form in zip(chunks, forms, strict=True)]
    drains = [
        functools.partial(_drain, search, part, scene, bounds, *given)
        for part, given in enumerate(zip(queues, chunks, room, strict=True))
    ]
    places = 2 * worlds * slots + max(room)
    width = 4 + max(form[1] for form in forms)
    dtype = scene.pos.value.dtype
    found = empty_list(places, width, 1 + len(drains), worlds, dtype)

    def left(lines: list["Line"]) -> Array:
        return functools.reduce(
            jnp.logical_or, [x.left(near) for x, near in zip(lines, queues, strict=True)]
        )

    def go_through(state: tuple[list["Line"], ContactList]) -> tuple[list["Line"], ContactList]:
        lines, found = state
        after = []
        for line, drain in zip(lines, drains, strict=True):
            line, found = drain(line, found)
            after.append(line)
        full = left(after) | jnp.any(jnp.sum(found.count, axis=0, dtype=jnp.int32) > slots)
        return after, lax.cond(full, lambda x: trim(x, slots), lambda x: x, found)

    lines = [new_line(chunk) for chunk in chunks]
    _, found = lax.while_loop(lambda state: left(state[0]), go_through, (lines, found))
    return in_slots(found, slots)


class Line(NamedTuple):
    """How far a queue has come.

    Attributes:
        start: entries taken from it.
        held: (2 C,) entries taken that wait for the kernel.
        nheld: how many wait.
    """

    start: Array
    held: Array
    nheld: Array

    def left(self, near: Near) -> Array:
        """Whether pairs are left."""
        return (self.start < near.total) | (self.nheld > 0)


def new_line(chunk: int) -> Line:
    """At the beginning of a queue."""
    return Line(jnp.int32(0), jnp.zeros(2 * chunk, jnp.int32), jnp.int32(0))


def _drain(
    search: Search,
    part: int,
    scene: Scene,
    bounds: Bounds,
    near: Near,
    chunk: int,
    most: int,
    line: Line,
    found: ContactList,
) -> tuple[Line, ContactList]:
    """Takes a class's pairs from its queue until none is left or the list is full."""
    kind = search.classes[part]
    pairs = np.asarray(kind.pairs, np.int32)
    slot = np.arange(chunk, dtype=np.int32)

    def located(entry: Array) -> tuple[Array, Array]:
        world, column = near.take(entry)
        return world, lookup(pairs, column)

    def refill(line: Line) -> Line:
        entry = line.start + slot
        use = entry < near.total
        entry = jnp.minimum(entry, near.total - 1)
        if kind.collider.batched and not kind.plane:
            use &= near_by_boxes(search, scene, bounds, *located(entry))
        upto = jnp.cumsum(use, dtype=jnp.int32)
        source = jnp.minimum(jnp.searchsorted(upto, slot + 1), chunk - 1)
        held = lax.dynamic_update_slice(line.held, entry[source], (line.nheld,))
        return Line(line.start + chunk, held, line.nheld + upto[-1])

    def wanting(line: Line) -> Array:
        return (line.start < near.total) & (line.nheld < chunk)

    def test(state: tuple[Line, ContactList]) -> tuple[Line, ContactList]:
        line, found = state
        line = lax.while_loop(wanting, refill, line)
        world, pair = located(line.held[:chunk])
        used = slot < line.nheld
        contacts, certificate = touch(search, kind, scene, world, pair, used)
        whole = _whole(search, world, pair, certificate, found.whole.shape[1])
        found = append(
            found,
            part + 1,
            contacts,
            whole,
            jnp.logical_and(used[:, None], contacts.dist < NO_CONTACT),
        )
        held = jnp.pad(line.held[chunk:], (0, chunk))
        return Line(line.start, held, jnp.maximum(line.nheld - chunk, 0)), found

    def room(state: tuple[Line, ContactList]) -> Array:
        line, found = state
        return line.left(near) & (found.fill + most <= found.real.shape[0])

    return lax.while_loop(room, test, (line, found))


def _whole(search: Search, world: Array, pair: Array, certificate: Array, width: int) -> Array:
    """World, order, pair, number within the pair and certificate (n, m, width) of contacts."""
    n, m = certificate.shape[:2]
    sub = jnp.broadcast_to(np.arange(m, dtype=np.int32)[None], (n, m))
    start = lookup(search.plan.start, pair)
    owner = jnp.broadcast_to(jnp.stack([world, pair], axis=1)[:, None], (n, m, 2))
    whole = [owner[..., :1], (start[:, None] + sub)[..., None], owner[..., 1:], sub[..., None]]
    whole = jnp.concatenate([*whole, certificate], axis=-1)
    return jnp.pad(whole, ((0, 0), (0, 0), (0, width - whole.shape[-1])))


def _chunk(pairs: int) -> int:
    """Pairs that go through a kernel at a time: a power of two, fewer if there are fewer."""
    most = CHUNK_CPU if jax.default_backend() == "cpu" else CHUNK
    return min(most, 1 << max(3, (pairs - 1).bit_length()))


def _form(search: Search, kind: KernelClass, scene: Scene, chunk: int) -> tuple[int, int]:
    """Contacts of a pair of a class, and the length of their certificates."""
    some, used = (jax.ShapeDtypeStruct((chunk,), t) for t in (jnp.int32, bool))
    _, certificate = jax.eval_shape(functools.partial(touch, search, kind, scene), some, some, used)
    return certificate.shape[1:]


def _near(search: Search, kind: KernelClass, scene: Scene, bounds: Bounds, worlds: int) -> Near:
    """Queue of the pairs of a class by their bounding spheres."""
    geom, explicit = search.plan.geom[kind.pairs], search.plan.explicit[kind.pairs]
    margin = margins(search, scene, geom, explicit)
    pos, mat, rbound = map(worlds_last, (scene.pos, scene.mat, bounds.rbound))
    near = spheres_near(pos, mat, rbound, margin, geom, kind.plane)
    near = jnp.broadcast_to(near, (len(geom), worlds))
    if bounds.discard is not None:
        near &= ~worlds_last(bounds.discard)[kind.pairs]
    return queue(near)
