"""The stage of collision detection: from the poses of the geoms to contact slots.

If there are more contacts than slots, the deepest contacts are kept, and
`data.warning[WarningType.CONTACTFULL]` counts the overflow. The choice of the contacts has no
derivative, but their distances, points and frames have one.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from mjjax.collision.plan.broad import current_bounds
from mjjax.collision.plan.numbers import dimension_of, explicit_of, geoms_of
from mjjax.collision.plan.pairs import PairPlan
from mjjax.collision.plan.params import PairParams, lookup, pair_params
from mjjax.collision.plan.search import (
    SearchPlan,
    contact_disabled,
    every_candidate,
    plan_of,
    search_of,
)
from mjjax.collision.queue.dense import deepest, detect_all
from mjjax.collision.queue.detect import detect
from mjjax.collision.queue.scene import Bounds, CollisionScene
from mjjax.collision.shape.contact_set import NO_CONTACT, ContactSet, make_frame
from mjjax.collision.shape.shapes import float_pools
from mjjax.core.enums import WarningType
from mjjax.core.profile import stage
from mjjax.math.spatial import flat9
from mjjax.model.data import Contact, Data
from mjjax.model.model import Model
from mjjax.model.sleep import sleeps
from mjjax.sleep.cycles import awake_trees
from mjjax.xla.indexing import gather_rows
from mjjax.xla.namespace import Array, where


@stage
def collision(model: Model, data: Data, contact_filter: Callable | None = None) -> Data:
    """Detects contacts (`mj_collision`) and fills `data.contact` and `data.ncon`.

    Args:
        model: model.
        data: data with the poses of the geoms.
        contact_filter: see `Callbacks`.

    Raises:
        ValueError: a contact filter was given here but not to `make_data`, or the reverse.
    """
    if data.rules.filtered != (contact_filter is not None):
        raise ValueError(
            "the contact filter of this call is not that of make_data: give the same callbacks to "
            "both, make_data(model, callbacks=...)"
        )
    slots = data.contact.dist.shape[0]
    if contact_disabled(model):
        return data.replace(ncon=jnp.int32(0), contact=empty_contact(data.contact))
    plan = plan_of(model, data.rules)
    if not plan.ncandidate:
        return data.replace(ncon=jnp.int32(0))
    discard = _discarded(model, data, plan, contact_filter) if contact_filter else None
    if sleeps(model, data):
        idle = jnp.all(~awake_trees(data.tree_asleep))  # then no tree can wake another
        discard = jnp.broadcast_to(idle, len(plan.geom)) | (False if discard is None else discard)
    every = every_candidate(model, data.rules, slots)
    if every:
        contact, lost = _every(model, data, plan, slots, discard)
    else:
        contact, lost = _nearby(model, data, search_of(model, data.rules), slots, discard)
    ncon = jnp.sum(contact.dist < NO_CONTACT, dtype=jnp.int32)
    data = data.replace(contact=_padded(contact, slots), ncon=ncon)
    return data.with_warnings({WarningType.CONTACTFULL: lost})


def _discarded(model: Model, data: Data, plan: PairPlan, contact_filter: Callable) -> Array:
    """Whether the callback discards each pair (P,); it is not asked about explicit pairs."""
    asked = [jnp.asarray(g, jnp.int32) for g in plan.geom.T]
    discard = jax.vmap(lambda a, b: jnp.asarray(contact_filter(model, data, a, b), bool))(*asked)
    return discard & (plan.explicit < 0)


def _every(
    model: Model, data: Data, plan: PairPlan, slots: int, discard: Array | None
) -> tuple[Contact, Array]:
    """Contacts of all candidates, or the deepest of them, and whether any were lost."""
    pair = plan.pair_of_candidate
    geom, dim = plan.geom[pair], plan.dim[pair]
    params = pair_params(model, geom, plan.explicit[pair])
    touch = detect_all(model, data, plan, params.margin, discard)
    if plan.ncandidate <= slots:
        return _contact(params, touch, geom, dim), jnp.bool_(False)
    lost = jnp.sum(touch.dist < NO_CONTACT, dtype=jnp.int32) > slots
    touch, place = deepest(touch, slots)
    params = PairParams(*gather_rows(params, place))
    return _contact(params, touch, lookup(geom, place), lookup(dim, place)), lost


def _nearby(
    model: Model, data: Data, search: SearchPlan, slots: int, discard: Array | None
) -> tuple[Contact, Array]:
    """Contacts of the pairs that the queue finds near, and whether any were lost."""
    s = model.structure
    found = detect(search, *inputs(model, data, search, discard), slots)
    geom = geoms_of(s, found.number)
    params = pair_params(model, geom, explicit_of(s, found.number))
    return _contact(params, found.touch, geom, dimension_of(s, found.number)), found.lost


def inputs(
    model: Model, data: Data, search: SearchPlan, discard: Array | None = None
) -> tuple[CollisionScene, Bounds]:
    """The arrays that the queue reads; pairs (P,) for which `discard` is true make no contact."""
    scene = CollisionScene(
        pos=data.geom_xpos,
        mat=data.geom_xmat,
        size=model.geom_size,
        margin=model.geom_margin,
        pair_margin=model.pair_margin,
        o_margin=model.opt.o_margin,
        pools=float_pools(model, search.meshes, search.multiccd) if search.batched else None,
        tolerance=model.opt.ccd_tolerance,
    )
    kind, size = model.structure.geom_type, model.geom_size
    bounds = current_bounds(kind, size, model.geom_rbound, model.geom_aabb)
    return scene, Bounds(*bounds, discard)


def _contact(params: PairParams, touch: ContactSet, geom: Array, dim: Array) -> Contact:
    """Contact slots; `params`, `geom` and `dim` (n, ...) are those of the pairs in the slots."""
    margin, gap, friction, solref, solreffriction, solimp = map(jnp.asarray, params)
    touching = touch.dist < NO_CONTACT
    on = touching[:, None]
    return Contact(
        dist=where(touching, touch.dist, NO_CONTACT),
        pos=where(on, touch.pos, 0),
        frame=where(on, flat9(make_frame(touch.normal, touch.tangent)), 0),
        includemargin=margin - gap,
        friction=friction,
        solref=solref,
        solreffriction=solreffriction,
        solimp=solimp,
        dim=where(touching, dim, 0).astype(jnp.int32),
        geom=where(on, geom, -1).astype(jnp.int32),
        efc_address=jnp.full(len(touching), -1, jnp.int32),
    )


def _padded(contact: Contact, slots: int) -> Contact:
    """Contact slots, followed by empty ones up to the number `slots`."""
    missing = slots - contact.dist.shape[0]
    if not missing:
        return contact
    fill = dict.fromkeys(("geom", "efc_address"), -1) | {"dist": NO_CONTACT}
    padded = {
        name: jnp.pad(
            value, [(0, missing)] + [(0, 0)] * (value.ndim - 1), constant_values=fill.get(name, 0)
        )
        for name, value in vars(contact).items()
    }
    return Contact(**padded)


def empty_contact(contact: Contact) -> Contact:
    """The slots of `contact`, all of them empty."""
    return contact.replace(
        dist=jnp.full_like(contact.dist, NO_CONTACT),
        geom=jnp.full_like(contact.geom, -1),
        dim=jnp.zeros_like(contact.dim),
        efc_address=jnp.full_like(contact.efc_address, -1),
    )
