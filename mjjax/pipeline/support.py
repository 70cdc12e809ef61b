"""Features that the engine does not simulate, one row per reason; `make_data` checks them.

A model can be loaded, inspected and edited without being simulated, so loading does not check them.
"""

from collections.abc import Iterator

import numpy as np
from jax.core import Tracer

from mjjax.collision.plan.pairs import PLAIN
from mjjax.collision.plan.search import plan_of
from mjjax.core.enums import (
    EnableBit,
    EqType,
    IntegratorType,
    JointType,
    SensorType,
)
from mjjax.core.errors import Origin, UnsupportedFeature
from mjjax.model.data import CollisionRules
from mjjax.model.model import Model
from mjjax.sensor.table import KERNELS
from mjjax.sensor.tactile import unfelt_types

Finding = tuple[str, int, str, str]  # kind and id of the element, what is wrong, hint


def check_support(model: Model, rules: CollisionRules) -> None:
    """Refuses a model that could not be simulated as it is written.

    Args:
        model: model.
        rules: what callbacks change about collision detection.

    Raises:
        UnsupportedFeature: the message names the first such element, its file and its line.
    """
    for error in _errors(model, rules):
        raise error


def findings(model: Model) -> list[str]:
    """Messages of everything in a model that is not simulated."""
    return [str(error) for error in _errors(model, PLAIN)]


def _errors(model: Model, rules: CollisionRules) -> Iterator[UnsupportedFeature]:
    checks = (
        _options(model),
        _sensors(model, rules),
        _free_joint_limits(model),
        _inertia(model),
    )
    for found in checks:
        for kind, index, what, hint in found:
            origin = model.structure.origins.get((kind, index), Origin(kind))
            yield origin.unsupported(what, hint)


def _options(model: Model) -> Iterator[Finding]:
    opt = model.opt
    if opt.enabled(EnableBit.SLEEP):
        yield from _sleep(model)


def _sleep(model: Model) -> Iterator[Finding]:
    """Features that MuJoCo does not support together with sleeping trees."""
    if model.opt.integrator == IntegratorType.RK4:
        yield "option", 0, "the RK4 integrator does not support sleeping", "use implicitfast"
    for i in np.flatnonzero(model.structure.eq_type == EqType.TENDON):
        what = "an equality of tendons does not support sleeping"
        yield "equality", int(i), what, "disable the flag 'sleep', or remove it"


def _sensors(model: Model, rules: CollisionRules) -> Iterator[Finding]:
    s = model.structure
    for i in np.flatnonzero(~np.isin(s.sensor_type, [*KERNELS, SensorType.USER])):
        yield "sensor", int(i), "this type of sensor is not simulated yet", "remove it"
    pairs = plan_of(model, rules).geom
    for i in np.flatnonzero(s.sensor_type == SensorType.TACTILE):
        for kind in unfelt_types(s, pairs, int(i)):
            what = f"tactile sensors cannot feel a geom of type '{kind.name.lower()}'"
            yield "sensor", int(i), what, "remove the sensor, or exclude the pair"


def _free_joint_limits(model: Model) -> Iterator[Finding]:
    s = model.structure
    free = (s.jnt_type == JointType.FREE) & (s.jnt_actfrclimited.astype(bool))
    for joint in np.flatnonzero(free):
        yield "joint", int(joint), "a free joint has no actuator force limit", "remove it"


def _inertia(model: Model) -> Iterator[Finding]:
    weight = model.dof_invweight0
    if isinstance(weight, Tracer) or not np.isnan(weight).any():
        return
    dof = int(np.flatnonzero(np.isnan(weight))[0])
    yield (
        "joint",
        int(model.structure.dof_jntid[dof]),
        "the joint-space inertia of its kinematic tree is singular at qpos0: accelerations "
        "(and MuJoCo's) are not numbers",
        "two joints move the same bodies in the same way: give one of them armature or remove it",
    )
