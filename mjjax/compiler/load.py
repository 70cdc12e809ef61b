"""From a file or string to a `Model`."""

import importlib
import os
from collections.abc import Iterable, Mapping

import numpy as np

from mjjax.compiler.assemble import device_model, host_model
from mjjax.compiler.compile import compile_spec
from mjjax.compiler.constants.lengthrange import length_ranges
from mjjax.compiler.constants.set_const import set_const
from mjjax.compiler.fields import Compiled
from mjjax.core.constants import MINVAL
from mjjax.mjcf import read_path, read_string
from mjjax.mjcf.spec import Spec
from mjjax.model.model import Model


def load_path(
    path: str | os.PathLike[str], directories: Iterable[str | os.PathLike[str]] = ()
) -> Model:
    """Model from an MJCF or URDF file; see `Model.from_xml_path`."""
    return compile_model(read_path(path, directories))


def load_string(
    xml: str | bytes,
    assets: Mapping[str, bytes] | None = None,
    directories: Iterable[str | os.PathLike[str]] = (),
) -> Model:
    """Model from a string; see `Model.from_xml_string`."""
    return compile_model(read_string(xml, dict(assets or {}), directories=directories))


def compile_model(spec: Spec) -> Model:
    """Compiles a model description, with its derived constants, for the default device."""
    compiled = compile_spec(spec)
    model = host_model(compiled)
    model = _springdampers(set_const(model), compiled)
    model = length_ranges(model, spec.lengthrange)
    stat = {name: np.array(value, float) for name, value in compiled.statistic.items()}
    model = device_model(model.replace(stat=model.stat.replace(**stat)))
    # who touches whom is found by the pipeline, which stands below this folder
    importlib.import_module("mjjax.pipeline.make_data").check_initial_sleep(model)
    return model


def _springdampers(model: Model, compiled: Compiled) -> Model:
    """Stiffness and damping from time constants and damping ratios of joints.

    With m the mean inverse of the dofs' inverse weights: k = m / (timeconst dampratio)^2,
    b = 2 m / timeconst.
    """
    given = compiled.fields["jnt_springdamper"]
    chosen = np.flatnonzero((given > 0).all(axis=1))
    if not len(chosen):
        return model
    s = model.structure
    stiffness, damping = model.jnt_stiffness.copy(), model.dof_damping.copy()
    for joint in chosen:
        time, ratio = given[joint]
        dofs = np.flatnonzero(s.dof_jntid == joint)
        inertia = np.mean(1 / np.maximum(MINVAL, model.dof_invweight0[dofs]))
        stiffness[joint] = inertia / max(MINVAL, (time * ratio) ** 2)
        damping[dofs] = 2 * inertia / max(MINVAL, time)
    return model.replace(jnt_stiffness=stiffness, dof_damping=damping)
