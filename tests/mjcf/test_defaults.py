"""Default classes and actuator shortcuts, compared with MuJoCo."""

import itertools

import pytest

from tests.compiler.oracle import assert_same, refused

JOINT = '<body><joint name="j" range="-1 1"/><geom size=".1"/></body>'
CLASSES = """
<default>
  <geom density="10" rgba="1 0 0 1" size=".3 .2 .1" euler="10 0 0"/>
  <default class="a">
    <default class="aa"><geom friction="9" quat="1 1 0 0"/></default>
    <geom type="box" friction="1 2 3"/><joint damping="3"/><site size=".7"/>
  </default>
  <default class="b"><geom type="capsule" size=".2" zaxis="1 0 0"/><joint type="slide"/></default>
  <geom margin=".3"/>
</default>"""


@pytest.mark.feature("B24")
@pytest.mark.parametrize(
    "world",
    [
        '<geom/><geom class="a"/><geom class="aa"/><geom class="b"/>',
        '<body childclass="a"><geom/><geom class="b"/><joint/><site/><body><geom/></body></body>',
        '<body childclass="a"><body childclass="b"><geom/></body><frame childclass="aa"><geom/>'
        '<body><joint/><geom/></body></frame><geom class="main"/></body>',
        '<geom class="a" quat="0 1 0 0"/><geom class="b" euler="1 2 3"/><geom class="b" size="1"/>',
        '<body childclass="b"><freejoint/><geom/></body>',
    ],
)
def test_classes_like_mujoco(world: str) -> None:
    """Inheritance, childclass, explicit classes and partly given vectors."""
    xml = CLASSES.replace("<geom margin", "<pair margin")
    assert_same(f"<mujoco>{xml}<worldbody>{world}</worldbody></mujoco>")


@pytest.mark.feature("B25")
def test_defaults_of_every_kind() -> None:
    """Each kind of element starts from its class."""
    assert_same(
        '<mujoco><default><site size=".3" group="2"/><camera fovy="30"/><light dir="1 0 0"/>'
        '<pair condim="6" friction="3 4"/><joint armature="2"/><material rgba="1 0 0 1"/>'
        '<mesh scale="1 1 2"/><equality solref=".1"/><tendon width=".1"/></default><worldbody>'
        '<site/><camera/><light/><body><joint/><geom name="a" size=".1"/></body>'
        '<geom name="b" size=".1"/></worldbody><contact><pair geom1="a" geom2="b"/></contact>'
        "</mujoco>"
    )


@pytest.mark.feature("B24")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<default class="x"/>', "cannot be named 'x'"),
        ("<default><default/></default>", "needs a name"),
        ('<default><default class="a"/><default class="a"/></default>', "repeated"),
        ('<default><default class="main"/></default>', "repeated"),
        (
            '<default><default class="leg"/></default>'
            '<worldbody><geom class="log" size="1"/></worldbody>',
            "did you mean 'leg'?",
        ),
        ('<worldbody><body childclass="leg"/></worldbody>', "unknown default class 'leg'"),
        ('<default><joint name="a"/></default>', "unknown attribute 'name'"),
    ],
)  # fmt: skip
def test_bad_classes(text: str, message: str) -> None:
    """A wrong class is refused, as by MuJoCo, with the class that was meant."""
    error = refused(f"<mujoco>\n{text}</mujoco>")
    assert error.line == 2 and message in str(error)


SHARED = (
    "<geom/>",
    '<general gainprm="1 2 3" biasprm="4 5 -6" dynprm="7 8" dyntype="filter" biastype="affine"/>',
    '<position kp="5" kv="2" timeconst=".3"/>',
    '<velocity kv="3" gear="2"/>',
    '<cylinder area="3" timeconst="2" bias="1 2 3"/>',
    '<muscle force="3" range=".5 .9"/>',
    '<adhesion gain="3" ctrlrange="0 1"/>',
    '<motor ctrlrange="-1 1"/><position kp="2"/>',
)
USED = (
    '<general joint="j"/>',
    '<motor joint="j"/>',
    '<position joint="j" kp="3"/>',
    '<position joint="j"/>',
    '<velocity joint="j"/>',
    '<intvelocity joint="j" actrange="-1 1" kv="2"/>',
    '<damper joint="j" kv="2" ctrlrange="0 2"/>',
    '<cylinder joint="j" diameter=".2"/>',
)


@pytest.mark.feature("B25", "B68")
@pytest.mark.parametrize(("shared", "used"), list(itertools.product(SHARED, USED)))
def test_shortcuts_share_one_default(shared: str, used: str) -> None:
    """All shortcuts in a class write into the one general actuator that all others start from."""
    if "muscle" in shared and "general" in used:
        pytest.skip("muscle forces are not supported yet")
    assert_same(
        f"<mujoco><default>{shared}</default><worldbody>{JOINT}</worldbody>"
        f"<actuator>{used}</actuator></mujoco>",
        # a positive entry counts as a damping ratio, which is resolved later
        ignore=("actuator_biasprm",) if "muscle" in shared and "<position" in used else (),
    )


@pytest.mark.parametrize(
    "used",
    [
        '<position joint="j" kv="-1"/>',
        '<position joint="j" kv="1" dampratio="1"/>',
        '<position joint="j" inheritrange="1" ctrlrange="0 1"/>',
        '<intvelocity joint="j" inheritrange="1" actrange="0 1"/>',
        '<damper joint="j" kv="1" ctrlrange="-1 1"/>',
        '<damper joint="j" kv="-1" ctrlrange="0 1"/>',
    ],
)
def test_bad_shortcuts(used: str) -> None:
    """Parameters that contradict each other are refused, as by MuJoCo."""
    xml = f"<mujoco><worldbody>{JOINT}</worldbody><actuator>\n{used}</actuator></mujoco>"
    assert refused(xml).line == 2
