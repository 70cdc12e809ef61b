"""Contacts by a queue over the pairs of all worlds: the cost follows the pairs that are near.

For each class of kernel the broad phase leaves a queue of pairs, by world and by pair. Chunks of
it go through the kernel until none is left, so that nothing is dropped before its distance is
known. Any `vmap`s around are one queue (`collision/worlds.py`).

The queue has no derivative. That of the contacts is found on the final slots only, by `motion`
functions: kernels whose derivative at a given contact is exact.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.collision.broad import Near, boxes_near, boxes_of, queue, spheres_near
from mjjax.collision.contact_list import ContactList, Slots, append, empty_list, in_slots, trim
from mjjax.collision.contact_set import NO_CONTACT, ContactSet
from mjjax.collision.convex.gjk import Settings
from mjjax.collision.params import lookup
from mjjax.collision.search import KernelClass, Search
from mjjax.collision.shapes import Pools, Shape, tables_of
from mjjax.collision.worlds import Leaf, over_worlds
from mjjax.core.enums import GeomType
from mjjax.math.linalg import gather
from mjjax.math.namespace import Array
from mjjax.math.spatial import mat3

CHUNK_CPU = 128  # pairs at a time: what fits into the cache
CHUNK = 8192  # on accelerators, where every trip of a loop waits for the host


class Scene(NamedTuple):
    """What the contacts of a world follow from; in the queue every array is a `Leaf`.

    Attributes:
        pos: (ngeom, 3) positions [m].
        mat: (ngeom, 9) rotations.
        size: (ngeom, 3) sizes [m].
        margin: (ngeom,) margins [m].
        pair_margin: (npair,) margins of explicit pairs [m].
        o_margin: () margin of all pairs where options override [m].
        pools: vertices and heights, `None` where no kernel needs them.
        tolerance: () tolerance for convex geoms [m].
    """

    pos: Any
    mat: Any
    size: Any
    margin: Any
    pair_margin: Any
    o_margin: Any
    pools: Any
    tolerance: Any


class Bounds(NamedTuple):
    """What the broad phase needs beside a scene.

    Attributes:
        rbound: (ngeom,) radii of bounding spheres [m].
        aabb: (ngeom, 6) bounding boxes [m].
        discard: (P,) pairs that a callback discards, or `None`.
    """

    rbound: Any
    aabb: Any
    discard: Any


def detect(search: Search, scene: Scene, bounds: Bounds, slots: int) -> Slots:
    """Contacts of a world in slots, with their derivatives.

    Args:
        search: how to search.
        scene: geoms.
        bounds: their bounds.
        slots: number of slots; the deepest contacts are kept.
    """
    found = over_worlds(functools.partial(_search, search, slots), (scene, bounds))
    return found._replace(touch=_moving(search, scene, found))


def _search(search: Search, slots: int, worlds: int, tree: tuple[Scene, Bounds]) -> Slots:
    """Contacts of all worlds in slots (W, K)."""
    scene, bounds = tree
    queues = [_near(search, kind, scene, bounds, worlds) for kind in search.classes]
    chunks = [_chunk(worlds * len(kind.pairs)) for kind in search.classes]
    forms = [_form(search, kind, scene) for kind in search.classes]
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
            use &= _boxes_near(search, scene, bounds, *located(entry))
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
        touch, certificate = _touch(search, kind, scene, world, pair)
        used = (slot < line.nheld)[:, None]
        whole = _whole(search, world, pair, certificate, found.whole.shape[1])
        found = append(found, part + 1, touch, whole, used & (touch.dist < NO_CONTACT))
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


def _form(search: Search, kind: KernelClass, scene: Scene) -> tuple[int, int]:
    """Contacts of a pair of a class, and the length of their certificates."""
    one = jax.ShapeDtypeStruct((1,), jnp.int32)
    _, certificate = jax.eval_shape(functools.partial(_touch, search, kind, scene), one, one)
    return certificate.shape[1:]


def _near(search: Search, kind: KernelClass, scene: Scene, bounds: Bounds, worlds: int) -> Near:
    """Queue of the pairs of a class by their bounding spheres."""
    geom, explicit = search.plan.geom[kind.pairs], search.plan.explicit[kind.pairs]
    margin = _margins(search, scene, geom, explicit)
    pos, mat, rbound = map(_worlds_last, (scene.pos, scene.mat, bounds.rbound))
    near = spheres_near(pos, mat, rbound, margin, geom, kind.plane)
    near = jnp.broadcast_to(near, (len(geom), worlds))
    if bounds.discard is not None:
        near &= ~_worlds_last(bounds.discard)[kind.pairs]
    return queue(near)


def _worlds_last(x: Leaf) -> Array:
    """An array with the worlds as its last axis, of length 1 if shared: it is read row by row."""
    return jnp.moveaxis(x.all(), 0, -1)


def _margins(search: Search, scene: Scene, geom: np.ndarray, explicit: np.ndarray) -> Array:
    """Margins (n, W) of static pairs."""
    if search.override:
        return _worlds_last(scene.o_margin)[None]
    each = _worlds_last(scene.margin)
    margin = gather(each, geom[:, 0]) + gather(each, geom[:, 1])
    if not (explicit >= 0).any():
        return margin
    own = _worlds_last(scene.pair_margin)[np.maximum(explicit, 0)]
    return jnp.where(explicit[:, None] >= 0, own, margin)


def _boxes_near(search: Search, scene: Scene, bounds: Bounds, world: Array, pair: Array) -> Array:
    """Whether the bounding boxes of pairs (n,) are near."""
    boxes = []
    for geom in lookup(search.plan.geom, pair).T:
        mat = mat3(scene.mat.at(world, geom))
        boxes.append(boxes_of(scene.pos.at(world, geom), mat, bounds.aabb.at(world, geom)))
    return boxes_near(*boxes, _margin(search, scene, world, pair))


def _margin(search: Search, scene: Scene, world: Array, pair: Array) -> Array:
    """Margins (n,) of pairs."""
    if search.override:
        return jnp.broadcast_to(scene.o_margin.of(world), pair.shape)
    g1, g2 = lookup(search.plan.geom, pair).T
    margin = scene.margin.at(world, g1) + scene.margin.at(world, g2)
    if not search.structure.npair:
        return margin
    explicit = lookup(search.plan.explicit, pair)
    own = scene.pair_margin.at(world, jnp.maximum(explicit, 0))
    return jnp.where(explicit >= 0, own, margin)


def _touch(
    search: Search, kind: KernelClass, scene: Scene, world: Array, pair: Array
) -> tuple[ContactSet, Array]:
    """Contacts (n, m, ...) of pairs (n,) of a class, with their certificates (n, m, c)."""
    margin = _margin(search, scene, world, pair)
    one, two = _shapes(search, scene, world, pair)
    if kind.collider.batched:
        tolerance = jnp.broadcast_to(scene.tolerance.of(world), world.shape)
        settings = Settings(search.iterations, tolerance, search.multiccd)
        return kind.collider.function(_pools(search, scene), one, two, margin, settings)
    touch = jax.vmap(kind.collider.function)(*one[:3], *two[:3], margin)
    return touch, jnp.zeros((*touch.dist.shape, 0), jnp.int32)


def _pools(search: Search, scene: Scene) -> Pools:
    """The pools of all worlds end to end."""
    s = search.structure
    joined = [x.value.reshape(-1, *x.value.shape[2:]) for x in scene.pools]
    return Pools(*joined, *tables_of(s, search.meshes))


def _shapes(search: Search, scene: Scene, world: Array, pair: Array) -> list[Shape]:
    """The first and the second geoms of pairs (n,)."""
    s = search.structure
    shapes = []
    for g in lookup(search.plan.geom, pair).T:
        kind = lookup(s.geom_type, g)
        shapes.append(
            Shape(
                pos=scene.pos.at(world, g),
                mat=mat3(scene.mat.at(world, g)),
                size=scene.size.at(world, g),
                kind=kind,
                asset=lookup(s.geom_dataid, g),
                offset=_offset(scene, world, kind),
            )
        )
    return shapes


def _offset(scene: Scene, world: Array, kind: Array) -> Array:
    """Where the world's vertices, or elevations, begin in the pools."""
    if scene.pools is None:
        return jnp.zeros_like(world)
    vert, height = (x.row(world) * x.value.shape[1] for x in scene.pools)
    return jnp.where(kind == GeomType.HFIELD, height, vert)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _moving(search: Search, scene: Scene, slots: Slots) -> ContactSet:
    """The contacts in slots (K,), as functions of the scene."""
    del search, scene
    return slots.touch


@_moving.defjvp
def _moving_jvp(search, primals, tangents):
    scene, slots = primals
    touch = _moving(search, scene, slots)
    now = slots._replace(touch=touch)
    _, change = jax.jvp(lambda x: _motion(search, x, now), (scene,), (tangents[0],))
    return touch, change


def _motion(search: Search, scene: Scene, now: Slots) -> ContactSet:
    """What has the derivative of the contacts in slots (K,), class by class."""
    alone = jax.tree.map(lambda x: Leaf(x[None], (1,), (False,)), scene)
    world = jnp.zeros_like(now.pair)
    of_slot = lookup(search.class_of, now.pair)
    exists = now.touch.dist < NO_CONTACT
    total = now.touch
    for part, kind in enumerate(search.classes):
        mine = exists & (of_slot == part)
        # elsewhere some pair of this class, so that no derivative is taken of what makes no sense
        pair = jnp.where(mine, now.pair, np.int32(kind.pairs[0]))
        sub = jnp.where(mine, now.sub, 0)
        if kind.collider.motion is None:
            touch, _ = _touch(search, kind, alone, world, pair)
            touch = jax.tree.map(lambda x: x[np.arange(len(sub)), sub], touch)
        else:
            known = now.touch._replace(dist=jnp.where(mine, now.touch.dist, NO_CONTACT))
            move = functools.partial(kind.collider.motion, _pools(search, alone))
            shapes = _shapes(search, alone, world, pair)
            touch = jax.vmap(move)(*shapes, known, now.certificate)
        total = jax.tree.map(lambda x, y: jnp.where(_like(mine, x), x, y), touch, total)
    return total


def _like(mask: Array, x: Array) -> Array:
    return mask.reshape(mask.shape + (1,) * (x.ndim - 1))
