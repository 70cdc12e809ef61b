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
from mjjax.collision.params import lookup
from mjjax.collision.search import KernelClass, Search
from mjjax.collision.shapes import Pools, Shape
from mjjax.collision.worlds import Leaf, over_worlds
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
