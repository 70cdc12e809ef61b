"""Inverse dynamics: the forces that produce a given acceleration."""

import jax.numpy as jnp

from mjjax.core.enums import DisableBit, EnableBit, IntegratorType, Stage
from mjjax.dynamics.jacobian import xfrc_accumulate
from mjjax.dynamics.joint_inertia import inertia_of
from mjjax.math import safe
from mjjax.model.callbacks import NONE, Callbacks
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.pipeline.forward import position, velocity
from mjjax.pipeline.integrate import implicit_inertia
from mjjax.sensor.stages import sensor_acc
from mjjax.solver.stages import inv_constraint
from mjjax.xla.definite import solve_definite
from mjjax.xla.namespace import Array, where


def inverse(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """Inverse dynamics (`mj_inverse`): the force in `qfrc_inverse` that produces `qacc`.

    qfrc_inverse = M qacc + qfrc_bias - qfrc_passive - qfrc_constraint, with the constraint forces
    in closed form. With the flag `invdiscrete`, `qacc` is the change of velocity that the
    integrator makes in a step, divided by the duration of the step. Derivatives are exact; where
    constraints switch on or off they are one-sided.

    Raises:
        ValueError: the flag `invdiscrete` is on with `RK4`, whose steps cannot be inverted.
    """
    return inverse_skip(model, data, callbacks=callbacks)


def inverse_skip(
    model: Model,
    data: Data,
    skipstage: Stage | int = Stage.NONE,
    skipsensor: bool = False,
    *,
    callbacks: Callbacks | None = None,
) -> Data:
    """Inverse dynamics with earlier stages taken from `data`; arguments as in `forward_skip`."""
    calls = callbacks or NONE
    if skipstage < Stage.POS:
        data = position(model, data, calls, skipsensor)
    if skipstage < Stage.VEL:
        data = velocity(model, data, calls, skipsensor)
    given = data.qacc
    if model.opt.enabled(EnableBit.INVDISCRETE):
        data = data.replace(qacc=continuous_acceleration(model, data))
    data = inv_constraint(model, data)
    if not skipsensor:
        data = sensor_acc(model, data, calls)
    force = inertia_of(model, data).times(model.structure, data.qacc) + data.qfrc_bias
    return data.replace(
        qfrc_inverse=force - data.qfrc_passive - data.qfrc_constraint,
        qacc=given,
    )


def continuous_acceleration(model: Model, data: Data) -> Array:
    """Acceleration (nv,) from which the integrator makes the change of velocity `qacc` h.

    It is M^-1 (M - h D) qacc, where D is the derivative that the integrator treats implicitly.
    """
    kind = IntegratorType(model.opt.integrator)
    if kind == IntegratorType.RK4:
        raise ValueError("flag 'invdiscrete' is not supported by the RK4 integrator; disable it")
    if kind == IntegratorType.EULER and model.opt.disabled(DisableBit.EULERDAMP):
        return data.qacc
    s = model.structure
    change = implicit_inertia(model, data).times(s, data.qacc)
    return inertia_of(model, data).solve(s, solve_definite, change)


def compare_fwd_inv(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """Compares inverse dynamics with the forward results in `data` (`mj_compareFwdInv`).

    Sets `qfrc_inverse`, and in `solver_fwdinv` the norms of the differences of constraint forces
    and of applied forces. Without constraints these norms are zero.
    """
    applied = data.qfrc_applied + data.qfrc_actuator + xfrc_accumulate(model, data)
    back = inverse_skip(model, data, Stage.VEL, True, callbacks=callbacks)
    errors = (data.qfrc_constraint - back.qfrc_constraint, applied - back.qfrc_inverse)
    some = data.nefc > 0
    return data.replace(
        solver_fwdinv=where(some, jnp.stack([safe.norm(e) for e in errors]), 0),
        qfrc_inverse=where(some, back.qfrc_inverse, data.qfrc_inverse),
    )
