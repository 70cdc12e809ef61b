"""Laws of mechanics that hold whatever the oracle says: inertia, energy, power, passive forces."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from tests.oracle_tools import Both, each_world, load, quick, random_state, stack, to_ours, worlds
from tests.random_models import random_mjcf

WORLDS = 3


def smooth(model: mjjax.Model, data: mjjax.Data) -> mjjax.Data:
    """Everything before the forces."""
    for stage in (mjjax.kinematics, mjjax.com_pos, mjjax.crb, mjjax.com_vel, mjjax.passive):
        data = stage(model, data)
    return data


@functools.cache
def scene(fluid: bool = False) -> tuple[Both, mjjax.Data]:
    """A random model and random states."""
    both = load(random_mjcf(10, fluid=fluid))
    return both, worlds(both, range(WORLDS), spread=0.5)[1]


def over_worlds(function, fluid: bool = False):
    """Results of `function(model, data)` in all worlds."""
    both, data = scene(fluid)
    return each_world(function)(both.ours, data)


@pytest.mark.feature("A103", "A104", "C06")
def test_inertia_matrix() -> None:
    """Symmetric, positive, and consistent between full_m, mul_m, factor_m and solve_m."""

    def products(model, data):
        data = smooth(model, data)
        factor, v = mjjax.factor_m(model, data), data.qvel
        m = mjjax.full_m(model, data)
        return m, factor, mjjax.mul_m(model, data, v), mjjax.solve_m(model, data, v), v

    for m, factor, mul, solve, v in zip(*over_worlds(products), strict=True):
        np.testing.assert_allclose(m, m.T, atol=1e-14)
        np.testing.assert_allclose(factor @ factor.T, m, atol=1e-12)
        np.testing.assert_allclose(mul, m @ v, atol=1e-12)
        np.testing.assert_allclose(m @ solve, v, atol=1e-9)
        assert np.linalg.eigvalsh(m).min() > 0


@pytest.mark.feature("A122")
def test_kinetic_energy_is_that_of_the_bodies() -> None:
    """v' M v / 2 is the sum over bodies of their energies, plus that of the armature."""

    def energies(model, data):
        data = mjjax.energy_vel(model, smooth(model, data))
        lever = data.xipos - data.subtree_com[model.body_rootid]
        linear = data.cvel[:, 3:] + jnp.cross(data.cvel[:, :3], lever)
        local = jnp.einsum("bji,bj->bi", data.ximat.reshape(-1, 3, 3), data.cvel[:, :3])
        bodies = model.body_mass * jnp.sum(linear**2, -1)
        bodies = jnp.sum(bodies + jnp.sum(model.body_inertia * local**2, -1))
        return data.energy[1], 0.5 * (bodies + jnp.sum(model.dof_armature * data.qvel**2))

    kinetic, bodies = over_worlds(energies)
    np.testing.assert_allclose(kinetic, bodies, rtol=1e-12)


@pytest.mark.feature("A122", "C54")
def test_static_forces_are_the_slope_of_the_potential() -> None:
    """At rest, gravity and springs push along minus the gradient of the potential energy."""

    def slopes(model, data):
        # the potential of a ball's spring is a function of the rotation, not of a scaled quaternion
        data = data.replace(qpos=mjjax.integrate_pos(model, data.qpos, 0 * data.qvel, 0.0))
        data = data.replace(qvel=jnp.zeros_like(data.qvel))

        def potential(v):
            moved = mjjax.integrate_pos(model, data.qpos, v, 1.0)
            return mjjax.energy_pos(model, smooth(model, data.replace(qpos=moved))).energy[0]

        at = smooth(model, data)
        force = at.qfrc_spring - mjjax.rne(model, at)
        return jax.grad(potential)(jnp.zeros_like(data.qvel)), force

    slope, force = over_worlds(slopes)
    assert np.abs(slope).max() > 1
    np.testing.assert_allclose(slope, -force, atol=1e-9)


@pytest.mark.feature("C55", "C58", "C60")
def test_dampers_and_still_fluid_take_energy() -> None:
    """The power of damping and drag is never positive, and zero at rest."""

    def power(model, data):
        still = dataclasses.replace(model.opt, wind=jnp.zeros(3))
        model = dataclasses.replace(model, opt=still)
        at = smooth(model, data)
        rest = smooth(model, data.replace(qvel=0 * data.qvel))
        forces = jnp.stack([at.qfrc_damper, at.qfrc_fluid])
        return forces @ at.qvel, rest.qfrc_damper, rest.qfrc_fluid

    taken, damper, drag = over_worlds(power, fluid=True)
    assert (np.asarray(taken) < -1e-3).all()
    assert not np.any(damper) and not np.any(drag)


@pytest.mark.feature("C57", "A087")
def test_full_gravity_compensation_floats() -> None:
    """With gravcomp 1 everywhere, passive forces carry the weight exactly."""
    both, _ = scene()
    model = both.ours.replace(body_gravcomp=jnp.ones(both.ours.nbody))
    data = to_ours(model, random_state(both.reference, 0))
    data = data.replace(qvel=0 * data.qvel)
    at, bias = quick(lambda m, d: (a := smooth(m, d), mjjax.rne(m, a)))(model, data)
    np.testing.assert_allclose(at.qfrc_gravcomp, bias, atol=1e-10)
    assert np.abs(bias).max() > 1


def test_newton_euler_is_linear_in_acceleration() -> None:
    """rne(qacc) = (M - armature) qacc + bias, so both recursions describe one mechanism."""

    def sides(model, data):
        at, qacc = smooth(model, data), jnp.sin(jnp.arange(1.0 * model.nv))
        full = mjjax.mul_m(model, at, qacc) - model.dof_armature * qacc
        return mjjax.rne(model, at, qacc), full + mjjax.rne(model, at)

    left, right = over_worlds(sides)
    np.testing.assert_allclose(left, right, atol=1e-10)


@pytest.mark.feature("A123")
def test_energy_is_conserved() -> None:
    """A frictionless pendulum chain keeps its energy, with Runge-Kutta far better."""
    chain = '<body pos="0 0 -0.3"><joint axis="0 1 0"/><geom type="capsule" size="0.02 0.1"/>'
    xml = (
        '<mujoco><option timestep="0.002" integrator="{}"><flag energy="enable" contact="disable"/>'
        f"</option><worldbody>{chain * 3}{'</body>' * 3}</worldbody></mujoco>"
    )
    drift = {}
    for name in ("Euler", "RK4"):
        model = mjjax.Model.from_xml_string(xml.format(name))
        data = mjjax.make_data(model).replace(qpos=jnp.array([1.0, 0.5, -0.3]))
        _, kept = quick(lambda m, d: mjjax.rollout(m, d, nstep=300, keep=("energy",)))(model, data)
        total = np.asarray(kept["energy"]).sum(axis=-1)
        assert np.ptp(np.asarray(kept["energy"])[:, 1]) > 0.1
        drift[name] = np.ptp(total)
    assert drift["RK4"] < 1e-3 * drift["Euler"]


@pytest.mark.feature("C04", "D05")
def test_length_of_a_quaternion_does_not_matter() -> None:
    """Poses depend on rotations only, so their derivative along a quaternion is zero."""
    both, _ = scene()
    start = stack([to_ours(both.ours, random_state(both.reference, 0))])
    adr = [int(a) for a, k in zip(both.ours.jnt_qposadr, both.ours.jnt_type, strict=True) if k == 1]
    assert adr

    def slope(qpos):
        along = jnp.zeros_like(qpos)
        for a in adr:
            along = along.at[a : a + 4].set(qpos[a : a + 4])
        moved = lambda q: smooth(both.ours, data_0.replace(qpos=q)).xpos  # noqa: E731
        return jax.jvp(moved, (qpos,), (along,))[1]

    data_0 = jax.tree.map(lambda x: x[0], start)
    np.testing.assert_allclose(quick(slope)(data_0.qpos), 0, atol=1e-12)
