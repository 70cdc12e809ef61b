"""Constraint rows: impedance and reference of scalar rows and contacts."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from mjjax.collision.search import slot_geoms
from mjjax.constraint.impedance import impedance, regularization, softness, stiffness_damping
from mjjax.constraint.layout import FRICTION, RowLayout
from mjjax.constraint.scalar_rows import ScalarRows
from mjjax.core.constants import MINVAL
from mjjax.core.enums import DisableBit
from mjjax.math.indexing import gather
from mjjax.math.namespace import Array
from mjjax.model.data import Contact, Data
from mjjax.model.model import Model


class Rows(NamedTuple):
    """What the rows of an item share: of a scalar row, a contact.

    Attributes:
        active: (nitem,) whether the item has rows now.
        mass: (nmass,) constraint masses 1/R: see `Data.efc_mass`.
        spring: (nitem,) K I (pos - margin), of an elliptic contact for its normal only.
        damping: (nitem,) B.
        friction_damping: (nelliptic,) B of the friction of elliptic contacts.
    """

    active: Array
    mass: Array
    spring: Array
    damping: Array
    friction_damping: Array


def all_rows(model: Model, data: Data, layout: RowLayout, scalar: ScalarRows) -> Rows:
    """Rows of every kind, in slot order."""
    if not layout.ncontact:
        shared = _shared(model, scalar.solref, scalar.solimp, scalar.distance)
        return _of_scalars(scalar, layout, shared)
    # one evaluation for all: the powers in the impedance are costly to compile and to compute
    contact, n = data.contact, layout.nscalar
    rest = contact.solref, contact.solimp, contact_distance(contact, layout)
    both = zip((scalar.solref, scalar.solimp, scalar.distance), rest, strict=True)
    shared = _shared(model, *(jnp.concatenate([x, y[: layout.ncontact]]) for x, y in both))
    found = (
        _of_scalars(scalar, layout, _Shared(*(x[:n] for x in shared))),
        _of_contacts(model, data, layout, _Shared(*(x[n:] for x in shared))),
    )
    return Rows(*(jnp.concatenate(column) for column in zip(*found, strict=True)))


class _Shared(NamedTuple):
    """What follows from `solref`, `solimp` and distance of an item (n,): (1 - I) / I, K, B."""

    soft: Array
    stiffness: Array
    damping: Array


def _shared(model: Model, solref: Array, solimp: Array, distance: Array) -> _Shared:
    # as a quotient, which XLA does not compute anew in all that it is read by
    soft = softness(impedance(solimp, distance))
    return _Shared(soft, *_reference(model, solref, solimp))


def _reference(model: Model, solref: Array, solimp: Array) -> tuple[Array, Array]:
    refsafe = not model.opt.disabled(DisableBit.REFSAFE)
    return stiffness_damping(solref, solimp, model.opt.timestep, refsafe)


def _of_scalars(rows: ScalarRows, layout: RowLayout, shared: _Shared) -> Rows:
    """Scalar rows; friction has no stiffness."""
    stiffness = jnp.where(np.isin(layout.kind, FRICTION), 0, shared.stiffness)
    return Rows(
        active=rows.active,
        mass=1 / regularization(shared.soft, rows.weight),
        spring=stiffness * (rows.pos - rows.margin) / (1 + shared.soft),
        damping=shared.damping,
        friction_damping=jnp.zeros(0, shared.damping.dtype),
    )


def contact_weights(model: Model, data: Data, layout: RowLayout) -> tuple[Array, Array]:
    """Sum of both bodies' inverse weights (ncontact,): translation, rotation."""
    s = model.structure
    geoms = slot_geoms(model, data)
    if geoms is None:
        body = jnp.asarray(s.geom_bodyid)[jnp.maximum(data.contact.geom, 0)]
        weight = model.body_invweight0[body]
    else:
        weight = gather(model.body_invweight0, s.geom_bodyid[geoms])
    total = (weight[:, 0] + weight[:, 1])[: layout.ncontact]
    return total[:, 0], total[:, 1]


def _included(contact: Contact, n: int) -> Array:
    return (contact.dim[:n] > 0) & (contact.dist[:n] < contact.includemargin[:n])


def contact_distance(contact: Contact, layout: RowLayout) -> Array:
    """Distance minus margin (ncontact,) of the contacts that exert forces, 0 elsewhere [m]."""
    n = layout.ncontact
    return jnp.where(_included(contact, n), contact.dist[:n] - contact.includemargin[:n], 0)


def _of_contacts(model: Model, data: Data, layout: RowLayout, shared: _Shared) -> Rows:
    """Contacts: all pyramid edges alike, or normal and friction rows of the elliptic cone."""
    contact, soft = data.contact, shared.soft
    n = layout.ncontact
    dim = contact.dim[:n]
    trans, _ = contact_weights(model, data, layout)
    friction = contact.friction[:n]
    normal_r = regularization(soft, trans)
    if layout.pyramidal:
        first = friction[:, 0] ** 2
        edge_r = regularization(soft, trans + first * trans)
        both = jnp.maximum(MINVAL, 2 * first / model.opt.impratio * edge_r)
        mass, b_friction = 1 / jnp.where(dim == 1, normal_r, both), jnp.zeros(0, soft.dtype)
    else:
        r = elliptic_regularization(normal_r, friction[:, : layout.width - 1], model.opt.impratio)
        mass = jnp.where(layout.slots.used(dim), 1 / r, 0).reshape(-1)
        own = jnp.any(contact.solreffriction[:n] != 0, axis=-1)
        _, b_friction = _reference(
            model,
            jnp.where(own[:, None], contact.solreffriction[:n], contact.solref[:n]),
            contact.solimp[:n],
        )
    return Rows(
        active=_included(contact, n),
        mass=mass,
        spring=shared.stiffness * contact_distance(contact, layout) / (1 + soft),
        damping=shared.damping,
        friction_damping=b_friction,
    )


def elliptic_regularization(normal_r: Array, friction: Array, impratio: Array) -> Array:
    """R (n, width): R_1 = R_0 / impratio, R_j = R_1 mu_1^2 / mu_j^2."""
    first = jnp.maximum(MINVAL, normal_r / impratio)[:, None]
    return jnp.concatenate([normal_r[:, None], first * (friction[:, :1] / friction) ** 2], axis=-1)
