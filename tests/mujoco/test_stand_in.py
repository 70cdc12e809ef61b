"""`mjjax.mujoco` beside MuJoCo: the same model, data, functions and enumerations."""

import copy
import enum
from typing import Any

import mujoco
import numpy as np
import pytest

import mjjax
import mjjax.mujoco
from mjjax import mjx
from tests.mjx.scenes import ROBOT

EXPORTED = [n for n in dir(mjjax.mujoco) if n.startswith("mjt")]


@pytest.fixture
def models() -> tuple[mujoco.MjModel, Any]:
    return mujoco.MjModel.from_xml_string(ROBOT), mjjax.mujoco.MjModel.from_xml_string(ROBOT)


def test_fields_are_those_of_mujoco(models: tuple) -> None:
    """Arrays have MuJoCo's shapes and double precision, numbers are numbers."""
    theirs, ours = models
    names = [n for n in dir(ours) if isinstance(getattr(theirs, n, None), np.ndarray)]
    assert len(names) > 250
    for name in names:
        wanted = getattr(theirs, name)
        found = getattr(ours, name).reshape(wanted.shape)
        exact = 1e-6 if wanted.dtype == np.float32 else 1e-12  # MuJoCo has some in single precision
        np.testing.assert_allclose(found, wanted, rtol=exact, atol=exact, err_msg=name)
    assert ours.opt.timestep == 0.004 and isinstance(ours.opt.timestep, float)
    assert (ours.nq, ours.nsensordata) == (theirs.nq, theirs.nsensordata)
    assert ours.stat.extent == pytest.approx(theirs.stat.extent)


def test_views_are_arrays_that_can_be_written(models: tuple) -> None:
    """Views have MuJoCo's shapes, arrays of one number included, and write into the model."""
    for m in models:
        m.body("torso").mass[0] = 3
        m.geom("shin").size[:2] = 0.05, 0.2
        m.joint("hip").range = -0.5, 0.5
        m.geom_friction[1] = 0.5, 0.01, 0.001
        m.opt.gravity[2] = -5
        m.opt.iterations = 7
    theirs, ours = models
    for kind, name, field in (
        ("body", "torso", "mass"),
        ("body", "hand", "mocapid"),
        ("joint", "root", "qposadr"),
        ("joint", "hip", "range"),
        ("geom", "shin", "size"),
        ("sensor", "where", "adr"),
        ("sensor", "where", "dim"),
        ("keyframe", "high", "qpos"),
        ("actuator", "knee", "gear"),
        ("camera", "eye", "pos"),
    ):
        found, wanted = (getattr(getattr(m, kind)(name), field) for m in models)
        np.testing.assert_allclose(found, wanted, err_msg=f"{kind} {field}")
        assert np.shape(found) == np.shape(wanted)
    put = mjjax.put_model(theirs)
    native = ours.native()
    for name in ("body_mass", "geom_size", "jnt_range", "geom_friction"):
        np.testing.assert_allclose(getattr(native, name), getattr(put, name), rtol=1e-6)
    assert native.opt.iterations == 7 and native.opt.gravity[2] == -5
    assert ours.native() is native  # nothing is made anew
    with pytest.raises(KeyError):
        ours.body("tors")
    with pytest.raises(ValueError, match="shape"):
        ours.geom_size = np.ones(3)


def test_what_decides_the_program_can_be_edited(models: tuple) -> None:
    """Bitmasks and types come over too, as from MuJoCo's own model."""
    for m in models:
        m.geom_contype[1], m.geom_condim[:], m.actuator_ctrllimited[0] = 0, 4, True
    theirs, ours = (mjjax.put_model(m) for m in models)
    for name in ("geom_contype", "geom_condim", "actuator_ctrllimited"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    assert ours.structure.sizes == theirs.structure.sizes
    changed = copy.deepcopy(models[1])
    changed.geom_condim[:] = 3
    assert models[1].geom_condim[0] == 4


@pytest.fixture(scope="module")
def worlds() -> list[tuple[Any, Any]]:
    """The same world in MuJoCo and here, on the floor and in motion, after three steps."""
    found = []
    for module in (mujoco, mjjax.mujoco):
        m = module.MjModel.from_xml_string(ROBOT)
        d = module.MjData(m)
        d.qpos[2], d.qvel[:] = 0.09, np.linspace(-1, 1, m.nv)
        d.joint("hip").qpos[0] = 0.3
        d.actuator("knee").ctrl = 0.5
        d.mocap_pos = [[0, 0, 2]]
        held = d.qpos
        module.mj_step(m, d, 3)
        assert held is d.qpos or np.shares_memory(held, d.qpos)
        found.append((m, d))
    return found


def test_steps_are_those_of_mujoco(worlds: list) -> None:
    """`mj_step` in place: state, results, sensors and contacts."""
    (_, theirs), (_, ours) = worlds
    for name in "qpos qvel qacc xpos geom_xpos sensordata qfrc_actuator cfrc_ext".split():
        wanted = getattr(theirs, name)
        np.testing.assert_allclose(getattr(ours, name), wanted, atol=1e-6, err_msg=name)
    assert ours.time == pytest.approx(0.012)
    np.testing.assert_allclose(ours.body("leg").xpos, theirs.body("leg").xpos, atol=1e-8)
    np.testing.assert_allclose(ours.sensor("bend").data, theirs.sensor("bend").data, atol=1e-8)
    assert len(ours.contact) == ours.ncon == theirs.ncon
    for a, b in zip(ours.contact, theirs.contact, strict=True):
        assert (a.geom1, a.geom2, a.dim) == (b.geom1, b.geom2, b.dim)
        assert a.dist == pytest.approx(b.dist, abs=1e-8)
    np.testing.assert_array_equal(ours.contact.geom, theirs.contact.geom)


def test_functions_are_those_of_mujoco(worlds: list) -> None:
    """Functions that write into arrays, with MuJoCo's arguments."""
    results = []
    for module, (m, d) in zip((mujoco, mjjax.mujoco), worlds, strict=True):
        module.mj_forward(m, d)
        jacobians, dense = np.zeros((4, 3, m.nv)), np.zeros((m.nv, m.nv))
        module.mj_jac(m, d, jacobians[0], jacobians[1], np.array([0.1, 0, 0]), 2)
        module.mj_jacSite(m, d, jacobians[2], None, 0)
        module.mj_jacSubtreeCom(m, d, jacobians[3], 1)
        module.mj_fullM(m, dense, d.qM)
        product, solution = np.zeros(m.nv), np.zeros((1, m.nv))
        module.mj_mulM(m, d, product, np.ones(m.nv))
        module.mj_solveM(m, d, solution, np.ones((1, m.nv)))
        velocity, force, moved = np.zeros(6), np.zeros(6), d.qpos.copy()
        module.mj_objectVelocity(m, d, module.mjtObj.mjOBJ_GEOM, 2, velocity, 1)
        module.mj_contactForce(m, d, d.ncon - 1, force)
        module.mj_integratePos(m, moved, np.ones(m.nv), 0.1)
        back = np.zeros(m.nv)
        module.mj_differentiatePos(m, back, 0.1, d.qpos, moved)
        sig = module.mjtState.mjSTATE_PHYSICS
        state = np.zeros(module.mj_stateSize(m, sig))
        module.mj_getState(m, d, state, sig)
        ids = module.mj_name2id(m, module.mjtObj.mjOBJ_SENSOR, "bend")
        name = module.mj_id2name(m, module.mjtObj.mjOBJ_GEOM, 1)
        assert (ids, name) == (1, "trunk")
        mass = module.mj_getTotalmass(m)
        results.append([jacobians, dense, product, solution, velocity, moved, back, state, mass])
        results[-1].append(force)
    for found, wanted in zip(results[1], results[0], strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-4, rtol=1e-4)


def test_resets_and_states(worlds: list) -> None:
    """Keyframes, plain resets and states, in place."""
    m, d = worlds[1]
    mjjax.mujoco.mj_resetDataKeyframe(m, d, 0)
    np.testing.assert_array_equal(d.qpos, m.key_qpos[0])
    sig = mjjax.State.QPOS | mjjax.State.QVEL
    mjjax.mujoco.mj_setState(m, d, np.r_[m.qpos0, np.ones(m.nv)], sig)
    assert (d.qvel == 1).all()
    mjjax.mujoco.mj_resetData(m, d)
    assert not d.qvel.any() and d.time == 0


def test_derived_constants(models: tuple) -> None:
    """`mj_setConst` after a change of masses, in place."""
    for module, m in zip((mujoco, mjjax.mujoco), models, strict=True):
        m.body_mass[1] = 9
        module.mj_setConst(m, module.MjData(m))
    for name in ("body_subtreemass", "dof_M0", "body_invweight0"):
        found, wanted = (getattr(m, name) for m in reversed(models))
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("name", EXPORTED)
def test_enumerations_are_those_of_mujoco(name: str) -> None:
    """Members have MuJoCo's names and values; none that it has is left out."""
    ours, theirs = getattr(mjjax.mujoco, name), getattr(mujoco, name)
    assert issubclass(ours, enum.IntEnum)
    wanted = {n: int(x) for n, x in theirs.__members__.items()}
    assert {n: int(x) for n, x in ours.__members__.items()} == wanted


def test_specs_and_pictures() -> None:
    """A spec is edited and compiled, and a renderer shows the model."""
    spec = mjjax.mujoco.MjSpec.from_string(ROBOT)
    spec.worldbody.add_body(name="ball", pos=[0, 0, 2]).add_geom(type="sphere", size=[0.1])
    m = spec.compile()
    d = mjjax.mujoco.MjData(m)
    mjjax.mujoco.mj_forward(m, d)
    assert m.body("ball").id == m.nbody - 1
    with mjjax.mujoco.Renderer(m, 12, 16) as renderer:
        with pytest.raises(RuntimeError, match="update_scene"):
            renderer.render()
        renderer.update_scene(d, camera="eye")
        picture = renderer.render()
        renderer.enable_depth_rendering()
        depth = renderer.render()
    assert picture.shape == (12, 16, 3) and picture.dtype == np.uint8 and np.ptp(picture) > 50
    assert depth.shape == (12, 16)
    assert mjx.put_model(m).nbody == m.nbody


def test_options_of_pictures(caplog: pytest.LogCaptureFixture) -> None:
    """Pictures follow the groups; other flags that a program changes are named once."""
    option, theirs = mjjax.mujoco.MjvOption(), mujoco.MjvOption()
    for name in "flags geomgroup sitegroup tendongroup".split():
        np.testing.assert_array_equal(getattr(option, name), getattr(theirs, name))
    m = mjjax.mujoco.MjModel.from_xml_string(ROBOT)
    d = mjjax.mujoco.MjData(m)
    mjjax.mujoco.mj_forward(m, d)
    renderer = mjjax.mujoco.Renderer(m, 12, 16)
    option.geomgroup[:] = 0
    option.flags[mjjax.mujoco.mjtVisFlag.mjVIS_COM] = True  # type: ignore[attr-defined]
    renderer.enable_segmentation_rendering()
    for _ in range(2):
        renderer.update_scene(d, scene_option=option)
    geoms = renderer.render()[..., 1] == int(mjjax.ObjType.GEOM)
    assert not geoms.any() and caplog.text.count("mjVIS_COM") == 1
    with pytest.raises(NotImplementedError, match="MuJoCo's Renderer"):
        _ = renderer.scene


SPEC = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="hand" pos="0 0 1">
      <joint name="wrist" type="hinge" range="-60 60"/>
      <geom size="0.05"/>
      <geom type="sphere" size="0.02 0.03 0.04"/>
      <site name="tip" pos="0 0 0.1"/>
    </body>
  </worldbody>
</mujoco>
"""


def edited(module: Any) -> Any:
    """A model that a program makes with `mujoco` or what stands in for it."""
    spec = module.MjSpec.from_string(SPEC)
    spec.option.timestep = 0.001
    spec.option.gravity[2] = -5
    hand = spec.body("hand")
    assert spec.body("nobody") is None and hand.name == "hand"
    palm = hand.first_geom()
    palm.size[0] = 0.07
    palm.rgba[:3] = [0.1, 0.2, 0.3]
    finger = hand.next_geom(palm)
    finger.pos = [0, 0.1, 0]
    finger.type = module.mjtGeom.mjGEOM_BOX
    assert hand.next_geom(finger) is None
    for site in spec.sites:
        if site.name == "tip":
            site.size[0] = 0.02
    ball = spec.worldbody.add_body(name="ball", pos=[1, 0, 2])
    place = ball.pos  # writing into an array that is kept, and into a part of it
    place += 0.5
    place[1:] *= 2
    part = place[:2]
    part[0] = 3
    ball.add_freejoint(name="free")
    ball.add_geom(
        name="ball", type=module.mjtGeom.mjGEOM_SPHERE, size=[0.1, 0, 0], friction=[2, 0.1, 0.1]
    )
    spec.joint("wrist").solref_limit = [0.03, 1.1]
    add_outside(spec, module)
    return spec.compile()


def add_outside(spec: Any, module: Any) -> None:
    """Adds elements that stand outside of the world."""
    objects = module.mjtObj
    spec.add_sensor(
        name="touched",
        type=module.mjtSensor.mjSENS_CONTACT,
        objtype=objects.mjOBJ_GEOM,
        objname="ball",
        reftype=objects.mjOBJ_GEOM,
        refname="floor",
        intprm=[1, 1, 1],
        datatype=module.mjtDataType.mjDATATYPE_REAL,
        needstage=module.mjtStage.mjSTAGE_ACC,
        dim=1,
    )
    spec.add_sensor(
        name="where",
        type=module.mjtSensor.mjSENS_FRAMEPOS,
        objtype=objects.mjOBJ_SITE,
        objname="tip",
        reftype=objects.mjOBJ_XBODY,
        refname="hand",
    )
    spec.add_sensor(
        name="angle",
        type=module.mjtSensor.mjSENS_JOINTPOS,
        objtype=objects.mjOBJ_JOINT,
        objname="wrist",
    )
    spec.add_actuator(
        name="motor",
        trntype=module.mjtTrn.mjTRN_JOINT,
        target="wrist",
        gaintype=module.mjtGain.mjGAIN_FIXED,
        gainprm=[3] + [0] * 9,
        ctrlrange=[-1, 1],
    )
    spec.add_equality(
        name="held",
        type=module.mjtEq.mjEQ_CONNECT,
        objtype=objects.mjOBJ_BODY,
        name1="ball",
        name2="hand",
        data=[0.1, 0.2, 0.3] + [0] * 7 + [1],
    )


def test_specs_are_edited_as_in_mujoco() -> None:
    """One program that edits a spec makes the same model with MuJoCo and without."""
    ours, theirs = edited(mjjax.mujoco), edited(mujoco)
    names = (
        "body_pos body_mass geom_size geom_pos geom_type geom_rgba geom_friction site_size "
        "jnt_solref jnt_type sensor_type sensor_objtype sensor_objid sensor_reftype sensor_refid "
        "sensor_dim sensor_adr sensor_intprm actuator_gainprm actuator_trntype actuator_trnid "
        "actuator_ctrlrange actuator_ctrllimited eq_type eq_obj1id eq_obj2id eq_data eq_objtype"
    ).split()
    for name in names:
        found, wanted = np.asarray(getattr(ours, name)), np.asarray(getattr(theirs, name))
        np.testing.assert_allclose(
            found.ravel(), wanted[..., : found.shape[-1]].ravel(), atol=1e-6, err_msg=name
        )
    assert ours.opt.timestep == 0.001 and ours.opt.gravity[2] == -5
    spec, clock = mjjax.mujoco.MjSpec(), mjjax.mujoco.mjtSensor.mjSENS_CLOCK  # type: ignore[attr-defined]
    for wrong in ({"cutof": 1}, {"intprm": [1, 0, 0]}):
        with pytest.raises(AttributeError, match=next(iter(wrong))):
            spec.add_sensor(type=clock, **wrong)


def test_names_that_are_missing() -> None:
    """What is not there says so at once."""
    with pytest.raises(AttributeError, match="mjv_initGeom"):
        _ = mjjax.mujoco.mjv_initGeom
