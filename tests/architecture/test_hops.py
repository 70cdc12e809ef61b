"""Counts the calls that a reader follows from a public function to the code that does the work."""

import traceback
from pathlib import Path

import pytest

import mjjax

PACKAGE = Path(mjjax.__file__).parent
TO_AN_ELEMENT = 4  # from `Model.from_xml_string` to the function of a kind of element

WRONG = """<mujoco><worldbody><body><joint/><geom size="1"/></body></worldbody>
<actuator><motor joint="none"/></actuator></mujoco>"""


def test_from_a_string_to_an_element() -> None:
    """Keeps the way into the compiler short enough to be followed without a debugger."""
    with pytest.raises(mjjax.MjcfError) as caught:
        mjjax.Model.from_xml_string(WRONG)
    frames = traceback.extract_tb(caught.value.__traceback__)
    paths = [Path(frame.filename) for frame in frames]
    called = [path.relative_to(PACKAGE) for path in paths if path.is_relative_to(PACKAGE)]
    elements = [i for i, path in enumerate(called) if path.parts[:2] == ("compiler", "elements")]
    assert elements and elements[0] <= TO_AN_ELEMENT, called
