"""Default classes: the values from which an element starts, and over which its own are laid."""

import functools
from typing import Any

from mjjax.core.below import does
from mjjax.core.errors import Origin
from mjjax.core.words import nearest
from mjjax.mjcf.edit import ORIENTATIONS
from mjjax.mjcf.element import DEFAULT_ROWS, DefaultClass, Element
from mjjax.mjcf.read import Node
from mjjax.mjcf.schema import ELEMENTS
from mjjax.mjcf.shortcuts import SHORTCUTS

ROOT_CLASS = "main"
_WHOLE = ("springlength",)  # a single value gives both entries, whatever the class says
_NOT_VALUES = frozenset(("class", "childclass", *ORIENTATIONS))
# Values that an element holds although its row of the table has no such attribute.
_HIDDEN: dict[str, dict[str, Any]] = {
    "actuator.general": {"inheritrange": 0.0},
    "joint": {"align": 2},
}
# Sections whose elements are of one kind; the tag is their value "type".
_TYPED = {"sensor": "sensor", "equality": "equality", "spatial": "wrap", "fixed": "wrap"}
_TENDONS = ("spatial", "fixed")


def world() -> Element:
    """An empty world."""
    return Element("body", builtin("body") | {"name": "world"}, Origin("worldbody"), key="body")


@functools.cache
@does("default attributes")
def builtin(key: str) -> dict[str, Any]:
    """MuJoCo's own defaults for the attributes of a row of the table; do not modify."""
    attributes = ELEMENTS[key].attributes
    values = {n: a.default for n, a in attributes.items() if n not in _NOT_VALUES}
    if "quat" in values:
        values["alt"] = None
    section, _, tag = key.rpartition(".")
    if section in _TYPED or tag in _TENDONS:
        values["type"] = tag
    return values | _HIDDEN.get(key, {})


def kind_of(node: Node) -> str:
    """The kind of element that a node of the table describes."""
    section, _, tag = node.key.rpartition(".")
    if tag in SHORTCUTS and (section == "actuator" or section == "default"):
        return "actuator"
    return "tendon" if tag in _TENDONS else _TYPED.get(section, tag)


def overlay(base: dict[str, Any], node: Node) -> dict[str, Any]:
    """The values of `base` with the attributes of `node` laid over them.

    A vector shorter than its maximum keeps the remaining entries of the base. An orientation in
    another form replaces that of the base. An actuator shortcut sets the values that it stands for.

    Raises:
        MjcfError: there is more than one orientation, or the shortcut does not accept a parameter.
    """
    values = dict(base)
    attributes = ELEMENTS[node.key].attributes
    for name, value in node.values.items():
        if name in _NOT_VALUES or name not in base:  # attributes of shortcuts are not in the base
            continue
        below = base.get(name)
        if not attributes[name].exact and below is not None and name not in _WHOLE:
            value = value + below[len(value) :]
        values[name] = value
    _orientation(values, node)
    shortcut = SHORTCUTS.get(node.tag) if kind_of(node) == "actuator" else None
    if shortcut is not None:
        try:
            shortcut(values, node.values)
        except ValueError as error:
            raise node.error(str(error)) from None
    return values


def _orientation(values: dict[str, Any], node: Node) -> None:
    given = {*node.attrib, *node.values}
    turns = [name for name in ORIENTATIONS if name in node.values]
    if len(given.intersection(("quat", *ORIENTATIONS))) > 1:
        raise node.error("more than one orientation is given", "keep one of them")
    if "quat" in node.values and not any(node.values["quat"]):
        raise node.error("the zero quaternion is not an orientation")
    if turns:
        values["alt"] = (turns[0], node.values[turns[0]])


def read_defaults(sections: list[Node]) -> dict[str, DefaultClass]:
    """The class tree of all top-level default sections.

    Raises:
        MjcfError: a class has no name or is repeated, or the top level is renamed.
    """
    root = DefaultClass(ROOT_CLASS, "", {kind: builtin(row) for kind, row in DEFAULT_ROWS.items()})
    classes = {ROOT_CLASS: root}
    for section in sections:
        name = section.values.get("class")
        if name and name != ROOT_CLASS:
            raise section.error(
                f"the top-level default class cannot be named {name!r}",
                f"put <default class={name!r}> inside a <default>",
            )
        _fill(root, section, classes)
    return classes


def _fill(target: DefaultClass, section: Node, classes: dict[str, DefaultClass]) -> None:
    nested = []
    for child in section.children:
        if child.tag == "default":
            nested.append(child)
            continue
        kind = kind_of(child)
        if kind in target.values:
            target.values[kind] = overlay(target.values[kind], child)
    for child in nested:
        name = child.values.get("class")
        if not name:
            raise child.error("a default class needs a name", "add the attribute 'class'")
        if name in classes:
            raise child.error(f"default class {name!r} is repeated")
        classes[name] = DefaultClass(name, target.name, dict(target.values))
        _fill(classes[name], child, classes)


def find_class(node: Node, attribute: str, inherited: str, classes: dict[str, DefaultClass]) -> str:
    """The class that `node` names in `attribute`, or the inherited one."""
    name = node.values.get(attribute)
    if name is None:
        return inherited
    if name not in classes:
        raise node.error(f"unknown default class {name!r}", nearest(name, classes))
    return name


def make(node: Node, classname: str, classes: dict[str, DefaultClass]) -> Element:
    """The element that a node describes, on top of its default class.

    Raises:
        MjcfError: from `overlay`.
    """
    kind = kind_of(node)
    base = classes[classname].values.get(kind, {})
    if kind != "actuator":  # shortcuts of actuators have attributes that are not values
        base = builtin(node.key) | base
    return Element(kind, overlay(base, node), node.origin, classname, key=node.key)
