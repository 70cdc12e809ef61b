"""Actuators: transmission, activation states, parameters, ranges."""

import numpy as np

from mjjax.compiler.common.context import Context
from mjjax.compiler.common.fields import (
    bools,
    check_autolimits,
    compile_history,
    ints,
    limited,
    reals,
    user,
)
from mjjax.core.constants import NBIAS, NDYN, NGAIN
from mjjax.core.enums import BiasType, DynType, GainType, JointType, TrnType
from mjjax.math.tracked import numbers
from mjjax.mjcf.element import Element

# Attribute that names the target: transmission, kind of the target.
_TARGETS = {
    "joint": (TrnType.JOINT, "joint"),
    "jointinparent": (TrnType.JOINTINPARENT, "joint"),
    "tendon": (TrnType.TENDON, "tendon"),
    "cranksite": (TrnType.SLIDERCRANK, "site"),
    "site": (TrnType.SITE, "site"),
    "body": (TrnType.BODY, "body"),
}
# The attribute that names the second object of a transmission.
_SECOND = {"cranksite": "slidersite", "site": "refsite"}
_RANGES = ("ctrl", "force", "act")
_SERVO_DYN = {DynType.NONE: "ctrl", DynType.FILTEREXACT: "ctrl", DynType.INTEGRATOR: "act"}


def compile_actuators(ctx: Context) -> None:
    """Adds the fields `actuator_*` and the number of activation states."""
    elements, f = ctx.spec.elements["actuator"], ctx.fields
    targets = [_target(ctx, e) for e in elements]
    f["actuator_trntype"] = np.array([_TARGETS[name][0] for name, _, _ in targets], np.int32)
    f["actuator_trnid"] = np.array([t[1:] for t in targets], np.int32).reshape(-1, 2)
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
        _check_muscle(element)
    _ranges(ctx, elements)
    _activations(ctx, elements)
    ctx.sizes["nu"] = n


def _target(ctx: Context, element: Element) -> tuple[str, int, int]:
    """The attribute that names the target of an actuator, and the ids of one or two objects."""
    v, origin = element.values, element.origin
    given = [name for name in _TARGETS if v[name] is not None]
    if len(given) != 1 or not v[given[0]]:
        what = "more than one target" if len(given) > 1 else "no target"
        raise origin.error(f"the actuator has {what}", f"give one of {', '.join(_TARGETS)}")
    target = given[0]
    first = ctx.names.find(_TARGETS[target][1], v[target], element)
    second = v[_SECOND[target]] if target in _SECOND else None
    if target == "cranksite":
        if not second:
            raise origin.error("a slider-crank needs a slidersite")
        if v["cranklength"] <= 0:
            raise origin.error("cranklength must be positive")
    return target, first, ctx.names.find("site", second, element) if second else -1


def _check_muscle(element: Element) -> None:
    """Checks that the parameters of a muscle give proper force-length-velocity curves."""
    for what, kind in (("gain", GainType.MUSCLE), ("bias", BiasType.MUSCLE)):
        if element.values[f"{what}type"] != kind:
            continue
        low, high, _, *positive = element.values[f"{what}prm"]
        scale, lmin, lmax, vmax, fpmax, fvmax, _ = positive
        if low >= high:
            raise element.origin.error("a muscle needs range[0] < range[1]")
        if not lmin < 1 < lmax:
            raise element.origin.error("a muscle needs lmin < 1 < lmax")
        if min(scale, vmax, fpmax, fvmax) <= 0:
            raise element.origin.error("scale, vmax, fpmax and fvmax of a muscle must be positive")


def _ranges(ctx: Context, elements: list[Element]) -> None:
    """Control, force and activation ranges; a servo may take its range from its target."""
    f, auto = ctx.fields, bool(ctx.spec.compiler["autolimits"])
    for what in _RANGES:
        f[f"actuator_{what}range"] = reals(elements, f"{what}range", 2)
    for i, element in enumerate(elements):
        if _is_servo(element) and element.values["inheritrange"] > 0:
            what, bounds = _inherited(ctx, element, i)
            f[f"actuator_{what}range"][i] = bounds
    for what in _RANGES:
        range_ = numbers(f[f"actuator_{what}range"])
        check_autolimits(elements, what, range_, auto)
        limits = limited(elements, f"{what}limited", range_)
        for i in np.flatnonzero(limits & (range_[:, 0] >= range_[:, 1])):
            raise elements[i].origin.error(f"{what}range[0] must be smaller than {what}range[1]")
        f[f"actuator_{what}limited"] = limits
    stateless = f["actuator_dyntype"] == DynType.NONE
    for i in np.flatnonzero(f["actuator_actlimited"] & stateless):
        raise elements[i].origin.error("actrange is given, but the actuator has no activation")


def _is_servo(element: Element) -> bool:
    """Whether the actuator is a servo, whose set point is in the units of its length."""
    v = element.values
    types = v["gaintype"] == GainType.FIXED and v["biastype"] == BiasType.AFFINE
    return types and v["gainprm"][0] == -v["biasprm"][1]


def _inherited(ctx: Context, element: Element, index: int) -> tuple[str, np.ndarray]:
    """The range that a servo inherits: the name, and its target's range scaled about the centre."""
    f, values = ctx.fields, element.values
    what = _SERVO_DYN.get(values["dyntype"])
    if what is None:
        raise element.origin.error("inheritrange needs a position or intvelocity actuator")
    kind, target = f["actuator_trntype"][index], f["actuator_trnid"][index, 0]
    scalar = kind == TrnType.JOINT and f["jnt_type"][target] >= JointType.SLIDE
    if not scalar and kind != TrnType.TENDON:
        raise element.origin.error("inheritrange needs a tendon, a slide or a hinge joint")
    low, high = f["jnt_range" if scalar else "tendon_range"][target]
    if low == high:
        raise element.origin.error("inheritrange is given, but the target has no range")
    half = 0.5 * (high - low) * values["inheritrange"]
    return what, 0.5 * (high + low) + half * np.array([-1.0, 1.0])


def _activations(ctx: Context, elements: list[Element]) -> None:
    """Number and address of the activation states; stateless actuators have address -1."""
    f = ctx.fields
    count = ints(elements, "actdim")
    stateful = f["actuator_dyntype"] != DynType.NONE
    for i, element in enumerate(elements):
        if count[i] > 1 and element.values["dyntype"] != DynType.USER:
            raise element.origin.error("actdim > 1 needs dyntype 'user'")
        if count[i] >= 0 and bool(count[i]) != bool(stateful[i]):
            raise element.origin.error(f"actdim is {count[i]}, which this dyntype does not allow")
    count = np.where(count < 0, stateful, count).astype(np.int32)
    f["actuator_actnum"] = count
    f["actuator_actadr"] = np.where(count > 0, np.cumsum(count) - count, -1).astype(np.int32)
    ctx.sizes["na"] = int(count.sum())
