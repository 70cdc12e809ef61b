"""Expands elements that stand for other elements: replicate, attach and composite."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from mjjax.core.words import nearest
from mjjax.math.quat import rotate
from mjjax.mjcf import keyframes
from mjjax.mjcf.attach import (
    FOLLOWERS,
    Known,
    Rename,
    attach,
    copy_followers,
    copy_parts,
    known_names,
    remove_followers,
)
from mjjax.mjcf.budget import Budget
from mjjax.mjcf.cable import composite
from mjjax.mjcf.defaults import builtin
from mjjax.mjcf.element import Element
from mjjax.mjcf.keyframes import Snapshot
from mjjax.mjcf.orientation import orientations
from mjjax.mjcf.read import Node
from mjjax.mjcf.references import references
from mjjax.mjcf.spec import Spec

Fill = Callable[[Element, Node, str], None]


@dataclass
class Draft:
    """A model being built.

    Attributes:
        spec: the model so far.
        budget: how much it may still grow.
        models: models that may be attached, by name.
        snapshots: keyframes taken apart, to be written when the tree is complete.
        grown: whether parts were copied, so that keyframes may be shorter than the state.
    """

    spec: Spec
    budget: Budget
    models: dict[str, Spec] = field(default_factory=dict)
    snapshots: list[Snapshot] = field(default_factory=list)
    grown: bool = False


def _frame(node: Node, classname: str) -> Element:
    return Element("frame", dict(builtin("frame")), node.origin, classname, key="frame")


def replicate(draft: Draft, parent: Element, node: Node, classname: str, fill: Fill) -> None:
    """Adds copies of the element's content, each of them moved on from the copy before.

    Copy i is turned by i times `euler`. Its position is that of the copy before, moved by `offset`
    in the frame of that copy. Names get `sep` and the number of the copy, with leading zeros.
    """
    spec = draft.spec
    template = parent.add(_frame(node, classname))
    fill(template, node, classname)
    for element in [e for e in template.walk() if e.kind == "inertial"]:
        if element.owner is template.owner:
            spec.warnings.append(str(element.origin.error("an inertial cannot be replicated")))
            _parent(element).remove(element)
    parts = list(template.children)
    first = not draft.snapshots
    snapshots = keyframes.take(spec) if first else []
    moved = list(snapshots)
    known = known_names(spec)
    count, sep = node.values["count"], node.values.get("sep", "")
    draft.budget.make(node.origin, count * (1 + sum(1 for part in parts for _ in part.walk())))
    made: set[Element] = set()
    pos, offset = np.zeros(3), np.array(node.values.get("offset", (0, 0, 0)), np.float64)
    for i in range(count):
        frame = _turned(spec, node, classname, pos, i)
        parent.add(frame)
        rename = Rename(suffix=f"{sep}{i:0{len(str(count))}}")
        copies: dict[Element, Element] = {}
        copy_parts(frame, parts, rename, known, copies)
        copy_followers(spec, spec, FOLLOWERS, rename, known, copies, made)
        for snapshot in snapshots:
            moved.append(_numbered(snapshot, rename.suffix, copies, known))
        if i == 0 and not first:
            draft.snapshots = [_undriven(s, known).moved(s.key, copies) for s in draft.snapshots]
        pos = pos + rotate(np.array(frame.values["quat"]), offset)
    parent.remove(template)
    remove_followers(spec, template.walk(), known)
    spec.elements["key"][:0] = [s.key for s in moved[len(snapshots) :]]
    draft.snapshots += moved
    draft.grown = True


def _parent(element: Element) -> Element:
    if element.parent is None:
        raise ValueError(f"<{element.origin.element}> is in no other element")
    return element.parent


def _turned(spec: Spec, node: Node, classname: str, pos: np.ndarray, i: int) -> Element:
    """The frame of copy i."""
    frame = _frame(node, classname)
    frame.values["pos"] = tuple(pos.tolist())
    if "euler" in node.values:
        frame.values["alt"] = ("euler", tuple(i * angle for angle in node.values["euler"]))
        quat = orientations([frame], bool(spec.compiler["angle"]), spec.compiler["eulerseq"])[0]
        frame.values.update(quat=tuple(quat.tolist()), alt=None)
    return frame


def _numbered(
    snapshot: Snapshot, suffix: str, copies: dict[Element, Element], known: Known
) -> Snapshot:
    """The keyframe of one copy."""
    key = snapshot.key.copy()
    key.values["name"] = snapshot.key.name + suffix
    return _undriven(snapshot, known).moved(key, copies)


def _undriven(snapshot: Snapshot, known: Known) -> Snapshot:
    """The snapshot without values of actuators that are complete, which MuJoCo forgets."""
    parts = dict(snapshot.parts)
    for part in {"act", "ctrl"} & set(parts):
        parts[part] = {
            element: values
            for element, values in parts[part].items()
            if any(r.name not in known.get(r.kind, ()) for r in references(element))
        }
    return Snapshot(snapshot.key, parts)


def attach_model(draft: Draft, parent: Element, node: Node, classname: str, fill: Fill) -> None:
    """Adds a body of another model, or its whole world, with all that refers to it."""
    name, body = node.values["model"], node.values.get("body", "")
    if name not in draft.models:
        hint = nearest(name, draft.models) or "declare it with <model> in <asset>"
        raise node.error(f"unknown model {name!r}", hint)
    source = draft.models[name]
    parts = list(source.worldbody.children)
    if body:
        bodies = {e.name: e for e in source.worldbody.walk() if e.kind == "body"}
        if body not in bodies:
            raise node.error(f"model {name!r} has no body {body!r}", nearest(body, bodies))
        parts = [bodies[body]]
    draft.budget.make(node.origin, sum(1 for part in parts for _ in part.walk()))
    rename = Rename(node.values["prefix"], assets=True)
    if body and _moved(draft.spec, parent, node, rename(body)):
        return
    _, snapshots = attach(draft.spec, parent, source, parts, rename)
    draft.snapshots += snapshots
    draft.grown = True


def _moved(spec: Spec, parent: Element, node: Node, name: str) -> bool:
    """Moves a body that exists already to the place where it is attached again, as in MuJoCo."""
    for body in spec.worldbody.walk():
        if body.kind == "body" and body.name == name:
            if _parent(body).owner is not parent.owner:
                raise node.error(f"there is another body {name!r}", "use another prefix")
            _parent(body).remove(body)
            parent.add(body)
            return True
    return False


MACROS: dict[str, Callable[[Draft, Element, Node, str, Fill], None]] = {
    "replicate": replicate,
    "attach": attach_model,
    "composite": lambda draft, parent, node, classname, fill: composite(
        draft.spec, draft.budget, parent, node
    ),
}
