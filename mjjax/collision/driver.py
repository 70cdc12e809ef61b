"""Collision detection: broad phase, narrow phase, contact slots.

Candidate pairs of a kind (a pair of geom types) are tested together. Where a kind has more pairs
than the contact list could hold, bounding spheres pick the nearest ones first. Where there are
more candidate contacts than slots, the deepest are kept; an overflow is counted in
`data.warning[WarningType.CONTACTFULL]`. Which pairs and slots are chosen has no derivative; the
contacts' distances, points and frames do.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.collision.contact_set import NO_CONTACT, make_frame
from mjjax.collision.pairs import Kind, PairPlan, pair_plan
from mjjax.collision.params import PairParams, pair_params
from mjjax.collision.table import colliders
from mjjax.core.enums import DisableBit, GeomType, WarningType
from mjjax.core.profile import stage
from mjjax.math.linalg import gather
from mjjax.math.namespace import Array
from mjjax.math.spatial import flat9, mat3
from mjjax.model.data import CollisionRules, Contact, Data
from mjjax.model.model import Model


class Candidates(NamedTuple):
    """Candidate contacts (N, ...); `pair` and `order` are numpy where nothing was selected."""

    dist: Array
    pos: Array
    normal: Array
    tangent: Array
    pair: Array
    order: Array


def contact_disabled(model: Model) -> bool:
    """Whether a flag turns all contacts off."""
    return model.opt.disabled(DisableBit.CONTACT | DisableBit.CONSTRAINT)


def plan_of(model: Model, rules: CollisionRules) -> PairPlan:
    """Candidate pairs under the model's options and what callbacks change."""
    return pair_plan(model.structure, not model.opt.disabled(DisableBit.FILTERPARENT), rules)


def default_nconmax(model: Model, rules: CollisionRules) -> int:
    """Contact slots chosen for the user: all candidates if few, else two per colliding geom.

    Few are up to 64; above, 32 at least.
    """
    if contact_disabled(model):
        return 0
    plan = plan_of(model, rules)
    if plan.ncandidate <= 64:
        return plan.ncandidate
    return max(32, 2 * len(np.unique(plan.geom)))


def slot_geoms(model: Model, data: Data) -> np.ndarray | None:
    """Geoms (nconmax, 2) of every slot where each candidate has its own, otherwise None."""
    plan = plan_of(model, data.rules)
    if contact_disabled(model) or plan.ncandidate != data.contact.dist.shape[0]:
        return None
    count = np.diff(np.append(plan.start, plan.ncandidate))
    return np.repeat(plan.geom, count, axis=0)


@stage
def collision(model: Model, data: Data, contact_filter: Callable | None = None) -> Data:
    """Detects contacts (`mj_collision`) and fills `data.contact` and `data.ncon`.

    Args:
        model: model.
        data: data with the poses of the geoms.
        contact_filter: see `Callbacks`.

    Raises:
        ValueError: there is a contact filter, but `make_data` was not told, or the reverse.
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
    params = pair_params(model, plan)
    discard = _discarded(model, data, plan, contact_filter) if contact_filter else None
    found, missed = _narrow_phase(model, data, plan, params, slots, discard)
    touching = found.dist < NO_CONTACT
    count = jnp.sum(touching, dtype=jnp.int32)
    if len(found.dist) > slots or not isinstance(found.order, np.ndarray):
        found = _select(found, slots)
        touching = found.dist < NO_CONTACT
        missed |= count > slots
    kept = jnp.sum(touching, dtype=jnp.int32)
    data = data.replace(contact=_contact(plan, params, found, touching, slots), ncon=kept)
    return data.with_warnings({WarningType.CONTACTFULL: missed})


def _discarded(model: Model, data: Data, plan: PairPlan, contact_filter: Callable) -> Array:
    """Which pairs (P,) the callback discards; it is not asked about explicit ones."""
    asked = [jnp.asarray(g, jnp.int32) for g in plan.geom.T]
    discard = jax.vmap(lambda a, b: jnp.asarray(contact_filter(model, data, a, b), bool))(*asked)
    return discard & (plan.explicit < 0)


def _narrow_phase(
    model: Model,
    data: Data,
    plan: PairPlan,
    params: PairParams,
    slots: int,
    discard: Array | None,
) -> tuple[Candidates, Array]:
    """All candidate contacts, in order if nothing was left out; and whether a pair was missed."""
    parts, missed = [], jnp.bool_(False)
    table = colliders(data.rules)
    for kind in plan.kinds:
        collider = table[kind.types]
        pair, lost = _broad_phase(model, data, plan, params, kind, slots, discard)
        missed |= lost
        geom = _lookup(plan.geom, pair)
        mat = mat3(data.geom_xmat)
        arguments = [
            x
            for g in (geom[:, 0], geom[:, 1])
            for x in (_at(data.geom_xpos, g), _at(mat, g), _at(model.geom_size, g))
        ]
        touch = jax.vmap(collider.function)(*arguments, params.margin[pair])
        start = _lookup(plan.start, pair)
        slot = np.arange(collider.ncon, dtype=np.int32)[None]
        order = (start[:, None] + slot).reshape(-1)
        owner = (pair[:, None] + 0 * slot).reshape(-1)
        flat = [x.reshape(-1, *x.shape[2:]) for x in touch]
        if discard is not None:
            flat[0] = jnp.where(discard[owner], NO_CONTACT, flat[0])
        parts.append(_candidates(flat, owner, order))
    whole = all(isinstance(p.order, np.ndarray) for p in parts)
    *values, pair, order = (list(column) for column in zip(*parts, strict=True))
    joined = [jnp.concatenate(v) for v in values]
    if not whole:
        index = [jnp.concatenate([jnp.asarray(x, jnp.int32) for x in c]) for c in (pair, order)]
        return _candidates(joined, *index), missed
    pair, order = np.concatenate(pair), np.concatenate(order)
    sort = np.argsort(order)
    return _candidates([_at(x, sort) for x in joined], pair[sort], order[sort]), missed


def _candidates(values: Sequence[Array], pair: Array, order: Array) -> Candidates:
    dist, pos, normal, tangent = values
    return Candidates(dist, pos, normal, tangent, pair, order)


def _lookup(table: np.ndarray, index: Array) -> Array:
    """A static integer table at a static or traced index, of the same kind as the index."""
    return table[index] if isinstance(index, np.ndarray) else jnp.asarray(table, jnp.int32)[index]


def _at(x: Array, index: Array) -> Array:
    return gather(x, index) if isinstance(index, np.ndarray) else x[index]


def _broad_phase(
    model: Model,
    data: Data,
    plan: PairPlan,
    params: PairParams,
    kind: Kind,
    slots: int,
    discard: Array | None,
) -> tuple[Array, Array]:
    """The pairs of a kind to test: all of them, or the nearest by bounding spheres."""
    if len(kind.pairs) <= max(slots, 1):
        return kind.pairs, jnp.bool_(False)
    g1, g2 = plan.geom[kind.pairs, 0], plan.geom[kind.pairs, 1]
    offset = data.geom_xpos[g2] - data.geom_xpos[g1]
    reach = model.geom_rbound[g1] + model.geom_rbound[g2] + params.margin[kind.pairs]
    if kind.types[0] == GeomType.PLANE:
        height = jnp.sum(offset * mat3(data.geom_xmat)[g1][:, :, 2], axis=-1)
        gap = height - reach
    else:
        gap = jnp.sqrt(jnp.sum(offset * offset, axis=-1)) - reach
    gap = lax.stop_gradient(gap)
    if discard is not None:
        gap = jnp.where(discard[kind.pairs], NO_CONTACT, gap)
    _, nearest = lax.top_k(-gap, slots)
    missed = jnp.sum(gap < 0, dtype=jnp.int32) > slots
    return jnp.asarray(kind.pairs, jnp.int32)[nearest], missed


def _select(found: Candidates, slots: int) -> Candidates:
    """The deepest candidates, in MuJoCo's order, contacts before empty slots."""
    slots = min(slots, len(found.dist))
    dist = lax.stop_gradient(found.dist)
    _, deepest = lax.top_k(-dist, slots)
    order = jnp.asarray(found.order, jnp.int32)[deepest]
    last = jnp.int32(jnp.iinfo(jnp.int32).max)
    _, rank = lax.top_k(-jnp.where(dist[deepest] < NO_CONTACT, order, last), slots)
    index = deepest[rank]
    return Candidates(*(jnp.asarray(x)[index] for x in found))


def _contact(
    plan: PairPlan, params: PairParams, found: Candidates, touching: Array, slots: int
) -> Contact:
    """Contact slots; those beyond the candidates are empty."""
    pair = found.pair
    geom, dim = _lookup(plan.geom, pair), _lookup(plan.dim, pair)
    on = touching[:, None]
    contact = Contact(
        dist=jnp.where(touching, found.dist, NO_CONTACT),
        pos=jnp.where(on, found.pos, 0),
        frame=jnp.where(on, flat9(make_frame(found.normal, found.tangent)), 0),
        includemargin=(params.margin - params.gap)[pair],
        friction=params.friction[pair],
        solref=params.solref[pair],
        solreffriction=params.solreffriction[pair],
        solimp=params.solimp[pair],
        dim=jnp.where(touching, dim, 0).astype(jnp.int32),
        geom=jnp.where(on, geom, -1).astype(jnp.int32),
        efc_address=jnp.full(len(touching), -1, jnp.int32),
    )
    return _padded(contact, slots)


def _padded(contact: Contact, slots: int) -> Contact:
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
    """The slots of `contact` without a contact in any."""
    return contact.replace(
        dist=jnp.full_like(contact.dist, NO_CONTACT),
        geom=jnp.full_like(contact.geom, -1),
        dim=jnp.zeros_like(contact.dim),
        efc_address=jnp.full_like(contact.efc_address, -1),
    )
