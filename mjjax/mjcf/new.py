"""Elements that a program adds to a model; they go through the same steps as those in a file."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from mjjax.core.words import nearest
from mjjax.mjcf import keyframes
from mjjax.mjcf.attach import (
    FOLLOWERS,
    Rename,
    attach,
    known_names,
    remove_followers,
)
from mjjax.mjcf.build import LISTS, element
from mjjax.mjcf.defaults import ROOT_CLASS, builtin
from mjjax.mjcf.edit import coerce, find
from mjjax.mjcf.keyframes import Snapshot
from mjjax.mjcf.macros import MACROS
from mjjax.mjcf.read import Node
from mjjax.mjcf.references import IN_TREE
from mjjax.mjcf.schema import ELEMENTS
from mjjax.mjcf.spec import DefaultClass, Element, Origin, Spec

_NOT_IN_WORLD = ("joint", "freejoint", "inertial")
_TAGS = {"actuator": "general", "sensor": "", "equality": "", "tendon": ""}
_SECTION = {kind: tag for tag, kinds in LISTS.items() for kind in kinds}


def inside(parent: Element, tag: str, classname: str, values: Mapping[str, Any]) -> Element:
    """Adds an element to a body, frame, tendon, material or tuple.

    Raises:
        AttributeError: the parent cannot have such an element, or it has no such attribute.
        TypeError: a value has the wrong type.
        ValueError: a value is wrong or missing, or the element cannot stand in the world.
    """
    children = ELEMENTS[parent.key].children
    if tag not in children or tag in MACROS:
        raise AttributeError(f"a <{parent.origin.element}> has no <{tag}>")
    spec = parent.spec
    in_world = spec is not None and parent.owner is spec.worldbody
    if tag in _NOT_IN_WORLD and in_world:
        raise ValueError("the world cannot have joints or inertia; put it in a body")
    classes = spec.defaults if spec else {ROOT_CLASS: DefaultClass(ROOT_CLASS, "", {})}
    classname = classname or (parent.classname if parent.kind in IN_TREE else ROOT_CLASS)
    made = _make(children[tag][0], tag, classname, values, classes)
    if spec is None or not (made.kind == "joint" or made.values.get("mocap")):
        return parent.add(made)
    with _keyframes_kept(spec):
        return parent.add(made)


def outside(spec: Spec, kind: str, tag: str, classname: str, values: Mapping[str, Any]) -> Element:
    """Adds an element that does not stand in the world; errors as in `inside`."""
    tag = tag or _TAGS.get(kind, kind)
    children = ELEMENTS[_SECTION[kind]].children
    if tag not in children:
        hint = nearest(tag, children)
        raise ValueError(f"there is no {kind} {tag!r}{'; ' + hint if hint else ''}")
    made = _make(children[tag][0], tag, classname or ROOT_CLASS, values, spec.defaults)
    if kind != "actuator":
        return spec.append(made)
    with _keyframes_kept(spec):
        return spec.append(made)


def _make(
    key: str, tag: str, classname: str, values: Mapping[str, Any], classes: dict[str, DefaultClass]
) -> Element:
    if classname not in classes:
        raise ValueError(f"there is no default class {classname!r}")
    node, attributes = Node(tag, {}, "", 0, key=key), ELEMENTS[key].attributes
    if ELEMENTS[key].unsupported:
        raise node.unsupported(f"not supported yet: {ELEMENTS[key].unsupported}")
    for name, value in values.items():
        found = coerce(find(attributes, f"<{tag}>", name), value)
        if found is not None:
            node.values[name] = found
    for attribute in attributes.values():
        if attribute.required and attribute.name not in node.values:
            raise ValueError(f"a <{tag}> needs {attribute.name!r}")
    return element(node, classname, classes)


def default_class(spec: Spec, name: str, parent: str) -> DefaultClass:
    """Adds a default class that starts from the values of another.

    Raises:
        ValueError: there is such a class already, or not the other one.
    """
    if name in spec.defaults or parent not in spec.defaults:
        raise ValueError(f"default class {name!r} exists, or {parent!r} does not")
    found = spec.defaults[name] = spec.defaults[parent].copy()
    found.name, found.parent = name, parent
    return found


def delete(spec: Spec, gone: Element) -> None:
    """Removes an element and all constraints, actuators, sensors, ... that refer to it."""
    known = known_names(spec)
    with _keyframes_kept(spec):
        if gone.parent is not None:
            gone.parent.remove(gone)
        else:
            spec.elements[gone.kind].remove(gone)
            gone.model = None
        remove_followers(spec, gone.walk(), known, (*FOLLOWERS, "skin", "tuple"))


@contextlib.contextmanager
def _keyframes_kept(spec: Spec) -> Iterator[None]:
    """Fits the keyframes to the model after a change, but not those that did not fit before."""
    snapshots = _snapshots(spec) if spec.elements["key"] else []
    yield
    keys = set(spec.elements["key"])
    keyframes.put(spec, [s for s in snapshots if s.key in keys])


def _snapshots(spec: Spec) -> list[Snapshot]:
    keys, found = spec.elements["key"], []
    for key in keys:
        spec.elements["key"] = [key]
        try:
            found += keyframes.take(spec)
        except ValueError:
            continue
        finally:
            spec.elements["key"] = keys
    return found


def attach_world(spec: Spec, source: Spec, holder: Element, rename: Rename) -> Element:
    """Puts the whole world of another model into a new frame in a body or frame, or at a site."""
    pose = {}
    parent = holder
    if holder.kind == "site":
        pose = {name: holder.values[name] for name in ("pos", "quat", "alt")}
        if holder.values["fromto"] is not None:
            raise ValueError("a site with fromto cannot be attached to")
        if holder.parent is None:
            raise ValueError("the site is not in the model")
        parent = holder.parent
    origin = Origin("frame")
    frame = parent.add(
        Element("frame", builtin("frame") | pose, origin, parent.classname, key="frame")
    )
    with _keyframes_kept(spec):
        _, more = attach(spec, frame, source, list(source.worldbody.children), rename)
    keyframes.put(spec, more)
    return frame
