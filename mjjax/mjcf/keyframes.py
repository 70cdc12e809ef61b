"""Keyframes while the model around them changes: values held per joint, actuator and body."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from mjjax.core.enums import DynType, JointType
from mjjax.mjcf.orientation import IDENTITY, compose, orientations
from mjjax.mjcf.spec import Element, Spec

_NQ, _NV = (7, 4, 1, 1), (6, 3, 1, 1)  # by joint type
# Part of a keyframe -> what its values belong to.
_PARTS = {
    "qpos": "joint",
    "qvel": "joint",
    "act": "actuator",
    "ctrl": "actuator",
    "mpos": "mocap",
    "mquat": "mocap",
}
_DRIVEN = ("act", "ctrl")
Values = tuple[float, ...]


@dataclass
class Snapshot:
    """A keyframe taken apart: for each part that it gives, the values by element."""

    key: Element
    parts: dict[str, dict[Element, Values]] = field(default_factory=dict)

    def moved(self, key: Element, copies: Mapping[Element, Element]) -> "Snapshot":
        """The same for another keyframe, with elements replaced by their copies."""
        parts = {
            name: {copies.get(e, e): values for e, values in part.items()}
            for name, part in self.parts.items()
        }
        return Snapshot(key, parts)

    def without(self, names: Iterable[str]) -> "Snapshot":
        """The same without some parts."""
        return Snapshot(self.key, {n: p for n, p in self.parts.items() if n not in set(names)})


def owners(spec: Spec) -> dict[str, list[Element]]:
    """What the values of a keyframe belong to, in the order of the model."""
    joints: list[Element] = []
    mocap: list[Element] = []
    waiting = [spec.worldbody]
    while waiting:
        body = waiting.pop()
        members = list(_members(body))
        joints += [e for e in members if e.kind == "joint"]
        if body.values["mocap"]:
            mocap.append(body)
        waiting.extend(reversed([e for e in members if e.kind == "body"]))
    return {"joint": joints, "mocap": mocap, "actuator": list(spec.elements["actuator"])}


def _members(parent: Element) -> Iterable[Element]:
    """The elements of a body, also those in its frames."""
    for child in parent.children:
        if child.kind == "frame":
            yield from _members(child)
        else:
            yield child


def _width(part: str, owner: Element) -> int:
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
        for part, kind in _PARTS.items():
            values, adr = key.values[part], 0
            if values is None:
                continue
            total = sum(_width(part, owner) for owner in lists[kind])
            if len(values) != total:
                raise key.origin.error(
                    f"{part} has {len(values)} values, the model {total}",
                    "what is replicated counts once",
                )
            parts = snapshot.parts[part] = {}
            for owner in lists[kind]:
                width = _width(part, owner)
                parts[owner] = values[adr : adr + width]
                adr += width
        found.append(snapshot)
    return found


def put(spec: Spec, snapshots: Iterable[Snapshot]) -> None:
    """Writes keyframes for the model as it is now; what they do not say is the reference."""
    lists = owners(spec)
    for snapshot in snapshots:
        for part, given in snapshot.parts.items():
            values: list[float] = []
            for owner in lists[_PARTS[part]]:
                values += given[owner] if owner in given else _reference(spec, part, owner)
            snapshot.key.values[part] = tuple(values)


def pad(spec: Spec) -> None:
    """Gives keyframes that were written before the model grew the reference for what is new."""
    lists = owners(spec)
    for key in spec.elements["key"]:
        for part, kind in _PARTS.items():
            values = key.values[part]
            if values is None:
                continue
            whole = [x for owner in lists[kind] for x in _reference(spec, part, owner)]
            key.values[part] = tuple(values) + tuple(whole[len(values) :])


def _reference(spec: Spec, part: str, owner: Element) -> Values:
    if part in ("mpos", "mquat"):
        pos, quat = _pose(spec, owner)
        return pos if part == "mpos" else quat
    if part != "qpos":
        return (0.0,) * _width(part, owner)
    kind = owner.values["type"]
    if kind == JointType.FREE:
        pos, quat = _pose(spec, _body_of(owner))
        return pos + quat
    if kind == JointType.BALL:
        return tuple(IDENTITY.tolist())
    degree = spec.compiler["angle"] and kind == JointType.HINGE
    return (owner.values["ref"] * (np.pi / 180 if degree else 1.0),)


def _body_of(element: Element) -> Element:
    """The body that an element belongs to, through its frames."""
    while element.parent is not None:
        element = element.parent
        if element.kind == "body":
            break
    return element


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
