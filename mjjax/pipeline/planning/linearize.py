"""Derivatives of a step and of inverse dynamics as matrices."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from mjjax.core.enums import Stage
from mjjax.core.representation import represent
from mjjax.dynamics.actuation import fwd_actuation
from mjjax.dynamics.position import differentiate_pos, integrate_pos
from mjjax.model.callbacks import NONE, Callbacks
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.pipeline.forward import forward_skip, position
from mjjax.pipeline.integrate import integrate
from mjjax.pipeline.inverse import inverse
from mjjax.xla.linalg import matmul
from mjjax.xla.namespace import Array

Readings = Callable[[Model, Data], Array]


class TransitionJacobian(NamedTuple):
    """Derivatives of the next state y and readings s with respect to state x and controls u.

    A state has 2 nv + na entries: a displacement of the position in its tangent space, the
    velocity and the activations. `A` is dy/dx, `B` dy/du, `C` ds/dx, `D` ds/du.
    """

    A: Array
    B: Array
    C: Array
    D: Array

    __repr__ = represent


class InverseJacobian(NamedTuple):
    """Derivatives of force f, readings s and inertia m by position q, velocity v, acceleration a.

    `DfDq[i, k]` is the derivative of force i with respect to a displacement along dof k, and
    `DmDq[i, j, k]` that of `qM[i, j]`. `mjd_inverseFD` returns the transposes: its `DfDq` is
    `DfDq.T` here. Row k of its `DmDq` has the entries of `DmDq[:, :, k]` that MuJoCo's sparse
    matrix stores.
    """

    DfDq: Array
    DfDv: Array
    DfDa: Array
    DsDq: Array
    DsDv: Array
    DsDa: Array
    DmDq: Array

    __repr__ = represent


def transition_jacobian(
    model: Model, data: Data, callbacks: Callbacks | None = None
) -> TransitionJacobian:
    """Exact derivatives of `step` with respect to state and controls (`mjd_transitionFD`).

    All integrators are supported. The function works under `jit` and `vmap`, even with a model per
    world, and can itself be differentiated.

    - At a limit of `ctrlrange`, the derivative with respect to a control is the one towards the
      inside; beyond the limit it is zero. (MuJoCo's is zero there even if controls are not clamped,
      and the `D` of its centred differences has the opposite sign.)
    - The matrix of an implicit step changes with the controls and activations that determine the
      actuators' damping, as in `step`. (MuJoCo's differences keep this matrix fixed.)
    - Past controls and readings in `history` are not part of the state. They stay as they are, so a
      delayed control has no effect on the next state.
    - Constraint forces are differentiated at the solver's optimum, whether or not the solver made
      enough iterations to reach it. Noslip forces have the derivative of the noslip iterations.
    - A diverging world is not reset; its derivatives may be infinite or NaN.
    - If callbacks set controls, the derivatives are those of the closed loop.

    Args:
        model: model.
        data: state and controls, of one world.
        callbacks: your own functions, differentiated with the step.
    """
    return linear(model, data, lambda model, data: data.sensordata, callbacks)[0]


def linear(
    model: Model, data: Data, readings: Readings, callbacks: Callbacks | None = None
) -> tuple[TransitionJacobian, Array]:
    """`transition_jacobian` with other readings than those of sensors, and these readings.

    Args:
        model: model.
        data: state and controls, of one world.
        readings: function of the model and of data after `forward`, which returns (ns,) readings.
        callbacks: functions of the user.
    """
    s, calls = model.structure, callbacks or NONE

    def outcome(
        placed: Data, qvel: Array, act: Array, ctrl: Array
    ) -> tuple[Array, tuple[Array, Array]]:
        now = placed.replace(qvel=qvel, act=act, ctrl=ctrl)
        now = forward_skip(model, now, Stage.POS, callbacks=callbacks)
        end, found = integrate(model, now, callbacks), readings(model, now)
        return jnp.concatenate([end.qpos, end.qvel, end.act, found]), (end.qpos, found)

    def from_position(dq: Array) -> tuple[Array, tuple[Data, tuple[Array, Array]]]:
        qpos = integrate_pos(model, data.qpos, dq, 1)
        placed = position(model, data.replace(qpos=qpos), calls, skipsensor=False)
        end, values = outcome(placed, *x)
        return end, (placed, values)

    # The derivatives are taken one after the other, because most of a step has none by velocities
    # and controls. All start from the position stage of the first, so that it runs only once.
    x = data.qvel, data.act, data.ctrl
    first, (placed, (qpos, value)) = jax.jacfwd(from_position, has_aux=True)(
        jnp.zeros_like(data.qvel)
    )
    others = [jax.jacfwd(outcome, argnums=k, has_aux=True)(placed, *x)[0] for k in (1, 2, 3)]
    found = jnp.concatenate([first, *others], axis=1)
    tangent = jax.jacfwd(lambda q: differentiate_pos(model, 1, qpos, q))(qpos)
    found = jnp.concatenate([matmul(tangent, found[: s.nq]), found[s.nq :]])
    n = 2 * s.nv + s.na
    blocks = TransitionJacobian(found[:n, :n], found[:n, n:], found[n:, :n], found[n:, n:])
    return blocks, value


def inverse_jacobian(
    model: Model, data: Data, actuation: bool = False, callbacks: Callbacks | None = None
) -> InverseJacobian:
    """Exact derivatives of `inverse` by position, velocity and acceleration (`mjd_inverseFD`).

    It works under `jit` and `vmap`, even with a model per world, and can itself be differentiated.
    Readings of actuator forces are those in `data`, as in `inverse`, and are taken as constant.

    Args:
        model: model.
        data: state and acceleration `qacc`, of one world.
        actuation: static; whether to differentiate `qfrc_inverse - qfrc_actuator`, the force that
            the actuators do not supply, instead of `qfrc_inverse`.
        callbacks: your own functions, differentiated with inverse dynamics.

    Raises:
        ValueError: the flag `invdiscrete` is on with `RK4`, whose steps cannot be inverted.
    """
    s = model.structure

    def outcome(x: Array) -> Array:
        dq, qvel, qacc = jnp.split(x, 3)
        qpos = integrate_pos(model, data.qpos, dq, 1)
        end = inverse(model, data.replace(qpos=qpos, qvel=qvel, qacc=qacc), callbacks)
        force = end.qfrc_inverse
        if actuation:
            force = force - fwd_actuation(model, end, callbacks).qfrc_actuator
        return jnp.concatenate([force, end.sensordata, end.qM.ravel()])

    x = jnp.concatenate([jnp.zeros_like(data.qvel), data.qvel, data.qacc])
    force, readings, inertia = jnp.split(jax.jacfwd(outcome)(x), (s.nv, s.nv + s.nsensordata))
    return InverseJacobian(
        *jnp.split(force, 3, axis=1),
        *jnp.split(readings, 3, axis=1),
        DmDq=inertia[:, : s.nv].reshape(s.nv, s.nv, s.nv),
    )
