"""`step` against MuJoCo: options, flags and the models that come with the package."""

import copy
import dataclasses
import importlib.resources

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from tests.oracle_tools import (
    assert_same_results,
    assert_same_step,
    differences,
    load,
    random_state,
    stack,
    step_worlds,
    to_ours,
    world,
    worlds,
)

# Everything that a flag can switch off acts in this model.
EVERYTHING = """
<mujoco>
  <option tolerance="1e-13" ls_tolerance="1e-6" density="20" viscosity="0.1" timestep="0.004" {}>
    {}
  </option>
  <default><geom solref="0.003 1" friction="0.6 0.1 0.1"/></default>
  <worldbody>
    <geom type="plane" size="0 0 1"/>
    <body pos="0 0 0.095"><freejoint/><geom size="0.1" pos="0.02 0 0" condim="4"/></body>
    <body pos="1 0 0.6" gravcomp="0.5">
      <joint name="a" axis="0 1 0" damping="0.6" stiffness="3" springref="0.2" frictionloss="0.2"/>
      <geom type="capsule" size="0.05" fromto="0 0 0 0 0 -0.3"/>
      <body pos="0 0 -0.3">
        <joint name="b" axis="0 1 0" damping="0.4" range="-0.05 0.02" solreflimit="0.005 0.7"/>
        <geom type="capsule" size="0.05" fromto="0.02 0 0 0.04 0 -0.2"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="a" ctrlrange="-0.3 0.3"/>
    <general joint="b" dyntype="filter" dynprm="0.05" gainprm="2" group="2"/>
  </actuator>
</mujoco>
"""
FLAGS = {
    "constraint": "constraint",
    "frictionloss spring": "frictionloss spring",
    "limit damper": "limit damper",
    "contact clampctrl": "contact clampctrl",
    "gravity refsafe": "gravity refsafe",
    "filterparent": "filterparent",
    "actuation eulerdamp": "actuation eulerdamp",
    "spring damper": "spring damper",
}
ASSETS = ("hopper", "ant", "humanoid", "cartpole", "double_pendulum")


def flagged(names: str, options: str = "") -> str:
    """The model with some flags disabled."""
    text = " ".join(f'{name}="disable"' for name in names.split())
    return EVERYTHING.format(options, f"<flag {text}/>")


@pytest.mark.slow(but=1)
@pytest.mark.feature("A027", "B19", "C17", "C19", "C21", "C39", "C53", "C61", "C79")
@pytest.mark.parametrize("names", FLAGS)
def test_disabled_flags(names: str) -> None:
    """Each flag switches off what MuJoCo switches off, and nothing else."""
    assert_same_step(flagged(names), seeds=range(3), steps=8)


@pytest.mark.feature("B19")
@pytest.mark.parametrize("name", sorted({n for names in FLAGS for n in names.split()}))
def test_flag_matters(name: str) -> None:
    """The model above feels every flag, so that the comparison can fail."""
    ends = []
    for xml in (flagged(name), flagged("")):
        model = load(xml).reference
        for d in (random_state(model, seed) for seed in range(3)):
            for _ in range(8):
                mujoco.mj_step(model, d)
            ends.append(d.qvel.copy())
    assert np.abs(np.subtract(ends[:3], ends[3:])).max() > 1e-6


@pytest.mark.feature("C18", "B18")
def test_disabled_actuator_group() -> None:
    """A disabled group exerts no force and its activation stays."""
    assert_same_step(flagged("", 'actuatorgroupdisable="2"'), seeds=range(3), steps=4)


@pytest.mark.slow(but=1)
@pytest.mark.feature("A021")
@pytest.mark.parametrize("integrator", ["implicitfast", "RK4"])
def test_integrators(integrator: str) -> None:
    """Each integrator follows MuJoCo over many steps, with everything acting at once."""
    assert_same_step(flagged("", f'integrator="{integrator}"'), seeds=range(3), steps=8)


@pytest.mark.slow(but=2)
@pytest.mark.feature("A021", "C45", "C49", "D16")
@pytest.mark.parametrize("name", ASSETS)
def test_models_of_the_package(name: str) -> None:
    """With default solver settings the shipped robots move as in MuJoCo, through impacts."""
    path = str(importlib.resources.files("mjjax") / "assets" / f"{name}.xml")
    reference, ours = mujoco.MjModel.from_xml_path(path), mjjax.Model.from_xml_path(path)
    theirs = [random_state(reference, seed, spread=0.05) for seed in range(3)]
    for d in theirs:
        d.qvel[min(2, reference.nv - 1)] -= 1.0
    data = stack([to_ours(ours, d) for d in theirs])
    contacts = 0
    for _ in range(60):
        data = step_worlds(ours, data)
        for d in theirs:
            mujoco.mj_step(reference, d)
            contacts += d.ncon
    assert contacts or name in ("cartpole", "double_pendulum")
    bounds = {"qpos": 1e-5, "qvel": 1e-4, "energy": 1e-4, "qacc": 1e-3}
    for i, d in enumerate(theirs):
        bad = differences(world(data, i), d, bounds)
        assert not bad and int(data.nefc[i]) == d.nefc, (i, bad)


LOOSE = """
<mujoco><option iterations="1" ls_iterations="4" {option}>{flag}</option><worldbody>
  <geom type="plane" size="0 0 1"/>
  <body pos="0 0 0.12"><freejoint/><geom type="capsule" size="0.1 0.2" euler="0 80 0"/>
    <body pos="0.2 0 0.1"><joint axis="0 1 0" range="-5 5" damping="0.1"/>
      <geom type="capsule" size="0.05" fromto="0 0 0 0.3 0 -0.12"/></body>
    <body pos="-0.2 0 0.1"><joint axis="1 1 0" range="-5 5" frictionloss="0.1"/>
      <geom type="capsule" size="0.05" fromto="0 0 0 -0.3 0 -0.12"/></body>
  </body></worldbody></mujoco>
"""


@pytest.mark.slow(but=2)
@pytest.mark.feature("A055", "C45", "C50", "D26")
@pytest.mark.parametrize(
    "option, flag", [("", ""), ('cone="elliptic"', ""), ("", '<flag warmstart="disable"/>')]
)
def test_unfinished_solver(option: str, flag: str) -> None:
    """One Newton iteration with few line-search evaluations stops where MuJoCo stops."""
    both = load(LOOSE.format(option=option, flag=flag))
    both = dataclasses.replace(both, reference=copy.copy(both.reference))
    both.reference.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND  # one problem, as ours
    theirs, data = worlds(both, range(8), spread=0.05)
    for _ in range(10):
        data = step_worlds(both.ours, data)
        for d in theirs:
            mujoco.mj_step(both.reference, d)
    unfinished = 0
    for i, d in enumerate(theirs):
        bad = differences(world(data, i), d, {"qpos": 1e-8, "qvel": 1e-7, "qacc": 1e-6})
        assert not bad, (i, bad)
        unfinished += d.solver_niter[0] == 1 and float(data.solver_gradient[i]) > 1e-8
    assert unfinished


@pytest.mark.slow
@pytest.mark.feature("A034", "A122")
def test_energy_flag() -> None:
    """Energies are MuJoCo's with the flag and zero without."""
    xml = EVERYTHING.format("", '<flag energy="enable"/>')
    both = load(xml)
    theirs, data = worlds(both, range(3))
    data = step_worlds(both.ours, data)
    off = step_worlds(load(EVERYTHING.format("", "")).ours, data)
    for i, d in enumerate(theirs):
        mujoco.mj_step(both.reference, d)
        assert not differences(world(data, i), d, {"energy": 1e-10})
        assert np.abs(d.energy).min() > 0.01
    assert not np.any(off.energy)


@pytest.mark.slow
@pytest.mark.feature("A024", "A027")
def test_forward_keeps_the_state_and_inputs() -> None:
    """`forward` changes no state and no input, and its results are those of the step."""
    both = load(EVERYTHING.format("", ""))
    d = random_state(both.reference, 0)
    before = to_ours(both.ours, d)
    after = jax.jit(mjjax.forward)(both.ours, before)
    mujoco.mj_forward(both.reference, d)
    assert_same_results(both, after, d)
    for name in "time qpos qvel act ctrl qfrc_applied xfrc_applied mocap_pos mocap_quat".split():
        assert jnp.array_equal(getattr(before, name), getattr(after, name)), name


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "RK4"])
def test_nothing_moves(integrator: str) -> None:
    """A world without dofs is simulated like any other: its time goes on."""
    model = mjjax.Model.from_xml_string(
        f'<mujoco><option integrator="{integrator}"/><worldbody><geom size="1"/>'
        '<body pos="0 0 1"><geom size="1"/></body></worldbody></mujoco>'
    )
    data = jax.jit(mjjax.step)(model, mjjax.make_data(model))
    assert data.time > 0 and data.qM.shape == (0, 0)
    assert not jax.jit(mjjax.inverse)(model, data).qfrc_inverse.size
