"""Rollouts, resets and integration of positions."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.pipeline.rollout import _block
from tests.derivatives import difference
from tests.oracle_tools import load, quick, random_state
from tests.random_models import random_mjcf

XML = """
<mujoco><option timestep="0.01"/><worldbody><geom type="plane" size="0 0 1"/>
  <body name="box" pos="0 0 0.2"><joint name="x" type="slide" axis="1 0 0"/>
    <joint name="z" type="slide" axis="0 0 1"/><joint name="turn" axis="0 1 0"/>
    <geom name="ball" type="capsule" size="0.1 0.1" euler="0 90 0"/></body>
  <body name="guide" mocap="true" pos="1 2 3"/></worldbody>
  <actuator><motor name="push" joint="x"/><general joint="turn" dyntype="filter" dynprm="0.1"/>
  </actuator>
  <keyframe><key name="up" time="3" qpos="1 2 0.5" qvel="4 5 6" act="0.7" ctrl="8 9" mpos="7 8 9"
    mquat="0 1 0 0"/></keyframe></mujoco>
"""
STEPS = 30
STATE = "time qpos qvel act qacc_warmstart ctrl qfrc_applied xfrc_applied mocap_pos".split()


@functools.cache
def model() -> mjjax.Model:
    return load(XML).ours


def controls() -> jax.Array:
    return jnp.asarray(np.random.default_rng(0).normal(size=(STEPS, 2)))


@pytest.mark.slow
@pytest.mark.feature("A074", "D15")
def test_rollout_is_a_loop_of_steps() -> None:
    """Recorded fields are those after each step; the last data is that of the loop."""
    data, u = mjjax.make_data(model()), controls()
    keep = ("qpos", "qvel", "act", "time", "ncon")
    end, kept = jax.jit(lambda m, d, u: mjjax.rollout(m, d, u, keep=keep))(model(), data, u)
    step = jax.jit(mjjax.step)
    for k in range(STEPS):
        data = step(model(), data.replace(ctrl=u[k]))
        for name in keep:
            np.testing.assert_allclose(kept[name][k], getattr(data, name), atol=1e-9)
    assert jax.tree.map(jax.typeof, end) == jax.tree.map(jax.typeof, data)
    assert np.asarray(kept["ncon"]).max() > 0
    assert float(end.time) == pytest.approx(0.01 * STEPS)


@pytest.mark.slow
@pytest.mark.feature("D02", "D15")
def test_gradient_of_a_rollout() -> None:
    """Controls and initial state: the gradient through a fall and a bounce is the differences'."""
    start = mjjax.make_data(model())

    def height(x: tuple) -> jax.Array:
        qpos, u = x
        end, kept = mjjax.rollout(model(), start.replace(qpos=qpos), u)
        return jnp.sum(jnp.sin(kept["qpos"])) + jnp.sum(end.qvel)

    program = quick(jax.value_and_grad(height))
    x = (start.qpos.at[2].set(0.1), controls())
    _, grad = program(x)
    rng = np.random.default_rng(1)
    for _ in range(3):
        v = jax.tree.map(lambda a: jnp.asarray(rng.normal(size=a.shape)), x)
        slope = sum(jax.tree.leaves(jax.tree.map(lambda a, b: jnp.sum(a * b), grad, v)))
        expected = difference(lambda x: program(x)[0], x, v, 1e-6)
        np.testing.assert_allclose(slope, expected, rtol=2e-6)


def same(first: Any, second: Any, **tolerance: float) -> None:
    compare = functools.partial(np.testing.assert_allclose, **tolerance)
    jax.tree.map(compare, first, second)


@pytest.mark.slow
@pytest.mark.feature("D02", "D05", "D15")
def test_checkpoints_change_memory_and_nothing_else() -> None:
    """Checkpoints change memory and not gradients, with room for few states or for all."""
    start = mjjax.make_data(model())
    n, state = 997, sum(getattr(start, name).nbytes for name in STATE)
    u = jnp.asarray(np.random.default_rng(0).normal(size=(n, 2)))

    def outcome(x: tuple, checkpoint: Any) -> tuple[jax.Array, Any]:
        qpos, u, mass = x
        end, kept = mjjax.rollout(
            dataclasses.replace(model(), body_mass=mass),
            start.replace(qpos=qpos),
            u,
            checkpoint=checkpoint,
        )
        return jnp.sum(jnp.sin(kept["qpos"])) + jnp.sum(end.qvel), (end.qpos, kept)

    x = (start.qpos.at[2].set(0.1), u, model().body_mass)
    program = quick(jax.value_and_grad(outcome, has_aux=True), static_argnums=1)
    found, room = {}, {}
    for checkpoint in ("step", "sqrt", "none"):
        compiled = program.lower(x, checkpoint).compile()
        found[checkpoint] = compiled(x)
        room[checkpoint] = compiled.memory_analysis().temp_size_in_bytes  # pyright: ignore
    (_, expected), slope = found["step"]
    assert all(np.abs(s).max() > 1e-6 for s in slope)
    for (_, values), other in (found["sqrt"], found["none"]):
        same(values, expected, atol=1e-12)
        same(other, slope, rtol=1e-7, atol=1e-10)
    recorded = sum(x.nbytes for x in jax.tree.leaves(expected))
    assert room["step"] < 2 * n * state + 3 * recorded, (room, state, recorded)
    assert room["sqrt"] < room["step"] < 0.05 * room["none"], room


def test_blocks_that_fit_are_the_same_rollout() -> None:
    """If blocks fill the rollout, no step is behind a condition."""
    start, (keep, n) = mjjax.make_data(model()), (("qpos", "time"), 4)
    run = quick(
        lambda d, c: mjjax.rollout(model(), d, nstep=n, keep=keep, checkpoint=c),
        static_argnums=1,
    )
    jax.tree.map(np.testing.assert_array_equal, run(start, "sqrt"), run(start, "step"))
    assert not -n % _block(n)


def test_an_unknown_checkpoint_is_refused() -> None:
    """The error names the choices."""
    with pytest.raises(ValueError, match="step, sqrt, none"):
        mjjax.rollout(model(), mjjax.make_data(model()), nstep=3, checkpoint="all")  # pyright: ignore


@pytest.mark.parametrize("length", [1, 2, 3, 10, 97, 997, 1000])
def test_blocks_are_about_the_root(length: int) -> None:
    """Blocks are about the root of the number of steps, so memory grows with the root."""
    size = _block(length)
    count = -(-length // size)
    assert size + count <= 3 * np.sqrt(length) + 1
    assert count * size - length <= 0.1 * length


@pytest.mark.feature("A074")
def test_rollout_with_constant_control() -> None:
    """A constant control, or none, with a number of steps."""
    data = mjjax.make_data(model())
    u = jnp.array([0.3, -0.2])
    run = quick(lambda d, u: mjjax.rollout(model(), d, u, nstep=5)[0])
    repeated = quick(lambda d, u: mjjax.rollout(model(), d, u)[0])
    expected = repeated(data, jnp.tile(u, (5, 1)))
    np.testing.assert_allclose(run(data, u).qpos, expected.qpos, atol=1e-12)
    without = quick(lambda d: mjjax.rollout(model(), d, nstep=5)[0])(data.replace(ctrl=u))
    np.testing.assert_allclose(without.qpos, expected.qpos, atol=1e-12)


@pytest.mark.parametrize("arguments", [{}, {"ctrl": jnp.zeros((4, 2)), "nstep": 3}])
def test_rollout_without_a_length_is_refused(arguments: dict) -> None:
    """The number of steps must be known, once."""
    with pytest.raises(ValueError, match="nstep"):
        mjjax.rollout(model(), mjjax.make_data(model()), **arguments)


@pytest.mark.feature("A009", "A051", "A053")
@pytest.mark.parametrize("key", [None, 0, 5, -1])
def test_reset(key: int | None) -> None:
    """A reset gives MuJoCo's state, from a keyframe if there is one; capacities stay."""
    reference = load(XML).reference
    d = mujoco.MjData(reference)
    mujoco.mj_resetDataKeyframe(reference, d, -1 if key is None else key)
    used = mjjax.make_data(model(), nconmax=7)
    used = used.replace(
        time=used.time + 1, qpos=used.qpos + 1, ctrl=used.ctrl + 1, ncon=used.ncon + 1
    )
    fresh = mjjax.reset_data(model(), used, key)
    for name in "time qpos qvel act ctrl mocap_pos mocap_quat qacc_warmstart xfrc_applied".split():
        np.testing.assert_allclose(getattr(fresh, name), getattr(d, name), atol=1e-12)
    assert jax.tree.map(jax.typeof, fresh) == jax.tree.map(jax.typeof, used)
    assert not int(fresh.ncon) and (np.asarray(fresh.contact.geom) == -1).all()


@pytest.mark.feature("A051", "D10")
def test_reset_of_some_worlds() -> None:
    """Under vmap each world may reset to its own keyframe by a mask."""
    batch = jax.tree.map(lambda x: jnp.stack([x + jnp.ones_like(x)] * 2), mjjax.make_data(model()))
    fresh = jax.vmap(lambda d: mjjax.reset_data(model(), d, 0))(batch)
    np.testing.assert_allclose(fresh.qpos, np.tile([1, 2, 0.5], (2, 1)))


@pytest.mark.feature("A166")
def test_moves_of_positions_are_mujocos() -> None:
    """integrate_pos and differentiate_pos for every kind of joint, and that they are inverse."""
    both = load(random_mjcf(1))
    reference, ours = both.reference, both.ours
    first, second = (random_state(reference, seed, spread=1.0) for seed in range(2))
    for d in (first, second):
        mujoco.mj_normalizeQuat(reference, d.qpos)
    expected = first.qpos.copy()
    mujoco.mj_integratePos(reference, expected, second.qvel, 0.7)
    moved = mjjax.integrate_pos(ours, jnp.asarray(first.qpos), jnp.asarray(second.qvel), 0.7)
    np.testing.assert_allclose(moved, expected, atol=1e-12)
    mujoco.mj_differentiatePos(reference, v := np.zeros(ours.nv), 0.7, first.qpos, second.qpos)
    way = mjjax.differentiate_pos(ours, 0.7, jnp.asarray(first.qpos), jnp.asarray(second.qpos))
    np.testing.assert_allclose(way, v, atol=1e-11)
    back = mjjax.integrate_pos(ours, jnp.asarray(first.qpos), way, 0.7)
    mujoco.mj_differentiatePos(reference, v, 1.0, np.asarray(back), second.qpos)
    np.testing.assert_allclose(v, 0, atol=1e-9)


@pytest.mark.feature("A166")
@pytest.mark.parametrize("length", [0, 1e-16, 1e-10, 3])
def test_quaternions_of_any_length_move_as_mujocos(length: float) -> None:
    """Quaternions of any length are scaled; a zero one is the identity before it turns."""
    xml = (
        "<mujoco><worldbody><body><joint type='ball'/><geom size='1'/></body></worldbody></mujoco>"
    )
    both = load(xml)
    start, spin = length * np.array([0.8, 0, -0.6, 0]), np.array([0.3, -2, 1])
    mujoco.mj_integratePos(both.reference, expected := start.copy(), spin, 0.7)
    moved = mjjax.integrate_pos(both.ours, jnp.asarray(start), jnp.asarray(spin), 0.7)
    np.testing.assert_allclose(moved, expected, atol=1e-12)
