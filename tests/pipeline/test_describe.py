"""Models and data as text."""

import io

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from tests.oracle_tools import quick

XML = """
<mujoco model="thing"><worldbody>
  <body name="b"><joint name="j" damping="0.25"/><geom size="0.1"/></body>
</worldbody><keyframe><key qpos="0.75"/></keyframe></mujoco>
"""


@pytest.mark.feature("A174")
def test_model_and_data_as_text(tmp_path, capsys) -> None:
    """The text has all fields with their numbers, no empty slots, on the screen or in a file."""
    model = mjjax.Model.from_xml_string(XML)
    data = mjjax.make_data(model, nconmax=3).replace(qpos=jnp.array([0.123456]))
    mjjax.print_model(model, tmp_path / "model.txt")
    text = (tmp_path / "model.txt").read_text(encoding="utf-8")
    for part in ("thing", "nbody", "timestep", "integrator", "dof_damping", "0.25", "jnt_type"):
        assert part in text
    mjjax.print_data(model, data, stream := io.StringIO(), digits=3)
    assert "qpos  1\n    0.123\n" in stream.getvalue() and "1e+10" not in stream.getvalue()
    mjjax.print_data(model, data)
    assert "0.1235" in capsys.readouterr().out


@pytest.mark.feature("A115")
def test_warnings_as_text() -> None:
    """Warnings are counted per world; the text names those that occurred and what to do."""
    model = mjjax.Model.from_xml_string(XML)
    data = mjjax.make_data(model)
    mjjax.print_data(model, data, quiet := io.StringIO())
    assert "BAD" not in quiet.getvalue()
    for kind in mjjax.WarningType:
        assert mjjax.warning_text(kind).startswith(f"{kind.name}: ")
    broken = data.replace(qvel=jnp.array([jnp.nan]))
    after = quick(mjjax.step)(model, quick(mjjax.step)(model, broken).replace(qvel=broken.qvel))
    counts = np.zeros(len(mjjax.WarningType), int)
    counts[mjjax.WarningType.BADQVEL] = 2
    np.testing.assert_array_equal(after.warning, counts)
    mjjax.print_data(model, after, text := io.StringIO())
    assert f"{mjjax.warning_text(mjjax.WarningType.BADQVEL)}  2\n" in text.getvalue()


@pytest.mark.feature("A115")
def test_warnings_that_occurred_as_sentences() -> None:
    """Every warning has its count; in a batch, the number of worlds and the first one."""
    data = mjjax.make_data(mjjax.Model.from_xml_string(XML))
    assert mjjax.warning_texts(data) == []
    each = jnp.zeros((4, 9), jnp.int32).at[2:, :].set(jnp.arange(1, 10, dtype=jnp.int32))
    of_one = mjjax.warning_texts(data.replace(warning=each[3]))
    of_all = mjjax.warning_texts(data.replace(warning=each))
    assert len(of_one) == len(of_all) == len(mjjax.WarningType)
    for kind, one, many in zip(mjjax.WarningType, of_one, of_all, strict=True):
        name, meaning = mjjax.warning_text(kind).split(": ", 1)
        times = f"{kind + 1} times" if kind else "once"
        assert one == f"{name}, {times}: {meaning}"
        assert many == f"{name}, {2 * kind + 2} times in 2 of 4 worlds, world 2 first: {meaning}"
    nested = mjjax.warning_texts(data.replace(warning=each.reshape(2, 2, 9)))
    assert "in 2 of 4 worlds, world 1, 0 first" in nested[0]
    with pytest.raises(ValueError, match="outside of"):
        jax.jit(lambda d: jnp.zeros(len(mjjax.warning_texts(d))))(data)
