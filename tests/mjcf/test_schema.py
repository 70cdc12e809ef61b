"""The MJCF table against MuJoCo's own."""

import re

import mujoco
import pytest

from mjjax.mjcf.schema import ELEMENTS, attributes

ROW = re.compile(r"^( *)(\(world\))?(\w+) \((.)\)\s*(.*)$")


def rows() -> list[tuple[int, str, str, set[str]]]:
    """Depth, tag, cardinality and attributes of the elements in MuJoCo's printed schema."""
    found: list[tuple[int, str, str, set[str]]] = []
    for line in mujoco.mj_printSchema(False, False).splitlines():
        match = ROW.match(line)
        if match:
            found.append((len(match[1]) // 3, match[3], match[4], set(match[5].split())))
        else:
            found[-1][3].update(line.split())
    return found


@pytest.mark.feature("B87")
def test_table_is_mujocos() -> None:
    """Every element and attribute of MuJoCo 3.6.0 is known, and no other."""
    path: list[str] = []
    for depth, tag, cardinality, names in rows():
        del path[depth:]
        key = tag
        if depth and not (depth == 1 and tag == "body"):  # printed once for world and bodies
            key, unique = ELEMENTS[path[-1]].children[tag]
            assert unique == (cardinality == "?"), (path, tag)
        assert set(ELEMENTS[key].attributes) == names, (path, tag)
        path.append(key)
    assert sum(1 for row in rows() if row[0] == 1) > 10


def test_every_child_has_a_row() -> None:
    """The table has no dangling reference."""
    for key, element in ELEMENTS.items():
        for tag, (child, _) in element.children.items():
            assert child in ELEMENTS, (key, tag)


def test_notation() -> None:
    """The notation of the table means what its documentation says."""
    found = attributes("a real = 1; b int[3]; c real[..2] = 1 2 *; d real[]; e bool = true; f text")
    assert found["a"].default == 1.0 and found["a"].scalar
    assert (found["b"].count, found["b"].exact, found["b"].default) == (3, True, None)
    assert (found["c"].exact, found["c"].required, found["c"].default) == (False, True, (1.0, 2.0))
    assert found["d"].count is None
    assert found["e"].default == 1


def test_malformed_entry_is_an_error() -> None:
    """A mistake in the table is found when it is loaded."""
    with pytest.raises(ValueError, match="malformed"):
        attributes("a real[")
