"""The language as text, and the list of a model's files."""

from pathlib import Path

import pytest

from mjjax.mjcf.describe import dependencies, schema_text
from mjjax.mjcf.schema import ELEMENTS


@pytest.mark.feature("A020")
def test_schema_names_every_element_and_attribute() -> None:
    """Whoever writes MJCF sees what may stand where, with defaults and keywords."""
    lines = schema_text().splitlines()
    assert lines[0] == "mujoco" and "  option?" not in lines and "  option" in lines
    text = [line.strip() for line in lines]
    assert "@integrator Euler|RK4|implicit|implicitfast = Euler" in text
    assert "@solref real[..2] = 0.02 1" in text and "@mass* real" in text and "inertial?" in text
    assert text.count("worldbody") == 1 and "body ..." in text
    names = {line.removeprefix("@").split()[0].rstrip("*") for line in text if line[0] == "@"}
    assert names == {name for element in ELEMENTS.values() for name in element.attributes}


@pytest.mark.feature("A020")
def test_dependencies(tmp_path: Path) -> None:
    """Includes, assets in their folders and attached models, each once."""
    files = {
        "m.xml": '<mujoco><compiler meshdir="sub/m"/><include file="sub/inc.xml"/><asset>'
        '<hfield name="h" file="h.png" size="1 1 1 1"/><model name="o" file="o.xml"/></asset>'
        '<worldbody><attach model="o" prefix="o"/></worldbody></mujoco>',
        "sub/inc.xml": '<mujoco><asset><mesh file="x.stl"/></asset><default/></mujoco>',
        "o.xml": '<mujoco><include file="d.xml"/><asset><mesh file="y.stl"/></asset></mujoco>',
        "d.xml": "<mujoco><default/></mujoco>",
    }
    (tmp_path / "sub").mkdir()
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    found = dependencies(tmp_path / "m.xml")
    assert found[0] == str(tmp_path / "m.xml") and len(found) == len(set(found))
    expected = [*files, "sub/m/x.stl", "sub/m/h.png", "y.stl"]
    assert sorted(found) == sorted(str(tmp_path / name) for name in expected)
