"""Sensors: every type and attribute compared with MuJoCo, and what it refuses."""

import pytest

from mjjax.compiler.elements.sensors import SENSORS
from mjjax.mjcf.schema import ELEMENTS
from tests.compiler.oracle import assert_same, refused

SCENE = """
<worldbody>
  <body name="a">
    <joint name="h" range="-1 1"/>
    <geom name="g" size=".1"/>
    <geom name="g1" size=".1"/>
    <site name="s"/>
    <camera name="c" sensorsize="1 1" focal="1 1" resolution="3 2"/>
    <body name="b">
      <joint name="x" type="slide"/>
      <joint name="q" type="ball" range="0 1"/>
      <geom name="g2" size=".1"/>
      <site name="s2"/>
    </body>
  </body>
</worldbody>
<tendon>
  <fixed name="t" range="-1 1">
    <joint joint="h" coef="1"/>
  </fixed>
</tendon>
<actuator>
  <motor name="m" joint="h" nsample="4" delay=".1"/>
</actuator>
"""
FRAME = 'objtype="xbody" objname="b" reftype="camera" refname="c"'
SHAPES = {
    "site": 'site="s"',
    "camprojection": 'site="s" camera="c"',
    "ball": 'joint="q"',
    "joint": 'joint="h"',
    "tendon": 'tendon="t"',
    "actuator": 'actuator="m"',
    "frame": FRAME,
    "acc": 'objtype="geom" objname="g"',
    "subtree": 'body="b"',
    "insidesite": 'site="s" objtype="body" objname="b"',
    "between": 'geom1="g" body2="b"',
    "none": "",
}
TYPES = {
    "site": "touch accelerometer velocimeter gyro force torque magnetometer rangefinder",
    "camprojection": "camprojection",
    "ball": "ballquat ballangvel",
    "joint": "jointpos jointvel jointactuatorfrc jointlimitpos jointlimitvel jointlimitfrc",
    "tendon": "tendonpos tendonvel tendonactuatorfrc tendonlimitpos tendonlimitvel tendonlimitfrc",
    "actuator": "actuatorpos actuatorvel actuatorfrc",
    "frame": "framepos framequat framexaxis frameyaxis framezaxis framelinvel frameangvel",
    "acc": "framelinacc frameangacc",
    "subtree": "subtreecom subtreelinvel subtreeangmom",
    "insidesite": "insidesite",
    "between": "distance normal fromto",
    "none": "contact e_potential e_kinetic clock",
}


def model(sensors: str) -> str:
    """A model with these sensors."""
    return f"<mujoco>\n{SCENE}<sensor>\n{sensors}</sensor></mujoco>"


@pytest.mark.feature("B73")
def test_all_types() -> None:
    """Each type has MuJoCo's object, dimension, stage and place in the readings."""
    tags = {tag: shape for shape, tags in TYPES.items() for tag in tags.split()}
    assert set(tags) | {"user", "tactile"} == set(SENSORS)
    known = {key.removeprefix("sensor.") for key in ELEMENTS if key.startswith("sensor.")}
    assert set(SENSORS) | {"plugin"} == known
    assert_same(model("".join(f'<{t} name="{t}" {SHAPES[s]}/>' for t, s in tags.items())))


@pytest.mark.feature("B74")
def test_common_attributes() -> None:
    """Cutoff, noise, user data, history buffers after those of the actuators, intervals."""
    assert_same(
        model(
            '<clock cutoff="2" noise=".1" user="1 2 3"/>'
            '<gyro site="s" nsample="3" delay=".1" interp="linear"/>'
            f'<framequat {FRAME} nsample="2" interval=".2 -.1" interp="cubic"/>'
            '<touch site="s" cutoff="0.5" user="4"/>'
            '<normal geom1="g" geom2="g2" cutoff="1"/>'
            '<clock nsample="1"/>'
        )
    )


@pytest.mark.feature("B73")
def test_variants() -> None:
    """Rays of a camera, fields of rays and contacts, matching of contacts, user sensors."""
    assert_same(
        model(
            '<rangefinder camera="c" data="dist normal"/>'
            '<rangefinder site="s" data="dist dir origin point normal depth"/>'
            '<contact geom1="g" geom2="g2" num="3"/>'
            '<contact body1="a" body2="b" data="found force torque dist pos normal tangent"/>'
            '<contact subtree1="a" reduce="netforce" data="force" num="2"/>'
            '<contact site="s" geom2="g2" reduce="mindist"/>'
            '<contact subtree1="world" reduce="maxforce" data="dist pos"/>'
            '<user dim="3" objtype="tendon" objname="t" datatype="axis" needstage="pos"/>'
            '<user dim="2"/>'
            '<user dim="4" objtype="xbody" objname="b" datatype="quaternion" needstage="none"/>'
            '<framepos objtype="body" objname="world"/>'
            '<distance body1="a" body2="b" cutoff="1"/>'
        )
    )


INVALID = (
    '<rangefinder/>',
    '<rangefinder site="s" camera="c"/>',
    '<rangefinder site="s" data="dir dist"/>',
    '<rangefinder site="s" data="dist dist"/>',
    '<rangefinder site="s" data="speed"/>',
    '<touch/>',
    '<touch site="zz"/>',
    '<jointpos joint="q"/>',
    '<ballquat joint="h"/>',
    '<jointlimitpos joint="x"/>',
    '<framepos objtype="body"/>',
    '<framepos objtype="joint" objname="h"/>',
    '<framepos objtype="bdy" objname="b"/>',
    '<framepos objtype="body" objname="b" refname="a"/>',
    '<framepos objtype="body" objname="b" reftype="joint" refname="h"/>',
    '<distance geom1="g"/>',
    '<distance geom1="g" body1="a" geom2="g2"/>',
    '<distance geom1="g" geom2="g"/>',
    '<contact geom1="g" body1="a"/>',
    '<contact site="s" geom1="g"/>',
    '<contact num="0"/>',
    '<contact data="force found"/>',
    '<framequat objtype="geom" objname="g" cutoff="1"/>',
    '<clock cutoff="-1"/>',
    '<clock noise="-1"/>',
    '<clock delay="1"/>',
    '<clock interval="-1"/>',
    '<clock interval="1 .5"/>',
    '<clock interval="1 -1"/>',
    '<user/>',
    '<user dim="-1"/>',
    '<user dim="3" datatype="quaternion"/>',
    '<user dim="2" objtype="body"/>',
    '<clock name="n"/><clock name="n"/>',
)  # fmt: skip


@pytest.mark.feature("B73", "B74")
@pytest.mark.parametrize("sensors", INVALID)
def test_invalid_sensor_is_refused(sensors: str) -> None:
    """Invalid sensors that MuJoCo refuses are errors with the line of the sensor."""
    assert refused(model(sensors)).line > 2
