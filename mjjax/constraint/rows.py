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
        soft = softness(impedance(scalar.solimp, scalar.distance))
        return _of_scalars(model, scalar, layout, soft)
    # one evaluation of the impedance for all: its powers are costly to compile and to compute;
    # and as a quotient, which XLA does not compute anew in all that it is read by
    distance, solimp = contact_distance(data.contact, layout), data.contact.solimp
    imp = impedance(
        jnp.concatenate([scalar.solimp, solimp[: layout.ncontact]]),
        jnp.concatenate([scalar.distance, distance]),
    )
    n, soft = layout.nscalar, softness(imp)
    found = (
        _of_scalars(model, scalar, layout, soft[:n]),
        _of_contacts(model, data, layout, soft[n:]),
    )
    return Rows(*(jnp.concatenate(column) for column in zip(*found, strict=True)))


def _reference(model: Model, solref: Array, solimp: Array) -> tuple[Array, Array]:
    refsafe = not model.opt.disabled(DisableBit.REFSAFE)
    return stiffness_damping(solref, solimp, model.opt.timestep, refsafe)


def _of_scalars(model: Model, rows: ScalarRows, layout: RowLayout, soft: Array) -> Rows:
    """Scalar rows from the softness of their impedance; friction has no stiffness."""
    k, b = _reference(model, rows.solref, rows.solimp)
    return Rows(
        active=rows.active,
        mass=1 / regularization(soft, rows.weight),
        spring=jnp.where(np.isin(layout.kind, FRICTION), 0, k)
        * (rows.pos - rows.margin)
        / (1 + soft),
        damping=b,
        friction_damping=jnp.zeros(0, b.dtype),
    )


def contact_weights(model: Model, data: Data, layout: RowLayout) -> tuple[Array, Array]:
    """Sum of both bodies' inverse weights (ncontact,): translation, rotation."""
    s = model.structure
    geoms = slot_geoms(model, data)
    if geoms is None:
        body = jnp.asarray(s.geom_bodyid)[jnp.maximum(data.contact.geom, 0)]
    else:
        body = s.geom_bodyid[geoms]
    weight = model.body_invweight0[body]
    total = (weight[:, 0] + weight[:, 1])[: layout.ncontact]
    return total[:, 0], total[:, 1]


def _included(contact: Contact, n: int) -> Array:
    return (contact.dim[:n] > 0) & (contact.dist[:n] < contact.includemargin[:n])


def contact_distance(contact: Contact, layout: RowLayout) -> Array:
    """Distance minus margin (ncontact,) of the contacts that exert forces, 0 elsewhere [m]."""
    n = layout.ncontact
    return jnp.where(_included(contact, n), contact.dist[:n] - contact.includemargin[:n], 0)


def _of_contacts(model: Model, data: Data, layout: RowLayout, soft: Array) -> Rows:
    """Contacts: all pyramid edges alike, or normal and friction rows of the elliptic cone."""
    contact = data.contact
    n = layout.ncontact
    solimp, dim = contact.solimp[:n], contact.dim[:n]
    k, b = _reference(model, contact.solref[:n], solimp)
    trans, _ = contact_weights(model, data, layout)
    friction = contact.friction[:n]
    normal_r = regularization(soft, trans)
    if layout.pyramidal:
        first = friction[:, 0] ** 2
        edge_r = regularization(soft, trans + first * trans)
        both = jnp.maximum(MINVAL, 2 * first / model.opt.impratio * edge_r)
        mass, b_friction = 1 / jnp.where(dim == 1, normal_r, both), jnp.zeros(0, b.dtype)
    else:
        r = elliptic_regularization(normal_r, friction[:, : layout.width - 1], model.opt.impratio)
        mass = jnp.where(layout.slots.used(dim), 1 / r, 0).reshape(-1)
        own = jnp.any(contact.solreffriction[:n] != 0, axis=-1)
        _, b_friction = _reference(
            model, jnp.where(own[:, None], contact.solreffriction[:n], contact.solref[:n]), solimp
        )
    return Rows(
        active=_included(contact, n),
        mass=mass,
        spring=k * contact_distance(contact, layout) / (1 + soft),
        damping=b,
        friction_damping=b_friction,
    )


def elliptic_regularization(normal_r: Array, friction: Array, impratio: Array) -> Array:
    """R (n, width): R_1 = R_0 / impratio, R_j = R_1 mu_1^2 / mu_j^2."""
    first = jnp.maximum(MINVAL, normal_r / impratio)[:, None]
    return jnp.concatenate([normal_r[:, None], first * (friction[:, :1] / friction) ** 2], axis=-1)
