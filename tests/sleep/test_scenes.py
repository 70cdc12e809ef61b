"""A thousand steps of scenes that fall asleep and wake, step for step as MuJoCo's."""

import numpy as np
import pytest

from tests.sleep.worlds import Pair, scene

STEPS = 1000
BOX = '<freejoint/><geom name="{0}" type="box" size=".1 .1 .1"/><site name="{0}"/>'
STACK = scene(
    f'<body name="one" pos="0 0 .0999">{BOX.format("one")}</body>'
    f'<body name="two" pos=".01 .02 .2996">{BOX.format("two")}</body>'
    '<body name="ball" pos="-1 .01 .0999"><freejoint/><geom size=".1" condim="4"/></body>',
    """<sensor><touch site="two"/><accelerometer site="two"/><gyro site="one"/>
    <framelinvel objtype="body" objname="two" reftype="body" refname="ball"/>
    <contact geom1="one" geom2="two" data="found force"/><contact data="found"/>
    <subtreecom body="ball"/><rangefinder site="two"/><clock/></sensor>""",
)
ROW = "".join(
    f'<body name="{k}" pos="{0.1999 * k} 0 .1" sleep="init"><freejoint/><geom size=".1"/></body>'
    for k in range(3)
)
INIT = scene(
    ROW + '<body name="late" pos=".2 .02 1"><freejoint/><geom size=".1"/></body>'
    '<body name="far" pos="5 0 .5" sleep="init"><freejoint/><geom size=".1"/></body>',
    '<sensor><framepos objtype="body" objname="1"/><subtreelinvel body="0"/></sensor>',
    flag='energy="enable"',
)
HANGING = '<body pos="{x} 0 2" {sleep}><freejoint/><geom size=".1"/><site name="{name}"/></body>'
TENDON = scene(
    HANGING.format(x=0, sleep="", name="a") + HANGING.format(x=0.5, sleep='sleep="init"', name="b"),
    """<tendon><spatial name="rope" limited="true" range="0 .9" frictionloss=".1">
    <site site="a"/><site site="b"/></spatial></tendon>
    <sensor><tendonpos tendon="rope"/><tendonlimitfrc tendon="rope"/></sensor>""".replace(
        ' frictionloss=".1"', ""
    ),
    option='viscosity="2"',
)
DRIVEN = scene(
    '<body pos="0 0 1"><joint name="arm" axis="0 1 0" damping="5"/>'
    '<geom type="capsule" size=".05" fromto="0 0 0 .4 0 0"/></body>'
    '<body pos="2 0 1"><joint axis="0 1 0" damping="5" armature="1" range="-60 20" limited="true"/>'
    '<geom type="capsule" size=".05" fromto="0 0 0 .4 0 0"/></body>',
    """<actuator><position name="motor" joint="arm" kp="50"/></actuator>
    <sensor><actuatorfrc actuator="motor"/><jointpos joint="arm"/></sensor>""",
    option='integrator="implicitfast"',
)


def slept(found: list[list[int]]) -> np.ndarray:
    """Whether each tree slept in each step."""
    return np.array(found) >= 0


@pytest.mark.slow
@pytest.mark.feature("A149", "A150", "A151", "A156", "A160")
def test_a_stack_sleeps_until_a_ball_hits_it() -> None:
    """The stack falls asleep as one, keeps its readings, and is woken by a thrown ball."""
    pair = Pair.of(STACK)
    found = slept(pair.go(STEPS, tolerance=1e-6))
    assert found[-1, :2].all()
    assert (found[:, 0] == found[:, 1]).all()
    pair.set("qvel", 12, 3.0)
    # what a ball and boxes do when they hit each other doubles rounding errors again and again
    found = slept(pair.go(STEPS, tolerance=1e-6))
    assert found[0, 0] and not found[:, 0].all() and found[-1, 0]


@pytest.mark.slow
@pytest.mark.feature("A153", "A156")
def test_asleep_from_the_start() -> None:
    """Trees asleep at the reset stay where they are, also in mid-air, until something hits them."""
    pair = Pair.of(INIT)
    assert pair.data.tree_asleep.tolist() == pair.d.tree_asleep.tolist() == [1, 2, 0, -10, 4]
    found = slept(pair.go(STEPS, tolerance=1e-6))
    assert found[:, 4].all() and found[0, 0] and not found[:, 0].all()
    pair.reset()
    assert pair.data.tree_asleep.tolist() == pair.d.tree_asleep.tolist()
    pair.go(20)


@pytest.mark.slow
@pytest.mark.feature("A157", "A153")
def test_a_tendon_wakes_the_other_tree() -> None:
    """A falling body wakes the one that sleeps in mid-air once the rope is taut."""
    pair = Pair.of(TENDON)
    found = slept(pair.go(STEPS, tolerance=1e-6))
    assert found[0].tolist() == [False, True] and not found[-100, 1]


@pytest.mark.slow
@pytest.mark.feature("A147", "A161")
def test_actuated_trees_never_sleep() -> None:
    """A tree with an actuator never sleeps by itself, its neighbour does."""
    pair = Pair.of(DRIVEN)
    found = np.array(pair.go(STEPS))
    assert (found[:, 0] == -11).all() and found[-1, 1] == 1
