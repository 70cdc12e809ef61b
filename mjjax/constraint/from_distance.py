"""A force between surfaces that do not touch yet, which exists in derivatives only.

The derivative of a step knows only the contacts of that step. A hand beside a box therefore has no
derivative towards pushing it. "Contacts from distance" (Paulus et al., arXiv:2506.14186) give such
pairs a derivative and leave the values as they are.
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

    The results are bit for bit the same as without it. In derivatives of either mode, springs at
    rest connect surfaces that may collide and are at a distance r < `distance`. If this distance
    changes by dr, the force -k dr acts on both bodies along the normal, with

        k = (1 - r / distance) / (w timeconst^2)

    where w is the sum of both bodies' `body_invweight0`. The stiffness falls to zero at `distance`
    and corresponds to `timeconst` where surfaces meet; there is no friction or damping. Contacts
    that touch keep their own derivative. There are at most as many pairs as contact slots in
    `data`; the nearest pairs come first.

    The larger `timeconst`, the weaker this derivative is compared with the exact one. Programs with
    derivatives search for contacts once more; other programs do not.

    Attributes:
        distance: how far apart surfaces may be [m].
        timeconst: time constant of the spring [s].

    Raises:
        ValueError: `distance` or `timeconst` is not positive; or, when it is called, a callback
            filters contacts.
    """

    distance: float = 0.1
    timeconst: float = 0.2

    def __post_init__(self) -> None:
        if not (self.distance > 0 and self.timeconst > 0):
            raise ValueError(f"distance and timeconst must be positive, got {self}")

    def __call__(self, model: Model, data: Data) -> Data:
        """`data` with the derivative of the spring force in `qfrc_passive`."""
        if data.rules.filtered:
            raise ValueError("ContactsFromDistance cannot know which contacts a filter keeps")
        if not model.structure.nv:
            return data
        force = self._force(model, data)
        return data.replace(qfrc_passive=_with_slope_of(data.qfrc_passive, force))

    def _force(self, model: Model, data: Data) -> Array:
        """A vector (nv,) with the derivative of the force; its value is not used."""
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
