"""Time integrators."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.core.enums import DisableBit, IntegratorType
from mjjax.dynamics.actuation import enabled_actuators, next_act, velocity_gain
from mjjax.dynamics.fluid import fluid_derivative
from mjjax.dynamics.position import integrate_pos
from mjjax.dynamics.transmission import moment
from mjjax.math.linalg import cho_solve, cholesky, matmul
from mjjax.math.namespace import Array
from mjjax.model.callbacks import Callbacks
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.pipeline.forward import forward_skip


def advance(
    model: Model, data: Data, act_dot: Array, qacc: Array, qvel: Array | None = None
) -> Data:
    """New state from rates (`mj_advance`): activation, velocity, position, time, warm start.

    Args:
        model: model.
        data: data at the start of the step.
        act_dot: (na,) activation rates.
        qacc: (nv,) acceleration that changes the velocity.
        qvel: (nv,) velocity that changes the position; the new velocity by default.
    """
    h = model.opt.timestep
    if model.structure.na:
        s = model.structure
        owner = np.repeat(np.arange(s.nu), np.maximum(s.actuator_actnum, 0))
        held = ~enabled_actuators(model)[owner]
        if model.opt.disabled(DisableBit.ACTUATION):
            held = np.ones_like(held)
        data = data.replace(act=next_act(model, data.act, jnp.where(held, 0, act_dot)))
    velocity = data.qvel + h * qacc
    moving = velocity if qvel is None else qvel
    return data.replace(
        qvel=velocity,
        qpos=integrate_pos(model, data.qpos, moving, h),
        time=data.time + h,
        qacc_warmstart=data.qacc,
    )


def euler(model: Model, data: Data) -> Data:
    """Semi-implicit Euler (`mj_Euler`), implicit in joint damping unless `eulerdamp` is disabled.

    (M + h diag(damping)) qacc' = qfrc_smooth + qfrc_constraint.
    """
    derivative = damping_derivative(model, data)
    if derivative is None or model.opt.disabled(DisableBit.DAMPER):
        return advance(model, data, data.act_dot, data.qacc)
    return advance(model, data, data.act_dot, _implicit_qacc(model, data, derivative))


def damping_derivative(model: Model, data: Data) -> Array | None:
    """-diag(damping) (nv, nv), None if Euler's method treats no damping implicitly."""
    s = model.structure
    if not s.nonzero["dof_damping"].any() or model.opt.disabled(DisableBit.EULERDAMP):
        return None
    return -jnp.eye(s.nv, dtype=data.qM.dtype) * model.dof_damping[:, None]


def implicit(model: Model, data: Data) -> Data:
    """Implicit integration in velocity (`mj_implicit`) for `implicitfast`.

    (M - h D) qacc' = qfrc_smooth + qfrc_constraint with D the derivative of the actuator, damping
    and fluid forces with respect to velocity, without that of the bias force.
    """
    derivative = velocity_derivative(model, data)
    return advance(model, data, data.act_dot, _implicit_qacc(model, data, derivative))


def velocity_derivative(model: Model, data: Data) -> Array:
    """Derivative D (nv, nv) of `implicit`."""
    s, opt = model.structure, model.opt
    d = jnp.zeros_like(data.qM)
    if s.nu and not opt.disabled(DisableBit.ACTUATION):
        arm = moment(model, data)
        d = d + matmul(arm.T * velocity_gain(model, data)[None], arm)
    if not opt.disabled(DisableBit.DAMPER):
        d = d - jnp.eye(s.nv, dtype=d.dtype) * model.dof_damping[:, None]
    off = opt.disabled(DisableBit.SPRING) and opt.disabled(DisableBit.DAMPER)
    if opt.has_fluid and not off:
        d = d + fluid_derivative(model, data)
    return d


def _implicit_qacc(model: Model, data: Data, d: Array) -> Array:
    """Solution of (M - h d) qacc = qfrc_smooth + qfrc_constraint (nv,) for symmetric `d`."""
    # XLA's CPU runtime may run independent factorisations at once, and each waits for threads that
    # the other holds: on two cores that never ends. The sum makes this one wait for the solver.
    wait = jnp.where(jnp.isnan(data.qacc), data.qacc, 0)
    factor = cholesky(data.qM - model.opt.timestep * d + wait[:, None])
    return cho_solve(factor, data.qfrc_smooth + data.qfrc_constraint)


def rungekutta4(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """Fourth-order Runge-Kutta (`mj_RungeKutta`); `data` holds the forward results at its start.

    Derived fields are those of the last stage, sensors those of the first, as in MuJoCo.
    """
    h = model.opt.timestep
    start = data

    def substep(carry: tuple[Data, Rates], weights: Array) -> tuple[tuple[Data, Rates], None]:
        data, total = carry
        fraction, weight = weights[0], weights[1]
        dt = fraction * h
        moved = data.replace(
            time=start.time + dt,
            qpos=integrate_pos(model, start.qpos, data.qvel, dt),
            qvel=start.qvel + dt * data.qacc,
            act=start.act + dt * data.act_dot,
        )
        data = forward_skip(model, moved, skipsensor=True, callbacks=callbacks)
        rates = jax.tree.map(lambda sum_, x: sum_ + weight * x, total, _rates(data))
        return (data, rates), None

    # one traced forward pass for the three remaining stages: compilation takes half the time
    table = jnp.asarray(RK4_STAGES, data.qpos.dtype)
    first = jax.tree.map(lambda x: x / 6, _rates(data))
    (data, (qvel, qacc, act_dot)), _ = jax.lax.scan(substep, (data, first), table)
    data = data.replace(time=start.time, qpos=start.qpos, qvel=start.qvel, act=start.act)
    return advance(model, data, act_dot, qacc, qvel)


Rates = tuple[Array, Array, Array]

# fraction of the time step and weight in the final average of stages two to four
RK4_STAGES = ((0.5, 1 / 3), (0.5, 1 / 3), (1.0, 1 / 6))


def _rates(data: Data) -> Rates:
    return data.qvel, data.qacc, data.act_dot


# Integrators that need one evaluation of the dynamics.
INTEGRATORS: dict[IntegratorType, Callable[[Model, Data], Data]] = {
    IntegratorType.EULER: euler,
    IntegratorType.IMPLICITFAST: implicit,
}
