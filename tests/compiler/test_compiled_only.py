"""Models that compile but cannot be simulated: they load, and `make_data` names the gap."""

import pytest

import mjjax

SCENE = """
<mujoco>
  <asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>
  <worldbody>
    <body><joint/><geom name="g" size=".1"/></body>
    <geom name="c" type="sdf" mesh="m" contype="0" conaffinity="0"/>
  </worldbody>
  {}
</mujoco>
"""


@pytest.mark.feature("B91")
@pytest.mark.parametrize(
    ("tag", "section"),
    [
        (
            "tactile",
            '<contact><pair geom1="g" geom2="c"/></contact>'
            '<sensor><tactile geom="g" mesh="m"/></sensor>',
        ),
    ],
)
def test_what_is_only_compiled_is_said(tag: str, section: str) -> None:
    """Nothing is simulated wrongly: the error names the element and its line."""
    xml = SCENE.format(section)
    model = mjjax.Model.from_xml_string(xml)
    with pytest.raises(mjjax.UnsupportedFeature) as error:
        mjjax.make_data(model)
    assert error.value.element == tag and section in xml.splitlines()[error.value.line - 1]
