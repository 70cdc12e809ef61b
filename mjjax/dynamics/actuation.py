"""Actuators: from controls to activations to forces in joint space."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mjjax.core.constants import MINVAL
from mjjax.core.enums import BiasType, DisableBit, DynType, GainType, TrnType, WarningType
from mjjax.core.profile import stage
from mjjax.dynamics.history import delayed_ctrl
from mjjax.dynamics.muscle import muscle_bias, muscle_gain, muscle_rate
from mjjax.dynamics.transmission import moment
from mjjax.dynamics.user import user_rates, user_values
from mjjax.math.safe import divide, is_bad
from mjjax.model.callbacks import NONE, Callbacks
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.sleep import sleeps
from mjjax.model.structure import Structure
from mjjax.sleep.members import members
from mjjax.sleep.stages import any_awake
from mjjax.xla.linalg import matmul
from mjjax.xla.namespace import Array, namespace, where


class ActuatorState(NamedTuple):
    """The values (nu, ...) that gains and biases depend on."""

    length: Array
    velocity: Array
    lengthrange: Array
    acc0: Array


# Functions in the tables take the parameters (n, 10) and the values that the kind needs, and return
# (n,). The kind `user` does what MuJoCo does without a callback.
GAINS: dict[GainType, Callable[[Array, ActuatorState], Array]] = {
    GainType.FIXED: lambda prm, state: prm[:, 0],
    GainType.AFFINE: lambda prm, state: _affine(prm, state),
    GainType.MUSCLE: lambda prm, state: muscle_gain(*state, prm),
    GainType.USER: lambda prm, state: 0 * state.length + 1,
}
BIASES: dict[BiasType, Callable[[Array, ActuatorState], Array]] = {
    BiasType.NONE: lambda prm, state: 0 * state.length,
    BiasType.AFFINE: lambda prm, state: _affine(prm, state),
    BiasType.MUSCLE: lambda prm, state: muscle_bias(
        state.length, state.lengthrange, state.acc0, prm
    ),
    BiasType.USER: lambda prm, state: 0 * state.length,
}
DYNAMICS: dict[DynType, Callable[[Array, Array, Array], Array]] = {
    DynType.NONE: lambda prm, ctrl, act: 0 * ctrl,
    DynType.INTEGRATOR: lambda prm, ctrl, act: ctrl,
    DynType.FILTER: lambda prm, ctrl, act: (ctrl - act) / _time_constant(prm),
    DynType.FILTEREXACT: lambda prm, ctrl, act: (ctrl - act) / _time_constant(prm),
    DynType.MUSCLE: lambda prm, ctrl, act: muscle_rate(ctrl, act, prm),
    DynType.USER: lambda prm, ctrl, act: 0 * ctrl,
}


@stage
def fwd_actuation(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """Activation rates and actuator forces (`mj_fwdActuation`).

    force = gain (ctrl or act) + bias, scaled to the limits of the tendons and clipped to
    `forcerange`. The joint force is moment' force plus gravity compensation, clipped to the force
    limits of the joints. Derivatives are zero where a clip is active. Without actuators, or with
    actuation disabled, all forces are zero and `act_dot` is left unchanged.
    """
    s, opt = model.structure, model.opt
    xp = namespace(data.qpos)
    if not s.nu or opt.disabled(DisableBit.ACTUATION):
        force, qfrc = (xp.zeros_like(x) for x in (data.actuator_force, data.qfrc_actuator))
        return data.replace(actuator_force=force, qfrc_actuator=qfrc)
    ctrl, bad = clamped_ctrl(model, data)
    data = data.with_warnings({WarningType.BADCTRL: bad})
    calls = callbacks or NONE
    rates = user_rates(calls.act_dyn, model, data, activation_rate(model, data, ctrl))
    data = data.replace(act_dot=awake_rates(model, data, rates))
    force = awake_forces(model, data, actuator_force(model, data, ctrl, calls))
    qfrc = gravcomp_actuation(model, data, matmul(force, moment(model, data)))
    return data.replace(actuator_force=force, qfrc_actuator=clip_joints(model, qfrc))


def awake_rates(model: Model, data: Data, rates: Array) -> Array:
    """Activation rates (na,); actuators of sleeping trees keep theirs, as in MuJoCo."""
    s = model.structure
    if not sleeps(model, data) or not s.na:
        return rates
    owner = np.repeat(np.arange(s.nu), np.maximum(s.actuator_actnum, 0))
    on = any_awake(data, members(s).actuator)[owner]
    return where(on, rates, data.act_dot)


def awake_forces(model: Model, data: Data, force: Array) -> Array:
    """Forces (nu,) of actuators that act on an awake tree or on no tree; zero for the others."""
    if not sleeps(model, data):
        return force
    return where(any_awake(data, members(model.structure).actuator), force, 0)


def clamped_ctrl(model: Model, data: Data) -> tuple[Array, Array]:
    """Controls within their ranges, or all zero if one is NaN; and whether one was NaN."""
    delayed = model.structure.nhistory > 0
    return accepted_ctrl(model, delayed_ctrl(model, data) if delayed else data.ctrl)


def accepted_ctrl(model: Model, ctrl: Array) -> tuple[Array, Array]:
    """Some controls (nu,) within their ranges, or all zero if one is bad; and whether one was bad.

    The derivative of a control at its limit is one. Beyond its limit it is zero.
    """
    s = model.structure
    if s.actuator_ctrllimited.any() and not model.opt.disabled(DisableBit.CLAMPCTRL):
        low, high = model.actuator_ctrlrange[:, 0], model.actuator_ctrlrange[:, 1]
        limited = s.actuator_ctrllimited.astype(bool)
        # This is not a clip, because the derivative of a clip at the limit itself is half.
        ctrl = where(limited & (ctrl < low), low, where(limited & (ctrl > high), high, ctrl))
    bad = is_bad(ctrl)
    return where(bad, 0, ctrl), bad


def activation_rate(model: Model, data: Data, ctrl: Array) -> Array:
    """Time derivative of the activations (na,)."""
    s = model.structure
    xp = namespace(ctrl)
    stateful = np.flatnonzero(s.actuator_actnum > 0)
    if not len(stateful):
        return data.act_dot
    last = (s.actuator_actadr + s.actuator_actnum - 1)[stateful]
    rate = _by_kind(
        DYNAMICS,
        s.actuator_dyntype[stateful],
        model.actuator_dynprm[stateful],
        ctrl[stateful],
        data.act[last],
    )
    index = np.full(s.na, len(stateful))
    index[last] = np.arange(len(stateful))
    return xp.concatenate([rate, xp.zeros(1, rate.dtype)])[index]


def next_act(model: Model, act: Array, act_dot: Array) -> Array:
    """Activations (na,) after one time step, within `actrange`; exact for `filterexact`."""
    s = model.structure
    xp = namespace(act)
    if not s.na:
        return act
    owner = np.repeat(np.arange(s.nu), np.maximum(s.actuator_actnum, 0))
    h = model.opt.timestep
    after = act + h * act_dot
    exact = s.actuator_dyntype[owner] == DynType.FILTEREXACT
    if exact.any():
        tau = _time_constant(model.actuator_dynprm[owner])
        after = where(exact, act + act_dot * tau * -xp.expm1(-h / tau), after)
    limited = s.actuator_actlimited[owner].astype(bool)
    if limited.any():
        low, high = model.actuator_actrange[owner, 0], model.actuator_actrange[owner, 1]
        after = where(limited, xp.clip(after, low, high), after)
    return after


def enabled_actuators(model: Model) -> np.ndarray:
    """(nu,) mask of the actuators whose group is not disabled."""
    group = model.structure.actuator_group
    valid = (group >= 0) & (group < 31)
    bit = np.left_shift(1, np.where(valid, group, 0))
    return ~(valid & ((model.opt.disableactuator & bit) != 0))


def actuator_input(model: Model, data: Data, ctrl: Array) -> Array:
    """Values (nu,) that the gain multiplies: control or activation; with actearly the next one."""
    s = model.structure
    stateful = s.actuator_actnum > 0
    if not stateful.any():
        return ctrl
    last = np.where(stateful, s.actuator_actadr + s.actuator_actnum - 1, 0)
    value = data.act[last]
    early = s.actuator_actearly.astype(bool) & stateful
    if early.any():
        value = where(early, next_act(model, data.act, data.act_dot)[last], value)
    return where(stateful, value, ctrl)


def actuator_force(model: Model, data: Data, ctrl: Array, callbacks: Callbacks = NONE) -> Array:
    """Actuator forces (nu,) after the limits of tendons and actuators [N or N m]."""
    s = model.structure
    xp = namespace(ctrl)
    state = actuator_state(model, data)
    gain = _by_kind(GAINS, s.actuator_gaintype, model.actuator_gainprm, state)
    bias = _by_kind(BIASES, s.actuator_biastype, model.actuator_biasprm, state)
    user = s.actuator_gaintype == GainType.USER, s.actuator_biastype == BiasType.USER
    gain = user_values(callbacks.act_gain, model, data, user[0], gain)
    bias = user_values(callbacks.act_bias, model, data, user[1], bias)
    force = gain * actuator_input(model, data, ctrl) + bias
    enabled = enabled_actuators(model)
    if not enabled.all():
        force = where(enabled, force, 0)
    force = scale_tendons(model, force)
    limited = s.actuator_forcelimited.astype(bool)
    if limited.any():
        low, high = model.actuator_forcerange[:, 0], model.actuator_forcerange[:, 1]
        force = where(limited, xp.clip(force, low, high), force)
    return force


def actuator_state(model: Model, data: Data) -> ActuatorState:
    """Lengths and velocities of the actuators, and the constants that scale them for muscles."""
    return ActuatorState(
        data.actuator_length,
        data.actuator_velocity,
        model.actuator_lengthrange,
        model.actuator_acc0,
    )


def scale_tendons(model: Model, force: Array) -> Array:
    """Forces (nu,); the forces on one tendon are scaled so that their sum is in `actfrcrange`."""
    s = model.structure
    owner = _limited_tendons(s)
    pulling = owner >= 0
    if not pulling.any():
        return force
    xp = namespace(force)
    total = matmul((owner[:, None] == owner) & pulling, force)
    bounds = model.tendon_actfrcrange[np.maximum(owner, 0)]
    scale = divide(xp.clip(total, bounds[:, 0], bounds[:, 1]), total, 1)
    return where(pulling, force * scale, force)


@functools.lru_cache(maxsize=64)
def _limited_tendons(s: Structure) -> np.ndarray:
    """(nu,) tendon with a force limit on which each actuator pulls, -1 for none."""
    owner = np.where(s.actuator_trntype == TrnType.TENDON, s.actuator_trnid[:, 0], -1)
    limited = np.append(s.tendon_actfrclimited, False).astype(bool)
    return np.where(limited[owner], owner, -1)


def gravcomp_actuation(model: Model, data: Data, qfrc: Array) -> Array:
    """Adds the gravity compensation of joints whose actuators provide it."""
    s = model.structure
    if not s.jnt_actgravcomp.any():
        return qfrc
    mask = s.jnt_actgravcomp[s.dof_jntid].astype(bool)
    return qfrc + where(mask, data.qfrc_gravcomp, 0)


def clip_joints(model: Model, qfrc: Array) -> Array:
    """Joint-space actuator force within the joints' `actfrcrange`."""
    s = model.structure
    limited = s.jnt_actfrclimited[s.dof_jntid].astype(bool)
    if not limited.any():
        return qfrc
    xp = namespace(qfrc)
    bounds = model.jnt_actfrcrange[s.dof_jntid]
    return where(limited, xp.clip(qfrc, bounds[:, 0], bounds[:, 1]), qfrc)


def actuator_velocity(model: Model, data: Data) -> Data:
    """Writes the velocities of actuators to `actuator_velocity`, zero with actuation disabled."""
    if not model.structure.nu:
        return data
    if model.opt.disabled(DisableBit.ACTUATION):
        none = namespace(data.qvel).zeros_like(data.actuator_length)
        return data.replace(actuator_velocity=none)
    return data.replace(actuator_velocity=matmul(moment(model, data), data.qvel))


def _by_kind(table: dict, kinds: np.ndarray, prm: Array, *operands: Any) -> Array:
    """Evaluates each kind that occurs on all rows, and keeps for each row its own kind."""
    result: Array = 0 * prm[:, 0]
    for kind in np.unique(kinds):
        value = table[type(next(iter(table)))(kind)](prm, *operands)
        result = value if (kinds == kind).all() else where(kinds == kind, value, result)
    return result


def _affine(prm: Array, state: ActuatorState) -> Array:
    return prm[:, 0] + prm[:, 1] * state.length + prm[:, 2] * state.velocity


def _time_constant(prm: Array) -> Array:
    return namespace(prm).maximum(MINVAL, prm[:, 0])
