"""Replicate, frames and the cable composite, expanded as MuJoCo does."""

import pytest

from mjjax.core.errors import UnsupportedFeature
from tests.compiler.oracle import assert_same, compiled, refusal, refused

BEFORE = '<geom name="o" size="1"/><body name="x"><joint name="jx"/><geom size="1"/></body>'
BODY = '<body name="b"><joint name="j"/><geom name="g" size="1"/><site name="s"/></body>'
AFTER = '<body name="y"><joint name="jy"/><geom name="gy" size="1"/></body>'
TWICE = f'<replicate count="2" offset="1 0 0">{BODY}</replicate>'
NESTED = (
    f'<replicate count="2" offset="1 0 0"><replicate count="3" sep="x" offset="0 1 0" '
    f'euler="0 10 0">{BODY}</replicate></replicate>'
)
MOTORS = (
    '<actuator><motor name="p" joint="jx"/><motor name="a" joint="j"/><motor joint="j"/>'
    '<motor name="q" joint="jy"/></actuator>'
)


def model(world: str, rest: str = "") -> str:
    return f"<mujoco><worldbody>{world}</worldbody>{rest}</mujoco>"


def scene(macro: str, rest: str = "") -> str:
    return model(BEFORE + macro + AFTER, rest)


@pytest.mark.feature("B40")
@pytest.mark.parametrize("macro", [TWICE, NESTED, TWICE.replace('"2"', '"11"')])
@pytest.mark.parametrize(
    "rest",
    [
        MOTORS,
        '<contact><pair geom1="g" geom2="o"/><exclude name="e" body1="b" body2="x"/></contact>',
        '<tendon><fixed name="t"><joint joint="j" coef="1"/><joint joint="jx" coef="2"/></fixed>'
        '<fixed name="u"><joint joint="jx" coef="1"/></fixed></tendon><sensor>'
        '<tendonpos tendon="t"/><clock/><framepos name="n" objtype="geom" objname="o" '
        'reftype="site" refname="s"/><subtreecom body="x"/></sensor>',
        '<equality><joint joint1="j" joint2="jx"/><joint joint1="j"/></equality>',
        f'{MOTORS}<keyframe><key name="k" qpos="1 2" ctrl="1 2 3 4"/><key qvel="3 4" time="2"/>'
        "</keyframe>",
    ],
)
def test_replicate_copies_what_refers_to_the_copies(macro: str, rest: str) -> None:
    """Names, order and number of everything that comes with a copy, and keyframes."""
    assert_same(scene(macro, rest))


@pytest.mark.feature("B40")
@pytest.mark.parametrize(
    "xml",
    [
        '<mujoco><compiler angle="radian" eulerseq="XYZ"/><worldbody><replicate count="12" '
        'offset="1 0 0" euler="1 2 3"><geom name="g" size="1"/></replicate></worldbody></mujoco>',
        '<mujoco><default><default class="c"><geom size="2"/></default><default class="d">'
        '<geom size="3"/></default></default><worldbody><replicate count="2" childclass="c"><geom/>'
        '<frame name="f" childclass="d"><geom/><replicate count="2"><geom name="r"/></replicate>'
        "</frame></replicate></worldbody></mujoco>",
        model(
            '<body name="u"><replicate count="2" offset="1 0 0" euler="0 90 0"><joint name="j" '
            'axis="1 0 0"/><geom size="1" name="u"/><site name="s"/><light name="l"/>'
            '<camera name="c"/></replicate></body>'
        ),
        model('<replicate count="2"><body name="b"><camera target="b"/></body></replicate>'),
        scene(TWICE.replace('"2"', '"0"'), '<actuator><motor joint="j"/></actuator>'),
        scene(TWICE.replace('"2"', '"-1"')),
        model(
            '<replicate count="2" offset="0 0 1" euler="0 0 9"><body pos="1 2 3"><joint/>'
            '<geom size="1"/></body><body pos="1 0 0"><joint type="ball"/><geom size="1"/></body>'
            "</replicate>",
            '<keyframe><key qpos="1 1 0 0 0"/></keyframe>',
        ),
    ],
)
def test_replicate_places_and_names_copies(xml: str) -> None:
    """Turns, offsets, default classes and names of copies, also of joints and cameras."""
    assert_same(xml)


@pytest.mark.feature("B40")
def test_inertial_in_replicate_is_a_warning() -> None:
    """MuJoCo drops an inertial in a replicate; the user gets a warning."""
    body = '<body><geom size="1"/>%s</body>'
    inside = '<geom size="1"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    ours = assert_same(model(body % f'<replicate count="2">{inside}</replicate>'))
    assert any("inertial" in warning for warning in ours.warnings)


@pytest.mark.feature("B40")
@pytest.mark.parametrize(
    "xml",
    [
        scene(TWICE, '<contact><pair geom1="gy" geom2="g"/></contact>'),
        scene(TWICE, '<keyframe><key name="k" qpos="1 2 3"/></keyframe>'),
        model('<replicate count="2"><joint/></replicate>'),
        model('<replicate count="2"><camera target="x"/></replicate><body name="x"/>'),
        model("<replicate/>"),
    ],
)
def test_replicate_that_mujoco_refuses(xml: str) -> None:
    """References that cannot be resolved in the copies are errors with a line."""
    refused(xml)


def test_doubling_ends_in_an_error() -> None:
    """Sensors that refer to nothing end in an error; MuJoCo doubles them and never returns."""
    xml = scene(TWICE.replace('"2"', '"40"'), "<sensor><clock/></sensor>")
    assert "doubles" in str(refusal(xml))


CABLE = (
    '<composite type="cable" {}><joint kind="main" damping=".1"/>{}<site size=".02"/></composite>'
)
CAPSULE = '<geom type="capsule" size=".01" rgba="1 0 0 1"/>'


@pytest.mark.feature("B78")
@pytest.mark.parametrize(
    ("attributes", "geom"),
    [
        ('prefix="A_" count="5 1 1" curve="s" size="1"', CAPSULE),
        (
            'count="14" curve="cos(s) sin(s) s" size="1 2 1.3" offset="1 2 3" initial="free"',
            CAPSULE,
        ),
        ('count="9" curve="s sin(s) 0" size="1 2 1"', CAPSULE),
        ('count="4" curve="0 0 s" size="3" offset="1 2 3" initial="none"', CAPSULE),
        ('vertex="0 0 0 1 0 0 1 1 0 1 1 1 2 1 1"', '<geom type="box" size=".01 .02 .03"/>'),
        (
            'prefix="A" count="6" curve="s" size="1"',
            '<geom type="box" size=".01 .02 .03"/>'
            '<skin texcoord="true" rgba="1 .2 0 .1" group="2" inflate=".7"/>',
        ),
        ('vertex="0 0 0 1 0 0"', CAPSULE),
        ('vertex="0 0 0 1 1 1"', CAPSULE),
        ('vertex="0 0 0 -1 1 1"', CAPSULE),
        ('count="9" curve="cos(s) sin(s) s" size="1 2"', CAPSULE),
        ('count="4" curve="s 0 0" size="3" quat="0 0 0 2"', CAPSULE),
    ],
)
def test_cable_is_mujocos(attributes: str, geom: str) -> None:
    """Bodies, joints, geoms, sites and exclusions of a cable, for every way to give its curve."""
    assert_same(model(CABLE.format(attributes, geom)))


def test_cable_ignores_default_classes() -> None:
    """The elements of a cable start from MuJoCo's defaults, those of the model do not apply."""
    cable = CABLE.format('vertex="0 0 0 1 0 0 2 0 0 3 1 0"', CAPSULE)
    classes = '<default><joint armature="7"/><site rgba="1 0 0 1"/><geom group="4"/></default>'
    assert_same(f"<mujoco>{classes}<worldbody>{cable}</worldbody></mujoco>")


@pytest.mark.feature("B78")
@pytest.mark.parametrize(
    "text",
    [
        CABLE.format('count="3 2 1" curve="s"', CAPSULE),
        CABLE.format('count="5" curve="q"', CAPSULE),
        CABLE.format('count="5" curve="s" vertex="0 0 0"', CAPSULE),
        CABLE.format('vertex="0 0 0"', CAPSULE),
        CABLE.format('count="3" curve="s"', CAPSULE),
        CABLE.format('count="5" curve="s"', '<geom size="1"/>'),
        CABLE.format('count="5" curve="s"', CAPSULE).replace("main", "twist"),
        CABLE.format('count="5" curve="s"', CAPSULE).replace("cable", "rope"),
        "<composite/>",
    ],
)
def test_composite_that_mujoco_refuses(text: str) -> None:
    """Other composites and cables that are no curves are errors with a line."""
    xml = model(text)
    refused(xml)


def test_plugin_in_composite_is_unsupported() -> None:
    """The elasticity plugin of a cable is not dropped silently."""
    xml = model(CABLE.format('count="5" curve="s"', CAPSULE + '<plugin plugin="x"/>'))
    assert isinstance(refusal(xml), UnsupportedFeature)


def test_macros_keep_their_place_in_the_file() -> None:
    """Errors in a copy lead back to the line that was copied."""
    origins = compiled("<mujoco><worldbody>\n" + TWICE + "\n</worldbody></mujoco>").origins
    assert origins["geom", 0].line == origins["geom", 1].line == 2
