"""Tendons compared with MuJoCo, and what it refuses."""

import pytest

from mjjax.core.errors import MjcfError
from tests.compiler.oracle import (
    assert_same,
    assert_same_constants,
    assert_same_model,
    refusal,
    refused,
)

SCENE = """
<default>
  <tendon width=".1" stiffness="2" springlength="3 4"/>
</default>
<asset>
  <material name="m"/>
</asset>
<worldbody>
  <site name="w"/>
  <body name="a" pos=".1 .2 .3" quat="1 .2 .3 .4">
    <joint name="h" ref="10"/>
    <geom name="ball" size=".1"/>
    <geom name="rod" type="cylinder" size=".1 .2"/>
    <geom name="box" type="box" size=".1 .2 .3"/>
    <site name="s" pos=".1 0 .3"/>
    <body pos="0 .1 .4" euler="20 30 40">
      <joint name="x" type="slide" springref=".2"/>
      <joint name="q" type="ball"/>
      <geom size=".1"/>
      <site name="s2" pos="0 0 .2"/>
    </body>
  </body>
  <body pos="1 2 3">
    <freejoint/>
    <geom size=".1"/>
    <site name="f" pos="1 0 0"/>
  </body>
</worldbody>
"""
H = '<joint joint="h" coef="1"/>'
PATH = '<site site="s"/><site site="s2"/>'


def model(tendons: str, compiler: str = "") -> str:
    """A model with these tendons."""
    return f"<mujoco>\n{compiler}{SCENE}<tendon>\n{tendons}</tendon></mujoco>"


VALID = {
    "fixed": '<fixed name="t"><joint joint="h" coef="2"/><joint joint="x" coef="3"/></fixed>'
    '<fixed springlength="1"><joint joint="q" coef="2"/></fixed>'
    f'<fixed limited="false" range="1 0">{H}</fixed>',
    "parameters": f'<spatial width=".01" rgba="1 0 0 1" material="m" group="2" margin=".1" '
    'stiffness="3" damping="2" armature=".3" frictionloss=".2" springlength="-1" range="0 1" '
    'actuatorfrcrange="-1 1" user="1 2" solreflimit=".1" solimplimit=".5" solreffriction="3 4" '
    f'solimpfriction=".1">{PATH}</spatial>'
    f'<spatial actuatorfrclimited="auto" actuatorfrcrange="-1 1" user="3">{PATH}</spatial>'
    f'<fixed actuatorfrclimited="true" actuatorfrcrange="-1 1">{H}</fixed>',
    "path": '<spatial springlength="-1"><site site="s"/><geom geom="ball"/><site site="f"/>'
    '<pulley divisor="2"/><site site="w"/><geom geom="rod" sidesite="s2"/><site site="f"/>'
    '<site site="s"/></spatial>'
    '<spatial springlength="-1"><pulley divisor="3"/><site site="w"/><geom geom="ball" '
    'sidesite="s"/><site site="s2"/></spatial>',
}


@pytest.mark.feature("B64", "B65", "B66")
@pytest.mark.parametrize("kind", VALID)
def test_tendons(kind: str) -> None:
    """Paths, parameters, defaults, and the constants at the reference pose."""
    assert_same_model(model(VALID[kind]))


INVALID = (
    "<fixed/>",
    '<fixed><joint joint="zz" coef="1"/></fixed>',
    '<fixed><joint joint="h"/></fixed>',
    f'<fixed limited="true" range="1 0">{H}</fixed>',
    f'<fixed actuatorfrclimited="true" actuatorfrcrange="1 2">{H}</fixed>',
    f'<spatial springlength=".4 .3">{PATH}</spatial>',
    f'<spatial width="0">{PATH}</spatial>',
    f'<spatial armature="-1">{PATH}</spatial>',
    f'<spatial material="zz">{PATH}</spatial>',
    '<spatial armature="1"><site site="s"/><geom geom="ball"/><site site="s2"/></spatial>',
    '<spatial><site site="s"/></spatial>',
    '<spatial><site site="s"/><site site="s"/></spatial>',
    '<spatial><site site="s"/><geom geom="box"/><site site="s2"/></spatial>',
    '<spatial><geom geom="ball"/><site site="s"/><site site="s2"/></spatial>',
    '<spatial><site site="s"/><geom geom="ball"/><geom geom="rod"/><site site="s2"/></spatial>',
    '<spatial><site site="s"/><geom geom="ball" sidesite="zz"/><site site="s2"/></spatial>',
    f'<spatial>{PATH}<pulley divisor="2"/></spatial>',
    f'<spatial>{PATH}<pulley divisor="2"/><pulley divisor="2"/>{PATH}</spatial>',
    f'<spatial>{PATH}<pulley divisor="-1"/>{PATH}</spatial>',
    f'<spatial><site site="w"/><pulley divisor="2"/>{PATH}</spatial>',
)


@pytest.mark.feature("B64", "B65", "B66")
@pytest.mark.parametrize("tendons", INVALID)
def test_invalid_tendon_is_refused(tendons: str) -> None:
    """Invalid tendons that MuJoCo refuses are errors with the line of the tendon."""
    assert refused(model(tendons)).line > 2


def test_range_without_flag() -> None:
    """Without autolimits a range needs its flag; that of the actuator forces never takes effect."""
    compiler = '<compiler autolimits="false"/>'
    assert isinstance(refusal(model(f'<fixed range="0 1">{H}</fixed>', compiler)), MjcfError)
    assert_same(model(f'<fixed actuatorfrcrange="-1 1">{H}</fixed>', compiler))


@pytest.mark.feature("B64")
def test_joint_that_is_listed_twice() -> None:
    """MuJoCo overlooks such a joint in the inverse weight of the tendon and its actuator."""
    joints = '<joint name="{0}"/><joint axis="1 0 0" name="{0}2"/>'
    body = f'<body>{joints}<geom size=".1" pos="1 1 0"/></body>'
    world = body.format("a") + body.format("b")
    listed = "".join(f'<joint joint="{j}" coef="2"/>' for j in ("a", "b", "a", "b2"))
    drive = '<actuator><motor tendon="t"/></actuator>'
    tendon = f'<tendon><fixed name="t">{listed}</fixed></tendon>'
    assert_same_constants(f"<mujoco><worldbody>{world}</worldbody>{tendon}{drive}</mujoco>")
