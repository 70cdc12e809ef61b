"""Batches of worlds and of models, repeatability, precision."""

import dataclasses
import functools

import chex
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax import WarningType
from tests.oracle_tools import differences, error, load, random_state, stack, to_ours, world

pytestmark = pytest.mark.newest

XML = """
<mujoco><option density="10"/><worldbody>
  <geom type="plane" size="0 0 1" condim="4"/>
  <body pos="0 0 0.09"><freejoint/><geom type="capsule" size="0.1 0.2" euler="0 90 0"/>
    <body pos="0.2 0 0.1"><joint name="hip" type="ball" range="0 20" damping="0.1"/>
      <geom type="capsule" size="0.05" fromto="0 0 0 0.3 0 -0.12"/>
      <body pos="0.3 0 -0.1"><joint name="toe" axis="0 1 0" frictionloss="0.1" stiffness="2"/>
        <geom size="0.06"/></body></body></body>
  <body pos="0 0.15 0.25"><freejoint/><geom size="0.1"/></body>
  </worldbody>
  <actuator><position joint="toe" kp="3"/><motor joint="hip" gear="1 2 3"/></actuator></mujoco>
"""
WORLDS = 4
one = jax.jit(mjjax.step)
many = jax.jit(jax.vmap(mjjax.step, in_axes=(None, 0)))
models_and_worlds = jax.jit(jax.vmap(mjjax.step, in_axes=(0, 0)))


@functools.cache
def start() -> tuple[mjjax.Model, mjjax.Data]:
    """A model and a batch of moving worlds."""
    both = load(XML)
    return both.ours, stack([
        to_ours(both.ours, random_state(both.reference, seed)) for seed in range(WORLDS)
    ])  # fmt: skip


APART = "structure rules sleep contact solver_niter solver_gradient".split()


def assert_close(a: mjjax.Data, b: mjjax.Data) -> None:
    for field in dataclasses.fields(mjjax.Data):
        if field.name in (
            "structure",
            "rules",
            "sleep",
            "contact",
            "solver_niter",
            "solver_gradient",
        ):
            continue
        assert error(getattr(a, field.name), getattr(b, field.name)) < 1e-7, field.name


@pytest.mark.slow
@pytest.mark.feature("A073", "D10")
def test_a_batch_is_a_loop() -> None:
    """Worlds in a batch move as each does alone."""
    model, batch = start()
    together = many(model, batch)
    assert len(set(np.asarray(together.ncon).tolist())) > 1
    for i in range(WORLDS):
        assert_close(world(together, i), one(model, world(batch, i)))


@pytest.mark.slow
@pytest.mark.feature("A075", "D11")
def test_one_model_per_world() -> None:
    """Every world may have its own masses, frictions, gains and gravity."""
    model, batch = start()
    scale = jnp.linspace(0.5, 1.5, WORLDS)
    grown = stack([
        model.replace(
            body_mass=model.body_mass * k,
            geom_friction=model.geom_friction * k,
            actuator_gainprm=model.actuator_gainprm * k,
            opt=model.opt.replace(gravity=model.opt.gravity * k),
        )
        for k in scale
    ])  # fmt: skip
    together = models_and_worlds(grown, batch)
    for i in range(WORLDS):
        assert_close(world(together, i), one(world(grown, i), world(batch, i)))
    assert np.abs(together.qacc - many(model, batch).qacc).max() > 0.1


@pytest.mark.feature("A018", "A050")
def test_runs_repeat_bitwise() -> None:
    """The same inputs give the same bits, whatever the place in the batch."""
    model, batch = start()
    first, second = many(model, batch), many(model, batch)
    order = jnp.array([2, 0, 3, 1])
    shuffled = many(model, jax.tree.map(lambda x: x[order], batch))
    chex.assert_trees_all_equal(first, second)
    chex.assert_trees_all_equal(jax.tree.map(lambda x: x[order], first), shuffled)


@pytest.mark.feature("A028", "D18", "A117")
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e11])
def test_a_bad_world_leaves_the_others_alone(value: float) -> None:
    """A world that is not finite restarts, is counted, and changes no bit of its neighbours."""
    model, batch = start()
    broken = batch.replace(qpos=batch.qpos.at[1, 0].set(value))
    broken = broken.replace(qvel=broken.qvel.at[2, 1].set(value))
    good, after = many(model, batch), many(model, broken)
    for name in ("qpos", "qvel", "qacc", "efc_force"):
        for i in (0, 3):
            np.testing.assert_array_equal(getattr(good, name)[i], getattr(after, name)[i])
    warnings = np.asarray(after.warning)
    assert warnings[:, WarningType.BADQPOS].tolist() == [0, 1, 0, 0]
    assert warnings[:, WarningType.BADQVEL].tolist() == [0, 0, 1, 0]
    both = load(XML)
    for i, part in ((1, "qpos"), (2, "qvel")):
        d = random_state(both.reference, i)
        getattr(d, part)[0 if part == "qpos" else 1] = value
        mujoco.mj_step(both.reference, d)
        bad = differences(world(after, i), d, {"qpos": 1e-8, "qvel": 1e-7, "time": 1e-12})
        assert not bad and np.isfinite(after.qpos[i]).all(), bad


@pytest.mark.slow
@pytest.mark.feature("A030")
def test_autoreset_can_be_disabled() -> None:
    """With `autoreset` disabled a bad world is counted and stays as it is."""
    model, batch = start()
    off = model.replace(opt=model.opt.replace(disableflags=int(mjjax.DisableBit.AUTORESET)))
    data = world(batch, 0)
    after = one(off, data.replace(qvel=data.qvel.at[0].set(np.nan)))
    assert int(after.warning[WarningType.BADQVEL]) == 1
    assert np.isnan(np.asarray(after.qvel)).any()


@pytest.mark.feature("A117")
def test_bad_control_is_zero() -> None:
    """One control that is NaN sets all to zero for that step and is counted, as in MuJoCo."""
    model, batch = start()
    both, data = load(XML), world(batch, 0)
    d = random_state(both.reference, 0)
    d.ctrl[1] = np.nan
    mujoco.mj_step(both.reference, d)
    after = one(model, data.replace(ctrl=data.ctrl.at[1].set(np.nan)))
    assert not differences(after, d, {"qpos": 1e-8, "qvel": 1e-7, "actuator_force": 1e-9})
    assert int(after.warning[WarningType.BADCTRL]) == d.warning[WarningType.BADCTRL].number == 1
    assert np.isnan(after.ctrl[1])


@pytest.mark.feature("D13")
def test_every_entry_point_returns_the_same_types() -> None:
    """make_data, forward, step and reset_data give one tree, so that each feeds all others."""
    model, _ = start()
    data = mjjax.make_data(model)
    expected = jax.tree.map(jax.typeof, data)
    assert not any(x.weak_type for x in jax.tree.leaves(expected))
    for function in (mjjax.forward, mjjax.step, mjjax.reset_data):
        shape = jax.eval_shape(function, model, data)
        assert jax.tree.map(lambda x: (x.shape, x.dtype, x.weak_type), shape) == jax.tree.map(
            lambda x: (x.shape, x.dtype, x.weak_type), expected
        ), function
