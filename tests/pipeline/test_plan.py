"""Plans by iLQR: exact where the answer is known, within bounds, on curved spaces."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

import mjjax
from mjjax.xla.namespace import Array
from tests.oracle_tools import quick

CART = """
<mujoco>
  <option timestep="0.1" gravity="0 0 0"><flag contact="disable"/></option>
  <worldbody><body><joint name="x" type="slide" axis="1 0 0"/><geom size="0.1" mass="1"/></body>
  </worldbody>
  <actuator><motor joint="x" {}/></actuator>
</mujoco>
"""
# A ball that three torques turn, one of them through a filter.
BALL = """
<mujoco>
  <option timestep="0.02"/>
  <worldbody><body><joint name="ball" type="ball" damping="0.1"/>
    <geom size="0.1" pos="0 0 -0.3" mass="1"/><geom type="box" size="0.2 0.1 0.05"/>
    <site name="tip" pos="0 0 -0.3"/></body></worldbody>
  <actuator><motor joint="ball" gear="1 0 0" ctrlrange="-4 4"/>
    <motor joint="ball" gear="0 1 0" ctrlrange="-4 4"/>
    <general joint="ball" gear="0 0 1" dyntype="filter" dynprm="0.05" ctrlrange="-1 1"/></actuator>
</mujoco>
"""
STEPS = 20


def effort(model: mjjax.Model, data: mjjax.Data) -> Array:
    return jnp.concatenate([data.qpos, 0.3 * data.ctrl])


def stopped(model: mjjax.Model, data: mjjax.Data) -> Array:
    return 5 * jnp.concatenate([data.qpos, data.qvel])


def cart(limits: str) -> tuple[mjjax.Model, mjjax.Data]:
    model = mjjax.Model.from_xml_string(CART.format(limits))
    return model, mjjax.make_data(model).replace(qpos=jnp.ones(1))


def rows_of_least_squares() -> tuple[np.ndarray, np.ndarray]:
    """Residuals of the cart as a matrix times all controls, plus a vector; Euler's steps."""
    A, b = np.array([[1, 0.1], [0, 1]]), np.array([0.01, 0.1])
    x, by_u, rows, rest = np.array([1.0, 0]), np.zeros((2, STEPS)), [], []
    for unit in np.eye(STEPS):
        rows += [by_u[0], 0.3 * unit]
        rest += [x[0], 0.0]
        x, by_u = A @ x, A @ by_u + np.outer(b, unit)
    return np.array([*rows, *5 * by_u]), np.array([*rest, *5 * x])


@pytest.mark.slow(but=1)
@pytest.mark.feature("D16")
@pytest.mark.parametrize(("limits", "iterations"), [("", 2), ('ctrlrange="-1 0.4"', 12)])
def test_linear_problems_are_solved(limits: str, iterations: int) -> None:
    """Linear problems reach the optimum of bounded least squares; without bounds at once."""
    model, data = cart(limits)
    low, high = (-1.0, 0.4) if limits else (-np.inf, np.inf)
    matrix, rest = rows_of_least_squares()
    expected = scipy.optimize.lsq_linear(matrix, -rest, (low, high), tol=1e-14)
    improve = quick(lambda plan: mjjax.improve_plan(model, data, plan, effort, stopped))
    plan = mjjax.start_plan(model, data, np.zeros((STEPS, 1)), damping=0.0)
    for _ in range(iterations):
        plan = improve(plan)
    np.testing.assert_allclose(plan.ctrl[:, 0], expected.x, atol=1e-5)
    np.testing.assert_allclose(plan.cost, expected.cost, rtol=1e-9)
    at_limit = (plan.ctrl[:, 0] <= low) | (plan.ctrl[:, 0] >= high)
    assert np.any(at_limit) == bool(limits)
    assert np.all((plan.gain[:, 0, 0] == 0) == at_limit)


def test_feedback_is_that_of_riccati() -> None:
    """The gains bring the cart back as the discrete Riccati equation says."""
    model, data = cart("")
    plan = mjjax.start_plan(model, data, np.zeros((150, 1)), damping=0.0)
    plan = quick(lambda plan: mjjax.improve_plan(model, data, plan, effort, stopped))(plan)
    A, b = np.array([[1, 0.1], [0, 1]]), np.array([[0.01], [0.1]])
    P = scipy.linalg.solve_discrete_are(A, b, np.diag([1.0, 0]), np.array([[0.09]]))
    gain = -np.linalg.solve(0.09 + b.T @ P @ b, b.T @ P @ A)
    np.testing.assert_allclose(plan.gain[0], gain, rtol=1e-6)


def test_plans_stay_ready_at_an_optimum() -> None:
    """After iterations at the optimum a plan can still answer a push, as in MPC."""
    model, data = cart("")
    improve = quick(lambda data, plan: mjjax.improve_plan(model, data, plan, effort, stopped))
    plan = mjjax.start_plan(model, data, np.zeros((STEPS, 1)))
    for _ in range(60):
        plan = improve(data, plan)
    assert plan.damping < 1e-3
    aside = data.replace(qvel=jnp.array([0.3]))
    best = improve(aside, mjjax.start_plan(model, aside, np.zeros((STEPS, 1)), damping=0.0))
    np.testing.assert_allclose(improve(aside, plan).cost, best.cost, rtol=1e-4)


@pytest.mark.slow
def test_plans_on_curved_spaces() -> None:
    """Quaternions and activations: costs fall, bounds hold, and steps repeat the plan's motion."""
    model = mjjax.Model.from_xml_string(BALL)
    data = mjjax.make_data(model)
    goal = jnp.array([0.2, 0.1, -0.2])

    def near(model: mjjax.Model, data: mjjax.Data) -> Array:
        return jnp.concatenate([10 * (data.site_xpos[0] - goal), 0.5 * data.qvel])

    def cheap(model: mjjax.Model, data: mjjax.Data) -> Array:
        return 0.03 * jnp.concatenate([data.ctrl, data.qvel])

    improve = quick(lambda data, plan: mjjax.improve_plan(model, data, plan, cheap, near))
    plan = mjjax.start_plan(model, data, np.zeros((STEPS, 3)))
    costs = []
    for _ in range(15):
        plan = improve(data, plan)
        costs.append(float(plan.cost))
    assert costs == sorted(costs, reverse=True) and costs[-1] < 0.1 * costs[0]
    low, high = np.asarray(model.actuator_ctrlrange).T
    assert np.all((low <= np.asarray(plan.ctrl)) & (np.asarray(plan.ctrl) <= high))
    _, kept = mjjax.rollout(model, data, plan.ctrl, keep=("qpos", "qvel", "act"))
    for name, field in kept.items():
        np.testing.assert_allclose(getattr(plan, name)[1:], field, atol=1e-9)

    # from a state aside, one iteration leads back to where the plan ends
    aside = data.replace(qvel=jnp.array([0.4, -0.3, 0.2]))
    blind, _ = mjjax.rollout(model, aside, plan.ctrl)
    mended = improve(aside, plan)
    places = [
        mjjax.kinematics(model, data.replace(qpos=qpos)).site_xpos[0]
        for qpos in (plan.qpos[-1], blind.qpos, mended.qpos[-1])
    ]
    missed, mended_miss = (jnp.linalg.norm(place - places[0]) for place in places[1:])
    assert mended_miss < 0.3 * missed

    later = mjjax.shift_plan(plan)
    np.testing.assert_array_equal(later.ctrl, np.concatenate([plan.ctrl[1:], plan.ctrl[-1:]]))
    np.testing.assert_array_equal(later.qpos, np.concatenate([plan.qpos[1:], plan.qpos[-1:]]))


def test_motions_that_diverge_are_not_chosen() -> None:
    """A step into infinity costs infinitely much, and two plain calls share a program."""
    model, data = cart("")
    traced = []

    def residual(model: mjjax.Model, data: mjjax.Data) -> Array:
        traced.append(data)
        return effort(model, data)

    plan = mjjax.start_plan(model, data, np.full((STEPS, 1), np.nan))
    counts = []
    for _ in range(2):
        plan = mjjax.improve_plan(model, data, plan, residual, stopped)
        counts.append(len(traced))
    assert jnp.isinf(plan.cost)
    assert counts[0] == counts[1] > 0
