"""The values from which `efc_D` and `efc_aref` follow, for scalar rows and contacts together.

An item is one scalar row or one contact. The rows of a contact share their impedance.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from mjjax.collision.plan.search import plan_of, slot_geoms, slot_pairs
from mjjax.constraint.impedance import (
    impedance,
    mixed_format,
    regularization,
    softness,
    stiffness_damping,
)
from mjjax.constraint.layout import RowLayout
from mjjax.constraint.scalar_rows import ScalarRows
from mjjax.core.constants import MINVAL
from mjjax.core.enums import ConstraintType, DisableBit
from mjjax.model.data import Contact, Data
from mjjax.model.model import Model
from mjjax.xla.indexing import gather
from mjjax.xla.namespace import Array, where


class ItemRows(NamedTuple):
    """The values that the rows of each item share.

    Attributes:
        active: (nitem,) whether the item has rows now.
        mass: (nmass,) constraint masses 1 / R, from which `Data.efc_D` follows where `active`. Each
            scalar row has one mass. Then follow the contacts: a pyramid has one mass for all of its
            edges, an elliptic contact has `width` masses, 0 for rows that it does not have.
        spring: (nitem,) K I (pos - margin); for an elliptic contact, of its normal only.
        damping: (nitem,) B.
        friction_damping: (nelliptic,) B of the friction of elliptic contacts.
    """

    active: Array
    mass: Array
    spring: Array
    damping: Array
    friction_damping: Array


def all_rows(model: Model, data: Data, layout: RowLayout, scalar: ScalarRows) -> ItemRows:
    """The shared values of all items, scalar rows first.

    Scalar rows and contacts evaluate their impedance together, because powers are costly to compile
    and to compute.
    """
    contact, n = data.contact, layout.ncontact
    shared = (scalar.solref, scalar.solimp, scalar.distance)
    if n:
        rest = (contact.solref[:n], contact.solimp[:n], contact_distance(contact, layout))
        shared = (jnp.concatenate(both) for both in zip(shared, rest, strict=True))
    solref, solimp, distance = shared
    soft = softness(impedance(solimp, distance))
    stiffness, damping = _reference(model, solref, solimp)
    offset, equality = distance, layout.kind == ConstraintType.EQUALITY
    if equality.any():
        # For an equality, `distance` is the norm of its residuals, on which its impedance depends.
        # The reference acceleration of each row needs the row's own residual.
        offset = where(np.pad(equality, (0, n)), jnp.pad(scalar.pos, (0, n)), distance)
    active, friction_damping = scalar.active, jnp.zeros(0, soft.dtype)
    if n:
        active = jnp.concatenate([active, _included(contact, n)])
    if n and not layout.pyramidal:
        friction_damping = _friction_damping(model, contact, n)
    mass = _masses(model, data, layout, scalar.weight, soft)
    spring = stiffness * offset / (1 + soft)  # the impedance is 1 / (1 + soft)
    return ItemRows(active, mass, spring, damping, friction_damping)


def _reference(model: Model, solref: Array, solimp: Array) -> tuple[Array, Array]:
    refsafe = not model.opt.disabled(DisableBit.REFSAFE)
    return stiffness_damping(solref, solimp, model.opt.timestep, refsafe)


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
    """Distance minus margin (ncontact,) [m] of contacts that exert forces, 0 for other contacts."""
    n = layout.ncontact
    return where(_included(contact, n), contact.dist[:n] - contact.includemargin[:n], 0)


def _masses(model: Model, data: Data, layout: RowLayout, weight: Array, soft: Array) -> Array:
    """1 / R (nmass,) of scalar rows of a `weight` and of contacts, from their softness."""
    if not layout.ncontact:
        return 1 / regularization(soft, weight)
    if not layout.pyramidal:
        n = layout.nscalar
        cones = _cone_masses(model, data, layout, soft[n:])
        return jnp.concatenate([1 / regularization(soft[:n], weight), cones])
    of_edges, factor = _edge_weights(model, data, layout)
    factor = jnp.concatenate([jnp.ones_like(weight), factor])
    r = regularization(soft, jnp.concatenate([weight, of_edges]))
    return 1 / jnp.maximum(MINVAL, factor * r)


def _edge_weights(model: Model, data: Data, layout: RowLayout) -> tuple[Array, Array]:
    """`diagApprox` (ncontact,) of the first edge of pyramids, and the factor of its R.

    All edges have R = 2 mu^2 R_first with mu^2 = friction_0^2 / impratio. A contact without
    friction has only its normal row.
    """
    n, pairs = layout.ncontact, slot_pairs(model, data)
    # If each slot belongs to one pair of geoms, its dimension is known while tracing.
    dim = data.contact.dim if pairs is None else plan_of(model, data.rules).dim[pairs]
    frictionless, friction2 = dim[:n] == 1, data.contact.friction[:n, 0] ** 2
    trans, _ = contact_weights(model, data, layout)
    weight = where(frictionless, trans, trans + friction2 * trans)
    return weight, where(frictionless, 1, 2 * friction2 / model.opt.impratio)


def _cone_masses(model: Model, data: Data, layout: RowLayout, soft: Array) -> Array:
    """Masses of the rows of elliptic cones."""
    n = layout.ncontact
    dim, friction = data.contact.dim[:n], data.contact.friction[:n]
    trans, _ = contact_weights(model, data, layout)
    r = elliptic_regularization(
        regularization(soft, trans), friction[:, : layout.width - 1], model.opt.impratio
    )
    return where(layout.slots.used(dim), 1 / r, 0).reshape(-1)


def _friction_damping(model: Model, contact: Contact, n: int) -> Array:
    """B (n,) of the friction rows of elliptic contacts, which may have their `solreffriction`."""
    friction = contact.solreffriction[:n]
    own = jnp.any(friction != 0, axis=-1) & ~mixed_format(friction)
    solref = where(own[:, None], friction, contact.solref[:n])
    return _reference(model, solref, contact.solimp[:n])[1]


def elliptic_regularization(normal_r: Array, friction: Array, impratio: Array) -> Array:
    """R (n, width): R_0 of the normal, R_1 = R_0 / impratio, R_j = R_1 mu_0^2 / mu_(j-1)^2."""
    first = jnp.maximum(MINVAL, normal_r / impratio)[:, None]
    return jnp.concatenate([normal_r[:, None], first * (friction[:, :1] / friction) ** 2], axis=-1)
