"""Plans: controls over a horizon that iLQR improves, with exact derivatives of the steps."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.core.representation import represent
from mjjax.dynamics.position import differentiate_pos, integrate_pos
from mjjax.math.quadratic import box_qp
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.pipeline.carried import carried, take
from mjjax.pipeline.forward import forward
from mjjax.pipeline.integrate import integrate
from mjjax.pipeline.planning.linearize import Readings, TransitionJacobian, linear
from mjjax.xla.linalg import cho_solve, matmul
from mjjax.xla.loops import scan
from mjjax.xla.namespace import Array, where

STEP_LENGTHS = 0.5 ** np.arange(10.0)  # lengths of a step that are tried side by side
# Factors of the damping after an iteration that helped and after one that did not; least damping.
LESS, MORE, LEAST = 1 / 3, 4.0, 1e-6
# If an iteration promises to save less than this part of the cost, the saving is rounding, or it is
# not worth more damping.
NO_DECREASE = 1e-6


class Plan(NamedTuple):
    """Controls for n time steps and the motion that follows from them.

    Attributes:
        ctrl: (n, nu) controls.
        qpos: (n + 1, nq) positions.
        qvel: (n + 1, nv) velocities.
        act: (n + 1, na) activations.
        gain: (n, nu, 2 nv + na) feedback K: u = ctrl + K (x - x_plan). The difference of states
            consists of a displacement of the position in its tangent space, the difference of
            velocities and the difference of activations.
        cost: () half the sum of squares of all residuals.
        damping: () number that the next iteration adds to the cost's curvature in each control.
    """

    ctrl: Array
    qpos: Array
    qvel: Array
    act: Array
    gain: Array
    cost: Array
    damping: Array

    __repr__ = represent


def start_plan(model: Model, data: Data, ctrl: Array, damping: float = 1.0) -> Plan:
    """Makes a plan from given controls, as a first guess for `improve_plan`.

    This function simulates nothing: the plan stays in its initial state, and its cost is infinite.
    The first iteration linearizes about this state, and gives a plan that costs no more than the
    motion that follows from the controls.

    Args:
        model: model.
        data: one world, in the state in which the plan starts.
        ctrl: (n, nu) controls per time step.
        damping: damping of the first iteration, in units of the cost per control squared.
    """
    s = model.structure
    ctrl = jnp.asarray(ctrl, data.ctrl.dtype)
    n = len(ctrl)
    qpos, act = (jnp.broadcast_to(x, (n + 1, *x.shape)) for x in (data.qpos, data.act))
    cost, damping_now = jnp.asarray([jnp.inf, damping], ctrl.dtype)
    gain = jnp.zeros((n, s.nu, 2 * s.nv + s.na), ctrl.dtype)
    return Plan(ctrl, qpos, jnp.zeros((n + 1, s.nv), ctrl.dtype), act, gain, cost, damping_now)


def improve_plan(model: Model, data: Data, plan: Plan, residual: Readings, final: Readings) -> Plan:
    """Makes one iteration of iLQR with bounds, and returns a plan from `data` that costs no more.

    The cost is sum_t |r(x_t, u_t)|^2 / 2 + |f(x_n)|^2 / 2. Dynamics and residuals are linearized
    along the plan, for all time steps at once. Then, backwards in time, each control minimizes the
    quadratic cost-to-go within `ctrlrange` (`box_qp`; a control at a limit has no feedback). Ten
    step lengths are simulated side by side, with feedback, and the cheapest motion is kept. If none
    is cheaper than the plan's controls, the plan keeps its controls and the damping grows. At an
    optimum there is nothing to gain and the damping stays, so the plan remains ready for MPC.

    For model-predictive control, call this in each control step with the measured `data`, and then
    `shift_plan`. Plain calls with the same two functions share a compiled program, so define them
    once. `vmap` it over worlds. Its loops have no reverse-mode derivative.

    Args:
        model: model.
        data: one world, in the state in which the plan starts.
        plan: plan from this state or from one nearby.
        residual: function of (model, data), with data after `forward` in a time step, that returns
            (m,) quantities to bring to zero, each times the square root of its weight. It may read
            everything in data.
        final: the same for the end, where the controls are those of the last time step.
    """
    change, gain, promise = _backward(model, data, plan, residual, final)

    def attempt(length: Array) -> Plan:
        taken = plan._replace(ctrl=plan.ctrl + length * change, gain=where(length > 0, gain, 0))
        return _follow(model, data, taken, residual, final)

    # The lengths are 0, for the plan's controls as they are, and ten lengths of the step.
    lengths = jnp.asarray(np.append(0.0, STEP_LENGTHS), change.dtype)
    tried = jax.vmap(attempt)(lengths)
    best = jnp.argmin(tried.cost)
    chosen = jax.tree.map(lambda x: x[best], tried)
    fine = (best > 0) | (promise <= NO_DECREASE * chosen.cost)
    damping = where(fine, jnp.maximum(LESS * plan.damping, LEAST), MORE * plan.damping)
    return chosen._replace(gain=gain, damping=damping)


def shift_plan(plan: Plan) -> Plan:
    """The plan one time step later; its last control and its last state are repeated."""

    def later(x: Array) -> Array:
        return jnp.concatenate([x[1:], x[-1:]])

    moved = {name: later(getattr(plan, name)) for name in ("ctrl", "qpos", "qvel", "act", "gain")}
    return plan._replace(**moved)


def _bounds(model: Model) -> tuple[Array, Array]:
    """Limits of the controls (nu,), infinite where there are none."""
    low, high = model.actuator_ctrlrange.T
    limited = model.structure.actuator_ctrllimited
    return where(limited, low, -jnp.inf), where(limited, high, jnp.inf)


def _cost(residual: Array) -> Array:
    return jnp.sum(residual * residual) / 2


def _follow(model: Model, data: Data, plan: Plan, residual: Readings, final: Readings) -> Plan:
    """The motion from `data` with the plan's controls and feedback, within bounds.

    The cost of a motion that diverges is infinite.
    """
    low, high = _bounds(model)

    # `jit` makes JAX trace it once, although both `carried` and the loop use it.
    @jax.jit
    def one(model: Model, now: Data) -> tuple[Data, Array]:
        now = forward(model, now)
        return integrate(model, now), _cost(residual(model, now))

    names = carried(one, model, data, ())

    def body(state: dict[str, Array], given: Plan) -> tuple[dict[str, Array], tuple]:
        now = data.replace(**state)
        moved = differentiate_pos(model, 1, given.qpos, now.qpos)
        away = jnp.concatenate([moved, now.qvel - given.qvel, now.act - given.act])
        ctrl = jnp.clip(given.ctrl + matmul(given.gain, away), low, high)
        after, cost = one(model, now.replace(ctrl=ctrl))
        return take(names, after), (ctrl, now.qpos, now.qvel, now.act, cost)

    steps = plan._replace(
        qpos=plan.qpos[:-1], qvel=plan.qvel[:-1], act=plan.act[:-1], cost=None, damping=None
    )
    state, (ctrl, *states, costs) = scan(body, take(names, data), steps)
    end = data.replace(**state)
    cost = jnp.sum(costs) + _cost(final(model, forward(model, end)))
    last = end.qpos, end.qvel, end.act
    qpos, qvel, act = (
        jnp.concatenate([x, x_end[None]]) for x, x_end in zip(states, last, strict=True)
    )
    cost = where(jnp.isfinite(cost), cost, jnp.inf)
    return Plan(ctrl, qpos, qvel, act, plan.gain, cost, plan.damping)


def _backward(
    model: Model, data: Data, plan: Plan, residual: Readings, final: Readings
) -> tuple[Array, Array, Array]:
    """Changes of controls (n, nu), feedback gains (n, nu, 2 nv + na), and the cost they save ().

    The saved cost is that of the quadratic problem, without its damping.
    """
    low, high = _bounds(model)

    def along(qpos: Array, qvel: Array, act: Array, ctrl: Array) -> tuple:
        now = data.replace(qpos=qpos, qvel=qvel, act=act, ctrl=ctrl)
        return linear(model, now, residual)

    def one(
        carry: tuple[Array, Array], given: tuple[TransitionJacobian, Array, Array]
    ) -> tuple[tuple[Array, Array], tuple[Array, Array, Array]]:
        (grad, hess), ((A, B, C, D), r, u) = carry, given
        qx, qu = matmul(C.T, r) + matmul(A.T, grad), matmul(D.T, r) + matmul(B.T, grad)
        onward = matmul(hess, B)
        qxx = matmul(C.T, C) + matmul(A.T, matmul(hess, A))
        qxu = matmul(C.T, D) + matmul(A.T, onward)
        quu = matmul(D.T, D) + matmul(B.T, onward)
        solved = box_qp(quu + plan.damping * jnp.eye(len(u), dtype=u.dtype), qu, low - u, high - u)
        gain = where(solved.free[:, None], -cho_solve(solved.factor, qxu.T), 0)
        slope = matmul(quu, solved.x) + qu
        saved = -jnp.sum(solved.x * (slope + qu)) / 2
        grad = qx + matmul(gain.T, slope) + matmul(qxu, solved.x)
        mixed = matmul(qxu, gain)
        hess = qxx + matmul(gain.T, matmul(quu, gain)) + mixed + mixed.T
        return (grad, (hess + hess.T) / 2), (solved.x, gain, saved)

    steps, r = jax.vmap(along)(plan.qpos[:-1], plan.qvel[:-1], plan.act[:-1], plan.ctrl)
    slope, r_end = _linear_end(model, data, plan, final)
    last = matmul(slope.T, r_end), matmul(slope.T, slope)
    change, gain, saved = scan(one, last, (steps, r, plan.ctrl), reverse=True)[1]
    return change, gain, jnp.sum(saved)


def _linear_end(model: Model, data: Data, plan: Plan, final: Readings) -> tuple[Array, Array]:
    """Derivative of the final residual by the last state, and the residual."""
    s = model.structure

    def outcome(x: Array) -> tuple[Array, Array]:
        dq, qvel, act = jnp.split(x, (s.nv, 2 * s.nv))
        qpos = integrate_pos(model, plan.qpos[-1], dq, 1)
        end = data.replace(qpos=qpos, qvel=qvel, act=act, ctrl=plan.ctrl[-1])
        found = final(model, forward(model, end))
        return found, found

    still = jnp.zeros_like(plan.qvel[-1])
    return jax.jacfwd(outcome, has_aux=True)(jnp.concatenate([still, plan.qvel[-1], plan.act[-1]]))
