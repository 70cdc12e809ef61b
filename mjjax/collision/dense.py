"""Contacts of all candidate pairs: for few candidates of cheap kinds.

Every candidate contact has a place of its own, known before anything runs. Where there are more
candidates than slots the deepest contacts are kept. Which has no derivative; their distances,
points and frames do.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.collision.contact_set import NO_CONTACT, ContactSet
from mjjax.collision.pairs import PairPlan
from mjjax.collision.table import colliders
from mjjax.math.indexing import gather
from mjjax.math.namespace import Array
from mjjax.math.spatial import mat3
from mjjax.model.data import Data
from mjjax.model.model import Model


class Candidates(NamedTuple):
    """Contacts (n, ...) and their pairs (n,); the pairs are numpy where nothing was selected."""

    touch: ContactSet
    pair: Array


def detect_all(
    model: Model, data: Data, plan: PairPlan, margin: Array, discard: Array | None
) -> Candidates:
    """All candidate contacts, in order.

    Args:
        model: model.
        data: data with the poses of the geoms.
        plan: candidate pairs.
        margin: (P,) margins of the pairs [m].
        discard: (P,) which pairs to leave out, or `None`.
    """
    parts, pairs, orders = [], [], []
    table = colliders(data.rules)
    for kind in plan.kinds:
        collider, pair = table[kind.types], kind.pairs
        mat = mat3(data.geom_xmat)
        arguments = [
            gather(x, g) for g in plan.geom[pair].T for x in (data.geom_xpos, mat, model.geom_size)
        ]
        touch = jax.vmap(collider.function)(*arguments, gather(margin, pair))
        if discard is not None:
            touch = touch._replace(dist=jnp.where(discard[pair][:, None], NO_CONTACT, touch.dist))
        parts.append([x.reshape(-1, *x.shape[2:]) for x in touch])
        pairs.append(np.repeat(pair, collider.ncon))
        orders.append((plan.start[pair][:, None] + np.arange(collider.ncon)).ravel())
    sort = np.argsort(np.concatenate(orders))
    joined = [jnp.concatenate(column) for column in zip(*parts, strict=True)]
    touch = ContactSet(*(gather(x, sort) for x in joined))
    return Candidates(touch, np.concatenate(pairs)[sort])


def deepest(found: Candidates, slots: int) -> Candidates:
    """The deepest candidates, in MuJoCo's order, contacts before empty slots."""
    dist = lax.stop_gradient(found.touch.dist)
    _, chosen = lax.top_k(-dist, slots)
    last = jnp.int32(jnp.iinfo(jnp.int32).max)
    _, rank = lax.top_k(-jnp.where(dist[chosen] < NO_CONTACT, chosen, last), slots)
    index = chosen[rank]
    each = jnp.concatenate([found.touch.dist[:, None], *found.touch[1:]], axis=1)[index]
    touch = ContactSet(each[:, 0], each[:, 1:4], each[:, 4:7], each[:, 7:])
    return Candidates(touch, jnp.asarray(found.pair, jnp.int32)[index])
