"""Validation: what is wrong, where, and what was meant."""

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
    (W.format('<geom size="1" contype="1.5"/>'), "geom", "'1.5' where a integer"),
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
    assert message in str(error) and str(error).startswith(f"m.xml:2: <{element}>: ")


def test_error_is_also_a_value_error() -> None:
    """Scripts that catch MuJoCo's ValueError keep working."""
    assert isinstance(refusal("<mujoco><a/></mujoco>"), ValueError)
