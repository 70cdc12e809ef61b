"""Readings of every type of sensor, compared with MuJoCo's."""

import functools
from typing import Any

import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from tests.oracle_tools import Both, forward_worlds, load, quick, stack, to_ours

FIELDS = 'data="dist dir origin point normal depth"'
ALL = 'data="found force torque dist pos normal tangent"'
OBJECTS = {"body": "b", "xbody": "b", "geom": "g2", "site": "s2", "camera": "c"}
SCENE = """
<mujoco><option magnetic=".1 -.5 .2" cone="{cone}" {option}><flag {flag}/></option>
<worldbody>
  <geom name="floor" type="plane" size="3 3 .1"/>
  <camera name="w" pos="0 -2 1" euler="70 5 0" sensorsize="3 2" focal="1.5 1" resolution="6 4"/>
  <site name="zone" type="box" size=".15 .3 .2"/>
  <body name="a" pos="0 0 .19" euler="1 2 3"><freejoint/>
    <geom name="g" type="box" size=".2 .15 .2" condim="4"/>
    <site name="s" pos=".1 .2 .1" euler="10 70 30" size=".1 .2 .3" type="{shape}"/>
    <body name="b" pos=".3 0 .2"><joint name="h" range="-.2 .2" axis="0 1 0" damping=".1"/>
      <geom name="g2" type="capsule" size=".05 .1" pos="0 .1 0"/>
      <site name="s2" pos="0 .1 .05" euler="30 20 10"/>
      <camera name="c" pos=".1 0 .3" euler="20 10 0" resolution="3 2" sensorsize="3 2" focal="1 1"
        principal=".3 .1"/>
      <camera name="d" mode="targetbody" target="a" pos=".1 0 .3" resolution="3 2" fovy="60"/>
      <camera name="o" pos=".1 0 .3" euler="80 0 0" resolution="3 2" fovy=".5"
        projection="orthographic"/>
      <body name="e" pos="0 .3 0" euler="0 0 40">
        <joint name="q" type="ball" range="0 .3" margin=".1"/><geom name="g3" size=".06"/>
        <body pos="0 0 -.1"><joint name="x" type="slide" range="-.05 .1" margin=".06"/>
          <geom size=".05" pos="0 .1 0"/></body></body>
    </body>
  </body>
  <body name="ball" pos=".6 0 .05"><freejoint/><geom name="one" size=".06"/>
    <site name="foot" size=".03" pos="0 0 -.06"/></body>
  <body name="ball2" pos=".6 .02 .155"><freejoint/><geom name="two" size=".06" condim="1"/></body>
</worldbody>
<tendon><fixed name="t" range="-.1 .1"><joint joint="h" coef="1"/><joint joint="x" coef="-.5"/>
  </fixed><spatial name="l" range="0 .2"><site site="s"/><site site="zone"/></spatial></tendon>
<actuator><motor name="m" joint="h" gear="3"/><position name="p" tendon="t" kp="10"/>
  <general name="m2" tendon="t" gear="-2"/></actuator>
<sensor>{sensors}</sensor></mujoco>
"""
CONTACTS = [
    "",
    'geom1="g"',
    'geom2="g"',
    'geom1="two" geom2="one"',
    'body1="ball"',
    'subtree1="world"',
    'body1="world" subtree2="a"',
    'site="zone"',
    'site="zone" geom2="floor"',
    'body2="ball2"',
]


def many_sensors() -> str:
    """Every type, on every kind of object and in every kind of frame."""
    text = '<camprojection site="s2" camera="w"/><camprojection site="s" camera="d"/><clock/>'
    text += '<e_potential/><e_kinetic/><user dim="2"/>'
    for site in ("s", "s2", "zone"):
        for (
            tag
        ) in "velocimeter gyro accelerometer force torque magnetometer rangefinder touch".split():
            text += f'<{tag} site="{site}"/>'
    text += '<touch site="foot"/><ballquat joint="q"/><ballangvel joint="q"/>'
    for joint in "hx":
        text += f'<jointpos joint="{joint}"/><jointvel joint="{joint}"/>'
        text += f'<jointactuatorfrc joint="{joint}"/>'
    for joint in "hqx":
        text += "".join(f'<jointlimit{k} joint="{joint}"/>' for k in ("pos", "vel", "frc"))
    for tendon in "tl":
        text += f'<tendonpos tendon="{tendon}"/><tendonvel tendon="{tendon}"/>'
        text += f'<tendonactuatorfrc tendon="{tendon}"/>'
        text += "".join(f'<tendonlimit{k} tendon="{tendon}"/>' for k in ("pos", "vel", "frc"))
    for actuator in ("m", "p"):
        text += "".join(f'<actuator{k} actuator="{actuator}"/>' for k in ("pos", "vel", "frc"))
    for kind, name in OBJECTS.items():
        what = f'objtype="{kind}" objname="{name}"'
        text += f'<framelinacc {what}/><frameangacc {what}/><insidesite site="s" {what}/>'
        for frame in ("", 'reftype="site" refname="s"', 'reftype="body" refname="a"'):
            for tag in "pos quat xaxis yaxis zaxis linvel angvel".split():
                text += f"<frame{tag} {what} {frame}/>"
    text += '<frameangacc objtype="body" objname="world"/>'
    for body in ("world", "a", "e"):
        text += "".join(f'<subtree{k} body="{body}"/>' for k in ("com", "linvel", "angmom"))
    return text + cutoffs()


def rays_and_contacts() -> str:
    """Rangefinders, distances and contact sensors, with all their fields."""
    text = f'<rangefinder site="s" {FIELDS}/><rangefinder site="zone" {FIELDS} cutoff=".15"/>'
    text += "".join(f'<rangefinder camera="{c}" {FIELDS}/>' for c in "cdow")
    text += '<rangefinder camera="c" data="origin depth"/>'
    for between in ('geom1="g2" geom2="one"', 'geom1="one" geom2="g2"', 'body1="e" body2="ball"'):
        for tag in ("distance", "normal", "fromto"):
            for cutoff in (0, 0.1, 2):
                text += f'<{tag} {between} cutoff="{cutoff}"/>'
    text += '<distance geom1="one" geom2="two" cutoff=".001"/><normal geom1="one" geom2="two"/>'
    for match in CONTACTS:
        for reduce in ("none", "mindist", "maxforce", "netforce"):
            text += f'<contact {match} {ALL} num="3" reduce="{reduce}"/>'
    text += '<contact num="9" data="force pos" cutoff=".1"/><contact data="tangent" num="1"/>'
    return text


def cutoffs() -> str:
    """Cutoffs below and above the readings, of all data types."""
    text = '<touch site="zone" cutoff=".5"/>'
    for c in (0.01, 1e5):
        text += f'<gyro site="s" cutoff="{c}"/><touch site="foot" cutoff="{c}"/>'
        text += f'<force site="s2" cutoff="{c}"/><clock cutoff="{c}"/>'
        text += f'<framepos objtype="body" objname="b" cutoff="{c}"/>'
        text += f'<insidesite site="s" objtype="body" objname="b" cutoff="{c}"/>'
    return text


@functools.cache
def compared(sensors: str, **kwargs: Any) -> tuple[Both, list[mujoco.MjData], mjjax.Data]:
    """States with contacts in both engines after a forward pass."""
    values = {"cone": "pyramidal", "shape": "box", "flag": "", "option": ""} | kwargs
    both = load(SCENE.format(sensors=sensors, **values))
    theirs = []
    for seed in range(4):
        rng, d = np.random.default_rng(seed), mujoco.MjData(both.reference)
        mujoco.mj_integratePos(both.reference, d.qpos, rng.normal(size=both.reference.nv), 0.02)
        d.qpos[8:12] *= 1.1
        d.qvel[:] = 0.3 * rng.normal(size=both.reference.nv)
        d.ctrl[:] = rng.normal(size=both.reference.nu)
        d.xfrc_applied[1:] = 0.2 * rng.normal(size=(both.reference.nbody - 1, 6))
        d.time = 0.02 * seed
        theirs.append(d)
    data = forward_worlds(both.ours, stack([to_ours(both.ours, d) for d in theirs]))
    for d in theirs:
        mujoco.mj_forward(both.reference, d)
    return both, theirs, data


def assert_same_readings(both: Both, theirs: list[mujoco.MjData], data: mjjax.Data) -> None:
    """Every reading agrees; the failing sensors are named by type."""
    m, bad = both.reference, []
    for i, d in enumerate(theirs):
        mine, expected = np.asarray(data.sensordata[i]), d.sensordata
        for k in range(m.nsensor):
            own = slice(m.sensor_adr[k], m.sensor_adr[k] + m.sensor_dim[k])
            scale = max(1.0, np.abs(expected[own]).max(initial=0))
            if not (np.abs(mine[own] - expected[own]) <= 1e-6 * scale).all():
                kind = mjjax.SensorType(m.sensor_type[k]).name
                bad.append((i, k, kind, mine[own], expected[own]))
    assert not bad, bad


@pytest.mark.slow(but=1)
@pytest.mark.feature(
    "C87", "C88", "C89", "C90", "C91", "C94", "C95", "C96", "C97", "C98", "C99", "C100", "C101"
)
@pytest.mark.feature("C102", "C103", "C107", "C110")
@pytest.mark.parametrize("shape, cone", [("box", "pyramidal"), ("capsule", "elliptic")])
def test_all_types(shape: str, cone: str) -> None:
    """Every type with every kind of object and reference frame, with and without cutoff."""
    both, theirs, data = compared(many_sensors(), shape=shape, cone=cone)
    assert_same_readings(both, theirs, data)
    np.testing.assert_allclose(data.energy, [d.energy for d in theirs], atol=1e-8)


@pytest.mark.feature("C92", "C93", "C104", "C105", "C106")
def test_rays_distances_and_contacts() -> None:
    """All fields of rays, every match and reduction of contacts."""
    both, theirs, data = compared(rays_and_contacts())
    assert sum(d.ncon for d in theirs) > 12
    assert_same_readings(both, theirs, data)


@pytest.mark.feature("C111")
def test_disabled_sensors_keep_their_readings() -> None:
    """The flag `sensor` leaves the old readings."""
    xml = '<mujoco><option><flag sensor="disable"/></option><worldbody><body><joint/>'
    xml += '<geom size="1"/></body></worldbody><sensor><clock/></sensor></mujoco>'
    both = load(xml)
    data = mjjax.make_data(both.ours).replace(time=jnp.asarray(1.0), sensordata=jnp.ones(1))
    assert quick(mjjax.forward)(both.ours, data).sensordata[0] == 1


@pytest.mark.feature("C103", "C87")
@pytest.mark.parametrize("shape", ["sphere", "ellipsoid", "cylinder"])
def test_zones(shape: str) -> None:
    """Points inside and outside of every shape of site."""
    rng = np.random.default_rng(0)
    bodies = "".join(
        f'<body name="b{i}" pos="{x} {y} {z}" gravcomp="1"><freejoint/><geom size=".01"/></body>'
        for i, (x, y, z) in enumerate(rng.uniform(-0.4, 0.4, (40, 3)))
    )
    sensors = "".join(f'<insidesite site="s" objtype="body" objname="b{i}"/>' for i in range(40))
    xml = f"""<mujoco><option><flag contact="disable"/></option><worldbody>
    <site name="s" type="{shape}" size=".3 .2 .4" euler="10 20 30"/>{bodies}</worldbody>
    <sensor>{sensors}</sensor></mujoco>"""
    both, d = load(xml), None
    d = mujoco.MjData(both.reference)
    mujoco.mj_forward(both.reference, d)
    run = quick(lambda m, d: mjjax.sensor_pos(m, mjjax.kinematics(m, d)))
    data = run(both.ours, mjjax.make_data(both.ours))
    np.testing.assert_array_equal(data.sensordata, d.sensordata)
    assert 5 < d.sensordata.sum() < 35
