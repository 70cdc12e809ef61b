"""Actuators: transmission, activation states, parameters, ranges."""

import numpy as np

from mjjax.compiler.context import Context
from mjjax.compiler.fields import bools, check_autolimits, ints, limited, reals, user
from mjjax.compiler.history import compile_history
from mjjax.core.constants import NBIAS, NDYN, NGAIN
from mjjax.core.enums import BiasType, DynType, GainType, JointType, TrnType
from mjjax.mjcf.keywords import KEYWORDS
from mjjax.mjcf.spec import Element

# Attribute that names the target, by transmission; more come with sites, tendons and bodies.
_TARGETS = {"joint": TrnType.JOINT, "jointinparent": TrnType.JOINTINPARENT}
_LR_USER, _LR_ALL = KEYWORDS["lrmode"]["muscleuser"], KEYWORDS["lrmode"]["all"]
_RANGES = ("ctrl", "force", "act")
_SERVO_DYN = {DynType.NONE: "ctrl", DynType.FILTEREXACT: "ctrl", DynType.INTEGRATOR: "act"}


def compile_actuators(ctx: Context) -> None:
    """Adds the fields `actuator_*` and the number of activation states."""
    elements, f = ctx.spec.elements["actuator"], ctx.fields
    targets = [_target(e) for e in elements]
    joints = [
        ctx.names.find("joint", e.values[t], e) for e, t in zip(elements, targets, strict=True)
    ]
    f["actuator_trntype"] = np.array([_TARGETS[t] for t in targets], np.int32)
    f["actuator_trnid"] = np.full((len(elements), 2), -1, np.int32)
    f["actuator_trnid"][:, 0] = joints
    for name in ("dyntype", "gaintype", "biastype", "group"):
        f[f"actuator_{name}"] = ints(elements, name)
    for name, width in (("dyn", NDYN), ("gain", NGAIN), ("bias", NBIAS)):
        f[f"actuator_{name}prm"] = reals(elements, f"{name}prm", width)
    f["actuator_gear"] = reals(elements, "gear", 6)
    f["actuator_cranklength"] = reals(elements, "cranklength")
    f["actuator_lengthrange"] = reals(elements, "lengthrange", 2)
    f["actuator_actearly"] = bools(elements, "actearly")
    f["actuator_user"] = user(elements, ctx.nuser("actuator", elements))
    n = len(elements)
    compile_history(ctx, "actuator", elements, np.ones(n, int))
    f["actuator_plugin"] = np.full(n, -1, np.int32)
    for element in elements:
        _check_lengthrange(ctx, element)
    _ranges(ctx, elements, joints)
    _activations(ctx, elements)
    ctx.sizes["nu"] = n


def _target(element: Element) -> str:
    """The attribute that says what the actuator drives."""
    given = [name for name in _TARGETS if element.values[name]]
    if len(given) != 1:
        what = "more than one target" if given else "no target"
        raise element.origin.error(f"the actuator has {what}", "name one joint")
    if element.values["cranklength"]:
        raise element.origin.error("cranklength belongs to a slider-crank, not to a joint")
    return given[0]


def _check_lengthrange(ctx: Context, element: Element) -> None:
    """Refuses actuators whose length range MuJoCo finds by simulation."""
    mode, values = ctx.spec.lengthrange["mode"], element.values
    types = (values["gaintype"], values["biastype"])
    if GainType.MUSCLE in types:
        raise element.origin.unsupported(
            "muscle forces are not supported yet", "they need the length range of the actuator"
        )
    if mode == _LR_ALL or (mode == _LR_USER and GainType.USER in types):
        raise element.origin.unsupported(
            "the length range of this actuator cannot be computed yet",
            "set mode='muscle' in <lengthrange>",
        )


def _ranges(ctx: Context, elements: list[Element], joints: list[int]) -> None:
    """Control, force and activation ranges; a servo may take its range from the joint."""
    f, auto = ctx.fields, bool(ctx.spec.compiler["autolimits"])
    ranges = {what: reals(elements, f"{what}range", 2) for what in _RANGES}
    for i, element in enumerate(elements):
        if _is_servo(element) and element.values["inheritrange"] > 0:
            what, bounds = _inherited(ctx, element, joints[i])
            ranges[what][i] = bounds
    for what, range_ in ranges.items():
        check_autolimits(elements, what, range_, auto)
        limits = limited(elements, f"{what}limited", range_)
        for i in np.flatnonzero(limits & (range_[:, 0] >= range_[:, 1])):
            raise elements[i].origin.error(f"{what}range[0] must be smaller than {what}range[1]")
        f[f"actuator_{what}limited"], f[f"actuator_{what}range"] = limits, range_
    stateless = f["actuator_dyntype"] == DynType.NONE
    for i in np.flatnonzero(f["actuator_actlimited"] & stateless):
        raise elements[i].origin.error("actrange is given, but the actuator has no activation")


def _is_servo(element: Element) -> bool:
    """Whether the set point is in the units of the actuator's length."""
    v = element.values
    types = v["gaintype"] == GainType.FIXED and v["biastype"] == BiasType.AFFINE
    return types and v["gainprm"][0] == -v["biasprm"][1]


def _inherited(ctx: Context, element: Element, joint: int) -> tuple[str, np.ndarray]:
    """Which range a servo inherits and what it is: the joint's, scaled about its centre."""
    f, values = ctx.fields, element.values
    what = _SERVO_DYN.get(values["dyntype"])
    if what is None:
        raise element.origin.error("inheritrange needs a position or intvelocity actuator")
    scalar = f["jnt_type"][joint] in (JointType.SLIDE, JointType.HINGE)
    if not scalar or not values["joint"]:
        raise element.origin.error("inheritrange needs a slide or hinge joint")
    low, high = f["jnt_range"][joint]
    if low == high:
        raise element.origin.error("inheritrange is given, but the joint has no range")
    half = 0.5 * (high - low) * values["inheritrange"]
    return what, 0.5 * (high + low) + np.array([-half, half])


def _activations(ctx: Context, elements: list[Element]) -> None:
    """Number and address of the activation states; stateless actuators have address -1."""
    f = ctx.fields
    count = ints(elements, "actdim")
    stateful = f["actuator_dyntype"] != DynType.NONE
    for i, element in enumerate(elements):
        if count[i] > 1 and element.values["dyntype"] != DynType.USER:
            raise element.origin.error("actdim > 1 needs dyntype 'user'")
        if count[i] >= 0 and bool(count[i]) != bool(stateful[i]):
            raise element.origin.error(f"actdim is {count[i]}, which dyntype does not allow")
    count = np.where(count < 0, stateful, count).astype(np.int32)
    f["actuator_actnum"] = count
    f["actuator_actadr"] = np.where(count > 0, np.cumsum(count) - count, -1).astype(np.int32)
    ctx.sizes["na"] = int(count.sum())
