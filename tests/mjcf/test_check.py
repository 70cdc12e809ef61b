"""Validation says what is wrong, where, and what was probably meant."""

import pickle

import pytest

from mjjax.core.errors import MjcfError
from tests.compiler.oracle import accepted_by_mujoco, refusal

W = "<worldbody>{}</worldbody>"
INERTIAL = W.format('<body><inertial pos="0 0 0" mass="1" fullinertia="1 1 1 0 0 0" {}/></body>')
WRONG = [
    (W.format('<geom sise="1"/>'), "geom", "unknown attribute 'sise'; did you mean 'size'?"),
    (W.format("<bodi/>"), "bodi", "unknown element in <worldbody>; did you mean 'body'?"),
    ("<worldbodi/>", "worldbodi", "did you mean 'worldbody'?"),
    (W.format('<geom type="bx" size="1"/>'), "geom", "did you mean 'box'?"),
    ('<option solver="XX"/>', "option", "one of PGS, CG, Newton"),
    (W.format('<geom size="1" pos="1 2"/>'), "geom", "needs 3 values"),
    (W.format('<geom size="1 2 3 4"/>'), "geom", "more than 3 values"),
    (W.format('<geom size="1" contype="1.5"/>'), "geom", "'1.5' where an integer"),
    (W.format('<geom size="1" contype="99999999999"/>'), "geom", "too large"),
    (W.format('<geom size="1e400"/>'), "geom", "too large"),
    (W.format('<geom size="one"/>'), "geom", "'one' where a number"),
    (W.format('<geom size="1_0"/>'), "geom", "'1_0' where a number"),
    (W.format('<geom size="1" quat="0 0 0 0"/>'), "geom", "zero quaternion"),
    (W.format('<geom size="1" quat="1 0 0 0" zaxis="1 0 0"/>'), "geom", "more than one orien"),
    (W.format('<light directional="true" type="spot"/>'), "light", "cannot both"),
    (W.format('<body><inertial mass="1"/></body>'), "inertial", "'pos' is required"),
    (
        INERTIAL.format('quat="1 1 0 0"'),
        "inertial",
        "already says",
    ),
    (
        INERTIAL.format('diaginertia="1 1 1"'),
        "inertial",
        "cannot both",
    ),
    (W.format("<joint/>"), "joint", "world cannot have joints"),
    (W.format("<frame><freejoint/></frame>"), "freejoint", "world cannot have joints"),
    ("<worldbody name='a'/>", "worldbody", ""),
    ("<option><flag/><flag/></option>", "flag", "only one"),
    ('<compiler coordinate="global"/>', "compiler", "global coordinates"),
    ('<compiler eulerseq="xy"/>', "compiler", "three axes"),
    ('<option actuatorgroupdisable="31"/>', "option", "0 to 30"),
    ('<size memory="1Q"/>', "size", "memory"),
    ('<size memory="1M" njmax="3"/>', "size", "cannot both"),
    ('<size nuser_geom="-2"/>', "size", "less than -1"),
    ('<size nuserdata="-1"/>', "size", "cannot be negative"),
    ("<asset><material/></asset>", "material", "needs a name"),
    ('<statistic extent="0"/>', "statistic", "positive"),
    ('<visual><map znear="0"/></visual>', "map", "positive"),
    ('<asset><texture file="a.jpg" content_type="image/jpeg"/></asset>', "texture", "content type"),
    (
        '<asset><texture name="t" builtin="flat" width="1" height="1"/><material texture="t">'
        '<layer role="rgb" texture="t"/></material></asset>',
        "material",
        "layers",
    ),
]


@pytest.mark.feature("B13", "B87")
@pytest.mark.parametrize(("text", "element", "message"), WRONG)
def test_invalid_file(text: str, element: str, message: str) -> None:
    """MuJoCo refuses it too; the message has file, line, element and what to do."""
    xml = f"<mujoco>\n{text}</mujoco>"
    assert not accepted_by_mujoco(xml)
    error = refusal(xml, file="m.xml")
    assert isinstance(error, MjcfError)
    assert (error.file, error.line, error.element) == ("m.xml", 2, element)
    called = f' name="{error.name}"' if error.name else ""
    assert message in str(error) and str(error).startswith(f"m.xml:2: <{element}{called}>: ")


HINTS = {
    W.format('<geom size="1" pos="0,0,0"/>'): "separate numbers by blanks",
    W.format('<geom size="1" pos="0 0"/>'): "2 are given",
    '<geom size="1"/>': "it belongs in <worldbody>",
    '<actuator><motor kp="1"/></actuator>': "<position>, <intvelocity> has it",
    '<option integrator="rk4"/>': "did you mean 'RK4'?",
    '<visual><map znear="1e39"/></visual>': "too large",
    W.format('<geom size="1" contype=""/>'): "is empty",
    W.format('<geom size="1" quat="" euler="0 0 0"/>'): "more than one orientation",
    W.format('<camera fovy="45" sensorsize="1 1"/>'): "remove 'fovy'",
    W.format('<geom size="1" xyaxes="1e308 1e308 0 0 1e308 0"/>'): "zero length",
    W.format('<geom size="1\u00a02"/>'): "a number is expected",
}


@pytest.mark.feature("B87")
@pytest.mark.parametrize("text", HINTS)
def test_hint_says_what_to_do(text: str) -> None:
    """A newcomer learns from the message what to write instead; MuJoCo refuses it, too."""
    xml = f"<mujoco>\n{text}</mujoco>"
    assert not accepted_by_mujoco(xml)
    error = refusal(xml)
    assert isinstance(error, MjcfError) and HINTS[text] in str(error)


def test_error_names_the_element() -> None:
    """The message says where the element stands and what it is called, also without a file."""
    xml = "<mujoco>\n" + W.format('<geom name="g" size="1" type="ball"/>') + "</mujoco>"
    assert str(refusal(xml, file="m.xml")).startswith('m.xml:2: <geom name="g">: ')
    assert str(refusal(xml)).startswith('line 2: <geom name="g">: ')


def test_error_can_be_sent_to_another_process() -> None:
    """An error from a worker process arrives with all that it says."""
    error = refusal("<mujoco>\n<geom/></mujoco>", file="m.xml")
    twin = pickle.loads(pickle.dumps(error))
    assert (str(twin), twin.line, twin.hint) == (str(error), 2, error.hint)


def test_error_is_also_a_value_error() -> None:
    """Scripts that catch MuJoCo's ValueError keep working."""
    assert isinstance(refusal("<mujoco><a/></mujoco>"), ValueError)
