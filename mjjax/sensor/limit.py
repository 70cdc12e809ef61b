"""Sensors of joint and tendon limits."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from mjjax.constraint.layout import layout_of
from mjjax.core.enums import ConstraintType
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.sensor.position import measured
from mjjax.xla.namespace import Array, where


def limit(kind: ConstraintType, read: Callable[[Data], Array]):
    """Kernel of a row field of limits: the value of the first active row, 0 if there is none."""

    def value(model: Model, data: Data, ids: np.ndarray) -> Array:
        layout, owner = layout_of(model, data), measured(model, ids)[1]
        first = np.full(len(ids), layout.nscalar)
        last = first.copy()
        for row in np.flatnonzero(layout.kind == kind)[::-1]:
            mine = owner == layout.owner[row]
            last = np.where(mine & (first < layout.nscalar), first, last)
            first = np.where(mine, row, first)
        n = layout.nscalar
        field, on = jnp.append(read(data)[:n], 0), jnp.append(data.efc_mass[:n] > 0, False)
        return where(on[first], field[first], where(on[last], field[last], 0))

    return value


def distance(data: Data) -> Array:
    """Distance to the limit less the margin."""
    return data.efc_scalar_pos - data.efc_scalar_margin


def velocity(data: Data) -> Array:
    """Velocity of the distance."""
    return data.efc_vel


def force(data: Data) -> Array:
    """Force of the limit."""
    return data.efc_force
