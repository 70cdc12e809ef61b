"""Rules of sleep, refusals, and which sensors are read; all are static."""

import itertools

import jax
import mujoco
import numpy as np
import pytest

import mjjax
import mjjax.pipeline.forward as stages
from mjjax.sensor.asleep import sensor_trees
from tests.sleep.worlds import scene

LINK = (
    '<body name="{0}" pos="{1} 0 3" {2}><joint name="{0}" type="slide" axis="1 0 0" damping="1"/>'
    '<geom name="{0}" size=".1"/><site name="{0}" size=".5"/>'
    '<camera name="{0}" resolution="64 48"/>'
    '<body name="{0}2" pos="0 0 1"><joint name="{0}b" type="ball" damping="1"/>'
    '<geom name="{0}2" size=".1"/></body></body>'
)
STATIC = (
    '<body name="S" pos="4 0 3"><geom name="S" size=".1"/><site name="S" size=".5"/>'
    '<camera name="S" resolution="64 48"/></body>'
    '<body name="M" pos="4 4 3" mocap="true"><site name="M"/></body>'
)


ON_SITES = "touch accelerometer velocimeter gyro force torque magnetometer rangefinder".split()


def policies(bodies: str, rest: str = "") -> list[int]:
    xml = scene(bodies, rest)
    theirs = mujoco.MjModel.from_xml_string(xml).tree_sleep_policy
    ours = mjjax.Model.from_xml_string(xml).structure.tree_sleep_policy
    assert np.array_equal(ours, theirs)
    return theirs.tolist()


@pytest.mark.feature("A147", "A148")
def test_policies() -> None:
    """Actuators and tendons between trees forbid sleep, if the file does not say otherwise."""
    rope = '<tendon><spatial name="t" {}><site site="A"/><site site="B"/>{}</spatial></tendon>'
    a, b, c = LINK.format("A", 0, ""), LINK.format("B", 2, ""), LINK.format("C", 4, "")
    motor = "<actuator><motor {}/></actuator>"
    assert policies(a + b, motor.format('joint="A"')) == [1, 2]
    assert policies(a + b, rope.format("", "") + motor.format('tendon="t"')) == [1, 1]
    assert policies(a + b, rope.format('stiffness="1"', "")) == [1, 1]
    assert policies(a + b, rope.format('damping="1"', "")) == [1, 1]
    assert policies(a + b, rope.format('limited="true" range="0 1"', "")) == [2, 2]
    assert policies(a + b + c, rope.format("", '<site site="C"/>')) == [1, 1, 1]
    said = [LINK.format(*x) for x in (
        ("A", 0, 'sleep="never"'), ("B", 2, 'sleep="allowed"'), ("C", 4, 'sleep="init"')
    )]  # fmt: skip
    assert policies("".join(said), motor.format('joint="B"')) == [3, 4, 5]


@pytest.mark.feature("A153")
def test_the_neighbours_of_who_sleeps_from_the_start_do_too() -> None:
    """The first tree that cannot sleep is named, with its line."""
    body = '<body name="{}" pos="0 0 {}" {}><freejoint/><geom size=".1"/></body>'
    xml = scene(body.format("low", 0.1, 'sleep="init"') + body.format("high", 0.299, ""))
    with pytest.raises(ValueError, match="only 0 could be slept"):
        mujoco.MjModel.from_xml_string(xml)
    with pytest.raises(mjjax.MjcfError, match=r'<body name="low">.*awake'):
        mjjax.Model.from_xml_string(xml)


@pytest.mark.feature("A161", "A157")
@pytest.mark.parametrize(
    ("option", "rest"),
    [
        ('integrator="RK4"', ""),
        (
            "",
            '<tendon><fixed name="t"><joint joint="A" coef="1"/></fixed></tendon>'
            '<equality><tendon tendon1="t"/></equality>',
        ),
    ],
    ids=["RK4", "equality of tendons"],
)
def test_what_does_not_support_sleeping(option: str, rest: str) -> None:
    """Features that do not support sleep in MuJoCo are refused."""
    model = mjjax.Model.from_xml_string(scene(LINK.format("A", 0, ""), rest, option))
    with pytest.raises(mjjax.UnsupportedFeature, match="does not support sleeping"):
        mjjax.make_data(model)


@pytest.mark.feature("A159")
def test_the_flag_is_on_when_the_data_is_made() -> None:
    """Data made without the flag get the arrays that sleep needs; static models need none."""
    xml = scene(LINK.format("A", 0, ""))
    off = mjjax.Model.from_xml_string(xml.replace('sleep="enable"', ""))
    data = mjjax.make_data(off)
    assert data.sleep is None and data.tree_asleep.tolist() == [-11]
    on = mjjax.Model.from_xml_string(xml)
    with pytest.raises(ValueError, match="flag 'sleep' was off"):
        stages.forward(on, data)
    assert jax.eval_shape(mjjax.forward, on, data).sleep.tree_asleep.shape == (1,)
    static = mjjax.Model.from_xml_string(scene(STATIC))
    assert mjjax.make_data(static).body_awake.tolist() == [-1, -1, 1]


def sensors() -> list[str]:
    """Sensors of every kind, on what sleeps (A), is awake (B), static (S) or moved (M)."""
    found = [f'<{kind} site="{o}"/>' for kind in ON_SITES for o in "ABSM"]
    for c, o in itertools.product("ABS", "ABSM"):
        found.append(f'<camprojection camera="{c}" site="{o}"/>')
    for (
        kind
    ) in "jointpos jointvel jointactuatorfrc jointlimitpos jointlimitvel jointlimitfrc".split():
        found += [f'<{kind} joint="{o}"/>' for o in "AB"]
    for kind in "pos vel actuatorfrc limitpos limitvel limitfrc".split():
        found += [f'<tendon{kind} tendon="{o}"/>' for o in ("AB", "AS", "BS")]
    for kind in ("pos", "vel", "frc"):
        found += [f'<actuator{kind} actuator="{o}"/>' for o in ("A", "B", "AB", "AS", "BS")]
    found += [f'<{kind} joint="{o}b"/>' for kind in ("ballquat", "ballangvel") for o in "AB"]
    for kind in "pos quat xaxis linvel angvel linacc angacc".split():
        for objects in ("site", "body", "geom", "camera", "xbody"):
            found += [f'<frame{kind} objtype="{objects}" objname="{o}"/>' for o in "ABS"]
    for kind in "pos quat xaxis linvel angvel".split():
        for o, r in itertools.product("ABSM", "ABSM"):
            found.append(
                f'<frame{kind} objtype="site" objname="{o}" reftype="body" refname="{r}"/>'
            )
    for kind in ("com", "linvel", "angmom"):
        found += [f'<subtree{kind} body="{o}"/>' for o in ("A", "B", "S", "world")]
    for site, o in itertools.product("ABS", "ABS"):
        found.append(f'<insidesite site="{site}" objtype="geom" objname="{o}"/>')
    for kind in ("distance", "normal", "fromto"):
        for a, b in itertools.permutations("ABS", 2):
            found += [f'<{kind} {x}1="{a}" {x}2="{b}"/>' for x in ("geom", "body")]
    for x in ("geom", "body", "subtree"):
        found += [f'<contact {x}{k}="{o}"/>' for k in (1, 2) for o in "ABS"]
        found += [f'<contact {x}1="{a}" {x}2="{b}"/>' for a, b in itertools.permutations("ABS", 2)]
        found += [f'<contact site="{o}" {x}2="A"/>' for o in "ABS"]
    found += [f'<contact site="{o}"/>' for o in "ABS"]
    more = ("", 'subtree1="world"', 'subtree1="world" geom2="A"', 'geom1="A" geom2="A2"')
    found += [f"<contact {x}/>" for x in more]
    return [*found, "<clock/>", "<e_potential/>", "<e_kinetic/>", '<user dim="1"/>']


@pytest.mark.feature("A160")
def test_which_sensors_are_read() -> None:
    """Of hundreds of sensors the same as in MuJoCo keep their readings."""
    rope = '<spatial name="{0}{1}" limited="true" range="0 9"><site site="{0}"/><site site="{1}"/>'
    ropes = "".join(rope.format(*x) + "</spatial>" for x in ("AB", "AS", "BS"))
    motors = "".join(f'<motor name="{x}" joint="{x}"/>' for x in "AB")
    motors += "".join(f'<motor name="{x}" tendon="{x}"/>' for x in ("AB", "AS", "BS"))
    xml = scene(
        LINK.format("A", 0, 'sleep="allowed"') + LINK.format("B", 2, 'sleep="allowed"') + STATIC,
        f"<tendon>{ropes}</tendon><actuator>{motors}</actuator><sensor>"
        f"{''.join(sensors())}</sensor>",
    ).replace('type="slide"', 'type="slide" limited="true" range="-9 9"')
    model = mujoco.MjModel.from_xml_string(xml)
    d = mujoco.MjData(model)
    for _ in range(40):
        d.qfrc_applied[4] = 0.01
        mujoco.mj_step(model, d)
    assert d.tree_asleep[0] == 0 and d.tree_asleep[1] < 0
    d.sensordata[:] = -777.25
    mujoco.mj_step(model, d)
    kept = np.array([d.sensordata[adr] == -777.25 for adr in model.sensor_adr])
    trees = sensor_trees(mjjax.Model.from_xml_string(xml).structure)
    ours = trees.any(axis=1) & ~(trees & (d.tree_asleep < 0)).any(axis=1)
    static = ~trees.any(axis=1)  # the pose of one static body in another never changes
    wrong = (ours != kept) & ~static
    assert not wrong.any(), [sensors()[i] for i in np.flatnonzero(wrong)]
    names = [sensors()[i] for i in np.flatnonzero(static & kept)]
    assert all(x.count('"S"') == 2 for x in names), names
    assert kept.sum() > 100 and (~kept).sum() > 200
