"""MJX's functions against MuJoCo, and its small math against `mjjax.math` and SciPy."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mjjax
import mjjax.mujoco
from mjjax import mjx
from mjjax.mjx import math, support
from tests.mjx.scenes import ROBOT
from tests.oracle_tools import quick

POINT = np.array([0.1, 0.2, 0.3])


@pytest.fixture(scope="module")
def both() -> tuple[mujoco.MjModel, mujoco.MjData, mjx.Model, mjx.Data]:
    """A world on the floor, in motion, in both engines."""
    m = mujoco.MjModel.from_xml_string(ROBOT)
    d = mujoco.MjData(m)
    d.qpos[2], d.qpos[7], d.qvel[:] = 0.095, 0.3, np.linspace(-1, 1, m.nv)
    mujoco.mj_forward(m, d)
    return m, d, mjx.put_model(m), mjx.put_data(m, d)


def test_data_come_over_and_go_back(both: tuple) -> None:
    """`put_data` has MuJoCo's results, the inertia included, and `get_data_into` writes them."""
    m, d, mx, dx = both
    np.testing.assert_allclose(dx.xmat, d.xmat.reshape(-1, 3, 3), atol=1e-12)
    dense = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, dense, d.qM)
    np.testing.assert_allclose(mjx.full_m(mx, dx), dense, atol=1e-12)
    back = mujoco.MjData(m)
    mjx.get_data_into(back, m, dx)
    np.testing.assert_allclose(back.qvel, d.qvel)
    np.testing.assert_allclose(back.geom_xpos, d.geom_xpos)
    worlds = jax.tree.map(lambda x: jnp.stack([x, x]), dx)
    assert len(mjx.get_data(m, worlds)) == 2
    with pytest.raises(ValueError, match="2 worlds and 1"):
        mjx.get_data_into(back, m, worlds)


def test_stages_are_those_of_mujoco(both: tuple) -> None:
    """The stages under MJX's names: forward gives C's accelerations."""
    m, d, mx, dx = both
    found = quick(lambda m, d: mjx.solve(m, mjx.fwd_acceleration(m, mjx.forward(m, d))))(mx, dx)
    np.testing.assert_allclose(found.qacc, d.qacc, rtol=1e-6, atol=1e-6)
    bias = mjx.tendon_bias(mx, mjx.rne(mx, mjx.factor_m(mx, mjx.tendon_armature(mx, found))))
    np.testing.assert_allclose(bias.qfrc_bias, d.qfrc_bias, atol=1e-10)
    vector = np.linspace(0, 1, m.nv)
    back = mjx.solve_m(mx, found, mjx.mul_m(mx, found, vector))
    np.testing.assert_allclose(back, vector, atol=1e-10)
    np.testing.assert_allclose(mjx.deriv_smooth_vel(mx, found), 0 * np.eye(m.nv), atol=1e-12)


def test_jacobians_of_traced_bodies(both: tuple) -> None:
    """MJX's Jacobians are (nv, 3), and the body may be traced: one program for all feet."""
    m, d, mx, dx = both
    bodies = np.arange(1, m.nbody)
    jacp, jacr = jax.vmap(lambda b: mjx.jac(mx, dx, jnp.asarray(POINT), b))(bodies)
    force = jax.vmap(lambda b: mjx.apply_ft(mx, dx, POINT, 2 * POINT, POINT, b))(bodies)
    dots = jax.vmap(lambda b: support.jac_dot(mx, dx, jnp.asarray(POINT), b))(bodies)
    for k, body in enumerate(bodies):
        wanted = np.zeros((2, 3, m.nv))
        mujoco.mj_jac(m, d, *wanted, POINT, body)
        np.testing.assert_allclose([jacp[k].T, jacr[k].T], wanted, atol=1e-12)
        mujoco.mj_jacDot(m, d, *wanted, POINT, body)
        np.testing.assert_allclose([dots[0][k].T, dots[1][k].T], wanted, atol=1e-12)
        generalized = np.zeros(m.nv)
        mujoco.mj_applyFT(m, d, POINT, 2 * POINT, POINT, body, generalized)
        np.testing.assert_allclose(force[k], generalized, atol=1e-12)


def test_contact_forces(both: tuple) -> None:
    """Forces of contacts, in the contact's frame and in world axes."""
    m, d, mx, dx = both
    dx = quick(mjx.forward)(mx, dx)
    wanted = np.zeros(6)
    forces, slots = support.contact_force_dim(mx, dx, 3)
    assert len(slots) == d.ncon
    for i, slot in enumerate(slots):
        mujoco.mj_contactForce(m, d, i, wanted)
        np.testing.assert_allclose(forces[i], wanted, atol=1e-4)
        turned = (wanted.reshape(2, 3) @ d.contact.frame[i].reshape(3, 3)).ravel()
        np.testing.assert_allclose(support.contact_force(mx, dx, slot, True), turned, atol=1e-4)


def test_rays_pass_through_several_bodies(both: tuple) -> None:
    """MJX's `bodyexclude` takes a list of bodies."""
    m, _, mx, dx = both
    start, down = jnp.array([0.0, 0, 3]), jnp.array([0.0, 0, -1])
    torso, floor = (m.geom(name).id for name in ("trunk", "floor"))
    for excluded, wanted in ((-1, torso), ([1, 2], floor), ((0, 1, 2), -1), (1, floor)):
        assert mjx.ray(mx, dx, start, down, bodyexclude=excluded)[1] == wanted
    assert mjx.ray(mx, dx, start, down, geomgroup=(0, 1, 1, 1, 1, 1))[0] == -1


def test_names(both: tuple) -> None:
    """Ids and names under MJX's arguments."""
    m, _, mx, _ = both
    kind = mujoco.mjtObj.mjOBJ_BODY
    assert mjx.name2id(mx, kind, "leg") == m.body("leg").id
    assert mjx.id2name(mx, kind, 1) == "torso" and mjx.id2name(mx, kind, 9) is None
    stand_in = mjjax.mujoco.MjModel.from_xml_string(ROBOT)
    for model in (m, stand_in):
        assert mjx.name2id(model, kind, "leg") == 2 and mjx.id2name(model, kind, 1) == "torso"
    dx = mjx.make_data(stand_in).replace(qvel=jnp.arange(3.0, 3.0 + m.nv))
    back = mjx.get_data(stand_in, dx)
    back.qpos[0] = 7
    other = mjjax.mujoco.MjData(stand_in)
    mjx.get_data_into(other, stand_in, dx)
    np.testing.assert_array_equal(other.qvel, dx.qvel)
    again = mjx.put_data(stand_in, back)
    assert again.qpos[0] == 7 and again.qvel[1] == 4
    other = mjjax.mujoco.MjData(mjjax.mujoco.MjModel.from_xml_string("<mujoco/>"))
    with pytest.raises(ValueError, match="Input field qpos has shape"):
        mjx.get_data_into(other, stand_in, dx)


def test_fields_of_spec_elements() -> None:
    """`bind` gives the rows of elements, also joined, and sets them."""
    spec = mujoco.MjSpec.from_string(ROBOT)
    m = spec.compile()
    mx = mjx.put_model(m)
    dx = mjx.make_data(mx)
    ours = mjjax.Spec.from_string(ROBOT)
    for hip, joints in ((spec.joint("hip"), spec.joints), (ours.joint("hip"), ours.joints)):
        np.testing.assert_array_equal(mx.bind(hip).range, m.jnt_range[1])
        np.testing.assert_array_equal(dx.bind(mx, joints).qpos, m.qpos0)
        assert dx.bind(mx, hip).qpos == 0 and dx.bind(mx, hip).id == 1
        moved = dx.bind(mx, joints).set("qvel", np.arange(7.0))
        np.testing.assert_array_equal(moved.qvel, np.arange(7))
        assert dx.bind(mx, hip).set("qpos", 0.5).qpos[7] == 0.5
    assert mx.bind(spec.geoms).size.shape == (3, 3)
    assert dx.bind(mx, spec.geoms).xmat.shape == (3, 3, 3)
    with pytest.raises(AttributeError, match="no 'speed'"):
        _ = dx.bind(mx, spec.joints).speed
    with pytest.raises(ValueError, match="one kind"):
        dx.bind(mx, [*spec.joints, *spec.geoms])


def test_small_math() -> None:
    """MJX's vector functions, in its order of arguments."""
    rng = np.random.default_rng(0)
    q, r = (x / np.linalg.norm(x) for x in rng.normal(size=(2, 4)))
    v, w = rng.normal(size=(2, 3))
    turn = Rotation.from_quat(q, scalar_first=True)
    np.testing.assert_allclose(math.rotate(v, q), turn.apply(v))
    np.testing.assert_allclose(math.quat_to_mat(q), turn.as_matrix())
    product = (turn * Rotation.from_quat(r, scalar_first=True)).as_matrix()
    np.testing.assert_allclose(math.quat_to_mat(math.quat_mul(q, r)), product)
    np.testing.assert_allclose(math.quat_to_mat(math.quat_inv(q)), turn.as_matrix().T)
    axis, angle = math.quat_to_axis_angle(q)
    np.testing.assert_allclose(axis * angle, turn.as_rotvec())
    again = math.quat_to_mat(math.axis_angle_to_quat(axis, angle[None]))
    np.testing.assert_allclose(again, turn.as_matrix())
    later = math.quat_integrate(q, v, np.array(0.1))
    np.testing.assert_allclose(math.quat_sub(later, q), 0.1 * v)
    np.testing.assert_allclose(math.quat_mul_axis(q, v), math.quat_mul(q, np.r_[0, v]))
    np.testing.assert_allclose(math.norm(np.stack([v, w]), axis=1), np.linalg.norm([v, w], axis=1))
    np.testing.assert_allclose(math.normalize(v), v / np.linalg.norm(v))
    assert not math.normalize(np.zeros(3)).any() and not jax.grad(math.norm)(jnp.zeros(3)).any()
    frame = math.make_frame(v)
    np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(jnp.linalg.det(frame), 1)
    a, b = rng.normal(size=(2, 6))
    np.testing.assert_allclose(b @ math.motion_cross(a, b * 0 + a), 0, atol=1e-12)
    # the power of a force does not change when both vectors move along
    c = rng.normal(size=6)
    np.testing.assert_allclose(
        math.motion_cross(a, b) @ c, -(b @ math.motion_cross_force(a, c)), rtol=1e-10
    )


@pytest.mark.parametrize("seed", range(20))
def test_nearest_points_of_segments(seed: int) -> None:
    """The nearest points of two segments: no pair of points on a grid is nearer."""
    a0, a1, b0, b1 = np.random.default_rng(seed).normal(size=(4, 3))
    on_a, on_b = math.closest_segment_to_segment_points(a0, a1, b0, b1)
    part = np.linspace(0, 1, 101)[:, None]
    gaps = np.linalg.norm((a0 + part * (a1 - a0))[:, None] - (b0 + part * (b1 - b0)), axis=-1)
    assert np.linalg.norm(on_a - on_b) <= gaps.min() + 1e-9
    np.testing.assert_allclose(gaps.min(), np.linalg.norm(on_a - on_b), atol=0.02)
