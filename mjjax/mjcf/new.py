"""Adds elements to a model; they go through the same steps as elements in a file."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mjjax.core.below import does
from mjjax.core.errors import Origin
from mjjax.core.words import nearest
from mjjax.mjcf import assets, keyframes
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
from mjjax.mjcf.element import DefaultClass, Element
from mjjax.mjcf.keyframes import Snapshot
from mjjax.mjcf.macros import MACROS
from mjjax.mjcf.read import Node
from mjjax.mjcf.references import IN_TREE
from mjjax.mjcf.schema import ELEMENTS
from mjjax.mjcf.spec import Spec

_NOT_IN_WORLD = ("joint", "freejoint", "inertial")
_TAGS = {"actuator": "general", "sensor": "", "equality": "", "tendon": ""}
_SECTION = {kind: tag for tag, kinds in LISTS.items() for kind in kinds}


@does("Element.add")
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
    if spec is not None and parent.kind in IN_TREE:
        spec.turns += 1
        made.turn = spec.turns
    if spec is None or not (made.kind == "joint" or made.values.get("mocap")):
        return parent.add(made)
    with _keyframes_kept(spec):
        return parent.add(made)


@does("Spec.add")
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


@does("Spec.add_default")
def default_class(spec: Spec, name: str, parent: str) -> DefaultClass:
    """Adds a default class that starts from the values of another.

    Raises:
        ValueError: there is such a class already, or the parent does not exist.
    """
    if name in spec.defaults or parent not in spec.defaults:
        raise ValueError(f"default class {name!r} already exists, or {parent!r} does not")
    found = spec.defaults[name] = spec.defaults[parent].copy()
    found.name, found.parent = name, parent
    return found


@does("Spec.delete")
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


@does("Spec.attach")
def attach_world(
    spec: Spec, source: Spec, holder: Element, prefix: str | None, suffix: str | None
) -> Element:
    """Puts the whole world of another model into a new frame in a body or frame, or at a site."""
    frame = _frame_at(holder)
    rename = Rename("/" if prefix is None else prefix, suffix or "", assets=True)
    _attach(spec, frame, source, list(source.worldbody.children), rename, [frame])
    return frame


@does("Element.attach")
def attach_part(
    holder: Element, kind: str, part: Element, prefix: str | None, suffix: str | None
) -> Element:
    """Puts a body or frame of another model into a body or frame, or at a site.

    Raises:
        AttributeError: such an element cannot hold it.
        ValueError: it is not a body or frame, it belongs to the same model, or it is a world.
    """
    places = ("body",) if kind == "frame" else ("frame", "site")
    if holder.kind not in places:
        raise AttributeError(f"a <{holder.kind}> has no attach_{kind}, a <{places[0]}> has")
    spec, source = holder.spec, part.spec if isinstance(part, Element) else None
    if source is None or part.kind != kind or part.parent is None:
        raise ValueError(f"attach a {kind} of a model, not {part!r:.60}")
    if spec is None or spec is source:
        raise ValueError(f"attach a {kind} of another model, or of a copy() of this one")
    inside = _frame_at(holder) if holder.kind == "site" else holder
    rename = Rename(prefix or "", suffix or "", assets=True)
    outer = [] if inside is holder else [inside]
    return _attach(spec, inside, source, [part], rename, outer)[0]


def _attach(
    spec: Spec,
    inside: Element,
    source: Spec,
    parts: Sequence[Element],
    rename: Rename,
    made: Sequence[Element],
) -> list[Element]:
    """Puts copies of parts of another model into a body or frame; `made` has frames made for them.

    As in MuJoCo, the parts come after everything that the body had by then, in whichever frame they
    are.
    """
    spec.directories += (assets.files_of(source).root, *source.directories)
    with _keyframes_kept(spec):
        twins, more = attach(spec, inside, source, parts, rename)
        for element in {e for top in (*made, *twins) for e in top.walk()}:
            element.turn += spec.turns + 1
        spec.turns += source.turns + 1
    keyframes.put(spec, more)
    return twins


def _frame_at(holder: Element) -> Element:
    """A new frame in a body or frame, or at a site."""
    pose, parent = {}, holder
    if holder.kind == "site":
        pose = {name: holder.values[name] for name in ("pos", "quat", "alt")}
        if holder.values["fromto"] is not None:
            raise ValueError("a site with fromto cannot be attached to")
        if holder.parent is None:
            raise ValueError("the site is not in the model")
        parent = holder.parent
    values = builtin("frame") | pose
    return parent.add(Element("frame", values, Origin("frame"), parent.classname, key="frame"))
