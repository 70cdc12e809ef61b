"""Contacts of sleeping trees: a contact with an awake tree wakes them, others are dropped."""

import jax.numpy as jnp

from mjjax.collision.shape.contact_set import NO_CONTACT
from mjjax.core.profile import stage
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.sleep import sleeps
from mjjax.sleep.cycles import awake_trees, wake_neighbours
from mjjax.sleep.members import members
from mjjax.sleep.stages import with_asleep
from mjjax.xla.namespace import where


@stage
def wake_contacts(model: Model, data: Data) -> Data:
    """Wakes trees that an awake tree touches and drops contacts of the rest (`mj_wakeCollision`).

    MuJoCo leaves sleeping trees out of collision detection and repeats it when a tree wakes. Here
    sleeping trees take part, and contacts that MuJoCo would not have found are dropped.
    """
    s = model.structure
    if not sleeps(model, data):
        return data
    assert data.sleep is not None
    contact = data.contact
    found = contact.geom[:, 0] >= 0
    links = jnp.asarray(members(s).geom, jnp.int32)[jnp.maximum(contact.geom, 0)]
    asleep = wake_neighbours(data.sleep.tree_asleep, links, found)
    alive = (links >= 0) & awake_trees(asleep[jnp.maximum(links, 0)])
    kept = found & jnp.any(alive, axis=1)
    gone = found & ~kept
    contact = contact.replace(
        geom=where(gone[:, None], -1, contact.geom),
        dim=where(gone, 0, contact.dim),
        dist=where(gone, NO_CONTACT, contact.dist),
        pos=where(gone[:, None], 0, contact.pos),
        frame=where(gone[:, None], 0, contact.frame),
    )
    ncon = jnp.sum(kept, dtype=jnp.int32)
    return with_asleep(data.replace(contact=contact, ncon=ncon), asleep)
