"""Rewrites elements that were written under other compiler settings for those of their model."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from mjjax.core.enums import JointType
from mjjax.mjcf.assets import keep_files
from mjjax.mjcf.element import Element
from mjjax.mjcf.keyframes import WRITTEN_REF
from mjjax.mjcf.orientation import orientations
from mjjax.mjcf.spec import Spec

# Settings that act on a whole model and have no equivalent in single elements.
_GLOBAL = (
    "boundmass",
    "boundinertia",
    "balanceinertia",
    "inertiafromgeom",
    "inertiagrouprange",
    "fitaabb",
    "fusestatic",
    "discardvisual",
    "strippath",
)
_TURNED = ("axisangle", "euler")  # orientations that depend on the settings


def adapt(spec: Spec, source: Spec, elements: Iterable[Element]) -> None:
    """Makes elements that came from `source` mean the same in `spec`.

    Raises:
        UnsupportedFeature: the two models have settings that cannot be combined.
    """
    theirs, ours = source.compiler, spec.compiler
    for name in _GLOBAL:
        if theirs[name] != ours[name]:
            raise source.origin("compiler").unsupported(
                f"the attached model has {name} = {theirs[name]}, the model it is put into "
                f"{ours[name]}",
                "give both the same <compiler> settings",
            )
    turned = (theirs["angle"], theirs["eulerseq"]) != (ours["angle"], ours["eulerseq"])
    for element in elements:
        if turned and (element.values.get("alt") or ("",))[0] in _TURNED:
            quat = orientations([element], bool(theirs["angle"]), theirs["eulerseq"])
            element.values.update(quat=tuple(quat[0].tolist()), alt=None)
        if theirs["angle"] != ours["angle"] and element.kind == "joint":
            _angles(element.values, np.pi / 180 if theirs["angle"] else 180 / np.pi)
        if theirs["autolimits"] != ours["autolimits"]:
            _limits(element, bool(theirs["autolimits"]))
        keep_files(spec, [element])
        if element.values.get("align") == 2:
            element.values["align"] = int(theirs["alignfree"])


def _angles(values: dict[str, Any], scale: float) -> None:
    if values["type"] in (JointType.HINGE, JointType.BALL):
        values["range"] = tuple(scale * x for x in values["range"])
    if values["type"] == JointType.HINGE:
        values.setdefault(WRITTEN_REF, values["ref"])
        for name in ("ref", "springref"):
            values[name] = scale * values[name]


def _limits(element: Element, autolimits: bool) -> None:
    """Makes explicit whether a range limits."""
    for name, value in element.values.items():
        if not name.endswith("limited") or value != 2:
            continue
        range_ = element.values[name.removesuffix("limited") + "range"] or (0, 0)
        if any(range_) and not autolimits:
            raise element.origin.error(
                f"a range is given but '{name}' is not",
                "set it, or set autolimits in <compiler>",
            )
        element.values[name] = int(range_[0] < range_[1])
