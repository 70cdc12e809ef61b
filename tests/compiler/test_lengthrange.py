"""Length ranges that are found by simulation, against MuJoCo."""

import mujoco
import numpy as np
import pytest

from mjjax import MjcfError, Model
from tests.compiler.oracle import accepted_by_mujoco

ARM = """
<mujoco>
  <compiler>
    <lengthrange {settings}/>
  </compiler>
  <worldbody>
    <site name="o" pos="0 .02 .1"/>
    <body>
      <joint name="h" range="-40 50" axis="0 1 0"/>
      <joint name="k" range="-10 20" axis="1 0 0"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
      <body pos=".3 0 0">
        <joint name="q" type="ball" range="0 30"/>
        <joint name="x" type="slide" range="-.1 .2" pos=".1 0 0"/>
        <geom type="capsule" fromto="0 0 0 .2 0 0" size=".02"/>
        <site name="i" pos=".1 0 .01"/>
      </body>
    </body>
    <body pos="1 0 0">
      <joint name="u"/>
      <geom size=".1" pos=".1 0 0"/>
    </body>
  </worldbody>
  <tendon>
    <spatial name="s">
      <site site="o"/>
      <site site="i"/>
    </spatial>
    <fixed name="f" range="-.3 .1">
      <joint joint="h" coef=".5"/>
      <joint joint="x" coef="1"/>
    </fixed>
    <fixed name="u" range="-1 1">
      <joint joint="u" coef="1"/>
    </fixed>
  </tendon>
  <equality>
    <joint joint1="k" joint2="h" polycoef="0 .2"/>
  </equality>
  <actuator>
    {actuators}
  </actuator>
</mujoco>
"""
MUSCLES = '<muscle tendon="s"/><muscle tendon="f" gear="2"/><motor joint="h"/>'
KNOWN = (
    '<muscle joint="h" lengthrange="0 1"/><muscle tendon="u"/><general joint="u" gaintype="user"/>'
)


@pytest.mark.feature("B12", "B72")
@pytest.mark.parametrize(
    ("settings", "actuators"),
    [
        ('mode="all" accel="5" maxforce="3" timeconst=".5" inttotal="6" interval="1"', MUSCLES),
        ('uselimit="true"', KNOWN),
        ('uselimit="true" useexisting="false" mode="none"', KNOWN),
    ],
    ids=["all", "limits", "none"],
)
def test_length_range(settings: str, actuators: str) -> None:
    """Ranges of muscles at joint, ball and tendon limits and a coupling, and given ranges."""
    xml = ARM.format(settings=settings, actuators=actuators)
    theirs = mujoco.MjModel.from_xml_string(xml).actuator_lengthrange
    mine = np.asarray(Model.from_xml_string(xml).actuator_lengthrange)
    np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-7)
    assert np.any(mine)


@pytest.mark.feature("B72")
def test_endless_length_is_refused() -> None:
    """A muscle on a joint that turns for ever has no range."""
    xml = ARM.format(settings="", actuators='<muscle joint="u"/>').replace('range="-1 1"', "")
    assert not accepted_by_mujoco(xml)
    with pytest.raises(MjcfError, match="still changes"):
        Model.from_xml_string(xml)
