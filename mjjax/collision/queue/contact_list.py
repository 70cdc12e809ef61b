"""The contacts of all worlds in one list, and from it the slots of each world.

Contacts are appended line by line, and within a line by world and by pair. If the list fills up,
or a world finds more contacts than it has slots, `trim` keeps each world's deepest contacts. The
result does not depend on the chunks in which the contacts came.

MuJoCo's order of a world's contacts follows from some columns of whole numbers, `keys`. They are
either `BY_CANDIDATE`, the place among all candidates, or, if there is no list of all candidates,
`BY_PAIR`, the pair of bodies and the pair. Contacts of one pair are always in order in the list.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.collision.shape.contact_set import NO_CONTACT, ContactSet
from mjjax.xla.item_by_item import gathered_rows
from mjjax.xla.namespace import Array, where

BIG = np.int32(np.iinfo(np.int32).max)
BY_CANDIDATE, BY_PAIR = (1,), (1, 2)  # columns of `ContactList.whole`
COMPARED = 128  # slots up to which comparing all pairs of them sorts faster than a sort (CPU)


class ContactList(NamedTuple):
    """Contacts in R places, of which the first `fill` are in use.

    Attributes:
        real: (R, 10) distance, point, normal, tangent.
        whole: (R, 4 + c) world, order (see below), number of the pair, number within the pair,
            certificate.
        fill: () number of contacts.
        count: (1 + lines, W) contacts of each world in each part of the list; the first part is
            what `trim` kept.
        lost: (W,) whether a world lost contacts.
    """

    real: jax.Array
    whole: jax.Array
    fill: jax.Array
    count: jax.Array
    lost: jax.Array


class Slots(NamedTuple):
    """Contacts of a world in K slots, in MuJoCo's order; leading axis W where there are worlds.

    Attributes:
        touch: distances (K,), points, normals, tangents (K, 3); distance `NO_CONTACT` if empty.
        number: (K,) number of the pair (`collision/plan/numbers.py`), 0 if empty.
        sub: (K,) number of the contact within the pair.
        certificate: (K, c) which features touch, for the derivative.
        lost: whether contacts found no slot.
    """

    touch: ContactSet
    number: Array
    sub: Array
    certificate: Array
    lost: Array


def empty_list(places: int, width: int, parts: int, worlds: int, dtype: jnp.dtype) -> ContactList:
    """A list without contacts, with `width` whole numbers for each."""
    return ContactList(
        jnp.zeros((places, 10), dtype),
        jnp.zeros((places, width), jnp.int32),
        jnp.int32(0),
        jnp.zeros((parts, worlds), jnp.int32),
        jnp.zeros(worlds, bool),
    )


def append(
    found: ContactList, part: int, touch: ContactSet, whole: Array, exists: Array
) -> ContactList:
    """The list with those contacts added that exist, of a chunk of n pairs with m contacts each.

    Args:
        found: list with room for n m more.
        part: part of the list, 1 for the first line.
        touch: contacts (n, m, ...).
        whole: (n, m, ...) their whole numbers, as many as in the list.
        exists: (n, m) whether each contact exists.
    """
    n, m = exists.shape
    rows = touch.packed().reshape(n * m, -1), whole.reshape(n * m, -1)
    (real, numbers), total = gathered_rows(rows, exists.ravel())
    start = (found.fill, jnp.int32(0))
    world = whole[:, 0, 0]
    return found._replace(
        real=lax.dynamic_update_slice(found.real, real, start),
        whole=lax.dynamic_update_slice(found.whole, numbers, start),
        fill=found.fill + total,
        count=found.count.at[part, world].add(jnp.sum(exists, axis=1, dtype=jnp.int32)),
    )


def trim(found: ContactList, slots: int, keys: tuple[int, ...]) -> ContactList:
    """The list with only the deepest contacts of each world, as many as it has slots.

    Among equally deep contacts the first in MuJoCo's order stay.
    """
    worlds = found.count.shape[1]
    place = jnp.arange(found.real.shape[0], dtype=jnp.int32)
    world = where(place < found.fill, found.whole[:, 0], worlds)
    order = [found.whole[:, k] for k in keys]
    operands = (world, found.real[:, 0], *order, place)
    world, _, *order, source = lax.sort(operands, num_keys=len(operands))
    total = jnp.sum(found.count, axis=0, dtype=jnp.int32)
    first = jnp.append(_before(total), 0)[world]
    kept = (place - first < slots) & (world < worlds)
    key = where(kept, world, worlds)
    *_, source = lax.sort((key, *order, source), num_keys=2 + len(keys))
    left = jnp.minimum(total, slots)
    return ContactList(
        found.real[source],
        found.whole[source],
        jnp.sum(left, dtype=jnp.int32),
        jnp.zeros_like(found.count).at[0].set(left),
        found.lost | (total > slots),
    )


def in_slots(found: ContactList, slots: int, keys: tuple[int, ...]) -> Slots:
    """The contacts of a list in which no world has more than its slots."""
    upto = jnp.cumsum(found.count, axis=0, dtype=jnp.int32)[..., None]
    before = upto - found.count[..., None]
    first = _before(found.count.ravel()).reshape(before.shape)
    slot = np.arange(slots, dtype=np.int32)[None, None]
    within = (slot >= before) & (slot < upto)
    source = jnp.sum(where(within, first + slot - before, 0), axis=0, dtype=jnp.int32)
    exists = slot[0] < upto[-1]
    if len(found.count) > 2 or keys != BY_CANDIDATE:
        order = [found.whole[source, k] for k in keys]
        order[0] = where(exists, order[0], BIG - slots + slot[0])
        source = _sorted_by(order, source)
    on = exists[..., None]
    real = where(on, found.real[source], 0)
    whole = where(on, found.whole[source], 0)
    touch = ContactSet.of(real)
    touch = touch._replace(dist=where(exists, touch.dist, NO_CONTACT))
    return Slots(touch, whole[..., 2], whole[..., 3], whole[..., 4:], found.lost)


def _before(count: Array) -> jax.Array:
    """Sums of the entries before each."""
    return jnp.cumsum(count, dtype=jnp.int32) - count


def _sorted_by(keys: list[jax.Array], value: jax.Array) -> jax.Array:
    """Values (W, K), which all differ in a row, by keys, the first one first, then by value."""
    slots = value.shape[1]
    if slots > COMPARED:
        return lax.sort((*keys, value), num_keys=1 + len(keys))[-1]
    less = value[:, None] < value[:, :, None]
    for key in keys[::-1]:
        one, two = key[:, None], key[:, :, None]
        less = (one < two) | ((one == two) & less)
    rank = jnp.sum(less, axis=2, dtype=jnp.int32)
    mine = rank[:, None] == np.arange(slots, dtype=np.int32)[None, :, None]
    return jnp.sum(where(mine, value[:, None], 0), axis=2, dtype=jnp.int32)
