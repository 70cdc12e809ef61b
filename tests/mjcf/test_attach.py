"""Models attached to models: names, references, assets, keyframes, settings."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

import mjjax
from mjjax import mjcf
from mjjax.compiler import compile_spec
from mjjax.core.errors import MjcfError, UnsupportedFeature
from tests.compiler.oracle import assert_same, compare

CHILD = """<mujoco model="ch"><compiler angle="radian"/><option timestep="0.1"/>
<default><geom size="0.3"/><default class="k"><geom size="3"/></default></default>
<asset><material name="m"/><texture name="t" type="2d" builtin="flat" width="2" height="2"/>
<material name="mt" texture="t"/></asset>
<worldbody><light name="l"/><geom name="fl" type="plane" size="1 1 1"/><frame name="fr" pos="1 2 3">
<body name="a" pos="0 0 1" euler="0 .3 0"><joint name="ja" range="0 1" ref=".2"/>
<geom name="ga" material="mt" class="k"/><site name="sa"/><body name="a2"><joint name="ja2"/><geom/>
<camera name="cc" target="a"/></body></body></frame>
<body name="b"><joint name="jb"/><geom name="gb"/></body></worldbody>
<contact><exclude body1="a" body2="b"/><exclude name="e2" body1="a" body2="a2"/>
<exclude name="e3" body1="a" body2="world"/></contact>
<tendon><fixed name="ft"><joint joint="ja" coef="1"/></fixed>
<fixed name="fb"><joint joint="jb" coef="1"/></fixed></tendon>
<equality><joint joint1="ja" joint2="jb"/><joint name="eq" joint1="ja"/>
<connect body1="a" body2="world" anchor="0 0 1"/></equality>
<actuator><motor name="ma" joint="ja"/><motor name="mb" joint="jb"/></actuator>
<sensor><clock name="cl"/><jointpos joint="ja"/><jointpos joint="jb"/>
<framepos objtype="body" objname="a" reftype="body" refname="b"/>
<framepos name="f" objtype="body" objname="world"/></sensor>
<custom><numeric name="n" data="1"/><text name="tx" data="a"/>
<tuple name="tu"><element objtype="body" objname="a"/></tuple></custom>
<keyframe><key name="k1" qpos="1 2 3" ctrl="4 5"/></keyframe></mujoco>"""
PARENT = """<mujoco model="par"><asset><model name="c" file="c.xml"/></asset>
<worldbody><geom name="o" size="1"/><body name="x"><joint name="jx"/><geom size="1"/></body>{}
</worldbody>{}</mujoco>"""
KEY = '<keyframe><key name="kp" qpos="9"/></keyframe>'
OTHER = '<attach model="c" body="b" prefix="p_"/>'
ONE = '<attach model="c" body="a" prefix="p_"/>'


def write(folder: Path, parent: str, child: str = CHILD) -> str:
    (folder / "c.xml").write_text(child)
    (folder / "p.xml").write_text(parent)
    return str(folder / "p.xml")


@pytest.mark.feature("B37", "A015")
@pytest.mark.parametrize(
    ("world", "rest"),
    [
        (f'<body name="w">{ONE}</body>', ""),
        ('<frame pos="1 0 0" euler="0 0 30"><attach model="c" prefix="p_"/></frame>', ""),
        (OTHER, KEY),
        (ONE + ONE.replace("p_", "q_"), KEY),
        (ONE, '<keyframe><key name="kp" qpos="9 1 2"/></keyframe>'),
        ('<attach model="c" body="b" prefix=""/>', ""),
        ('<attach model="c" body="world" prefix="p_"/>', ""),
        (f'<replicate count="2" offset="1 0 0">{OTHER}</replicate>', ""),
        (ONE + '<frame pos="1 0 0">' + ONE + "</frame>", ""),
    ],
)
def test_attached_model_is_mujocos(tmp_path: Path, world: str, rest: str) -> None:
    """A body or world of another model is attached under new names, with all that refers to it."""
    path = write(tmp_path, PARENT.format(world, rest))
    compare(mujoco.MjModel.from_xml_path(path), compile_spec(mjcf.read_path(path)))


@pytest.mark.feature("B37")
def test_models_nest_and_come_from_memory() -> None:
    """A model that is attached may attach others; files given in memory need no disk."""
    files = {
        "a.xml": b'<mujoco><asset><model name="b" file="b.xml"/></asset><worldbody><body name="i">'
        b'<attach model="b" body="j" prefix="b_"/></body></worldbody></mujoco>',
        "b.xml": b'<mujoco><worldbody><body name="j"><geom size="1"/></body></worldbody></mujoco>',
    }
    spec = mjcf.read_string(
        '<mujoco><asset><model name="a" file="a.xml"/></asset><worldbody>'
        '<attach model="a" body="i" prefix="a_"/></worldbody></mujoco>',
        files,
    )
    assert [body.name for body in spec.bodies] == ["world", "a_i", "a_b_j"]


@pytest.mark.feature("B37")
@pytest.mark.parametrize(
    ("world", "message"),
    [
        ('<attach model="c" body="zz" prefix="p_"/>', "no body 'zz'"),
        ('<attach model="zz" body="a" prefix="p_"/>', "unknown model"),
        ('<attach model="c" body="a"/>', "'prefix' is required"),
        (f"<body>{ONE}</body>{ONE}", "another body"),
        ('<geom name="p_ga" size="1"/>' + ONE, "already used"),
        (ONE + OTHER, "already used"),
    ],
)
def test_wrong_attachment_is_refused(tmp_path: Path, world: str, message: str) -> None:
    """MuJoCo's refusals name the element and its line."""
    path = write(tmp_path, PARENT.format(world, ""))
    with pytest.raises(ValueError):
        mujoco.MjModel.from_xml_path(path)
    with pytest.raises(MjcfError, match=message) as caught:
        compile_spec(mjcf.read_path(path))
    assert caught.value.line


def test_model_that_contains_itself(tmp_path: Path) -> None:
    """A cycle of models ends in an error."""
    path = write(tmp_path, PARENT.format(ONE, ""), PARENT.format("", "").replace("c.xml", "p.xml"))
    with pytest.raises(MjcfError, match="contains itself"):
        mjcf.read_path(path)


def test_settings_that_cannot_be_combined(tmp_path: Path) -> None:
    """Compiler settings that act on a whole model are not mixed silently."""
    child = CHILD.replace('angle="radian"', 'angle="radian" boundmass="1"')
    with pytest.raises(UnsupportedFeature, match="boundmass"):
        mjcf.read_path(write(tmp_path, PARENT.format(ONE, ""), child))


@pytest.mark.parametrize("place", ["site", "frame"])
@pytest.mark.feature("A015")
def test_spec_attach_is_mujocos(place: str) -> None:
    """Attaching specs at a site or frame gives the model that MuJoCo's own specs give."""
    parent = """<mujoco><worldbody><body name="x" pos="1 2 3" euler="0 0 40">
    <site name="here" pos="0 1 0" euler="0 20 0"/><frame name="here" pos="0 0 2"/>
    </body><body><joint name="jx"/><geom size="1"/></body></worldbody></mujoco>"""
    theirs, inner = mujoco.MjSpec.from_string(parent), mujoco.MjSpec.from_string(CHILD)
    theirs.attach(inner, prefix="p_", suffix="_s", **{place: getattr(theirs, place)("here")})
    ours, child = mjjax.Spec.from_string(parent), mjjax.Spec.from_string(CHILD)
    ours.attach(child, prefix="p_", suffix="_s", **{place: "here"})
    compare(theirs.compile(), compile_spec(ours))
    assert [body.name for body in child.bodies] == ["world", "a", "a2", "b"]


AFFIXES = (
    {},
    {"prefix": ""},
    {"prefix": None, "suffix": None},
    {"suffix": ""},
    {"prefix": "p_"},
    {"suffix": "_s"},
    {"prefix": "p", "suffix": "s"},
)
PLACES = {
    ("frame", "f"): ("attach_body", "body", "a"),
    ("site", "s"): ("attach_body", "body", "b"),
    ("body", "x"): ("attach_frame", "frame", "fr"),
}
HOST = """<mujoco><worldbody><body name="x" pos="1 2 3"><frame name="f" euler="0 0 40"/>
<site name="s" pos="0 1 0"/></body><body name="y"><joint name="jy"/><geom size="1"/></body>
</worldbody></mujoco>"""


@pytest.mark.feature("A015")
@pytest.mark.parametrize("affixes", AFFIXES, ids=str)
@pytest.mark.parametrize("place", PLACES)
def test_names_without_a_prefix(affixes: dict[str, str | None], place: tuple[str, str]) -> None:
    """Without prefix or suffix, worlds, bodies and frames get MuJoCo's names."""
    kind, name = place
    method, part, called = PLACES[place]
    for whole in {True, False} if kind != "body" else {False}:
        specs = []
        for parse in (mujoco.MjSpec.from_string, mjjax.Spec.from_string):
            parent, child = parse(HOST), parse(CHILD)
            if whole:
                parent.attach(child, **affixes, **{kind: name})
            else:
                holder = getattr(parent, kind)(name)
                getattr(holder, method)(getattr(child, part)(called), **affixes)
            specs.append(parent)
        compare(specs[0].compile(), compile_spec(specs[1]))


@pytest.mark.feature("A015")
def test_what_cannot_be_attached() -> None:
    """Names already in use, parts of the same model, worlds and wrong places are errors."""
    spec, child = mjjax.Spec.from_string(HOST), mjjax.Spec.from_string(CHILD)
    frame = spec.frame("f")
    for wrong, message in ((spec.body("y"), "another model"), (child.frame("fr"), "attach a body"),
                           (child.worldbody, "attach a body"), ("a", "attach a body")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            frame.attach_body(wrong)
    with pytest.raises(AttributeError, match="a <frame> has"):
        spec.geoms[0].attach_body(child.body("a"))
    for _ in range(2):
        spec.attach(child, prefix="", frame="f")
    with pytest.raises(MjcfError, match=r"'(a|fr)' is already used"):
        spec.compile()


@pytest.mark.feature("A015")
def test_keyframes_follow_their_joints() -> None:
    """A keyframe of the parent keeps its values when joints come before them."""
    spec = mjjax.Spec.from_string(
        '<mujoco><worldbody><body><frame name="f"/></body><body><joint/><geom size="1"/></body>'
        '</worldbody><keyframe><key name="kp" qpos="9"/></keyframe></mujoco>'
    )
    spec.attach(mjjax.Spec.from_string(CHILD), prefix="p_", frame="f")
    assert spec.key("kp").qpos == pytest.approx((0.2, 0, 0, 9))
    assert spec.key("p_k1").qpos == (1, 2, 3, 0)


def test_degrees_meet_radians() -> None:
    """A model in radians means the same inside one in degrees, and the other way round."""
    radian = CHILD.replace('euler="0 .3 0"', 'axisangle="0 1 0 .3"')
    degree = "<mujoco/>"
    for outer, inner in ((degree, radian), (radian, degree.replace("/>", ">")[:8] + WORLD)):
        spec = mjjax.Spec.from_string(outer)
        spec.attach(mjjax.Spec.from_string(inner), prefix="p_")
        alone = compile_spec(mjjax.Spec.from_string(inner)).fields
        both = compile_spec(spec).fields
        n = len(alone["jnt_range"])
        np.testing.assert_allclose(both["jnt_range"][-n:], alone["jnt_range"], atol=1e-15)
        np.testing.assert_allclose(both["qpos0"][-n:], alone["qpos0"], atol=1e-15)
        np.testing.assert_allclose(both["body_quat"][-2:], alone["body_quat"][-2:], atol=1e-15)


WORLD = """<worldbody><body euler="10 20 30"><joint range="-30 60" ref="20"/><geom size="1"/>
<body axisangle="0 1 0 70"><joint type="slide" range="-3 6" ref="2"/><geom size="1"/></body></body>
</worldbody></mujoco>"""


KEYED = """<mujoco model="c"><compiler angle="{}"/>
  <worldbody>
    <body name="top" pos="1 2 3" euler="0 0 .5"><freejoint/><geom size=".1"/>
      <body name="b"><joint name="j" ref="20"/><joint name="s" type="slide" ref=".3"/>
        <geom size=".1"/></body>
      <body name="d"><joint name="k" type="ball"/><geom size=".1"/></body></body>
    <body name="m" mocap="true" pos="4 5 6"><geom size=".1"/></body>
  </worldbody>
  <actuator><general name="a" joint="j" dyntype="integrator"/></actuator>
  <keyframe><key qpos="1 2 3 1 1 0 0 .1 .2 0 1 1 0" time="1"/></keyframe>
</mujoco>"""


@pytest.mark.feature("B76")
@pytest.mark.parametrize("theirs", ["degree", "radian"])
@pytest.mark.parametrize("ours", ["degree", "radian"])
def test_keyframes_from_before_the_attachment(ours: str, theirs: str) -> None:
    """Short keyframes of the outer model are padded as in MuJoCo, and all get names."""
    xml = f"""<mujoco><compiler angle="{ours}"/>
  <asset><model name="c" file="c.xml"/></asset>
  <worldbody>
    <body name="o" mocap="true" pos="7 8 9"><geom size=".1"/></body>
    <body><joint name="oj" ref=".5"/><geom size=".1"/></body>
    <frame pos="0 0 1" euler="0 1 0"><attach model="c" prefix="p_"/></frame>
  </worldbody>
  <actuator><general name="oa" joint="oj" dyntype="integrator"/></actuator>
  <keyframe>
    <key name="n" qpos=".2" qvel="3" ctrl="4" act="5" mpos="1 1 1"/><key time="2"/>
    <key mquat="0 1 0 0"/>
  </keyframe>
</mujoco>"""
    found = assert_same(xml, assets={"c.xml": KEYED.format(theirs).encode()})
    assert found.names["key"] == ("n", "", "", "p_")


@pytest.mark.feature("B76")
def test_keyframes_of_models_in_models() -> None:
    """A keyframe from a nested model has only the inner prefix, as in MuJoCo."""
    outer = '<mujoco><asset><model name="{0}" file="{0}.xml"/></asset><worldbody>{1}'
    outer += '<attach model="{0}" prefix="{0}_"/></worldbody>{2}</mujoco>'
    body = '<body name="h"><joint/><geom size=".1"/></body>'
    middle = outer.format("c", body, '<keyframe><key name="k" qpos=".1"/></keyframe>')
    assets = {"c.xml": KEYED.format("radian").encode(), "d.xml": middle.encode()}
    found = assert_same(outer.format("d", "", ""), assets=assets)
    assert found.names["key"] == ("d_k", "c_")
