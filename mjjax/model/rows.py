"""Slots of constraint rows, and row fields made of values that the rows of a contact share."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from mjjax.xla.namespace import Array, where


class RowSlots(NamedTuple):
    """The settings that decide how many row slots a scalar constraint or a contact has.

    Attributes:
        disabled: `DisableBit` flags of the kinds of rows that have no slots.
        width: number of contact-frame rows of a contact: its largest dimension.
        pyramidal: whether contacts use the pyramidal cone.
    """

    disabled: int = 0
    width: int = 0
    pyramidal: bool = True

    @property
    def has_edges(self) -> bool:
        """Whether a contact's rows are the edges of a pyramid."""
        return self.pyramidal and self.width > 1

    @property
    def per_contact(self) -> int:
        """Row slots of one contact."""
        return 2 * (self.width - 1) if self.has_edges else self.width

    @property
    def masses(self) -> int:
        """Constraint masses of one contact: the edges of a pyramid share one."""
        return 1 if self.pyramidal else self.width

    def of_contact(self, normal: Array, friction: Array | None = None) -> Array:
        """Values (..., n, per_contact) of rows, from one value per contact.

        All edges of a pyramid get the value `normal`. In an elliptic cone only the normal row gets
        it; the friction rows get `friction`, or zero without it.
        """
        shape = (*normal.shape, self.per_contact)
        if self.pyramidal:
            return jnp.broadcast_to(normal[..., None], shape)
        friction = jnp.zeros_like(normal) if friction is None else friction
        return where(self._slot(normal) == 0, normal[..., None], friction[..., None])

    def rows_of(self, dim: Array) -> Array:
        """Number of rows (...) of contacts by their dimension."""
        return where(dim > 1, 2 * (dim - 1), dim) if self.pyramidal else dim

    def used(self, dim: Array) -> Array:
        """Which row slots (..., n, per_contact) contacts of a dimension (..., n) use."""
        return self._slot(dim) < self.rows_of(dim)[..., None]

    def _slot(self, like: Array) -> np.ndarray:
        """Numbers of the row slots, behind the axes of `like`."""
        return np.arange(self.per_contact, dtype=np.int32).reshape(*[1] * like.ndim, -1)

    def join(self, njmax: int, scalar: Array, contact: Array) -> Array:
        """Row field (..., njmax) of scalar rows (..., nscalar) and contacts (..., n, per_contact).

        Contacts without room have no rows. Slots that are left over are zero.
        """
        free, (n, per) = njmax - scalar.shape[-1], contact.shape[-2:]
        n = min(n, free // max(per, 1))
        contact = contact[..., :n, :].reshape(*scalar.shape[:-1], n * per)
        left = jnp.zeros((*scalar.shape[:-1], free - n * per), scalar.dtype)
        parts = [x for x in (scalar, contact, left) if x.shape[-1]]
        return jnp.concatenate(parts, axis=-1) if parts else scalar
