"""From a description to a `Model` with its derived constants."""

import numpy as np

from mjjax.compiler.assemble import device_model, host_model
from mjjax.compiler.common.fields import Compiled
from mjjax.compiler.compile import compile_spec
from mjjax.compiler.constants.lengthrange import length_ranges
from mjjax.compiler.constants.set_const import set_const
from mjjax.core.below import does, work
from mjjax.core.constants import MINVAL
from mjjax.math.tracked import numbers, value_of
from mjjax.mjcf import assets, keyframes
from mjjax.mjcf.spec import Spec
from mjjax.model.model import Model
from mjjax.xla.namespace import Array, namespace, where


@does("Spec.compile")
def compile_edited(spec: Spec) -> Model:
    """Model of a description that can be edited and compiled again; see `Spec.compile`."""
    assets.find_files(spec)
    model = compile_model(spec)
    for key in spec.elements["key"]:
        key.values.pop(keyframes.PENDING, None)
    spec.compiled = keyframes.owners(spec)
    return model


@does("Model of a Spec")
def compile_model(spec: Spec) -> Model:
    """Compiles a model description, with its derived constants, for the default device."""
    model = device_model(_finished(spec, compile_spec(spec)))
    work("check of a compiled model")(model)
    return model


def model_in_numpy(spec: Spec) -> Model:
    """The same model in NumPy arrays of double precision."""
    return _finished(spec, compile_spec(spec))


def _finished(spec: Spec, compiled: Compiled) -> Model:
    """The model of compiled fields, with its derived constants."""
    model = derived(host_model(compiled), compiled.fields["jnt_springdamper"])
    model = length_ranges(model, spec.lengthrange)
    stat = {name: np.array(value, float) for name, value in compiled.statistic.items()}
    return model.replace(stat=model.stat.replace(**stat))


def derived(model: Model, springdamper: Array) -> Model:
    """The model with its derived constants, and with springs and dampers that follow from them.

    If the time constant and the damping ratio of a joint are positive, it has the stiffness
    k = m / (timeconst dampratio)^2 and the damping b = 2 m / timeconst. Here m is the mean inverse
    of its dofs' inverse weights.

    Args:
        model: compiled fields.
        springdamper: (njnt, 2) time constants [s] and damping ratios; may be tracked.
    """
    model = set_const(model)
    chosen = (numbers(springdamper) > 0).all(axis=1)
    if not chosen.any():
        return model
    xp, s = namespace(model.dof_invweight0), model.structure
    time, ratio = (where(chosen, value_of(springdamper)[:, i], 1) for i in range(2))
    mine = s.dof_jntid == np.arange(s.njnt)[:, None]
    share = mine / mine.sum(axis=1, keepdims=True)
    inertia = xp.sum(share * (1 / xp.maximum(MINVAL, model.dof_invweight0))[None], axis=1)
    stiffness = inertia / xp.maximum(MINVAL, (time * ratio) ** 2)
    damping = (2 * inertia / xp.maximum(MINVAL, time))[s.dof_jntid]
    return model.replace(
        jnt_stiffness=where(chosen, stiffness, model.jnt_stiffness),
        dof_damping=where(chosen[s.dof_jntid], damping, model.dof_damping),
    )
