"""Tries every attribute of every element with a value that it cannot have."""

import lxml.etree as etree
import mujoco
import pytest

from mjjax import mjcf
from mjjax.core.errors import MjcfError
from mjjax.mjcf.keywords import KEYWORDS
from mjjax.mjcf.schema import ELEMENTS, Attribute
from tests.fuzz.seeds import seeds

_LENIENT = ("frame", "replicate")  # MuJoCo does not check what is in them


def elements() -> dict[str, str]:
    """One element of each kind in the seed: its row of the table and its path."""
    root = etree.fromstring(seeds()[0].xml)
    found: dict[str, str] = {}
    waiting = [(root, "mujoco")]
    while waiting:
        element, key = waiting.pop()
        found.setdefault(key, root.getroottree().getpath(element))
        if key not in _LENIENT:
            children = ELEMENTS[key].children
            waiting += [(child, children[str(child.tag)][0]) for child in element]
    return found


def wrong(attribute: Attribute, turn: int) -> str | None:
    """A value that the attribute cannot have, different in each turn; None if any is valid."""
    if attribute.kind == "text":
        return None
    if attribute.kind in KEYWORDS:
        return "nonsense"
    number = "1" if turn % 2 else "x"
    count = (attribute.count or 1) + (number == "1")
    return " ".join([number] * count) if attribute.count or number == "x" else "1 x"


PLACES = elements()


def test_seed_has_nearly_all_elements() -> None:
    """The seed covers the language, except elements that cannot be compiled yet."""
    assert len(PLACES) > 80


@pytest.mark.feature("B87")
@pytest.mark.parametrize("key", PLACES)
def test_wrong_value_is_refused_where_it_stands(key: str) -> None:
    """The error names the element, its line and the attribute; MuJoCo refuses each, too."""
    root = etree.fromstring(seeds()[0].xml)
    element = root.getroottree().xpath(PLACES[key])[0]
    for turn, (name, attribute) in enumerate(ELEMENTS[key].attributes.items()):
        value = wrong(attribute, turn)
        if value is None:
            continue
        before = element.get(name)
        element.set(name, value)
        xml = etree.tostring(root)
        with pytest.raises(MjcfError, match=f"{name}'") as caught:
            mjcf.read_string(xml, file="m.xml")
        error = caught.value
        assert (error.file, error.line, error.element) == ("m.xml", element.sourceline, element.tag)
        if turn % 4 < 2:
            with pytest.raises((ValueError, mujoco.FatalError)):
                mujoco.MjModel.from_xml_string(xml.decode())
        if before is None:
            del element.attrib[name]
        else:
            element.set(name, before)
