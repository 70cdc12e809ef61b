"""Actuator shortcuts: motor, position, velocity, ... as values of the general actuator.

A shortcut changes the values of the general actuator in place. `given` holds the attributes of the
element itself, so a shortcut works alike in a default class and in the model.
"""

import math
from collections.abc import Callable
from typing import Any

from mjjax.core.constants import NBIAS, NGAIN
from mjjax.core.enums import BiasType, DynType, GainType

Values = dict[str, Any]
_LIMITED = 1


def _put(values: Values, name: str, **entries: float) -> None:
    """Sets single entries (``_0=...``) of a parameter vector."""
    vector = list(values[name])
    for index, value in entries.items():
        vector[int(index[1:])] = value
    values[name] = tuple(vector)


def _types(values: Values, gain: GainType, bias: BiasType, dyn: DynType | None = None) -> None:
    values.update(gaintype=int(gain), biastype=int(bias))
    if dyn is not None:
        values["dyntype"] = int(dyn)


def _not_negative(given: Values, *names: str) -> None:
    for name in names:
        if given.get(name, 0) < 0:
            raise ValueError(f"attribute {name!r} cannot be negative")


def general(values: Values, given: Values) -> None:
    """The general actuator: all parameters are given as they are."""


def motor(values: Values, given: Values) -> None:
    """Force = ctrl."""
    _put(values, "gainprm", _0=1.0)
    _types(values, GainType.FIXED, BiasType.NONE, DynType.NONE)


def position(values: Values, given: Values) -> None:
    """Force = kp (ctrl - length) - kv velocity; a positive biasprm[2] is a damping ratio."""
    _not_negative(given, "kv", "dampratio", "timeconst")
    if "kv" in given and "dampratio" in given:
        raise ValueError("'kv' and 'dampratio' cannot both be given")
    kp = given.get("kp", values["gainprm"][0])
    _put(values, "gainprm", _0=kp)
    _put(values, "biasprm", _1=-kp)
    if "kv" in given:
        _put(values, "biasprm", _2=-given["kv"])
    if "dampratio" in given:
        _put(values, "biasprm", _2=given["dampratio"])
    if "timeconst" in given:
        _put(values, "dynprm", _0=given["timeconst"])
        values["dyntype"] = int(DynType.FILTEREXACT if given["timeconst"] else DynType.NONE)
    if values["inheritrange"] > 0 and any(values["ctrlrange"]):
        raise ValueError("'ctrlrange' and 'inheritrange' cannot both be given")
    _types(values, GainType.FIXED, BiasType.AFFINE)


def intvelocity(values: Values, given: Values) -> None:
    """A position servo whose set point is the integral of ctrl."""
    position(values, given)
    values.update(dyntype=int(DynType.INTEGRATOR), actlimited=_LIMITED)
    if values["inheritrange"] > 0 and any(values["actrange"]):
        raise ValueError("'actrange' and 'inheritrange' cannot both be given")


def velocity(values: Values, given: Values) -> None:
    """Force = kv (ctrl - velocity)."""
    kv = given.get("kv", values["gainprm"][0])
    _put(values, "gainprm", _0=kv)
    values["biasprm"] = (0.0, 0.0, -kv) + (0.0,) * (NBIAS - 3)
    _types(values, GainType.FIXED, BiasType.AFFINE, DynType.NONE)


def damper(values: Values, given: Values) -> None:
    """Force = -kv ctrl velocity."""
    _not_negative(given, "kv")
    if min(values["ctrlrange"]) < 0:
        raise ValueError("the control range of a damper cannot be negative")
    values["gainprm"] = (0.0, 0.0, -given.get("kv", 0.0)) + (0.0,) * (NGAIN - 3)
    values["ctrllimited"] = _LIMITED
    _types(values, GainType.AFFINE, BiasType.NONE, DynType.NONE)


def cylinder(values: Values, given: Values) -> None:
    """Force = area pressure + bias, where the pressure is a filtered ctrl."""
    area = given.get("area", values["gainprm"][0])
    diameter = given.get("diameter", -1.0)
    _put(values, "gainprm", _0=math.pi / 4 * diameter * diameter if diameter >= 0 else area)
    if "timeconst" in given:
        _put(values, "dynprm", _0=given["timeconst"])
    if "bias" in given:
        _put(values, "biasprm", _0=given["bias"][0])  # MuJoCo reads three and keeps the first
    _types(values, GainType.FIXED, BiasType.AFFINE, DynType.FILTER)


# Entries of gainprm: (attribute, value where the class still has that of a general actuator).
_MUSCLE = (
    ("range", 0.75, 1.0),
    ("range", 1.05, 0.0),
    ("force", -1.0, 0.0),
    ("scale", 200.0, 0.0),
    ("lmin", 0.5, 0.0),
    ("lmax", 1.6, 0.0),
    ("vmax", 1.5, 0.0),
    ("fpmax", 1.3, 0.0),
    ("fvmax", 1.2, 0.0),
)


def muscle(values: Values, given: Values) -> None:
    """Muscle with force-length-velocity curves; a negative value keeps that of the class."""
    _not_negative(given, "tausmooth")
    dyn, gain = list(values["dynprm"]), list(values["gainprm"])
    times = given.get("timeconst", (-1.0, -1.0))
    for i, (normal, untouched) in enumerate(((0.01, 1.0), (0.04, 0.0))):
        dyn[i] = times[i] if times[i] >= 0 else normal if dyn[i] == untouched else dyn[i]
    dyn[2] = given.get("tausmooth", dyn[2])
    for i, (name, normal, untouched) in enumerate(_MUSCLE):
        value = given.get(name, -1.0)
        value = value[i] if isinstance(value, tuple) else value
        gain[i] = value if value >= 0 else normal if gain[i] == untouched else gain[i]
    values.update(dynprm=tuple(dyn), gainprm=tuple(gain))
    values["biasprm"] = (*gain[: len(_MUSCLE)], *values["biasprm"][len(_MUSCLE) :])
    _types(values, GainType.MUSCLE, BiasType.MUSCLE, DynType.MUSCLE)


def adhesion(values: Values, given: Values) -> None:
    """Force = gain ctrl, normal to the contacts of a body."""
    _not_negative(given, "gain")
    if min(values["ctrlrange"]) < 0:
        raise ValueError("the control range of an adhesion actuator cannot be negative")
    _put(values, "gainprm", _0=given.get("gain", values["gainprm"][0]))
    values["ctrllimited"] = _LIMITED
    _types(values, GainType.FIXED, BiasType.NONE)


SHORTCUTS: dict[str, Callable[[Values, Values], None]] = {
    "general": general,
    "motor": motor,
    "position": position,
    "velocity": velocity,
    "intvelocity": intvelocity,
    "damper": damper,
    "cylinder": cylinder,
    "muscle": muscle,
    "adhesion": adhesion,
}


def _entry(vector: str, index: int, scale: float = 1.0) -> Callable[[Values], float]:
    return lambda values: scale * values[vector][index]


_SERVO = {
    "kp": _entry("gainprm", 0),
    "kv": _entry("biasprm", 2, -1.0),
    "dampratio": _entry("biasprm", 2),
}
# Finds the attributes of a shortcut from the values of the general actuator.
GIVEN: dict[str, dict[str, Callable[[Values], Any]]] = {
    "position": _SERVO | {"timeconst": _entry("dynprm", 0)},
    "intvelocity": _SERVO,
    "velocity": {"kv": _entry("gainprm", 0)},
    "damper": {"kv": _entry("gainprm", 2, -1.0)},
    "cylinder": {
        "timeconst": _entry("dynprm", 0),
        "area": _entry("gainprm", 0),
        "diameter": lambda values: math.sqrt(4 / math.pi * values["gainprm"][0]),
    },
    "muscle": {
        "timeconst": lambda values: values["dynprm"][:2],
        "tausmooth": _entry("dynprm", 2),
        "range": lambda values: values["gainprm"][:2],
        **{name: _entry("gainprm", i) for i, (name, *_) in enumerate(_MUSCLE) if i > 1},
    },
    "adhesion": {"gain": _entry("gainprm", 0)},
}
