"""Contacts of all candidate pairs, used if there are few candidates of cheap kinds.

Every candidate contact has a place of its own, which is static. If there are more candidates than
slots, the deepest contacts are kept. This choice has no derivative, but the distances, points and
frames of the contacts have one.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.collision.plan.pairs import PairPlan
from mjjax.collision.plan.table import colliders
from mjjax.collision.shape.contact_set import NO_CONTACT, ContactSet
from mjjax.math.spatial import mat3
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.xla.indexing import gather
from mjjax.xla.namespace import Array, where


def detect_all(
    model: Model, data: Data, plan: PairPlan, margin: Array, discard: Array | None
) -> ContactSet:
    """All candidate contacts (n, ...), in order.

    Args:
        model: model.
        data: data with the poses of the geoms.
        plan: candidate pairs.
        margin: (n,) margins of the candidates [m].
        discard: (P,) which pairs to leave out, or `None`.
    """
    parts, orders = [], []
    table = colliders(data.rules)
    for kind in plan.kinds:
        collider, pair = table[kind.types], kind.pairs
        mat = mat3(data.geom_xmat)
        arguments = [
            gather(x, g) for g in plan.geom[pair].T for x in (data.geom_xpos, mat, model.geom_size)
        ]
        touch = jax.vmap(collider.function)(*arguments, gather(margin, plan.start[pair]))
        if discard is not None:
            touch = touch._replace(dist=where(discard[pair][:, None], NO_CONTACT, touch.dist))
        parts.append(touch.packed().reshape(-1, 10))
        orders.append((plan.start[pair][:, None] + np.arange(collider.ncon)).ravel())
    sort = np.argsort(np.concatenate(orders))
    return ContactSet.of(gather(jnp.concatenate(parts), sort))


def deepest(touch: ContactSet, slots: int) -> tuple[ContactSet, Array]:
    """The deepest candidates, in MuJoCo's order, contacts before empty slots; and their places."""
    dist = lax.stop_gradient(touch.dist)
    _, chosen = lax.top_k(-dist, slots)
    last = jnp.int32(jnp.iinfo(jnp.int32).max)
    _, rank = lax.top_k(-where(dist[chosen] < NO_CONTACT, chosen, last), slots)
    index = chosen[rank]
    return ContactSet.of(touch.packed()[index]), index
