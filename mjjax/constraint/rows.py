"""Constraint rows: impedance and reference of scalar rows and contacts."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from mjjax.collision.search import slot_geoms
from mjjax.constraint.impedance import impedance, regularization, stiffness_damping
from mjjax.constraint.layout import FRICTION, RowLayout
from mjjax.constraint.scalar_rows import ScalarRows
from mjjax.core.constants import MINVAL
from mjjax.core.enums import DisableBit
from mjjax.math.namespace import Array
from mjjax.model.data import Contact, Data
from mjjax.model.model import Model


class Rows(NamedTuple):
    """Parameters of row slots (n,); an inactive slot has `D == 0`."""

    active: Array
    pos: Array
    margin: Array
    K: Array
    B: Array
    imp: Array
    R: Array
    frictionloss: Array


def all_rows(model: Model, data: Data, layout: RowLayout, scalar: ScalarRows) -> Rows:
    """Rows of every kind, in slot order."""
    if not layout.ncontact:
        return _of_scalars(model, scalar, layout, impedance(scalar.solimp, scalar.distance))
    # one evaluation of the impedance for all: its powers are costly to compile and to compute
    distance, solimp = contact_distance(data.contact, layout), data.contact.solimp
    imp = impedance(
        jnp.concatenate([scalar.solimp, solimp[: layout.ncontact]]),
        jnp.concatenate([scalar.distance, distance]),
    )
    n = layout.nscalar
    found = (
        _of_scalars(model, scalar, layout, imp[:n]),
        _of_contacts(model, data, layout, imp[n:]),
    )
    return Rows(*(jnp.concatenate(column) for column in zip(*found, strict=True)))


def _reference(model: Model, solref: Array, solimp: Array) -> tuple[Array, Array]:
    refsafe = not model.opt.disabled(DisableBit.REFSAFE)
    return stiffness_damping(solref, solimp, model.opt.timestep, refsafe)


def _of_scalars(model: Model, rows: ScalarRows, layout: RowLayout, imp: Array) -> Rows:
    """Scalar rows from their impedance; friction has no stiffness."""
    k, b = _reference(model, rows.solref, rows.solimp)
    return Rows(
        active=rows.active,
        pos=rows.pos,
        margin=rows.margin,
        K=jnp.where(np.isin(layout.kind, FRICTION), 0, k),
        B=b,
        imp=imp,
        R=regularization(imp, rows.weight),
        frictionloss=rows.frictionloss,
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


def _of_contacts(model: Model, data: Data, layout: RowLayout, imp: Array) -> Rows:
    """Contacts: pyramid edges, or normal and friction rows of the elliptic cone."""
    contact = data.contact
    n, width, per = layout.ncontact, layout.width, layout.per_contact
    dist, margin = contact.dist[:n], contact.includemargin[:n]
    solimp, dim = contact.solimp[:n], contact.dim[:n]
    included = _included(contact, n)
    pos = jnp.where(included, dist, 0)
    k, b = _reference(model, contact.solref[:n], solimp)
    trans, _ = contact_weights(model, data, layout)
    friction = contact.friction[:n]
    normal_r = regularization(imp, trans)
    slot = np.arange(per, dtype=np.int32)[None]
    shape = (n, per)

    def spread(x: Array) -> Array:
        return jnp.broadcast_to(x[:, None], shape)

    if layout.pyramidal:
        first = friction[:, :1] ** 2
        edge_r = regularization(imp, trans + first[:, 0] * trans)[:, None]
        both = jnp.maximum(MINVAL, 2 * first / model.opt.impratio * edge_r)
        r = jnp.where(dim[:, None] == 1, normal_r[:, None], both) + jnp.zeros(shape, both.dtype)
        rows_of = jnp.where(dim == 1, 1, 2 * (dim - 1))
        k_row, b_row, pos_row, margin_row = spread(k), spread(b), spread(pos), spread(margin)
    else:
        r = elliptic_regularization(normal_r, friction[:, : width - 1], model.opt.impratio)
        rows_of = dim
        first_row = slot == 0
        own = jnp.any(contact.solreffriction[:n] != 0, axis=-1)
        _, b_friction = _reference(
            model, jnp.where(own[:, None], contact.solreffriction[:n], contact.solref[:n]), solimp
        )
        k_row = jnp.where(first_row, k[:, None], 0)
        b_row = jnp.where(first_row, b[:, None], b_friction[:, None])
        pos_row = jnp.where(first_row, pos[:, None], 0)
        margin_row = jnp.where(first_row, margin[:, None], 0)
    active = included[:, None] & (slot < rows_of[:, None])
    columns = (active, pos_row, margin_row, k_row, b_row, spread(imp), r, jnp.zeros(shape, r.dtype))
    return Rows(*(c.reshape(-1) for c in columns))


def elliptic_regularization(normal_r: Array, friction: Array, impratio: Array) -> Array:
    """R (n, width): R_1 = R_0 / impratio, R_j = R_1 mu_1^2 / mu_j^2."""
    first = jnp.maximum(MINVAL, normal_r / impratio)[:, None]
    return jnp.concatenate([normal_r[:, None], first * (friction[:, :1] / friction) ** 2], axis=-1)
