"""Inverse dynamics, skipped stages and half steps against MuJoCo."""

import chex
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax import Stage
from tests.derivatives import derivative_errors, directions
from tests.oracle_tools import (
    differences,
    each_world,
    error,
    forward_worlds,
    load,
    quick,
    stack,
    step_worlds,
    world,
    worlds,
)

# Constraints of all kinds, actuators, springs and fluid drag.
XML = """
<mujoco>
  <option tolerance="1e-14" ls_tolerance="1e-6" density="20" viscosity="0.1" {option}>
    <flag {flag}/>
  </option>
  <worldbody>
    <geom type="plane" size="0 0 1" friction="0.6"/>
    <body pos="0 0 0.095"><freejoint/><geom size="0.1" pos="0.02 0 0"/></body>
    <body name="arm" pos="1 0 0.6" gravcomp="0.5">
      <joint name="a" axis="0 1 0" {damping} stiffness="3" frictionloss="0.2" armature="0.1"/>
      <geom type="capsule" size="0.05" fromto="0 0 0 0 0 -0.3"/>
      <body pos="0 0 -0.3">
        <joint name="b" axis="0 1 0" range="-3 2"/>
        <geom type="capsule" size="0.05" fromto="0.02 0 0 0.04 0 -0.2"/>
      </body>
    </body>
  </worldbody>
  <equality><joint joint1="a" joint2="b" polycoef="0.1 0.5 0 0 0"/></equality>
  <actuator>
    <motor joint="a"/>
    <position joint="b" kp="2" kv="0.3" forcerange="-0.4 0.4"/>
  </actuator>
</mujoco>
"""
# The solver is what takes time to compile; what needs none of it is tested without.
FREE = 'constraint="disable"'
INVERSE = {"qfrc_inverse": 1e-10, "qfrc_constraint": 1e-10, "qacc": 0, "energy": 1e-10}


def text(option: str = "", flag: str = "", damping: str = 'damping="0.6"') -> str:
    return XML.format(option=option, flag=flag, damping=damping)


def invert(both, seeds=range(4)):
    """Inverse dynamics of random accelerations: MuJoCo's worlds and ours."""
    theirs, data = worlds(both, seeds)
    rng = np.random.default_rng(5)
    for d in theirs:
        mujoco.mj_forward(both.reference, d)  # the forces that implicit integration looks at
        d.qacc = rng.normal(size=both.reference.nv)
    given = {k: jnp.stack([getattr(d, k) for d in theirs]) for k in ("qacc", "actuator_force")}
    data = each_world(mjjax.inverse)(both.ours, data.replace(**given))
    for d in theirs:
        mujoco.mj_inverse(both.reference, d)
    return theirs, data


@pytest.mark.feature("A065", "A069", "A072")
@pytest.mark.parametrize("option", ["", 'cone="elliptic"'])
def test_inverse(option: str) -> None:
    """The force that produces an acceleration, the constraint forces and energies are MuJoCo's."""
    both = load(text(option, 'energy="enable"'))
    theirs, data = invert(both)
    for i, d in enumerate(theirs):
        assert not differences(world(data, i), d, INVERSE)
    assert max(np.abs(d.qfrc_constraint).max() for d in theirs) > 1


@pytest.mark.feature("A068", "A069")
@pytest.mark.parametrize(
    "option, flag",
    [
        ("", 'damper="disable"'),
        ("", 'eulerdamp="disable"'),
        ('integrator="implicitfast"', ""),
    ],
)
def test_discrete_inverse(option: str, flag: str) -> None:
    """With `invdiscrete` inverse dynamics take the integrator's acceleration, as in MuJoCo."""
    both = load(text(option, f'invdiscrete="enable" {flag}'))
    theirs, data = invert(both, range(2))
    for i, d in enumerate(theirs):
        assert not differences(world(data, i), d, INVERSE)


@pytest.mark.feature("A068")
def test_discrete_inverse_of_rk4_is_refused() -> None:
    """RK4 has no inverse step: an error, as in MuJoCo."""
    model = load(text('integrator="RK4"', 'invdiscrete="enable"')).ours
    with pytest.raises(ValueError, match="RK4"):
        jax.eval_shape(mjjax.inverse, model, mjjax.make_data(model))


@pytest.mark.feature("A070", "A071", "A066")
@pytest.mark.parametrize("flag", ["", 'invdiscrete="enable"'])
def test_forward_and_inverse_agree(flag: str) -> None:
    """The flag `fwdinv` measures MuJoCo's discrepancy: zero at convergence, and as large with
    `invdiscrete`, where forward and inverse dynamics mean different accelerations.
    """
    both = load(text("", f'fwdinv="enable" {flag}'))
    theirs, data = worlds(both, range(3))
    data = step_worlds(both.ours, data)
    for i, d in enumerate(theirs):
        mujoco.mj_step(both.reference, d)
        mine = world(data, i)
        assert not differences(mine, d, {"qfrc_inverse": 1e-6, "solver_fwdinv": 1e-6})
        assert (d.solver_fwdinv[1] > 1e-3) == bool(flag)
        assert not differences(mine, d, {"qfrc_constraint": 1e-6, "qacc": 1e-6})


@pytest.mark.feature("A070")
def test_comparison_without_constraints_is_zero() -> None:
    """Without rows MuJoCo compares nothing."""
    both = load(text("", 'fwdinv="enable" constraint="disable"'))
    _, data = worlds(both, range(1))
    data = step_worlds(both.ours, data.replace(solver_fwdinv=jnp.ones((1, 2))))
    assert not np.any(data.solver_fwdinv)


@pytest.mark.slow
@pytest.mark.feature("A065")
def test_derivatives() -> None:
    """The inverse force has exact derivatives, in both modes."""
    both = load(text())
    _, data = worlds(both, range(3))

    def force(x):
        moved = world(data, 0).replace(**x)
        return mjjax.inverse(both.ours, moved).qfrc_inverse

    x = {name: getattr(data, name) for name in ("qpos", "qvel", "qacc")}
    assert not derivative_errors(force, x, directions(x, 1))


@pytest.mark.feature("A025", "A026")
@pytest.mark.parametrize("stage", list(Stage)[:3])
def test_forward_skip(stage: Stage) -> None:
    """A skipped stage keeps its results although the state has changed, as in MuJoCo."""
    both = load(text("", f'energy="enable" {FREE}'))
    theirs, data = worlds(both, range(2))
    data = forward_worlds(both.ours, data)
    data = data.replace(qpos=data.qpos + 0.01, qvel=data.qvel - 0.1, ctrl=data.ctrl + 0.1)
    data = each_world(lambda m, d: mjjax.forward_skip(m, d, stage))(both.ours, data)
    fields = dict.fromkeys(("xpos", "cvel", "qfrc_bias", "qfrc_actuator"), 1e-9)
    fields |= {"energy": 1e-9, "qacc": 1e-6}
    for i, d in enumerate(theirs):
        mujoco.mj_forward(both.reference, d)
        d.qpos += 0.01
        d.qvel -= 0.1
        d.ctrl += 0.1
        mujoco.mj_forwardSkip(both.reference, d, int(stage), 0)
        assert not differences(world(data, i), d, fields)


@pytest.mark.feature("A067")
@pytest.mark.parametrize("stage", list(Stage)[:3])
def test_inverse_skip(stage: Stage) -> None:
    """A skipped stage of inverse dynamics keeps its results as well, as in MuJoCo."""
    both = load(text("", FREE))
    theirs, data = worlds(both, range(2))
    data = forward_worlds(both.ours, data)
    faster = 0.1 * (stage < Stage.VEL)  # MuJoCo's bias force sees the velocity in any case
    data = data.replace(qpos=data.qpos + 0.01, qvel=data.qvel + faster, qacc=data.qacc + 1)
    data = each_world(lambda m, d: mjjax.inverse_skip(m, d, stage))(both.ours, data)
    for i, d in enumerate(theirs):
        mujoco.mj_forward(both.reference, d)
        d.qpos += 0.01
        d.qvel += faster
        d.qacc += 1
        mujoco.mj_inverseSkip(both.reference, d, int(stage), 0)
        assert not differences(world(data, i), d, {"qfrc_inverse": 1e-6})


@pytest.mark.feature("A022", "A023")
@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "RK4"])
def test_half_steps(integrator: str) -> None:
    """`step1` and `step2` are MuJoCo's: together a step, with Euler's method instead of RK4."""
    both = load(text(f'integrator="{integrator}"', f'energy="enable" {FREE}'))
    theirs, data = worlds(both, range(2))
    halves = each_world(lambda m, d: mjjax.step2(m, mjjax.step1(m, d).replace(ctrl=0.5 * d.ctrl)))
    for _ in range(3):
        data = halves(both.ours, data)
        for d in theirs:
            mujoco.mj_step1(both.reference, d)
            d.ctrl *= 0.5
            mujoco.mj_step2(both.reference, d)
    for i, d in enumerate(theirs):
        fields = {"time": 1e-12, "qpos": 1e-8, "qvel": 1e-7, "energy": 1e-7, "qacc": 1e-6}
        assert not differences(world(data, i), d, fields)


@pytest.mark.feature("A029")
def test_half_step_of_a_diverging_world() -> None:
    """A bad acceleration in the second half resets that world only and is counted."""
    both = load(text("", FREE))
    theirs, data = worlds(both, range(2))
    force = np.zeros((2, both.reference.nv))
    force[1, 0] = 1e15
    halves = each_world(lambda m, d: mjjax.step2(m, mjjax.step1(m, d)))
    data = halves(both.ours, data.replace(qfrc_applied=jnp.asarray(force)))
    for i, d in enumerate(theirs):
        d.qfrc_applied = force[i]
        mujoco.mj_step1(both.reference, d)
        mujoco.mj_step2(both.reference, d)
        assert int(data.warning[i, mjjax.WarningType.BADQACC]) == d.warning[6].number == i
        # MuJoCo also takes the first step from there
        end = d.qpos if i == 0 else both.reference.qpos0
        assert error(data.qpos[i], end) < 1e-8 and float(data.time[i]) == (1 - i) * d.time


PENDULUM = """
<mujoco><option integrator="implicitfast"/><worldbody><body><joint name="a" axis="0 1 0"/>
  <geom size="0.1" pos="0.3 0 0"/></body></worldbody>
  <actuator><motor joint="a"/></actuator></mujoco>
"""


@pytest.mark.feature("A029", "D02", "D04", "D19")
def test_half_steps_have_derivatives() -> None:
    """Half steps have derivatives by state, model and callbacks; zero in worlds that diverge."""
    model = load(PENDULUM).ours
    data = mjjax.make_data(model)

    def loss(x: dict[str, jax.Array], force: jax.Array) -> jax.Array:
        calls = mjjax.Callbacks(control=lambda m, d: d.replace(ctrl=x["gain"] * d.qvel))
        heavy = model.replace(body_mass=x["mass"] * model.body_mass)
        start = data.replace(qvel=x["qvel"], qfrc_applied=force)
        end = mjjax.step2(heavy, mjjax.step1(heavy, start, calls), calls)
        return jnp.sum(end.qvel) + jnp.sum(end.qacc)

    x = {"gain": jnp.array(0.5), "mass": jnp.array(1.0), "qvel": jnp.array([0.3])}
    nudged = [x | {name: x[name] + h} for name in x for h in (1e-4, -1e-4)]
    force = np.zeros((9, 1))
    force[1:3, 0] = 1e15, np.nan
    program = quick(jax.vmap(jax.value_and_grad(loss)))
    values, slopes = program(stack([x, x, x, *nudged]), force)
    for i, name in enumerate(x):
        found = np.asarray(slopes[name]).ravel()
        difference = (values[3 + 2 * i] - values[4 + 2 * i]) / 2e-4
        np.testing.assert_allclose(found[0], difference, rtol=1e-6)
        assert found[0] and not found[1:3].any(), name
    chex.assert_tree_all_finite(values)
