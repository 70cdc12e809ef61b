"""Writes a `Spec` as MJCF text, with every value that differs from MuJoCo's default.

Numbers are written so that they are read back exactly. Macros and includes are expanded. Default
classes are written only for values that nothing but a class can give.
"""

import os
from collections.abc import Iterator, Mapping
from typing import Any

import lxml.etree as etree

from mjjax.core.below import does
from mjjax.core.enums import DynType, JointType
from mjjax.core.files import write_atomic
from mjjax.mjcf import assets
from mjjax.mjcf.build import LISTS
from mjjax.mjcf.defaults import ORIENTATIONS, builtin
from mjjax.mjcf.element import Element
from mjjax.mjcf.keywords import KEYWORDS
from mjjax.mjcf.order import settle
from mjjax.mjcf.schema import ELEMENTS, Attribute
from mjjax.mjcf.spec import Spec

_NOT_WRITTEN = frozenset(("class", "childclass", *ORIENTATIONS))
_FREE = {"type", "name", "group", "align"}  # attributes that a free joint may have

_SECTIONS = "compiler lengthrange option flag size statistic visual default".split()
_TENDON = "default.tendon"
Classes = dict[tuple[tuple[str, Any], ...], str]  # names of classes by their values


@does("Spec.to_xml")
def to_xml(spec: Spec) -> str:
    """The model as MJCF; reading it gives the same model.

    File names stay as they were given, relative to the folders of the model. Files of attached
    models have their full path.
    """
    if spec.turns:
        spec = spec.copy()
        settle(spec)
    root = etree.Element("mujoco", model=spec.modelname)
    compiler = _section(root, "compiler", spec.compiler, builtin("compiler"))
    _section(compiler, "lengthrange", spec.lengthrange, builtin("lengthrange"))
    option = _section(root, "option", spec.option, builtin("option"))
    _section(option, "flag", spec.flag, {})
    _section(root, "size", spec.size, builtin("size"))
    _section(root, "statistic", spec.statistic, {})
    visual = etree.SubElement(root, "visual")
    for tag, values in ((t, x) for t, x in spec.visual.items() if x):
        _section(visual, tag, values, {}, f"visual.{tag}")
    classes = _classes(root, spec)
    for tag in ("custom", "asset"):
        _list(root, spec, tag, classes)
    world = etree.SubElement(root, "worldbody")
    for child in spec.worldbody.children:
        _write(world, child, classes)
    for tag in LISTS:
        if tag not in ("custom", "asset"):
            _list(root, spec, tag, classes)
    for node in reversed(list(root.iter())):
        if not len(node) and not node.attrib and node.tag in (*LISTS, *_SECTIONS):
            parent = node.getparent()
            if parent is not None:
                parent.remove(node)
    etree.indent(root)
    return etree.tostring(root, encoding="unicode") + "\n"


@does("Spec.to_file")
def to_file(spec: Spec, path: str | os.PathLike[str]) -> None:
    """Writes the model; it refers to files at their old places, by full paths if necessary."""
    moved = spec.copy()
    assets.find_files(moved)
    moved.base, moved.compiler["strippath"] = os.path.dirname(os.fspath(path)), 0
    assets.keep_files(moved, moved.everything())
    write_atomic(path, to_xml(moved).encode())


def _section(
    parent: Any, tag: str, values: Mapping[str, Any], default: Mapping[str, Any], row: str = ""
) -> Any:
    node = etree.SubElement(parent, tag)
    attributes = ELEMENTS[row or tag].attributes
    for name, value in values.items():
        if value is not None and not _same(value, default.get(name)):
            node.set(name, _text(attributes[name], value))
    return node


def _classes(root: Any, spec: Spec) -> Classes:
    """Writes a default class for every set of values that fixed tendons can have only from it."""
    section, classes = etree.SubElement(root, "default"), {}
    for tendon in spec.elements["tendon"]:
        values = _of_class(tendon)
        if values and values not in classes:
            classes[values] = f"tendon{len(classes)}"
            default = etree.SubElement(section, "default", {"class": classes[values]})
            _section(default, "tendon", dict(values), {}, _TENDON)
    return classes


def _of_class(element: Element) -> tuple[tuple[str, Any], ...]:
    """The values of a tendon for which its tag has no attributes."""
    if element.kind != "tendon":
        return ()
    own = ELEMENTS[element.key].attributes
    return tuple((n, x) for n, x in _differing(_TENDON, element.values) if n not in own)


def _list(root: Any, spec: Spec, tag: str, classes: Classes) -> None:
    """A section of elements outside the world."""
    section = etree.SubElement(root, tag)
    for kind in LISTS[tag]:
        for element in spec.elements[kind]:
            _write(section, element, classes)


def _write(parent: Any, element: Element, classes: Classes) -> None:
    """One element with everything in it."""
    tag, values = _form(element)
    row = element.key if element.kind != "actuator" else f"actuator.{tag}"
    row = tag if element.kind == "joint" else row
    node = etree.SubElement(parent, tag)
    if _of_class(element):
        node.set("class", classes[_of_class(element)])
    for name, value in _differing(row, values):
        node.set(name, _text(ELEMENTS[row].attributes[name], value))
    if values.get("alt"):
        form, numbers = values["alt"]
        node.attrib.pop("quat", None)
        node.set(form, _text(ELEMENTS[row].attributes[form], numbers))
    for child in element.children:
        _write(node, child, classes)


def _form(element: Element) -> tuple[str, dict[str, Any]]:
    """The tag of an element and the values it is written with."""
    values = element.values
    if element.kind == "joint":
        fixed = dict(builtin("joint"), type=int(JointType.FREE))
        free = all(_same(x, fixed[name]) for name, x in values.items() if name not in _FREE)
        return ("freejoint" if free and values["type"] == JointType.FREE else "joint"), values
    if element.kind == "actuator":
        return _servo(values) if values["inheritrange"] else ("general", values)
    if element.kind == "light" and values["directional"] is not None:
        values = dict(values, type=builtin("light")["type"])
    if element.kind == "material" and element.children:
        values = dict(values, texture=None)
    return element.key.rpartition(".")[2], values


def _servo(values: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The form of an actuator that takes its range from its joint, as only shortcuts can."""
    tag = "intvelocity" if values["dyntype"] == DynType.INTEGRATOR else "position"
    damping = values["biasprm"][2]
    values = dict(values, kp=values["gainprm"][0])
    values |= {"kv": -damping} if damping <= 0 else {"dampratio": damping}
    if values["dyntype"] == DynType.FILTEREXACT:
        values["timeconst"] = values["dynprm"][0]
    return tag, values


def _differing(row: str, values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The attributes that must be written, in the order of the table."""
    start = builtin(row)
    for name, attribute in ELEMENTS[row].attributes.items():
        value = values.get(name)
        if name in _NOT_WRITTEN or value is None or value == "":
            continue
        if attribute.required or not _same(value, start.get(name)):
            yield name, value


def _same(a: Any, b: Any) -> bool:
    return a == b and str(a) == str(b) if isinstance(a, str) else a == b


def _text(attribute: Attribute, value: Any) -> str:
    """The text of a value."""
    if attribute.kind == "text":
        return str(value)
    if attribute.kind in KEYWORDS:
        words = KEYWORDS[attribute.kind]
        if attribute.several:
            return " ".join(word for word, bit in words.items() if value & bit)
        return next(word for word, number in words.items() if number == value)
    numbers = value if isinstance(value, tuple) else (value,)
    convert = int if attribute.kind == "int" else float
    return " ".join(repr(convert(number)).removesuffix(".0") for number in numbers)
