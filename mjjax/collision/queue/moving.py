"""Derivatives of the contacts in the final slots, class by class.

The contacts and their places are given. A cheap kernel is run once more on the pair in each slot,
and its own derivative is used. For a batched kernel the derivative of its `motion` is used.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.plan.numbers import geoms_of
from mjjax.collision.plan.search import KernelClass, SearchPlan
from mjjax.collision.queue.contact_list import Slots
from mjjax.collision.queue.scene import CollisionScene, margins_of, pools_in, primitive, shapes
from mjjax.collision.shape.contact_set import NO_CONTACT, ContactSet
from mjjax.xla.namespace import Array, where
from mjjax.xla.worlds import Leaf


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def moving(search: SearchPlan, scene: CollisionScene, slots: Slots) -> ContactSet:
    """The contacts in slots (K,), as functions of the scene of one world."""
    del search, scene
    return slots.touch


@moving.defjvp
def _moving_jvp(search, primals, tangents):
    scene, slots = primals
    touch = moving(search, scene, slots)
    now = slots._replace(touch=touch)
    _, change = jax.jvp(lambda x: _motion(search, x, now), (scene,), (tangents[0],))
    return touch, change


def _motion(search: SearchPlan, scene: CollisionScene, now: Slots) -> ContactSet:
    """What has the derivative of the contacts in slots (K,); its value does not count."""
    alone = jax.tree.map(lambda x: Leaf(x[None], (1,), (False,)), scene)
    of_slot = search.class_of(now.number)
    exists = now.touch.dist < NO_CONTACT
    total = now.touch
    for part, kind in enumerate(search.classes):
        mine = exists & (of_slot == part)
        total = _where(mine, _of_class(search, kind, alone, now, mine), total)
    return total


def _of_class(
    search: SearchPlan, kind: KernelClass, scene: CollisionScene, now: Slots, mine: Array
) -> ContactSet:
    """`_motion` for the slots that are of a class, `mine`; something finite in the others."""
    # some pair of the class, so that no derivative is taken of what makes no sense
    number = where(mine, now.number, search.plan.number[kind.pairs[0]])
    sub = where(mine, now.sub, 0)
    world = jnp.zeros_like(number)
    s = search.structure
    one, two = shapes(s, scene, world, geoms_of(s, number))
    margin = margins_of(search, scene, world, number)
    if kind.collider.motion is None:
        found = primitive(kind.collider, one, two, margin)
        return jax.tree.map(lambda x: x[np.arange(len(sub)), sub], found)
    known = now.touch._replace(dist=where(mine, now.touch.dist, NO_CONTACT))
    pools = pools_in(s, search.meshes, False, scene)
    motion = functools.partial(kind.collider.motion, pools)
    found = jax.vmap(motion)(one, two, margin, known, now.certificate)
    further = kind.collider.further
    if further is None or not search.multiccd:
        return found
    first = jax.tree.map(lambda x: x[_first_of_pair(now, mine)], found)
    moved = jax.vmap(functools.partial(further, pools))
    turned = mine & (now.certificate[:, 6] > 0)
    return _where(turned, moved(one, two, margin, known, now.certificate, first), found)


def _first_of_pair(now: Slots, mine: Array) -> Array:
    """The slot (K,) of the first contact of each one's pair; its own if that one was lost."""
    same = (now.number[:, None] == now.number[None]) & (mine & (now.sub == 0))[None]
    own = np.arange(len(mine), dtype=np.int32)
    return where(jnp.any(same, axis=1), jnp.argmax(same, axis=1).astype(jnp.int32), own)


def _where(mask: Array, one: ContactSet, two: ContactSet) -> ContactSet:
    """The contacts of `one` where `mask` (K,) is true, those of `two` elsewhere."""

    def choose(x: Array, y: Array) -> Array:
        return where(mask.reshape(mask.shape + (1,) * (x.ndim - 1)), x, y)

    return jax.tree.map(choose, one, two)
