"""Promises of `Compiled` beyond the values of its fields."""

import numpy as np
import pytest

from mjjax import mjcf
from mjjax.compiler import compile_spec
from tests.compiler.oracle import compiled

XML = """<mujoco model="m">
  <option timestep="0.1"/>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="b">
      <joint name="j"/>
      <geom size="1"/>
    </body>
  </worldbody>
  <actuator>
    <motor joint="j"/>
  </actuator>
</mujoco>"""


@pytest.mark.feature("B84")
def test_origins_lead_back_to_the_file() -> None:
    """Errors of later phases can name element, file, line and name."""
    origins = compiled(XML, file="m.xml").origins
    assert origins["geom", 1] == ("geom", "m.xml", 7, "")
    assert origins["body", 1] == ("body", "m.xml", 5, "b")
    assert origins["joint", 0] == ("joint", "m.xml", 6, "j")
    assert origins["actuator", 0] == ("motor", "m.xml", 11, "")
    assert origins["option", 0] == ("option", "m.xml", 2, "")


def test_names_and_model_name() -> None:
    """Names are listed by id for every kind, also for kinds that the model has none of."""
    ours = compiled(XML)
    assert ours.modelname == "m"
    assert ours.names["geom"] == ("floor", "") and ours.names["body"] == ("world", "b")
    assert ours.names["sensor"] == () and ours.names["mesh"] == ()


def test_dtypes() -> None:
    """Fields are int32, bool or float64 and nothing else; texts and pixels are bytes."""
    fields = compiled(XML).fields
    kinds = {x.dtype for name, x in fields.items() if name not in ("text_data", "tex_data")}
    assert kinds == {np.dtype(np.int32), np.dtype(bool), np.dtype(np.float64)}


def test_option_is_named_without_a_section() -> None:
    """There is an origin for the options even if the file does not mention them."""
    assert compiled("<mujoco/>").origins["option", 0].element == "option"


def test_nan_is_a_warning() -> None:
    """A value that is not a number is accepted, as MuJoCo does, but not silently."""
    spec = mjcf.read_string('<mujoco>\n<option gravity="nan 0 0"/></mujoco>', file="m.xml")
    (warning,) = compile_spec(spec).warnings
    assert warning.startswith("m.xml:2:") and "gravity" in warning
