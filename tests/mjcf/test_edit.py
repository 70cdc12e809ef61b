"""`mjjax.Spec`: building, editing, looking up, deleting, compiling again."""

import operator

import jax
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.compiler import compile_spec
from mjjax.core.errors import MjcfError
from tests.compiler.oracle import compare

ARM = """<mujoco><default><default class="c"><geom rgba="1 0 0 1"/></default></default><worldbody>
<body name="a" childclass="c"><joint name="ja"/><geom name="ga" size="1"/><site name="sa"/>
<body name="b"><joint name="jb" ref="20"/><geom name="gb" size="1"/></body></body>
<body name="m" mocap="true" pos="1 2 3"/></worldbody>
<contact><exclude name="e" body1="a" body2="m"/></contact>
<tendon><fixed name="t"><joint joint="jb" coef="1"/></fixed></tendon>
<actuator><motor name="ma" joint="ja"/><general name="mb" joint="jb" dyntype="integrator"/>
</actuator>
<sensor><tendonpos tendon="t"/><jointpos name="pa" joint="ja"/></sensor>
<keyframe><key name="k" qpos="1 2" ctrl="3 4" act="5"/></keyframe></mujoco>"""


def build(spec: mjjax.Spec) -> None:
    """A small model with one element of most kinds."""
    spec.option.timestep = 0.01
    spec.option.integrator = "implicitfast"
    body = spec.worldbody.add_body(name="a", pos=[0, 0, 1], euler=[0, 0, 30])
    body.add_freejoint(name="free")
    body.add_geom(size=[0.1])
    frame = body.add_frame(pos=(0, 1, 0))
    inner = frame.add_body(name="b")
    joint = inner.add_joint(name="j", type="slide", axis=np.array([1, 0, 0]), range=[-1, 1])
    inner.add_geom(name="g", type=mujoco.mjtGeom.mjGEOM_CAPSULE, size=[0.1, 0.2])
    inner.add_inertial(pos=[0, 0, 0], mass=2, diaginertia=[1, 1, 1])
    inner.add_site(name="s")
    inner.add_camera(name="cam", fovy=30)
    spec.worldbody.add_light(dir=[0, 0, -1])
    spec.worldbody.add_geom(name="floor", type="plane", size=[1, 1, 1])
    spec.add_actuator("position", name="act", joint=joint, kp=10, kv=1)
    spec.add_sensor("framepos", name="fp", objtype="site", objname="s")
    spec.add_tendon("fixed", name="t").add_joint(joint="j", coef=2)
    spec.add_equality("joint", joint1="j", polycoef=[0.5])
    spec.add_pair(geom1="floor", geom2="g", condim=1)
    spec.add_exclude(body1="a", body2="b")
    spec.add_material(name="mat", rgba=[1, 0, 0, 1])
    spec.add_numeric(name="n", data=[1, 2, 3])
    spec.add_key(name="k", ctrl=[0.5])


BUILT = """<mujoco><option timestep="0.01" integrator="implicitfast"/>
<asset><material name="mat" rgba="1 0 0 1"/></asset><worldbody>
<body name="a" pos="0 0 1" euler="0 0 30"><freejoint name="free"/><geom size=".1"/>
<frame pos="0 1 0"><body name="b"><inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/>
<joint name="j" type="slide" axis="1 0 0" range="-1 1"/><geom name="g" type="capsule" size=".1 .2"/>
<site name="s"/><camera name="cam" fovy="30"/></body></frame></body><light dir="0 0 -1"/>
<geom name="floor" type="plane" size="1 1 1"/></worldbody>
<contact><pair geom1="floor" geom2="g" condim="1"/><exclude body1="a" body2="b"/></contact>
<equality><joint joint1="j" polycoef="0.5"/></equality>
<tendon><fixed name="t"><joint joint="j" coef="2"/></fixed></tendon>
<actuator><position name="act" joint="j" kp="10" kv="1"/></actuator>
<sensor><framepos name="fp" objtype="site" objname="s"/></sensor>
<custom><numeric name="n" data="1 2 3"/></custom><keyframe><key name="k" ctrl="0.5"/></keyframe>
</mujoco>"""


@pytest.mark.feature("A010")
def test_built_model_is_the_written_one() -> None:
    """A model built by a program is the model of the same XML, to MuJoCo too."""
    spec = mjjax.Spec()
    build(spec)
    compare(mujoco.MjModel.from_xml_string(BUILT), compile_spec(spec))


@pytest.mark.feature("A011")
def test_edited_spec_compiles_again() -> None:
    """Compiling does not change the description; an edit changes what it was asked to."""
    spec = mjjax.Spec.from_string(ARM)
    first, text = spec.compile(), spec.to_xml()
    assert spec.to_xml() == text
    spec.geom("ga").size = 0.5, 0.5, 0.5
    spec.joint("jb").damping = 3
    second = spec.compile()
    np.testing.assert_allclose(second.geom_size[0], 0.5)
    np.testing.assert_allclose(np.asarray(second.dof_damping), [0, 3])
    np.testing.assert_allclose(first.geom_size[0, 0], 1)


@pytest.mark.feature("A010", "B23")
def test_settings_of_pictures_are_attributes() -> None:
    """Settings of pictures have MuJoCo's names; a Python keyword gets an underscore."""
    spec = mjjax.Spec.from_string('<mujoco><visual><map znear=".1"/></visual></mujoco>')
    spec.visual.global_.fovy, spec.visual.headlight.ambient = 30, (1, 0, 0)
    assert spec.visual.map.znear == 0.1 and spec.visual.map.zfar is None
    again = mujoco.MjModel.from_xml_string(spec.to_xml()).vis
    assert again.global_.fovy == 30 and again.headlight.ambient.tolist() == [1, 0, 0]
    for wrong in ("visual.maps", "visual.map.near"):
        with pytest.raises(AttributeError, match="did you mean"):
            operator.attrgetter(wrong)(spec)
    copy = spec.copy()
    copy.visual.map.znear = 0.2
    assert spec.visual.map.znear == 0.1


@pytest.mark.feature("A010")
def test_elements_are_found_by_name_and_in_the_order_of_ids() -> None:
    """Look-up and lists, as in MuJoCo's specs."""
    spec = mjjax.Spec.from_string(ARM)
    assert spec.body("b").joints[0] is spec.joint("jb") and spec.body("none") is None
    assert [e.name for e in spec.bodies] == ["world", "a", "b", "m"]
    assert [e.name for e in spec.joints] == ["ja", "jb"]
    assert [e.name for e in spec.actuators] == ["ma", "mb"]
    assert spec.sensor("pa").joint == "ja" and spec.key("k").qpos == (1, 2)
    assert spec.joint("jb").owner is spec.body("b") and spec.body("b").parent is spec.body("a")
    assert spec.body("b").spec is spec


@pytest.mark.feature("B24", "A010")
def test_default_classes_apply_when_an_element_is_added() -> None:
    """Default classes apply: that of the body, another one, and one made by the program."""
    spec = mjjax.Spec.from_string(ARM)
    red = (1, 0, 0, 1)
    assert spec.body("b").add_geom(size=[1]).rgba == red
    assert spec.body("b").add_geom(size=[1], classname="main").rgba == (0.5, 0.5, 0.5, 1)
    spec.add_default("big", "c").geom.size = [9]
    assert spec.body("m").add_geom(classname="big").size == (9, 0, 0)
    assert spec.geom("ga").rgba == red


@pytest.mark.parametrize(
    ("edit", "error", "message"),
    [
        (lambda s: setattr(s.geom("ga"), "siz", 1), AttributeError, "did you mean 'size'"),
        (lambda s: s.geom("ga").sise, AttributeError, "did you mean 'size'"),
        (lambda s: setattr(s.geom("ga"), "pos", [1, 2]), ValueError, "3 values, not 2"),
        (lambda s: setattr(s.geom("ga"), "size", [1, 2, 3, 4]), ValueError, "at most 3"),
        (lambda s: setattr(s.geom("ga"), "mass", [1]), ValueError, "one number"),
        (lambda s: setattr(s.geom("ga"), "type", "sphre"), ValueError, "one of plane"),
        (lambda s: setattr(s.geom("ga"), "type", 99), ValueError, "cannot be 99"),
        (lambda s: setattr(s.geom("ga"), "condim", 1.5), ValueError, "whole numbers"),
        (lambda s: setattr(s.geom("ga"), "size", "x"), TypeError, "must be numbers"),
        (lambda s: setattr(s.geom("ga"), "name", 3), TypeError, "must be text"),
        (lambda s: setattr(s.geom("ga"), "pos", None), ValueError, "cannot be None"),
        (lambda s: setattr(s.option, "timestp", 1), AttributeError, "did you mean 'timestep'"),
        (lambda s: s.body("a").add_goem(), AttributeError, "no <goem>"),
        (lambda s: s.body("a").add_geom(sise=1), AttributeError, "did you mean 'size'"),
        (lambda s: s.body("a").add_geom(classname="zz"), ValueError, "no default class"),
        (lambda s: s.worldbody.add_joint(), ValueError, "the world cannot"),
        (lambda s: s.add_sensor("jointps"), ValueError, "did you mean 'jointpos'"),
        (lambda s: s.add_sensor("jointpos"), ValueError, "needs 'joint'"),
        (lambda s: s.add_default("c"), ValueError, "exists"),
        (lambda s: s.delete(s.worldbody), ValueError, "world"),
        (lambda s: s.delete(s.copy().geom("ga")), ValueError, "not in this model"),
        (lambda s: [s.delete(e) for e in (s.copy().exclude("e"),)], ValueError, "not in this"),
        (lambda s: s.attach(s), ValueError, "another model"),
        (lambda s: s.attach(s.copy(), site="none"), ValueError, "no such site"),
        (lambda s: s.goems, AttributeError, "goems"),
    ],
)
def test_wrong_edit_is_refused(edit, error: type[Exception], message: str) -> None:
    """A typing error is an error where it is made, and leaves the description as it was."""
    spec = mjjax.Spec.from_string(ARM)
    before = spec.to_xml()
    with pytest.raises(error, match=message):
        edit(spec)
    assert spec.to_xml() == before


def test_errors_of_the_compiler_name_the_element() -> None:
    """Errors that only the compiler finds name the element."""
    spec = mjjax.Spec()
    spec.worldbody.add_geom(name="g")
    with pytest.raises(MjcfError, match="<geom>"):
        spec.compile()


@pytest.mark.feature("A016")
@pytest.mark.parametrize("name", ["a", "b", "m"])
def test_deletion_of_a_body_is_mujocos(name: str) -> None:
    """Elements that refer to a deleted body, or to anything in it, are deleted as well."""
    theirs, ours = mujoco.MjSpec.from_string(ARM), mjjax.Spec.from_string(ARM)
    theirs.delete(theirs.body(name))
    ours.delete(ours.body(name))
    keys = ("key_qpos", "key_ctrl", "key_act", "key_qvel")
    compare(theirs.compile(), compile_spec(ours), ignore=keys)


@pytest.mark.feature("A016")
def test_deletion_takes_what_refers_to_it() -> None:
    """A joint takes its tendon along, the tendon its sensor; the rest compiles."""
    spec = mjjax.Spec.from_string(ARM)
    tendon = spec.tendon("t")
    spec.delete(spec.joint("jb"))
    with pytest.raises(ValueError, match="not in this model"):
        spec.delete(tendon)
    assert not spec.tendons and [e.name for e in spec.actuators] == ["ma"]
    assert [e.name for e in spec.sensors] == ["pa"]
    assert spec.key("k").qpos == (1,) and spec.key("k").ctrl == (3,) and spec.key("k").act == ()
    spec.delete(spec.exclude("e"))
    assert spec.compile().nv == 1


@pytest.mark.feature("A012", "A016")
def test_recompiling_keeps_the_state_of_what_stays() -> None:
    """Joints, actuators and mocap bodies keep their state while others come and go."""
    spec = mjjax.Spec.from_string(ARM)
    for element in (*spec.sensors, *spec.tendons):
        spec.delete(element)
    model = spec.compile()
    data = mjjax.make_data(model)
    data = data.replace(
        time=data.time + 2,
        qpos=data.qpos.at[:].set([0.1, 0.2]),
        qvel=data.qvel.at[:].set([1.0, 2.0]),
        ctrl=data.ctrl.at[:].set([3.0, 4.0]),
        act=data.act + 5,
        mocap_pos=data.mocap_pos + 1,
    )
    ball = spec.worldbody.add_body(name="new")
    ball.add_freejoint()
    ball.add_geom(size=[1])
    spec.body("a").add_joint(name="first", type="slide", ref=7)
    spec.delete(spec.joint("ja"))
    model, data = spec.recompile(model, data)
    np.testing.assert_allclose(data.qpos, [7, 0.2, 0, 0, 0, 1, 0, 0, 0])
    np.testing.assert_allclose(data.qvel, [0, 2, *[0] * 6])
    np.testing.assert_allclose(data.ctrl, [4])
    np.testing.assert_allclose(data.act, [5])
    np.testing.assert_allclose(data.mocap_pos, [[2, 3, 4]])
    assert float(data.time) == 2
    assert spec.key("k").qpos[1] == 2 and spec.key("k").ctrl == (4,)
    with pytest.raises(ValueError, match="not made from this description"):
        spec.recompile(model, jax.tree.map(lambda x: x[None], data))


@pytest.mark.feature("A010")
def test_copies_are_independent() -> None:
    """Editing a copy leaves the original as it was."""
    spec = mjjax.Spec.from_string(ARM)
    before, copy = spec.to_xml(), spec.copy()
    build(copy)
    copy.delete(copy.body("b"))
    copy.option.timestep = 1
    copy.defaults["c"].geom.rgba = [0, 0, 0, 0]
    assert spec.to_xml() == before and spec.body("a").add_geom(size=[1]).rgba == (1, 0, 0, 1)
