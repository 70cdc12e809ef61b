"""Derivatives of the smooth forces with respect to velocity, for the implicit integrators.

MuJoCo keeps them in the sparsity pattern of the inertia, so entries that couple dofs of different
branches are dropped. Constraint forces, and the force limits of joints and tendons, do not count.
"""

import jax

from mjjax.core.enums import BiasType, DisableBit, GainType
from mjjax.dynamics.actuation import actuator_input, actuator_state, enabled_actuators
from mjjax.dynamics.fluid import fluid_derivative
from mjjax.dynamics.muscle import muscle_gain_slope
from mjjax.dynamics.transmission import moment
from mjjax.dynamics.tree import tree_plan
from mjjax.dynamics.velocity import com_vel, rne
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.xla.linalg import matmul
from mjjax.xla.namespace import Array, namespace, where


def smooth_vel(model: Model, data: Data, bias: bool) -> Array:
    """Derivative (nv, nv) of actuator + passive - bias forces by `qvel` (`mjd_smooth_vel`).

    Args:
        model: model.
        data: data after `fwd_velocity` and `fwd_actuation`.
        bias: whether to include the bias force (Coriolis, centrifugal); static.
    """
    s = model.structure
    total = actuator_vel(model, data) + passive_vel(model, data)
    if bias:
        total = total - rne_vel(model, data)
    above = tree_plan(s).moves[s.dof_bodyid]
    return where(above | above.T, total, 0)


def actuator_vel(model: Model, data: Data) -> Array:
    """Derivative (nv, nv) of the actuator forces, at fixed moment arms (`mjd_actuator_vel`)."""
    s = model.structure
    if not s.nu or model.opt.disabled(DisableBit.ACTUATION):
        return namespace(data.qvel).zeros((s.nv, s.nv), data.qvel.dtype)
    arm = moment(model, data)
    return matmul(arm.T * actuator_slope(model, data)[None], arm)


def passive_vel(model: Model, data: Data) -> Array:
    """Derivative (nv, nv) of the passive forces (`mjd_passive_vel`)."""
    opt, s = model.opt, model.structure
    xp = namespace(data.qvel)
    total = xp.zeros((s.nv, s.nv), data.qvel.dtype)
    damped = not opt.disabled(DisableBit.DAMPER)
    if damped or not opt.disabled(DisableBit.SPRING):
        total = total + fluid_derivative(model, data)
    if damped:
        total = total - xp.eye(s.nv, dtype=total.dtype) * model.dof_damping[:, None]
        if s.ntendon:
            arm = data.ten_J
            total = total - matmul(arm.T * model.tendon_damping[None], arm)
    return total


def rne_vel(model: Model, data: Data) -> Array:
    """Derivative (nv, nv) of the bias force of `rne`, at a fixed position (`mjd_rne_vel`)."""

    def force(qvel: Array) -> Array:
        return rne(model, com_vel(model, data.replace(qvel=qvel)))

    return jax.jacfwd(force)(data.qvel)


def actuator_slope(model: Model, data: Data) -> Array:
    """Derivative (nu,) of the actuator forces with respect to actuator velocity, as in MuJoCo.

    It follows from the controls as they are, without a clamp. It is zero for a disabled group, and
    if the force is at its range.
    """
    s = model.structure
    gains = model.actuator_gainprm
    gain = where(s.actuator_gaintype == GainType.AFFINE, gains[:, 2], 0)
    muscles = s.actuator_gaintype == GainType.MUSCLE
    if muscles.any():
        slope = muscle_gain_slope(*actuator_state(model, data), gains)
        gain = where(muscles, slope, gain)
    bias = where(s.actuator_biastype == BiasType.AFFINE, model.actuator_biasprm[:, 2], 0)
    total = gain * actuator_input(model, data, data.ctrl) + bias
    limited = s.actuator_forcelimited.astype(bool)
    low, high = model.actuator_forcerange[:, 0], model.actuator_forcerange[:, 1]
    inside = (data.actuator_force > low) & (data.actuator_force < high)
    return where(enabled_actuators(model) & (inside | ~limited), total, 0)
