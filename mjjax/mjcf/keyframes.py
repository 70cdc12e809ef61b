"""Keyframes while the model around them changes: values held per joint, actuator and body."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from mjjax.core.enums import DynType, JointType
from mjjax.mjcf.element import Element
from mjjax.mjcf.orientation import IDENTITY, compose, orientations
from mjjax.mjcf.spec import Spec

_NQ, _NV = (7, 4, 1, 1), (6, 3, 1, 1)  # by joint type
# Maps a part of a keyframe to the kind of elements that its values belong to.
KEYFRAME_PARTS = {
    "qpos": "joint",
    "qvel": "joint",
    "act": "actuator",
    "ctrl": "actuator",
    "mpos": "mocap",
    "mquat": "mocap",
}
WRITTEN_REF = "written ref"  # hidden value of a joint from a model with other units of angles
PENDING = "pending"  # hidden value of a keyframe that came with an attached model
_DRIVEN = ("act", "ctrl")
Values = tuple[float, ...]


@dataclass
class Snapshot:
    """A keyframe taken apart: for each part that it gives, the values by element."""

    key: Element
    parts: dict[str, dict[Element, Values]] = field(default_factory=dict)

    def moved(self, key: Element, copies: Mapping[Element, Element]) -> "Snapshot":
        """This snapshot for another keyframe, with elements replaced by their copies."""
        parts = {
            name: {copies.get(e, e): values for e, values in part.items()}
            for name, part in self.parts.items()
        }
        return Snapshot(key, parts)


def owners(spec: Spec) -> dict[str, list[Element]]:
    """The elements that the values of a keyframe belong to, in the order of the model."""
    bodies = list(spec.in_order())
    return {
        "joint": [e for body in bodies for e in body.members() if e.kind == "joint"],
        "mocap": [body for body in bodies if body.values["mocap"]],
        "actuator": list(spec.elements["actuator"]),
        "body": bodies,
    }


def width(part: str, owner: Element) -> int:
    """Number of values in a part of a keyframe that belong to an element."""
    if part in ("qpos", "qvel"):
        return (_NQ if part == "qpos" else _NV)[owner.values["type"]]
    if part == "act":
        if owner.values["dyntype"] == DynType.NONE:
            return 0
        return owner.values["actdim"] if owner.values["actdim"] >= 0 else 1
    return {"ctrl": 1, "mpos": 3, "mquat": 4}[part]


def take(spec: Spec) -> list[Snapshot]:
    """All keyframes of a model, taken apart.

    Raises:
        MjcfError: a keyframe does not fit the model.
    """
    found, lists = [], owners(spec) if spec.elements["key"] else {}
    for key in spec.elements["key"]:
        snapshot = Snapshot(key)
        for part, kind in KEYFRAME_PARTS.items():
            values, adr = key.values[part], 0
            if values is None:
                continue
            total = sum(width(part, owner) for owner in lists[kind])
            if len(values) != total:
                raise key.origin.error(
                    f"{part} has {len(values)} values, but the model has {total}",
                    "count each replicated element once",
                )
            parts = snapshot.parts[part] = {}
            for owner in lists[kind]:
                count = width(part, owner)
                parts[owner] = values[adr : adr + count]
                adr += count
        found.append(snapshot)
    return found


def put(spec: Spec, snapshots: Iterable[Snapshot]) -> None:
    """Writes keyframes for the model as it is now; missing values are those of the reference."""
    snapshots = list(snapshots)
    lists = owners(spec) if snapshots else {}
    for snapshot in snapshots:
        for part, given in snapshot.parts.items():
            values: list[float] = []
            for owner in lists[KEYFRAME_PARTS[part]]:
                values += given[owner] if owner in given else _reference(spec, part, owner)
            snapshot.key.values[part] = tuple(values)


def pad(spec: Spec) -> None:
    """Completes keyframes that were written before the model grew.

    MuJoCo has not compiled the model by then. So, as in MuJoCo, new free bodies are at the origin,
    mocap bodies are where they are written, and joints are at their references as written.
    """
    lists = owners(spec)
    for key in spec.elements["key"]:
        for part, kind in KEYFRAME_PARTS.items():
            values = key.values[part]
            if values is None:
                continue
            if len(values) < sum(width(part, owner) for owner in lists[kind]):
                whole = [x for owner in lists[kind] for x in _uncompiled(part, owner)]
                key.values[part] = tuple(values) + tuple(whole[len(values) :])


def _uncompiled(part: str, owner: Element) -> Values:
    if part == "mpos":
        return tuple(owner.values["pos"])
    if part == "mquat" or (part == "qpos" and owner.values["type"] == JointType.BALL):
        return tuple(IDENTITY.tolist())
    if part != "qpos":
        return (0.0,) * width(part, owner)
    if owner.values["type"] == JointType.FREE:
        return (0.0, 0.0, 0.0, *IDENTITY.tolist())
    return (owner.values.get(WRITTEN_REF, owner.values["ref"]),)


def _reference(spec: Spec, part: str, owner: Element) -> Values:
    if part in ("mpos", "mquat"):
        pos, quat = _pose(spec, owner)
        return pos if part == "mpos" else quat
    if part != "qpos":
        return (0.0,) * width(part, owner)
    kind = owner.values["type"]
    if kind == JointType.FREE:
        pos, quat = _pose(spec, owner.owner or owner)
        return pos + quat
    if kind == JointType.BALL:
        return tuple(IDENTITY.tolist())
    degree = spec.compiler["angle"] and kind == JointType.HINGE
    return (owner.values["ref"] * (np.pi / 180 if degree else 1.0),)


def _pose(spec: Spec, body: Element) -> tuple[Values, Values]:
    """Position and orientation of a body in its parent, frames included."""
    degree, sequence = bool(spec.compiler["angle"]), spec.compiler["eulerseq"]
    pos = np.array([body.values["pos"]], np.float64)
    quat = orientations([body], degree, sequence)
    frame = body.parent
    while frame is not None and frame.kind == "frame":
        outer = np.array([frame.values["pos"]], np.float64)
        pos, quat = compose(outer, orientations([frame], degree, sequence), pos, quat)
        frame = frame.parent
    return tuple(pos[0].tolist()), tuple(quat[0].tolist())
