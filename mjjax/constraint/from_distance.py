"""Contacts that are not there yet: a force that surfaces near each other have in derivatives only.

The derivative of a step knows the contacts of that step, so that a hand beside a box has none
towards pushing it. "Contacts from distance" (Paulus et al., arXiv:2506.14186) give such pairs a
derivative and leave the value as it is.
"""

import dataclasses

import jax
import jax.numpy as jnp
from jax import lax

from mjjax.collision.driver import collision
from mjjax.constraint.contact_rows import body_rows
from mjjax.core.constants import MINVAL
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.xla.namespace import Array, where


@dataclasses.dataclass(frozen=True)
class ContactsFromDistance:
    """A derivative for contacts that do not touch yet: `Callbacks(passive=ContactsFromDistance())`.

    Results are bit for bit those without it. In derivatives, in either mode, surfaces that may
    collide and are apart by a distance r < `distance` are held by springs at rest: where their
    distance changes by dr, the force -k dr acts on both along the normal, with

        k = (1 - r / distance) / (w timeconst^2)

    w the sum of both bodies' `body_invweight0`. It vanishes softly at `distance`, is that of
    `timeconst` where surfaces meet, and has neither friction nor damping. Contacts that touch keep
    their own derivative. As many pairs count as `data` has slots for contacts, the nearest first.

    The larger `timeconst`, the weaker this is beside the exact derivative. Contacts are sought once
    more, in programs of derivatives only.

    Attributes:
        distance: how far apart surfaces may be [m].
        timeconst: time constant of the spring [s].

    Raises:
        ValueError: one of them is not positive; at the call, contacts are filtered by a callback.
    """

    distance: float = 0.1
    timeconst: float = 0.2

    def __post_init__(self) -> None:
        if not (self.distance > 0 and self.timeconst > 0):
            raise ValueError(f"distance and timeconst must be positive, got {self}")

    def __call__(self, model: Model, data: Data) -> Data:
        """`data` with the derivative of that force in `qfrc_passive`."""
        if data.rules.filtered:
            raise ValueError("ContactsFromDistance does not know which contacts a filter leaves")
        if not model.structure.nv:
            return data
        force = self._force(model, data)
        return data.replace(qfrc_passive=_with_slope_of(data.qfrc_passive, force))

    def _force(self, model: Model, data: Data) -> Array:
        """What has the derivative of the force (nv,); its value does not count."""
        contact = collision(self._reaching_further(model), data).contact
        gap = contact.dist - (contact.includemargin - self.distance)
        body = jnp.asarray(model.structure.geom_bodyid)[jnp.maximum(contact.geom, 0)]
        weight = jnp.sum(model.body_invweight0[body, 0], axis=1)
        apart = (contact.dim > 0) & (gap >= 0)
        soft = jnp.clip(1 - gap / self.distance, 0, 1) / self.timeconst**2
        stiffness = where(apart, soft / jnp.maximum(weight, MINVAL), 0)
        rows = body_rows(model.structure, data, contact, 1)
        stiffness, rows = lax.stop_gradient((stiffness, rows))
        change = where(apart, contact.dist, 0)
        return rows.force(model.structure, -(stiffness * change)[:, None])

    def _reaching_further(self, model: Model) -> Model:
        """The model with all margins larger by the distance."""
        more = self.distance
        opt = model.opt.replace(o_margin=model.opt.o_margin + more)
        return model.replace(
            opt=opt,
            geom_margin=model.geom_margin + more / 2,
            pair_margin=model.pair_margin + more,
        )


@jax.custom_jvp
def _with_slope_of(value: Array, force: Array) -> Array:
    """`value`, with the derivative of `value + force`."""
    del force
    return value


@_with_slope_of.defjvp
def _slopes(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    return primals[0], tangents[0] + tangents[1]
