"""Derivatives of contacts that do not touch yet."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from tests.oracle_tools import quick

DISTANCE = 0.1
# a hand that is pushed along x, two balls beside it on rails, near and out of reach, and a wall
XML = """
<mujoco><option timestep="0.01"/><worldbody>
  <geom name="wall" type="plane" pos="-0.2 0 0" zaxis="1 0 0" size="1 1 1"/>
  <body><joint name="push" type="slide" axis="1 0 0"/><geom size="0.05" mass="1"/></body>
  <body pos="0.15 0 0"><joint type="slide" axis="1 0 0"/><geom size="0.05" mass="2"/></body>
  <body pos="0 0.25 0"><joint type="slide" axis="0 1 0"/><geom size="0.05" mass="2"/></body>
  </worldbody><actuator><motor joint="push"/></actuator></mujoco>
"""
STEPS = 4


@functools.cache
def model() -> mjjax.Model:
    return mjjax.Model.from_xml_string(XML)


def callbacks(distance: float = DISTANCE) -> mjjax.Callbacks:
    return mjjax.Callbacks(passive=mjjax.ContactsFromDistance(distance))


def history(ctrl: jax.Array, calls: mjjax.Callbacks | None) -> Any:
    """Positions (STEPS, 3) of the hand and the balls under controls (STEPS, 1)."""
    data = mjjax.make_data(model())
    return mjjax.rollout(model(), data, ctrl, callbacks=calls, keep=("qpos",))[1]["qpos"]


@functools.cache
def slopes() -> tuple[np.ndarray, ...]:
    """Positions with and without, their slopes along one control in forward and reverse mode."""

    def run(ctrl: jax.Array) -> tuple[jax.Array, ...]:
        value, push = jax.linearize(functools.partial(history, calls=callbacks()), ctrl)
        last = jnp.zeros((3, *value.shape)).at[:, -1].set(jnp.eye(3))
        reverse = jax.vmap(jax.linear_transpose(push, ctrl))(last)[0]
        slope = push(jnp.ones_like(ctrl))[-1]
        return value, history(ctrl, None), slope, jnp.sum(reverse, axis=(1, 2))

    model()  # outside of what is traced
    batch = jnp.stack([jnp.full((STEPS, 1), u) for u in (0.0, 0.3)])
    return tuple(np.asarray(x) for x in quick(jax.vmap(run))(batch))


@pytest.mark.slow
@pytest.mark.feature("D20")
def test_values_are_those_without() -> None:
    """The switch acts on derivatives only: a rollout is the same bit for bit."""
    near, plain, _, _ = slopes()
    assert near.tobytes() == plain.tobytes()


@pytest.mark.slow
@pytest.mark.feature("D20")
def test_a_hand_that_comes_nearer_pushes() -> None:
    """The ball in reach moves away from the hand, as by a spring; the one out of it stays."""
    _, _, forward, reverse = slopes()
    weight = np.asarray(model().body_invweight0)[:, 0]
    k = (1 - 0.05 / DISTANCE) / (weight[1] + weight[2]) / 0.2**2
    x = v = np.zeros(2)
    for _ in range(STEPS):  # of hand and ball, at rest beside each other
        v = v + 0.01 * (np.array([1.0, 0]) - k * (x[0] - x[1]) * np.array([1, -1])) / [1, 2]
        x = x + 0.01 * v
    np.testing.assert_allclose(forward[0], [*x, 0], rtol=1e-9, atol=1e-18)
    assert forward[1, 1] > 0
    np.testing.assert_allclose(reverse, forward, rtol=1e-9, atol=1e-18)


@pytest.mark.feature("D20")
def test_the_force_is_that_of_the_springs() -> None:
    """If the hand moves, the force on both is -k dr, with the k of the docstring."""
    data = mjjax.make_data(model()).replace(qpos=jnp.asarray([0.01, 0.0, 0.0]))
    data = mjjax.com_pos(model(), mjjax.kinematics(model(), data))
    calls = mjjax.ContactsFromDistance(DISTANCE, 0.3)

    @quick
    def stiffness(qpos: jax.Array) -> jax.Array:
        def force(qpos: jax.Array) -> jax.Array:
            moved = mjjax.kinematics(model(), data.replace(qpos=qpos))
            return calls(model(), mjjax.com_pos(model(), moved)).qfrc_passive

        return jax.jacfwd(force)(qpos)

    weight = np.asarray(model().body_invweight0)[:, 0]
    k = (1 - 0.04 / DISTANCE) / (weight[1] + weight[2]) / 0.3**2
    # the wall is 0.16 away from the hand and out of reach
    expected = k * np.array([[-1.0, 1, 0], [1, -1, 0], [0, 0, 0]])
    np.testing.assert_allclose(stiffness(data.qpos), expected, rtol=1e-9, atol=1e-12)


def test_refusals() -> None:
    """Values without sense are refused, and so are filters, which the second search lacks."""
    with pytest.raises(ValueError, match="positive"):
        mjjax.ContactsFromDistance(distance=0.0)
    calls = mjjax.Callbacks(contact_filter=lambda m, d, a, b: a < 0)
    with pytest.raises(ValueError, match="filter"):
        mjjax.ContactsFromDistance()(model(), mjjax.make_data(model(), callbacks=calls))


@pytest.mark.slow
@pytest.mark.feature("D20")
def test_the_check_of_gradients_leaves_it_out() -> None:
    """These derivatives are no differences of values, but are not reported as wrong."""
    data = mjjax.make_data(model())
    report = mjjax.check_gradients(model(), data, callbacks())
    assert not [x for x in report.findings if x.verdict == mjjax.Verdict.WRONG], report
