"""Copies of a model as trees of one model, and the fields that they carry over."""

import numpy as np
import pytest

from mjjax.compiler import compile_spec
from mjjax.compiler.assemble import host_model
from mjjax.compiler.constants.parallel_worlds import parallel_worlds
from mjjax.core.struct import FieldSpec, specs
from mjjax.mjcf import read_string
from mjjax.model.model import Model
from mjjax.model.static_fields import TABLES
from mjjax.model.structure import Structure

XML = """<mujoco>
  <worldbody>
    <body name="a"><joint name="j" frictionloss="1"/><geom size=".1"/>
      <body name="b" pos="1 0 0"><joint name="k"/><geom size=".1"/></body></body>
  </worldbody>
  <actuator><motor joint="j"/><motor joint="k"/></actuator>
</mujoco>"""


def with_arrays(model: Model, **arrays: np.ndarray) -> Model:
    """The model with more integer fields."""
    s = model.structure
    return model.replace(structure=Structure(s.sizes, s.arrays | arrays, s.names, s.terms))


def test_new_fields_are_carried_over_or_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new field of the structure is right in the copies, or kernels that read it fail."""
    model = host_model(compile_spec(read_string(XML)))
    for name in ("jnt_new", "jnt_newid"):
        monkeypatch.setitem(TABLES, name, FieldSpec(name, ("njnt",), int, "", ""))
    model = with_arrays(model, jnt_new=np.array([5, 6]), jnt_newid=np.array([0, 1]))
    worlds = parallel_worlds(model, np.array([0, 1]), np.zeros((2, 0), int))
    np.testing.assert_array_equal(worlds.structure.jnt_new, [5, 6, 5, 6])
    with pytest.raises(AttributeError, match="jnt_newid"):
        worlds.structure.jnt_newid  # noqa: B018
    np.testing.assert_array_equal(worlds.structure.dof_parentid, [-1, 0, -1, 2])
    np.testing.assert_array_equal(worlds.structure.terms["dof_frictionloss"], [True, False] * 2)


def test_real_fields_have_a_row_for_each_copy() -> None:
    """Every real field of the copied elements is copied, even if it is declared later."""
    model = host_model(compile_spec(read_string(XML)))
    worlds = parallel_worlds(model, np.array([0, 1]), np.zeros((2, 0), int))
    sizes = {"nbody": 5, "njnt": 4, "nv": 4, "nq": 4, "ngeom": 0, "nu": 2, "ntree": 2}
    for name, spec in specs(Model).items():
        if spec.shape and spec.shape[0] in sizes:
            assert len(getattr(worlds, name)) == sizes[spec.shape[0]], name
