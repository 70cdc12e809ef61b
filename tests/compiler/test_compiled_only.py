"""What is compiled but not simulated: it loads, and making data says what is missing."""

import pytest

import mjjax

SCENE = """
<mujoco>
  <worldbody>
    <body>
      <joint name="j"/>
      <geom size=".1"/>
      <site name="s"/>
    </body>
  </worldbody>
  {}
</mujoco>
"""


@pytest.mark.feature("B91")
@pytest.mark.parametrize(
    ("tag", "section"),
    [
        ("clock", "<sensor><clock/></sensor>"),
        ("motor", '<actuator><motor site="s"/></actuator>'),
        ("motor", '<actuator><motor joint="j" nsample="2"/></actuator>'),
        ("muscle", '<actuator><muscle joint="j" lengthrange="0 1"/></actuator>'),
    ],
)
def test_what_is_only_compiled_is_said(tag: str, section: str) -> None:
    """Nothing is simulated wrongly: the error names the element and its line."""
    model = mjjax.Model.from_xml_string(SCENE.format(section))
    with pytest.raises(mjjax.UnsupportedFeature) as error:
        mjjax.make_data(model)
    assert error.value.element == tag and error.value.line == 9
