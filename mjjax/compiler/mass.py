"""Total mass of a model."""

from mjjax.core.constants import MINVAL
from mjjax.math.namespace import Array, namespace
from mjjax.model.model import Model


def get_total_mass(model: Model) -> Array:
    """Sum of the masses of all bodies [kg] (`mj_getTotalmass`)."""
    return model.body_mass.sum()


def set_total_mass(model: Model, mass: Array | float) -> Model:
    """The model with masses and inertias scaled to a total mass (`mj_setTotalmass`).

    Derived constants stay as they are: see `set_const`.
    """
    xp = namespace(model.body_mass)
    scale = xp.maximum(MINVAL, mass / xp.maximum(MINVAL, get_total_mass(model)))
    return model.replace(body_mass=scale * model.body_mass, body_inertia=scale * model.body_inertia)
