"""Support functions on the state against MuJoCo's."""

import functools
from typing import Any

import chex
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.xla.namespace import Array
from tests.oracle_tools import Both, full_inertia, load, quick, random_state, to_ours

XML = """
<mujoco>
  <option timestep="0.004"/>
  <worldbody>
    <geom type="plane" size="0 0 1"/>
    <body name="base" pos="0 0 0.1"><freejoint/><geom size="0.12" pos="0.02 0.01 0"/>
      <body name="ball" pos="0.3 0 0"><joint name="b" type="ball" pos="-0.1 0 0" range="0 20"
        limited="true"/><geom type="box" size="0.1 0.05 0.02" pos="0.1 0.1 0"/>
        <body pos="0 0.2 0"><joint name="h" axis="1 1 0" range="-1 2"/>
          <joint name="s" type="slide" axis="0 1 0" armature="0.2"/>
          <geom size="0.05" pos="0 0 0.1"/></body></body></body>
    <body pos="1 0 1" gravcomp="1"><joint axis="0 1 0" frictionloss="0.1"/>
      <geom type="capsule" size="0.05" fromto="0 0 0 0.3 0 0.2"/>
      <site name="x" pos="0.1 0 0"/></body>
  </worldbody>
  <equality><joint joint1="h" joint2="s" polycoef="0.1 0.5 0.2 0 0"/></equality>
  <actuator><muscle name="m" joint="h" lengthrange="0.1 0.2"/></actuator>
</mujoco>
"""
ROWS = """
<mujoco><worldbody>
  <geom type="plane" size="0 0 1"/>
  <body pos="0 0 0.09"><freejoint/><geom size="0.1"/></body>
  <body pos="1 0 0.09"><freejoint/><geom size="0.05"/></body>
  <body pos="0 0 1"><joint name="h" axis="1 1 0" range="10 20" frictionloss="0.1"/>
    <geom size="0.1" pos="0.2 0 0" contype="0" conaffinity="0"/></body>
</worldbody></mujoco>
"""
BODIES = range(5)
CLOSE: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-11}


@functools.cache
def moving() -> tuple[Both, mujoco.MjData, mjjax.Data]:
    """A random state whose positions and velocities MuJoCo has computed for both sides."""
    both = load(XML)
    d = random_state(both.reference, 0)
    mujoco.mj_forward(both.reference, d)
    fields = "cinert cdof cdof_dot cvel xipos ximat xpos xquat subtree_com".split()
    known = {name: np.array(getattr(d, name)) for name in fields}
    data = to_ours(both.ours, d).replace(armature=both.reference.dof_armature, **known)
    # the kernels run on numpy, too: nothing is compiled
    ours = jax.tree.map(np.asarray, both.ours)
    return Both(both.reference, ours), d, jax.tree.map(np.asarray, data)


def theirs(function, shapes, *args) -> list[np.ndarray]:
    """Results of one of MuJoCo's functions that writes into its first arguments."""
    both, d, _ = moving()
    out = [np.zeros(shape) for shape in shapes]
    function(both.reference, d, *out, *args)
    return out


@pytest.mark.feature("A126", "A127", "A128", "A129", "A167")
def test_jacobians_of_bodies() -> None:
    """Subtree centres, points with axes, rates of change, angular momentum, applied forces."""
    both, _, data = moving()
    model, nv = both.ours, both.ours.nv
    point, axis, force = np.random.default_rng(0).normal(size=(3, 3))

    def everything(model, data, point, axis, force, b):
        return (
            mjjax.jac_subtree_com(model, data, b),
            *mjjax.jac_point_axis(model, data, point, axis, b),
            *mjjax.jac_dot(model, data, point, b),
            mjjax.angmom_mat(model, data, b),
            mjjax.apply_ft(model, data, force, axis, point, b),
        )

    mine = [everything(model, data, point, axis, force, b) for b in BODIES]
    matrix = (3, nv)
    for b in BODIES:
        expected = [
            *theirs(mujoco.mj_jacSubtreeCom, [matrix], b),
            *theirs(mujoco.mj_jacPointAxis, [matrix] * 2, point, axis, b),
            *theirs(mujoco.mj_jacDot, [matrix] * 2, point, b),
            *theirs(mujoco.mj_angmomMat, [matrix], b),
        ]
        mujoco.mj_applyFT(both.reference, moving()[1], force, axis, point, b, qfrc := np.zeros(nv))
        for k, (a, e) in enumerate(zip(mine[b], [*expected, qfrc], strict=True)):
            np.testing.assert_allclose(a, e, err_msg=f"body {b}, result {k}", **CLOSE)
    traced = quick(functools.partial(everything, b=2))(model, data, point, axis, force)
    for a, e in zip(traced, mine[2], strict=True):
        np.testing.assert_allclose(a, e, **CLOSE)


@pytest.mark.feature("A167")
def test_applied_forces_of_all_bodies() -> None:
    """`xfrc_applied` in joint space is the sum over bodies of force and torque at their centres."""
    both, d, data = moving()
    mine = mjjax.xfrc_accumulate(both.ours, data)
    total = np.zeros(both.ours.nv)
    for b in BODIES:
        force = d.xfrc_applied[b]
        mujoco.mj_applyFT(both.reference, d, force[:3], force[3:], d.xipos[b], b, total)
    np.testing.assert_allclose(mine, total, **CLOSE)


@pytest.mark.feature("A103", "A104")
def test_inertia() -> None:
    """Products, roots and sums with the joint-space inertia, and their inverses."""
    both, d, data = moving()
    model, nv = both.ours, both.ours.nv
    v = np.random.default_rng(1).normal(size=nv)

    def everything(data: mjjax.Data, v: Array) -> tuple[list[Array], Array]:
        functions = (mjjax.mul_m, mjjax.mul_m2, mjjax.solve_m, mjjax.solve_m2)
        total = mjjax.add_m(model, data, np.ones((nv, nv)))
        return [f(model, data, v) for f in functions], total

    mine, traced = everything(data, v), quick(everything)(data, v)
    chex.assert_trees_all_close(traced, mine, **CLOSE)
    root = np.sqrt(d.qLDiagInv)
    expected = [
        *theirs(mujoco.mj_mulM, [nv], v),
        *theirs(mujoco.mj_mulM2, [nv], v),
        *[x[0] for x in theirs(mujoco.mj_solveM, [(1, nv)], v[None])],
        *[x[0] for x in theirs(mujoco.mj_solveM2, [(1, nv)], v[None], root[None])],
    ]
    for a, e in zip(mine[0], expected, strict=True):
        np.testing.assert_allclose(a, e, **CLOSE)
    np.testing.assert_allclose(mine[1], full_inertia(both.reference, d) + 1, **CLOSE)


@pytest.mark.feature("A131", "A137", "A106")
def test_constraint_jacobian_products() -> None:
    """Products with the constraint Jacobian and its transpose; kinds of cone and solver."""
    both = load(ROWS)
    d = mujoco.MjData(both.reference)
    mujoco.mj_forward(both.reference, d)
    model, nv = both.ours, both.ours.nv
    data = quick(mjjax.fwd_position)(model, to_ours(model, d))
    rng = np.random.default_rng(2)
    on = np.asarray(data.efc_D) > 0
    v, f = rng.normal(size=nv), rng.normal(size=len(on))
    assert d.nefc == on.sum() == 6
    program = quick(
        lambda data, v, f: (
            mjjax.mul_jac_vec(model, data, v),
            mjjax.mul_jac_t_vec(model, data, f),
            mjjax.project_constraint(model, data),
        )
    )
    forward, back, dual = program(data, jnp.asarray(v), jnp.asarray(f))
    mujoco.mj_mulJacVec(both.reference, d, expected := np.zeros(d.nefc), v)
    np.testing.assert_allclose(np.asarray(forward)[on], expected, **CLOSE)
    assert not np.any(np.asarray(forward)[~on])
    mujoco.mj_mulJacTVec(both.reference, d, expected := np.zeros(nv), f[on])
    np.testing.assert_allclose(back, expected, **CLOSE)
    reference = mujoco.MjModel.from_xml_string(ROWS)
    reference.opt.solver = mjjax.SolverType.PGS
    d = mujoco.MjData(reference)
    mujoco.mj_forward(reference, d)
    np.testing.assert_allclose(np.asarray(dual)[np.ix_(on, on)].ravel(), d.efc_AR, **CLOSE)
    assert not np.any(np.asarray(dual)[~on])
    for cone, solver in ((0, 2), (1, 0), (0, 1)):
        reference.opt.cone, reference.opt.solver = cone, solver
        other = model.replace(opt=model.opt.replace(cone=cone, solver=solver))
        assert mjjax.is_pyramidal(other) == mujoco.mj_isPyramidal(reference)
        assert mjjax.is_dual(other) == mujoco.mj_isDual(reference)


@pytest.mark.feature("A100", "A162", "A166")
def test_frames_and_positions() -> None:
    """Poses in bodies become world poses; quaternions in positions become unit."""
    both, d, data = moving()
    pos, q = np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.5, -0.5, 0.5])
    for body in (0, 2):
        mujoco.mj_local2Global(d, xpos := np.zeros(3), xmat := np.zeros(9), pos, q, body, 0)
        mine = mjjax.local_to_global(data, pos, q, body)
        np.testing.assert_allclose(mine[0], xpos, **CLOSE)
        np.testing.assert_allclose(mine[1], xmat, **CLOSE)
    qpos = d.qpos.copy()
    mujoco.mj_normalizeQuat(both.reference, qpos)
    np.testing.assert_allclose(mjjax.normalize_quat(both.ours, d.qpos), qpos, **CLOSE)
    v = np.zeros(both.ours.nv)
    mujoco.mj_differentiatePos(both.reference, v, 0.1, both.reference.qpos0, qpos)
    mine = mjjax.differentiate_pos(both.ours, 0.1, both.ours.qpos0, qpos)
    np.testing.assert_allclose(mine, v, **CLOSE)


@pytest.mark.feature("A168")
def test_names() -> None:
    """Names give ids and back; unknown ones give -1 and None."""
    both = load(XML)
    for kind in (mjjax.ObjType.BODY, mjjax.ObjType.JOINT, mjjax.ObjType.SITE, mjjax.ObjType.GEOM):
        for index in range(-1, 7):
            name = mujoco.mj_id2name(both.reference, kind, index)
            assert mjjax.id2name(both.ours, kind, index) == name
            if name:
                assert mjjax.name2id(both.ours, kind, name) == index
    assert mjjax.name2id(both.ours, mjjax.ObjType.BODY, "nothing") == -1


@pytest.mark.feature("A099")
def test_total_mass() -> None:
    """Masses and inertias scale together; `set_const` does the rest, as in MuJoCo."""
    model, reference = load(XML).ours, mujoco.MjModel.from_xml_string(XML)
    assert np.isclose(mjjax.get_total_mass(model), mujoco.mj_getTotalmass(reference))
    mine = mjjax.set_total_mass(model, 3.0)
    mujoco.mj_setTotalmass(reference, 3)
    np.testing.assert_allclose(mine.body_mass, reference.body_mass, **CLOSE)
    np.testing.assert_allclose(mine.body_inertia, reference.body_inertia, **CLOSE)


@pytest.mark.feature("A098")
def test_length_range_of_one_actuator() -> None:
    """The range is found anew from what the actuator can reach, as when MuJoCo compiles."""
    xml = """<mujoco><worldbody><body><joint name="h" axis="0 1 0" limited="true" range="-60 30"/>
      <geom size="0.1" pos="0.3 0 0"/></body></worldbody><actuator>
      <muscle joint="h" {}/><motor joint="h" lengthrange="-1 1"/></actuator></mujoco>"""
    model = mjjax.Model.from_xml_string(xml.format('lengthrange="0.1 0.2"'))
    expected = mujoco.MjModel.from_xml_string(xml.format("")).actuator_lengthrange
    mine = mjjax.set_length_range(model, 0, useexisting=False)
    np.testing.assert_allclose(mine.actuator_lengthrange, expected, atol=1e-6)
    kept = mjjax.set_length_range(model, 0)
    np.testing.assert_array_equal(kept.actuator_lengthrange, model.actuator_lengthrange)
    with pytest.raises(ValueError, match="no setting"):
        mjjax.set_length_range(model, 0, speed=1)
    with pytest.raises(ValueError, match="no actuator"):
        mjjax.set_length_range(model, 2)


@pytest.mark.feature("A108")
def test_spatial_vectors_are_about_the_centre_of_the_tree() -> None:
    """Rotation first; about the centre of mass of the kinematic root, not of the body."""
    both, d, data = moving()
    model = both.ours
    start = jax.tree.map(np.asarray, to_ours(model, d))
    stages = (mjjax.kinematics, mjjax.com_pos, mjjax.com_vel)
    data = functools.reduce(lambda data, stage: stage(model, data), stages, start)
    for name in ("cdof", "cdof_dot", "cinert", "cvel", "subtree_com"):
        np.testing.assert_allclose(getattr(data, name), getattr(d, name), err_msg=name, **CLOSE)
    root = data.subtree_com[model.body_rootid]
    for b in BODIES[1:]:
        velocity = np.zeros(6)
        mujoco.mj_objectVelocity(both.reference, d, mjjax.ObjType.BODY, b, velocity, 0)
        turn, move = data.cvel[b, :3], data.cvel[b, 3:]
        there = move + np.cross(turn, data.xipos[b] - root[b])
        np.testing.assert_allclose([*turn, *there], velocity, **CLOSE)
        if model.body_parentid[b]:  # spinning alone gives it a velocity there
            assert np.abs(move - velocity[3:]).max() > 1e-3
