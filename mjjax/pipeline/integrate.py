"""Time integrators."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.core.enums import DisableBit, IntegratorType
from mjjax.dynamics.actuation import enabled_actuators, next_act
from mjjax.dynamics.by_tree import of_dense
from mjjax.dynamics.history import remember_ctrl
from mjjax.dynamics.inertia import dof_plan
from mjjax.dynamics.joint_inertia import Inertia, inertia_of
from mjjax.dynamics.position import integrate_pos
from mjjax.dynamics.velocity_derivative import smooth_vel
from mjjax.model.callbacks import Callbacks
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.trees import tree_groups
from mjjax.pipeline.forward import forward_skip
from mjjax.pipeline.rest import fall_asleep, keep_asleep
from mjjax.sensor.stages import remember_sensors
from mjjax.solver.method import in_single
from mjjax.xla.definite import solve_definite, solve_symmetric
from mjjax.xla.linalg import solve
from mjjax.xla.loops import scan
from mjjax.xla.namespace import Array, where
from mjjax.xla.ordering import in_turn


def advance(
    model: Model,
    data: Data,
    act_dot: Array,
    qacc: Array,
    qvel: Array | None = None,
    *,
    callbacks: Callbacks | None = None,
) -> Data:
    """New state from rates (`mj_advance`): activation, velocity, position, time, warm start.

    Args:
        model: model.
        data: data at the start of the step.
        act_dot: (na,) activation rates.
        qacc: (nv,) acceleration that changes the velocity.
        qvel: (nv,) velocity that changes the position; the new velocity by default.
        callbacks: functions of the user, which are called for trees that fall asleep.
    """
    s, h = model.structure, model.opt.timestep
    if s.nhistory:
        data = remember_sensors(model, remember_ctrl(model, data))
    if s.na and not model.opt.disabled(DisableBit.ACTUATION):
        owner = np.repeat(np.arange(s.nu), np.maximum(s.actuator_actnum, 0))
        held = ~enabled_actuators(model)[owner]
        data = data.replace(act=next_act(model, data.act, where(held, 0, act_dot)))
    data = fall_asleep(model, data, callbacks)
    velocity = data.qvel + h * qacc
    moving = velocity if qvel is None else qvel
    after = data.replace(
        qvel=velocity,
        qpos=integrate_pos(model, data.qpos, moving, h),
        time=data.time + h,
        qacc_warmstart=data.qacc,
    )
    return keep_asleep(model, after, data)


def euler(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """Semi-implicit Euler (`mj_Euler`), implicit in joint damping unless `eulerdamp` is disabled.

    (M + h diag(damping)) qacc' = qfrc_smooth + qfrc_constraint. Derivatives are exact. At zero
    damping, the derivative with respect to `dof_damping` is the one from above.
    """
    opt = model.opt
    if opt.disabled(DisableBit.DAMPER | DisableBit.EULERDAMP):
        return advance(model, data, data.act_dot, data.qacc, callbacks=callbacks)
    qacc = _implicit_qacc(model, data)
    return advance(model, data, data.act_dot, qacc, callbacks=callbacks)


def implicit_inertia(model: Model, data: Data) -> Inertia:
    """M - h D, where D is the derivative of the forces that the integrator treats implicitly.

    For Euler's method, D is minus the damping.
    """
    s, h = model.structure, model.opt.timestep
    inertia = inertia_of(model, data)
    if model.opt.integrator in (IntegratorType.IMPLICIT, IntegratorType.IMPLICITFAST):
        return inertia.plus(-h * of_dense(s, velocity_derivative(model, data)))
    damping = model.dof_damping
    # damping that only pushes is integrated explicitly
    pulls, pushes = jnp.any(jnp.stack([damping > 0, damping < 0]), axis=1)
    return inertia.plus_diagonal(s, h * where(pushes & ~pulls, 0, damping))


def implicit(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """Implicit integration in velocity (`mj_implicit`).

    (M - h D) qacc' = qfrc_smooth + qfrc_constraint, where D is the derivative of the smooth forces
    with respect to velocity. `implicitfast` leaves the bias force out of D, so that D is symmetric.
    It also leaves out the entries of D for which MuJoCo's sparse M has no place.
    """
    qacc = _implicit_qacc(model, data)
    return advance(model, data, data.act_dot, qacc, callbacks=callbacks)


def velocity_derivative(model: Model, data: Data) -> Array:
    """Derivative D (nv, nv) of `implicit`."""
    if model.opt.integrator == IntegratorType.IMPLICIT:
        return smooth_vel(model, data, bias=True)
    return where(dof_plan(model.structure).kept, smooth_vel(model, data, bias=False), 0)


def _implicit_qacc(model: Model, data: Data) -> Array:
    """Solution of (M - h D) qacc = qfrc_smooth + qfrc_constraint (nv,).

    The matrix need not be positive definite if forces grow with velocity.
    """
    force = data.qfrc_smooth + data.qfrc_constraint
    inertia, s = implicit_inertia(model, data), model.structure
    method = _implicit_method(model)
    if len(tree_groups(s)) > 1:
        # all kinds of trees have factors already, beside which these would be too many at once
        inertia = inertia.plus_diagonal(s, in_turn(jnp.zeros_like(data.qacc), data.qacc))
    return inertia.solve(s, method, force)


def _implicit_method(model: Model) -> Callable[[Array, Array], Array]:
    """The method that solves the implicit system; Euler's is definite without negative damping."""
    if model.opt.integrator == IntegratorType.IMPLICIT:
        return solve
    euler = model.opt.integrator == IntegratorType.EULER
    definite = euler and not model.terms["negative_damping"].any()
    return solve_definite if definite else solve_symmetric


class Tableau(NamedTuple):
    """An explicit method; each stage starts where the step began, with the previous rates.

    Attributes:
        first: weight of the rates at the start in the final average.
        stages: the fraction of the time step and the weight of each further stage.
    """

    first: float
    stages: tuple[tuple[float, float], ...]


RK4 = Tableau(1 / 6, ((0.5, 1 / 3), (0.5, 1 / 3), (1.0, 1 / 6)))
BOGACKI_SHAMPINE = Tableau(2 / 9, ((0.5, 1 / 3), (0.75, 4 / 9)))


def rungekutta4(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """Fourth-order Runge-Kutta (`mj_RungeKutta`); `data` must hold results of `forward`.

    The derived fields are those of the last stage, the sensors those of the first, as in MuJoCo. In
    float32, where the solver has its own stopping rules, it starts each stage from the acceleration
    of the previous stage, not of the last step, and so finds the optimum in fewer iterations.
    """
    return _runge_kutta(RK4, model, data, callbacks)


def bogacki_shampine(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """Third-order Runge-Kutta of Bogacki and Shampine, for `Adaptive`. MuJoCo does not have it.

    In all other respects it works as `rungekutta4`.
    """
    return _runge_kutta(BOGACKI_SHAMPINE, model, data, callbacks)


def _runge_kutta(method: Tableau, model: Model, data: Data, callbacks: Callbacks | None) -> Data:
    h = model.opt.timestep
    start = data

    def substep(carry: tuple[Data, Rates], weights: Array) -> tuple[tuple[Data, Rates], None]:
        data, total = carry
        fraction, weight = weights[0], weights[1]
        moved = drift(model, start, rates_of(data), fraction * h)
        if in_single(data.qpos):
            moved = moved.replace(qacc_warmstart=data.qacc)
        data = forward_skip(model, moved, skipsensor=True, callbacks=callbacks)
        rates = jax.tree.map(lambda sum_, x: sum_ + weight * x, total, rates_of(data))
        return (data, rates), None

    # one traced forward pass for the remaining stages: compilation takes half the time
    table = jnp.asarray(method.stages, data.qpos.dtype)
    first = jax.tree.map(lambda x: x * method.first, rates_of(data))
    (data, (qvel, qacc, act_dot)), _ = scan(substep, (data, first), table)
    data = data.replace(time=start.time, qpos=start.qpos, qvel=start.qvel, act=start.act)
    return advance(model, data, act_dot, qacc, qvel)


Rates = tuple[Array, Array, Array]


def rates_of(data: Data) -> Rates:
    """Rates of position (nv,), velocity (nv,) and activation (na,) after `forward`."""
    return data.qvel, data.qacc, data.act_dot


def drift(model: Model, start: Data, rates: Rates, dt: Array) -> Data:
    """`start` with its state moved at constant rates for a time `dt` [s]."""
    qvel, qacc, act_dot = rates
    return start.replace(
        time=start.time + dt,
        qpos=integrate_pos(model, start.qpos, qvel, dt),
        qvel=start.qvel + dt * qacc,
        act=start.act + dt * act_dot,
    )


Integrator = Callable[[Model, Data, Callbacks | None], Data]
INTEGRATORS: dict[IntegratorType, Integrator] = {
    IntegratorType.EULER: euler,
    IntegratorType.RK4: rungekutta4,
    IntegratorType.IMPLICIT: implicit,
    IntegratorType.IMPLICITFAST: implicit,
}


def integrate(
    model: Model, data: Data, callbacks: Callbacks | None = None, *, again: bool = True
) -> Data:
    """The new state by the model's integrator, from the results of `forward`.

    Args:
        model: model.
        data: data after `forward`.
        callbacks: functions of the user.
        again: static; whether the integrator may evaluate the dynamics again. If not, Euler's
            method takes the place of `RK4`.
    """
    kind = IntegratorType(model.opt.integrator)
    if kind == IntegratorType.RK4 and not again:
        kind = IntegratorType.EULER
    return INTEGRATORS[kind](model, data, callbacks)
