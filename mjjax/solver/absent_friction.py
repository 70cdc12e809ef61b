"""Derivatives with respect to dry friction that has no rows.

A row with a small dry friction f has the force -f sign(J qacc - aref), unless that difference is
zero. So its derivative at f = 0, from the right, is -sign(J qacc - aref). At rest it is zero.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax

from mjjax.constraint.impedance import stiffness_damping
from mjjax.core.enums import DisableBit
from mjjax.dynamics.joint_inertia import inertia_of
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.terms import TERMS, with_slope
from mjjax.xla.definite import solve_definite
from mjjax.xla.linalg import matmul
from mjjax.xla.namespace import Array, where

Coefficients = dict[str, Array]


def with_absent_friction(
    model: Model, value: Array, change: Callable[..., Array], operands: tuple[Any, ...]
) -> Array:
    """`value` with the derivative by dry friction that has no rows; see `with_slope`."""
    if model.opt.disabled(DisableBit.FRICTIONLOSS | DisableBit.CONSTRAINT):
        return value
    for name in ("dof_frictionloss", "tendon_frictionloss"):
        value = with_slope(model, name, value, change, operands)
    return value


def friction_force(loss: Coefficients, model: Model, data: Data, qacc: Array) -> Array:
    """Force (nv,) of the friction that has no rows, at an acceleration (nv,) [N or N m].

    Args:
        loss: `dof_frictionloss` (nv,) or `tendon_frictionloss` (ntendon,).
        model: model.
        data: data, with moment arms and velocities.
        qacc: acceleration.
    """
    ((field, size),) = loss.items()
    off = ~model.structure.terms[_term_of(field)]
    tendons = field.startswith("tendon")
    kind = ("tendon_solref_fri", "tendon_solimp_fri") if tendons else ("dof_solref", "dof_solimp")
    solref, solimp = (getattr(model, name) for name in kind)
    refsafe = not model.opt.disabled(DisableBit.REFSAFE)
    _, damping = stiffness_damping(solref, solimp, model.opt.timestep, refsafe)
    velocity = data.ten_velocity if tendons else data.qvel
    acceleration = matmul(data.ten_J, qacc) if tendons else qacc
    against = -jnp.sign(lax.stop_gradient(acceleration + damping * velocity))
    force = where(off, against * size, 0)
    return matmul(force, data.ten_J) if tendons else force


def _term_of(field: str) -> str:
    return next(name for name, term in TERMS.items() if field in term.fields)


def friction_acceleration(loss: Coefficients, model: Model, data: Data, qacc: Array) -> Array:
    """Acceleration (nv,) that `friction_force` gives to a model without other constraints."""
    force = friction_force(loss, model, data, qacc)
    return inertia_of(model, data).solve(model.structure, solve_definite, force)
