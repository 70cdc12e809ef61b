"""Each reason that wakes a tree, compared with MuJoCo's counters in many states."""

import functools

import mujoco
import numpy as np
import pytest

import mjjax
from tests.oracle_tools import quick
from tests.sleep.worlds import Pair, scene


def cart(name: str, x: float, attribute: str = "") -> str:
    """A ball on a rail."""
    return (
        f'<body name="{name}" pos="{x} 0 3" {attribute}>'
        f'<joint name="{name}" type="slide" axis="1 0 0" damping="1"/>'
        f'<geom size=".1"/><site name="{name}"/></body>'
    )


# A can touch B, B may be connected to C, a rope limits the distance from D to E, F has a motor
RAIL = scene(
    "".join(cart(name, x) for name, x in zip("ABCDE", (0, 1, 5, 10, 14), strict=True))
    + cart("F", 20, 'sleep="allowed"'),
    """<equality><connect body1="B" body2="C" anchor="0 0 0" active="false"/></equality>
    <tendon><spatial name="rope" limited="true" range="0 5" margin=".2">
    <site site="D"/><site site="E"/></spatial></tendon>
    <actuator><intvelocity name="motor" joint="F" kp="0" actrange="-1 1"/></actuator>
    <sensor><jointvel joint="A"/><velocimeter site="D"/><accelerometer site="B"/><clock/>
    <tendonpos tendon="rope"/><actuatorfrc actuator="motor"/></sensor>""",
)
A, B, C, D, E, F = range(6)
ALONE = list(range(6))


@functools.cache
def rail() -> Pair:
    """The model, compiled once."""
    return Pair.of(RAIL)


@pytest.fixture
def asleep() -> Pair:
    """All carts asleep, each alone."""
    pair = rail()
    pair.reset()
    pair.set("ctrl", 0, 0.3)
    found = pair.go(14)
    assert found[8] == [-2] * 6 and found[-1] == ALONE
    return pair


@pytest.mark.slow
@pytest.mark.feature("A149", "A150", "A152")
def test_the_counter_goes_up_while_a_tree_is_slow() -> None:
    """Slow trees count from -11 to -1, fast ones start again; the tolerance itself is too fast."""
    pair = rail()
    pair.reset()
    pair.set("qvel", A, 1.5e-4)
    pair.set("qvel", B, 1e-4)
    pair.set("qvel", C, np.nextafter(1e-4, 0))
    found = np.array(pair.go(14))
    assert found[0].tolist() == [-11, -11, -10, -10, -10, -10]
    assert (found[:9, D] == np.arange(-10, -1)).all() and found[9, D] == D
    assert found[-1, A] == -11


@pytest.mark.feature("A155")
@pytest.mark.parametrize("name", ["qvel", "qfrc_applied", "xfrc_applied"])
@pytest.mark.parametrize("value", [1e-9, -0.0, 0.3], ids=["small", "minus zero", "large"])
def test_a_velocity_or_a_force_wakes(asleep: Pair, name: str, value: float) -> None:
    """Any bit that the user sets wakes a tree, that of -0.0 too, and a force keeps it awake."""
    asleep.set(name, (2, 3) if name == "xfrc_applied" else A if name == "qvel" else B, value)
    woken = A if name == "qvel" else B
    found = asleep.go(14)
    assert found[0][woken] < 0 and found[0][C] == C
    assert name == "qvel" or found[-1][woken] == -11
    if name != "qvel":
        asleep.set(name, (2, 3) if name == "xfrc_applied" else B, 0)
        asleep.go(3)


@pytest.mark.feature("A154")
def test_a_changed_position_wakes(asleep: Pair) -> None:
    """The smallest change of a coordinate wakes its tree; a force on the world wakes none."""
    asleep.set("xfrc_applied", (0, 0), 1.0)
    assert asleep.go(1)[0] == ALONE
    asleep.set("qpos", A, asleep.d.qpos[A] + 1e-15)
    assert asleep.go(1)[0] == [-10, 1, 2, 3, 4, 5]


@pytest.mark.feature("A156")
def test_contact_with_an_awake_tree_wakes(asleep: Pair) -> None:
    """A tree that an awake tree touches wakes in the same step and takes over its counter."""
    asleep.set("qvel", A, -0.0)
    asleep.go(4)
    asleep.set("qpos", A, 0.805)
    found = asleep.go(12)
    assert found[0][:3] == [-6, -6, 2]
    asleep.reset()
    asleep.set("qvel", A, 30.0)  # thrown
    found = np.array(asleep.go(40))
    assert (found[:, B] >= 0).any() and found[-1, B] == -11


@pytest.mark.feature("A157")
def test_an_equality_to_an_awake_tree_wakes(asleep: Pair) -> None:
    """An equality that becomes active wakes the sleeping side; the awake one keeps counting."""
    asleep.set("qvel", B, -0.0)
    asleep.go(2)
    asleep.set("eq_active", 0, True)
    assert asleep.go(3)[0][:3] == [0, -8, -10]


@pytest.mark.slow
@pytest.mark.feature("A158", "A151")
def test_an_equality_between_sleeping_islands_wakes_both(asleep: Pair) -> None:
    """Both trees wake, fall asleep in one cycle, and the constraint then wakes nobody."""
    asleep.set("eq_active", 0, True)
    assert asleep.go(1)[0][:3] == [0, -10, -10]
    for name, value in (("qpos", asleep.d.qpos[C]), ("qvel", 0.0)):
        asleep.set(name, B, value)
        asleep.set(name, C, value)
    for _ in range(20):
        found = asleep.go(100)
    assert found[-1][:3] == [0, 2, 1]
    asleep.set("qvel", C, -0.0)
    assert asleep.go(1)[0][:3] == [0, -10, -10]


@pytest.mark.feature("A157")
def test_a_limited_tendon_wakes(asleep: Pair) -> None:
    """A slack rope wakes nobody, a taut one does, from its margin on."""
    asleep.set("qvel", D, -0.0)
    assert asleep.go(2)[-1][3:5] == [-9, 4]
    asleep.set("qpos", D, -0.79)
    assert asleep.go(2)[-1][3:5] == [-7, 4]
    asleep.set("qpos", D, -0.81)
    assert asleep.go(8)[0][4] < 0


@pytest.mark.feature("A161")
def test_actuators_of_sleeping_trees_do_nothing(asleep: Pair) -> None:
    """Actuators of sleeping trees have no force, and activations go on at their old rates."""
    asleep.set("ctrl", 0, -0.7)
    asleep.go(5)
    assert asleep.d.act_dot[0] == 0.3
    for name in "act_dot actuator_force qfrc_actuator qfrc_smooth qacc_smooth qacc".split():
        assert np.allclose(getattr(asleep.data, name), getattr(asleep.d, name), atol=1e-12), name
    asleep.set("qvel", F, -0.0)
    asleep.go(3)
    assert asleep.d.act_dot[0] == -0.7 and float(asleep.data.act_dot[0]) == -0.7


@pytest.mark.feature("A155")
def test_forward_and_inverse_wake_too(asleep: Pair) -> None:
    """Trees wake in the position stage, whoever calls it."""
    asleep.set("qvel", A, 1.0)
    mujoco.mj_inverse(asleep.model, asleep.d)
    data = quick(mjjax.inverse)(asleep.ours, asleep.data)
    assert data.tree_asleep.tolist() == asleep.d.tree_asleep.tolist() == [-11, 1, 2, 3, 4, 5]
