"""The geoms of one or of many worlds, and the arguments that kernels get from them.

In the queue every array of a `CollisionScene` is a `Leaf`, with rows for the worlds. A pair is
looked up by its world and its number.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.convex.gjk import Settings
from mjjax.collision.plan.broad import Boxes, boxes_near, boxes_of
from mjjax.collision.plan.numbers import explicit_of, geoms_of
from mjjax.collision.plan.params import lookup
from mjjax.collision.plan.search import KernelClass, SearchPlan
from mjjax.collision.plan.table import Collider
from mjjax.collision.shape.contact_set import NO_CONTACT, ContactSet
from mjjax.collision.shape.shapes import Pools, Shape, tables_of
from mjjax.core.enums import GeomType
from mjjax.math.spatial import mat3
from mjjax.model.structure import Structure
from mjjax.xla.indexing import gather
from mjjax.xla.item_by_item import item_by_item
from mjjax.xla.loops import switch
from mjjax.xla.namespace import Array, where
from mjjax.xla.worlds import Leaf

FAR_AWAY = 1e6  # [m]


class CollisionScene(NamedTuple):
    """The arrays that determine a world's contacts; in the queue every array is a `Leaf`.

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
    """Arrays that the broad phase needs beside a scene.

    Attributes:
        rbound: (ngeom,) radii of bounding spheres [m].
        aabb: (ngeom, 6) bounding boxes [m].
        discard: (P,) whether a callback discards a pair, or `None`.
    """

    rbound: Any
    aabb: Any
    discard: Any


def worlds_last(x: Leaf) -> Array:
    """An array with the worlds as last axis, of length 1 if shared; it is read row by row."""
    return jnp.moveaxis(x.all(), 0, -1)


def margins(
    search: SearchPlan, scene: CollisionScene, geom: np.ndarray, explicit: np.ndarray
) -> Array:
    """Margins (n, W) of static pairs."""
    if search.override:
        return worlds_last(scene.o_margin)[None]
    each = worlds_last(scene.margin)
    margin = gather(each, geom[:, 0]) + gather(each, geom[:, 1])
    if not (explicit >= 0).any():
        return margin
    own = worlds_last(scene.pair_margin)[np.maximum(explicit, 0)]
    return where(explicit[:, None] >= 0, own, margin)


def near_by_boxes(
    search: SearchPlan, scene: CollisionScene, bounds: Bounds, world: Array, number: Array
) -> Array:
    """Whether the bounding boxes of pairs with numbers (n,) are near."""

    def boxes(geom: Array) -> Boxes:
        mat = mat3(scene.mat.at(world, geom))
        return boxes_of(scene.pos.at(world, geom), mat, bounds.aabb.at(world, geom))

    one, two = map(boxes, geoms_of(search.structure, number).T)
    return boxes_near(one, two, margins_of(search, scene, world, number))


def margins_of(search: SearchPlan, scene: CollisionScene, world: Array, number: Array) -> Array:
    """Margins (n,) of pairs with numbers (n,)."""
    if search.override:
        return jnp.broadcast_to(scene.o_margin.of(world), number.shape)
    g1, g2 = geoms_of(search.structure, number).T
    margin = scene.margin.at(world, g1) + scene.margin.at(world, g2)
    if not search.structure.npair:
        return margin
    explicit = explicit_of(search.structure, number)
    own = scene.pair_margin.at(world, jnp.maximum(explicit, 0))
    return where(explicit >= 0, own, margin)


def touch(
    search: SearchPlan,
    kinds: Sequence[KernelClass],
    which: Array,
    scene: CollisionScene,
    world: Array,
    number: Array,
    used: Array,
) -> tuple[ContactSet, Array]:
    """Contacts (n, m, ...) of pairs of several classes, with their certificates (n, m, c).

    The class of each pair is `which` (n,). Pairs that are not `used` (n,) make little work, and
    contacts that have no meaning.
    """
    margin = margins_of(search, scene, world, number)
    one, two = shapes(search.structure, scene, world, geoms_of(search.structure, number))
    primitives = [k for k, kind in enumerate(kinds) if not kind.collider.batched]
    results = []
    if primitives:
        colliders, pair = [kinds[k].collider for k in primitives], (*one[:3], *two[:3], margin)
        if colliders[0].alone:
            place = np.searchsorted(primitives, np.arange(len(kinds))).astype(np.int32)
            mine = used & jnp.asarray(np.isin(np.arange(len(kinds)), primitives))[which]
            found = item_by_item(_primitives(colliders), mine, (lookup(place, which), *pair))
        else:
            mine, found = used, primitive(colliders[0], one, two, margin)
        results.append((mine, found, jnp.zeros((*found.dist.shape, 0), jnp.int32)))
    for k, kind in enumerate(kinds):
        if kind.collider.batched:
            mine = jnp.asarray(used & (which == k))
            tolerance = jnp.broadcast_to(scene.tolerance.of(world), world.shape)
            far = two._replace(pos=where(mine[:, None], two.pos, one.pos + FAR_AWAY))
            run = _kernel(search, kind.collider.function)
            results.append((mine, *run(_joined(scene), one, far, margin, tolerance, mine)))
    return _together(results)


def _together(results: list[tuple[Array, ContactSet, Array]]) -> tuple[ContactSet, Array]:
    """Contacts and certificates of pairs, each from the result with a mask (n,) that has the pair.

    Slots and certificates are filled up to the largest number.
    """
    slots = max(found.dist.shape[1] for _, found, _ in results)
    width = max(certificate.shape[2] for *_, certificate in results)
    total: tuple[ContactSet, Array] | None = None
    for mine, found, certificate in results:
        new = _grown(found, slots), _padded(certificate, slots, width)
        total = new if total is None else jax.tree.map(functools.partial(_chosen, mine), new, total)
    assert total is not None
    return total


def _chosen(on: Array, new: Array, old: Array) -> Array:
    return where(on.reshape(-1, *[1] * (new.ndim - 1)), new, old)


def _grown(found: ContactSet, slots: int) -> ContactSet:
    """Contacts (n, m, ...) with more slots, which are empty."""
    more = ((0, 0), (0, slots - found.dist.shape[1]))
    dist = jnp.pad(found.dist, more, constant_values=NO_CONTACT)
    return ContactSet(dist, *(jnp.pad(x, (*more, (0, 0))) for x in found[1:]))


def _padded(certificate: Array, slots: int, width: int) -> Array:
    _, m, c = certificate.shape
    return jnp.pad(certificate, ((0, 0), (0, slots - m), (0, width - c)))


def primitive(collider: Collider, one: Shape, two: Shape, margin: Array) -> ContactSet:
    """Contacts (n, m, ...) of pairs by a kernel that is not batched."""
    return jax.vmap(collider.function)(*one[:3], *two[:3], margin)


def _primitives(colliders: Sequence[Collider]) -> Callable[..., ContactSet]:
    """Contacts (m, ...) of a pair, by the kernel of its class, with empty slots after them."""
    most = max(collider.ncon for collider in colliders)

    def filled_up(function: Callable[..., ContactSet], *pair: Array) -> ContactSet:
        found = function(*pair)
        one = jax.tree.map(lambda x: x[None], found)
        return jax.tree.map(lambda x: x[0], _grown(one, most))

    kernels = [functools.partial(filled_up, collider.function) for collider in colliders]
    return lambda item: switch(item[0], kernels, *item[1:])


@functools.lru_cache(maxsize=256)
def _kernel(search: SearchPlan, function: Callable) -> Callable:
    """A batched kernel with its static arguments, traced once however often it is used."""

    @jax.jit
    def run(
        floats: list[Any], one: Shape, two: Shape, margin: Array, tolerance: Any, used: jax.Array
    ) -> Any:
        tables = tables_of(search.structure, search.meshes, search.multiccd)
        multi, native = search.multiccd, search.native
        settings = Settings(search.iterations, tolerance, multi, *search.sdf, native, used)
        return function(Pools(*floats, *tables), one, two, margin, settings)

    return run


def pools_in(s: Structure, meshes: tuple[int, ...], faces: bool, scene: CollisionScene) -> Pools:
    """The pools of all worlds, joined end to end."""
    return Pools(*_joined(scene), *tables_of(s, meshes, faces))


def _joined(scene: CollisionScene) -> list[Any]:
    return [x.value.reshape(-1, *x.value.shape[2:]) for x in scene.pools]


def shapes(s: Structure, scene: CollisionScene, world: Array, geom: Array) -> list[Shape]:
    """The first and the second geoms of pairs `geom` (n, 2)."""
    shapes = []
    for g in geom.T:
        kind = lookup(s.geom_type, g)
        shapes.append(
            Shape(
                pos=scene.pos.at(world, g),
                mat=mat3(scene.mat.at(world, g)),
                size=scene.size.at(world, g),
                kind=kind,
                asset=lookup(s.geom_dataid, g),
                offset=_offset(scene, world, kind),
                field=_field(scene, world, kind),
            )
        )
    return shapes


def _offset(scene: CollisionScene, world: Array, kind: Array) -> Array:
    """Where the world's vertices, or elevations, begin in the pools."""
    if scene.pools is None:
        return jnp.zeros_like(world)
    vert, height = (x.row(world) * x.value.shape[1] for x in scene.pools[:2])
    return where(kind == GeomType.HFIELD, height, vert)


def _field(scene: CollisionScene, world: Array, kind: Array) -> Array | None:
    """Where the world's octrees, or boxes of triangles, begin; `None` where there are none."""
    if scene.pools is None or not scene.pools[3].value.shape[1]:
        return None
    cells, balls = (scene.pools[k].row(world) * scene.pools[k].value.shape[1] for k in (3, 5))
    return where(kind == GeomType.SDF, cells, balls)
