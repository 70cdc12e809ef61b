"""Actuators: small models compared with MuJoCo field by field."""

import mujoco
import numpy as np
import pytest

from mjjax import Model, UnsupportedFeature, make_data
from tests.compiler.oracle import (
    assert_same,
    assert_same_model,
    refused,
)

SCENE = """
<worldbody>
  <body name="a" pos=".1 .2 .3" quat="1 .2 .3 .4">
    <joint name="h" range="-10 20"/>
    <geom size=".1" pos=".1 0 0"/>
    <site name="s" pos=".1 0 .3" euler="10 20 30"/>
    <body pos="0 .1 .4" euler="20 30 40">
      <joint name="x" type="slide" pos=".1 0 0"/>
      <joint name="q" type="ball" pos=".1 .1 .1"/>
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
<tendon>
  <fixed name="t" range="-1 2">
    <joint joint="h" coef="1.5"/>
    <joint joint="x" coef="1"/>
  </fixed>
</tendon>
"""


def model(actuators: str) -> str:
    """A model with these actuators."""
    return f"<mujoco>\n{SCENE}<actuator>\n{actuators}</actuator></mujoco>"


PARAMETERS = {
    "general": """
        <general joint="h" dyntype="filter" gaintype="affine" biastype="affine" dynprm="1 2"
                 gainprm="3 4 5" biasprm="6" gear="2 3" actrange="-1 1" actearly="true"/>
        <general jointinparent="q" dyntype="user" actdim="3" user="1 2"/>
        <general joint="x" dyntype="integrator" actlimited="false"/>
    """,
    "shortcuts": """
        <motor joint="h" ctrlrange="-1 1" name="m"/>
        <position joint="h" kp="3" kv="2" timeconst=".1"/>
        <position joint="h" inheritrange=".5" forcerange="-2 2"/>
        <velocity joint="x" kv="4"/>
        <intvelocity joint="h" kp="2" actrange="-1 1"/>
        <intvelocity joint="h" inheritrange="1"/>
        <damper joint="h" kv="3" ctrlrange="0 1"/>
    """,
    "cylinder": """
        <cylinder joint="x" timeconst=".1" diameter=".3" bias="1 2 3"/>
        <cylinder joint="h" area="2"/>
    """,
    "ranges": """
        <motor joint="h" gear="1 2 3 4 5 6" forcerange="-3 4" group="2"/>
        <motor joint="q" ctrllimited="false" ctrlrange="-1 1" lengthrange="0 1"/>
    """,
}


@pytest.mark.feature("B67", "B68", "B69", "B71")
@pytest.mark.parametrize("kind", PARAMETERS)
def test_parameters(kind: str) -> None:
    """All parameters of the general actuator, and of the shortcuts that stand for it."""
    assert_same(model(PARAMETERS[kind]))


def test_nothing_that_moves() -> None:
    """Actuators of a model without degrees of freedom compile, although they move nothing."""
    assert_same("""<mujoco>
        <worldbody><body name="b"><geom size="1"/><site name="s"/></body></worldbody>
        <actuator>
          <adhesion body="b" ctrlrange="0 2"/><general site="s" dyntype="filter"/>
        </actuator></mujoco>""")


@pytest.mark.feature("B68")
def test_dampratio_stays_positive() -> None:
    """A damping ratio is marked by its sign until the masses are known."""
    ours = assert_same(
        model('<position joint="h" kp="3" dampratio=".7"/>'),
        ignore=("actuator_biasprm",),
    )
    assert ours.fields["actuator_biasprm"][0, :3].tolist() == [0.0, -3.0, 0.7]


@pytest.mark.feature("B69", "B70", "B71")
@pytest.mark.parametrize(
    "actuators",
    [
        '<motor tendon="t" gear="2"/><cylinder tendon="t" diameter="2" timeconst="2"/>'
        '<position tendon="t" inheritrange="1"/><intvelocity tendon="t" inheritrange=".5"/>'
        '<position tendon="t" kp="10" dampratio="1"/>',
        '<motor site="s" gear="1 2 3 4 5 6"/><motor site="s2" refsite="f" gear="1 2 3 4 5 6"/>'
        '<position site="s2" refsite="s" gear="1 2 3" kp="10" dampratio="1"/>'
        '<motor site="s2" refsite="s2" gear="1 2 3 4 5 6"/>',
        '<motor cranksite="s" slidersite="f" cranklength="3"/>'
        '<motor cranksite="s" slidersite="f" cranklength=".1" gear="2"/>'
        '<motor cranksite="s" slidersite="s" cranklength="1"/>',
        '<adhesion body="a" ctrlrange="0 1" gain="3"/><general body="a"/>',
        '<muscle joint="h" lengthrange="0 1"/>'
        '<muscle tendon="t" lengthrange="0 1" timeconst=".1 .2" tausmooth=".3" range=".5 .6" '
        'force="3" scale="4" lmin=".1" lmax="2" vmax="3" fpmax="4" fvmax="5"/>'
        '<general joint="h" dyntype="muscle"/>',
        '<motor joint="h" delay="3" nsample="3"/><motor joint="h" nsample="2" interp="cubic"/>'
        '<adhesion body="a" ctrlrange="0 1" nsample="1"/>',
    ],
    ids=["tendon", "site", "slidercrank", "body", "muscle", "history"],
)
def test_transmissions(actuators: str) -> None:
    """Every transmission, with its length, response to force and damping at the reference."""
    damped = "dampratio" in actuators
    assert_same_model(model(actuators), ignore=("actuator_biasprm",) if damped else ())


INVALID = (
    '<motor tendon="zz"/>',
    '<motor joint="h" tendon="t"/>',
    '<motor site="zz"/>',
    '<motor site="s" refsite="zz"/>',
    '<motor joint="h" refsite="s"/>',
    '<motor cranksite="s" slidersite="f"/>',
    '<motor cranksite="s" cranklength="1"/>',
    '<motor slidersite="s" cranklength="1"/>',
    '<motor joint="h" slidersite="s"/>',
    '<general body="zz"/>',
    '<adhesion body="a"/>',
    '<adhesion body="a" ctrlrange="-1 1"/>',
    '<muscle joint="h" lengthrange="0 1" range="1 .5"/>',
    '<muscle joint="h" lengthrange="0 1" lmin="1"/>',
    '<muscle joint="h" lengthrange="0 1" lmax=".5"/>',
    '<muscle joint="h" lengthrange="0 1" vmax="0"/>',
    '<general joint="h" gaintype="muscle" lengthrange="0 1"/>',
    '<position site="s" inheritrange="1"/>',
    '<position jointinparent="h" inheritrange="1"/>',
    '<position joint="q" inheritrange="1"/>',
    '<motor joint="h" delay="1"/>',
)


@pytest.mark.feature("B69", "B70", "B71")
@pytest.mark.parametrize("actuators", INVALID)
def test_invalid_actuator_is_refused(actuators: str) -> None:
    """Invalid actuators that MuJoCo refuses are errors with the line of the actuator."""
    assert refused(model(actuators)).line > 2


def test_singular_inertia_is_not_hidden() -> None:
    """Two joints that move a body alike give no finite response, as in C, and a clear error."""
    xml = """
        <mujoco>
          <worldbody>
            <body>
              <joint name="a"/>
              <joint/>
              <geom size=".1"/>
            </body>
          </worldbody>
          <actuator>
            <motor joint="a"/>
          </actuator>
        </mujoco>
    """
    assert not np.isfinite(mujoco.MjModel.from_xml_string(xml).actuator_acc0).any()
    ours = Model.from_xml_string(xml)
    assert not np.isfinite(ours.actuator_acc0).any()
    with pytest.raises(UnsupportedFeature, match=r'<joint name="a">: .*singular at qpos0'):
        make_data(ours)
