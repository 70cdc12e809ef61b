"""Models that must not compile: MuJoCo refuses them too, and we say where and why."""

import pytest

from mjjax.core.errors import UnsupportedFeature
from tests.compiler.oracle import (
    refusal,
    refused,
)

B = '<geom size="1"/>'


def w(text: str) -> str:
    """Elements in the world."""
    return f"<worldbody>{text}</worldbody>"


def b(text: str) -> str:
    """Elements in a body with a geom."""
    return w(f"<body>{text}{B}</body>")


J = b('<joint name="j"/>')
PAINT = '<compiler discardvisual="true"/><asset><material name="m"/></asset>'
INVALID = [
    PAINT + b('<site material="m"/>'),
    w('<body><inertial pos="0 0 0" mass="1" diaginertia="inf 1 1"/></body>'),
    w('<geom size="1" material="b"/>'),
    w('<geom name="a" size="1"/><geom name="a" size="1"/>'),
    w('<frame name="a"/><frame name="a"/>'),
    w('<body name="world"/>'),
    w('<geom size="1" type="mesh"/>'),
    w('<geom type="plane" size="1 1 0"/>'),
    w('<geom type="box" size="1 1"/>'),
    w('<geom condim="2" size="1"/>'),
    w(f'<body><freejoint/><geom size="1" mass="-1"/>{B}</body>'),
    w(f'<body><freejoint/><geom size="1" density="-1"/>{B}</body>'),
    w('<geom size="1" zaxis="0 0 0"/>'),
    w('<geom size="1" xyaxes="1 0 0 2 0 0"/>'),
    '<compiler eulerseq="abc"/>' + w('<geom size="1" euler="1 2 3"/>'),
    w('<geom size="1" fromto="0 0 0 0 0 1"/>'),
    w('<geom type="box" size="1" fromto="0 0 0 0 0 1" pos="1 0 0"/>'),
    w('<geom type="capsule" size="1" fromto="0 0 1 0 0 1"/>'),
    w('<body><freejoint/><geom type="plane" size="0 0 1"/></body>'),
    w('<geom size="1" user="1 2"/>') + '<size nuser_geom="1"/>',
    w('<site type="plane"/>'),
    w('<site size="0"/>'),
    w('<light dir="0 0 0"/>'),
    w('<camera fovy="180"/>'),
    w('<camera target="zz"/>'),
    w('<camera focal="1 1"/>'),
    b('<joint type="free"/><joint/>'),
    w(f"<body><body><freejoint/>{B}</body></body>"),
    b('<joint type="ball"/><joint/>'),
    b('<joint axis="0 0 0"/>'),
    b('<joint springdamper="0 1"/>'),
    b('<joint limited="true" range="1 0"/>'),
    b('<joint type="ball" range="1 2"/>'),
    b('<joint actuatorfrclimited="true" actuatorfrcrange="1 1"/>'),
    '<compiler autolimits="false"/>' + b('<joint range="0 1"/>'),
    w("<body><freejoint/></body>"),
    w('<body><freejoint/><geom size="1" mass="0"/></body>'),
    w('<body><freejoint/><inertial pos="0 0 0" mass="1"/></body>'),
    w('<body><inertial pos="0 0 0" mass="1" diaginertia="1 2 5"/></body>'),
    w('<body><inertial pos="0 0 0" mass="1" fullinertia="1 1 1 5 5 5"/></body>'),
    w(f'<body mocap="true"><joint/>{B}</body>'),
    w('<body><body mocap="true"/></body>'),
    '<contact><exclude body1="world" body2="zz"/></contact>',
    '<contact><pair geom1="a" geom2="b"/></contact>',
    w('<geom name="a" size="1"/>') + '<contact><pair geom1="a" geom2="a" condim="2"/></contact>',
    J + '<actuator><motor joint="k"/></actuator>',
    J + "<actuator><motor/></actuator>",
    J + '<actuator><motor joint="j" jointinparent="j"/></actuator>',
    J + '<actuator><motor joint="j" ctrllimited="true"/></actuator>',
    J + '<actuator><motor joint="j" cranklength="1"/></actuator>',
    J + '<actuator><motor joint="j" cranklength="0"/></actuator>',
    J + '<actuator><motor joint="j" slidersite=""/></actuator>',
    J + '<actuator><motor joint="j" refsite=""/></actuator>',
    J + '<actuator><general joint="j" actdim="1"/></actuator>',
    J + '<actuator><general joint="j" actrange="0 1"/></actuator>',
    J + '<actuator><general joint="j" dyntype="filter" actdim="2"/></actuator>',
    J + '<actuator><position joint="j" inheritrange="1"/></actuator>',
    J + '<actuator><intvelocity joint="j"/></actuator>',
    '<keyframe><key qpos="1"/></keyframe>',
    '<asset><material name="m" texture="t"/></asset>',
    '<custom><numeric name="a"/></custom>',
    '<custom><numeric name="a" data="1 2" size="1"/></custom>',
    '<custom><text name="a" data=""/></custom>',
    '<custom><tuple name="a"/></custom>',
    '<custom><tuple name="a"><element objtype="body" objname="zz"/></tuple></custom>',
    '<custom><tuple name="a"><element objtype="bdy" objname="world"/></tuple></custom>',
]


@pytest.mark.feature("B84", "B89")
@pytest.mark.parametrize("text", INVALID)
def test_invalid_model_is_refused(text: str) -> None:
    """A wrong model never runs; the message names the element and its line."""
    assert refused(f"<mujoco>\n{text}</mujoco>").line == 2


def test_unknown_name_suggests_the_nearest() -> None:
    """A typing error in a reference is answered with the name that was meant."""
    xml = b('<joint name="elbow"/>') + '<actuator><motor joint="elbw"/></actuator>'
    assert "did you mean 'elbow'?" in str(refusal(f"<mujoco>{xml}</mujoco>"))


UNSUPPORTED = {
    "mesh plugin": '<asset><mesh name="m"><plugin plugin="p"/></mesh></asset>',
    "plugin": '<extension><plugin plugin="p"/></extension>',
    "sensor plugin": '<sensor><plugin plugin="p"/></sensor>',
}


@pytest.mark.feature("C109")
@pytest.mark.parametrize("text", UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_what_is_not_simulated_is_said(text: str) -> None:
    """Nothing is dropped silently: the error names the element and where it stands."""
    error = refusal(f"<mujoco>\n{text}</mujoco>", file="m.xml")
    assert isinstance(error, UnsupportedFeature)
    assert error.line == 2 and error.file == "m.xml" and error.element
