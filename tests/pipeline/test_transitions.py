"""Derivatives of a step and of inverse dynamics as matrices, against MuJoCo's differences."""

import copy
import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.xla.namespace import Array
from tests import oracle_tools
from tests.oracle_tools import load, quick, random_state, stack, to_ours, world

# MuJoCo's derivatives are differences over 1e-6. Their rounding errors are those of the forces over
# that, the same for small entries as for large ones, so that all count relative to the largest.
error = functools.partial(oracle_tools.error, floor=1.0)

CRAWLER = """
<mujoco>
  <option timestep="0.004" tolerance="1e-14" cone="elliptic"/>
  <default><geom type="capsule" size="0.03" contype="0"/></default>
  <worldbody>
    <geom type="plane" size="0 0 1" contype="1"/>
    <body pos="0 0 0.12"><freejoint/>
      <geom size="0.1 0.2" euler="0 80 0"/><site name="imu" pos="0.1 0 0"/>
      <body pos="0 0 0.3"><joint name="ball" type="ball" damping="0.1"/>
        <geom fromto="0 0 0 0 0.1 0.2"/>
        <body pos="0 0.1 0.2"><joint name="hinge" axis="0 1 0" damping="0.05"/>
          <geom fromto="0 0 0 0.2 0 0"/></body></body></body>
  </worldbody>
  <actuator>
    <motor joint="hinge" ctrlrange="-1 1" gear="2"/>
    <motor joint="ball" ctrlrange="-1 1" gear="1 0.5 0"/>
    <general joint="hinge" dyntype="filter" dynprm="0.05" gainprm="3" biastype="affine"
      biasprm="0 -1 -0.2"/>
    <general joint="ball" gear="0 0 1" dyntype="filterexact" dynprm="0.05" actearly="true"/>
  </actuator>
  <sensor><accelerometer site="imu"/><framequat objtype="site" objname="imu"/></sensor>
</mujoco>
"""
# An arm in the air; the placeholders are options, flags and the delay of an actuator.
ARM = """
<mujoco>
  <option timestep="0.01" integrator="{}"><flag contact="disable" {}/></option>
  <worldbody><body><joint name="a" axis="0 1 0" damping="0.1" stiffness="2"/>
    <geom size="0.1" pos="0.3 0 0"/>
    <body pos="0.3 0 0"><joint name="b" axis="0 1 1"/><geom size="0.1" pos="0.1 0 0.2"/></body>
  </body></worldbody>
  <actuator><velocity joint="a" kv="3"/><motor joint="b" {}/>
    <general joint="a" dyntype="filter" dynprm="0.05"/></actuator>
  <sensor><jointvel joint="a"/></sensor>
</mujoco>
"""
# Within the range, at both limits, beyond one.
CONTROLS = np.array([[0.3, -0.5, 0.2, 0.4], [1, -1, 0.2, 0.4], [1.5, 0.2, 0.2, 0.4]])

transitions = quick(jax.vmap(mjjax.transition_jacobian, in_axes=(0, 0)))


def state(model: mujoco.MjModel, seed: int) -> mujoco.MjData:
    """A moving state whose inputs are controls only."""
    d = random_state(model, seed, spread=0.02)
    d.xfrc_applied[:] = 0
    d.ctrl[:] = CONTROLS[seed]
    return d


def transition_differences(model: mujoco.MjModel, d: mujoco.MjData) -> list[np.ndarray]:
    """MuJoCo's A, B, C, D by central differences; D by forward ones, its central D is -D."""
    n, ns = 2 * model.nv + model.na, model.nsensordata
    a, b, c, d_ = (np.zeros(shape) for shape in ((n, n), (n, model.nu), (ns, n), (ns, model.nu)))
    mujoco.mjd_transitionFD(model, d, 1e-6, 1, a, b, c, None)
    mujoco.mjd_transitionFD(model, d, 1e-6, 0, None, None, None, d_)
    return [a, b, c, d_]


@pytest.mark.feature("A194", "A195", "D08", "D16")
def test_transitions_are_mujocos() -> None:
    """With a contact, a model per world, and controls within, at and beyond their ranges."""
    both = load(CRAWLER)
    expected, models, data = [], [], []
    for seed in range(3):
        reference = copy.deepcopy(both.reference)
        reference.body_mass *= 1 + 0.2 * seed
        models.append(both.ours.replace(body_mass=jnp.asarray(reference.body_mass)))
        d = state(reference, seed)
        data.append(to_ours(both.ours, d))
        expected.append(transition_differences(reference, d))
        assert d.ncon == 1
    found = transitions(stack(models), stack(data))
    for i, theirs in enumerate(expected):
        for name, b in zip(found._fields, theirs, strict=True):
            assert error(getattr(found, name)[i], b) < (1e-6 if name == "D" else 1e-8), (i, name)
    assert np.abs(found.B[1, :, :2]).max(0).min() > 0.1 and not np.any(found.B[2, :, 0])


def differences_of_step(model: mjjax.Model, data: mjjax.Data) -> np.ndarray:
    """[[A, B], [C, D]] by differences of our own step, exact to fourth order."""
    s = model.structure

    def ends(x: jax.Array) -> jax.Array:
        dq, qvel, act, ctrl = jnp.split(x, (s.nv, 2 * s.nv, 2 * s.nv + s.na))
        qpos = mjjax.integrate_pos(model, data.qpos, dq, 1)
        end = mjjax.step(model, data.replace(qpos=qpos, qvel=qvel, act=act, ctrl=ctrl))
        return jnp.concatenate([end.qpos, end.qvel, end.act, end.sensordata])

    x = np.concatenate([np.zeros(s.nv), data.qvel, data.act, data.ctrl])
    nudges = [k * 1e-3 * np.eye(len(x)) for k in (1, -1, 2, -2)]
    found = np.asarray(quick(jax.vmap(ends))(x + np.concatenate([np.zeros((1, len(x))), *nudges])))
    moved = [mjjax.differentiate_pos(model, 1, found[0, : s.nq], q) for q in found[:, : s.nq]]
    a, b, c, d = np.split(np.concatenate([moved, found[:, s.nq :]], axis=1)[1:], 4)
    return ((8 * (a - b) - (c - d)) / 12e-3).T


@pytest.mark.slow(but=1)
@pytest.mark.feature("A194", "D08", "C22", "C24")
@pytest.mark.parametrize("integrator", ["implicit", "RK4"])
def test_transitions_by_other_integrators(integrator: str) -> None:
    """Matrices are MuJoCo's, or, for RK4, those of differences of our own steps."""
    both = load(ARM.format(integrator, "", ""))
    d = random_state(both.reference, 0)
    model, data = both.ours, to_ours(both.ours, d)
    found = world(transitions(stack([model]), stack([data])), 0)
    mine = np.block([[found.A, found.B], [found.C, found.D]])
    if integrator == "RK4":
        assert error(mine, differences_of_step(model, data)) < 1e-8
    else:
        a, b, c, e = transition_differences(both.reference, d)
        assert error(mine, np.block([[a, b], [c, e]])) < 1e-6


def whole_step_differences(model: mujoco.MjModel, d: mujoco.MjData) -> np.ndarray:
    """[A, B] by central differences of MuJoCo's whole steps, for which angles are coordinates."""

    def end(x: np.ndarray) -> np.ndarray:
        other = copy.copy(d)
        other.qpos[:], other.qvel[:], other.act[:], other.ctrl[:] = np.split(x, ends)
        mujoco.mj_step(model, other)
        return np.concatenate([other.qpos, other.qvel, other.act])

    ends = np.cumsum([model.nq, model.nv, model.na])
    x = np.concatenate([d.qpos, d.qvel, d.act, d.ctrl])
    return np.stack([(end(x + h) - end(x - h)) / 2e-6 for h in 1e-6 * np.eye(len(x))], axis=1)


@pytest.mark.slow
@pytest.mark.feature("A194", "D08")
def test_controls_change_the_matrix_of_an_implicit_step() -> None:
    """Matrices are exact with controlled damping, for which `mjd_transitionFD` is not."""
    both = load("""
      <mujoco><option integrator="implicitfast" timestep="0.01"/><worldbody>
        <body><joint name="a" type="slide" range="-1 1"/><geom size="0.1"/></body>
        <body pos="1 0 0"><joint name="b" type="slide" range="-1 1"/><geom size="0.1"/></body>
      </worldbody><actuator><damper joint="b" kv="200" ctrlrange="0 6"/>
        <muscle joint="a" ctrlrange="0 1"/></actuator></mujoco>""")
    d = random_state(both.reference, 0)
    found = world(transitions(stack([both.ours]), stack([to_ours(both.ours, d)])), 0)
    mine, theirs = np.hstack([found.A, found.B]), whole_step_differences(both.reference, d)
    assert error(mine, theirs) < 1e-7
    assert error(np.hstack(transition_differences(both.reference, d)[:2]), theirs) > 1e-3


def inverse_differences(model: mujoco.MjModel, d: mujoco.MjData, actuation: bool) -> list:
    """MuJoCo's derivatives of inverse dynamics, in our orientation, with dense inertias."""
    nv, ns = model.nv, model.nsensordata
    found = [np.zeros((nv, k)) for k in (nv, nv, nv, ns, ns, ns, model.nM)]
    mujoco.mjd_inverseFD(model, d, 1e-7, actuation, *found)
    inertia = np.zeros((nv, nv, nv))
    for k, sparse in enumerate(found.pop()):
        full = np.zeros((nv, nv))
        mujoco.mj_fullM(model, full, sparse)
        inertia[:, :, k] = full
    return [*(x.T for x in found), inertia]


@pytest.mark.feature("A196", "D09")
def test_inverse_derivatives_are_mujocos() -> None:
    """Inverse derivatives are MuJoCo's, for force, readings and inertia, with a contact."""
    both = load(CRAWLER)
    theirs, models, data = [], [], []
    for seed in range(2):
        reference = copy.deepcopy(both.reference)
        reference.dof_damping *= 1 + seed
        models.append(both.ours.replace(dof_damping=jnp.asarray(reference.dof_damping)))
        d = state(reference, seed)
        d.qacc[:] = np.random.default_rng(seed).normal(size=reference.nv)
        data.append(to_ours(both.ours, d).replace(qacc=jnp.array(d.qacc)))
        theirs.append(inverse_differences(reference, d, False))
        assert d.ncon == 1
    found = quick(jax.vmap(mjjax.inverse_jacobian))(stack(models), stack(data))
    for i, expected in enumerate(theirs):
        for name, x in zip(found._fields, expected, strict=True):
            assert error(getattr(found, name)[i], x) < 1e-6, (i, name)
            assert np.abs(x).max() > 0.01


@pytest.mark.feature("A196", "D09", "A025")
def test_inverse_derivatives_without_actuators() -> None:
    """Inverse derivatives without actuator forces, and for the discrete-time acceleration."""
    both = load(ARM.format("implicitfast", 'invdiscrete="enable"', ""))
    d = random_state(both.reference, 0)
    d.qacc[:] = 1, -2
    data = to_ours(both.ours, d).replace(qacc=jnp.array(d.qacc))
    found = quick(lambda d: mjjax.inverse_jacobian(both.ours, d, actuation=True))(data)
    expected = inverse_differences(both.reference, d, True)
    for name, x in zip(found._fields, expected, strict=True):
        assert error(getattr(found, name), x) < 1e-6, name
    assert error(found.DfDv, inverse_differences(both.reference, d, False)[1]) > 1


@pytest.mark.slow
@pytest.mark.feature("A194", "D08")
def test_transitions_with_delays_and_of_second_order() -> None:
    """History is fixed, so a delayed control has no effect yet. A has derivatives itself."""
    both = load(ARM.format("implicitfast", "", 'delay="0.03" nsample="4"'))
    model = both.ours
    data = to_ours(model, random_state(both.reference, 0))

    weight = np.random.default_rng(0).normal(size=(5, 5))

    def weighted(qvel: jax.Array) -> tuple[jax.Array, Array]:
        found = mjjax.transition_jacobian(model, data.replace(qvel=qvel))
        return jnp.sum(weight * found.A), found.B

    nudges = 1e-5 * np.concatenate([np.zeros((1, 2)), np.eye(2), -np.eye(2)])
    program = quick(jax.vmap(jax.value_and_grad(weighted, has_aux=True)))
    (total, b), slope = program(np.asarray(data.qvel) + nudges)
    assert np.abs(b[:, :, 0]).max() > 0.01 and not np.any(b[:, :, 1])
    np.testing.assert_allclose(slope[0], (total[1:3] - total[3:]) / 2e-5, atol=1e-7)
    assert np.abs(slope[0]).min() > 1e-3
