"""Turns a checked node tree into a `Spec`: merges sections, resolves classes, makes elements."""

import functools
import os
from collections.abc import Iterator
from typing import Any

from mjjax.core.enums import JointType
from mjjax.mjcf import assets, defaults, keyframes, urdf
from mjjax.mjcf.budget import MODEL
from mjjax.mjcf.check import check, not_a_number, refuse_unsupported
from mjjax.mjcf.edit import Section, Sections
from mjjax.mjcf.element import DefaultClass, Element
from mjjax.mjcf.flexcomp import check_flexcomps
from mjjax.mjcf.macros import MACROS, Draft
from mjjax.mjcf.read import MAX_INCLUDE_DEPTH, URDF, Files, Node, read_tree
from mjjax.mjcf.spec import Spec

_HOLDERS = ("body", "frame", "replicate")
# Maps a section of single elements to the kinds that it holds.
LISTS = {
    "asset": ("mesh", "hfield", "texture", "material"),
    "contact": ("pair", "exclude"),
    "equality": ("equality",),
    "tendon": ("tendon",),
    "actuator": ("actuator",),
    "sensor": ("sensor",),
    "custom": ("numeric", "text", "tuple"),
    "keyframe": ("key",),
    "deformable": ("skin",),
}
# Attributes of actuators that belong to one transmission.
_SECOND = {"cranksite": ("slidersite", "cranklength"), "site": ("refsite",)}
_WORLD = ("body", "frame", "replicate")


def build(root: Node, files: Files) -> Spec:
    """The model description of a tree.

    Raises:
        MjcfError: the tree is not valid MJCF or URDF.
        UnsupportedFeature: it uses something that mjjax does not simulate.
    """
    warnings: list[str] = []
    if root.tag.lower() == URDF:
        root = urdf.to_mjcf(root, warnings)
    warnings += check(root)
    warnings += [*not_a_number(root), *_set_aside(root)]
    check_flexcomps(root, files)
    refuse_unsupported(root)
    sections: dict[str, list[Node]] = {}
    for section in root.children:
        sections.setdefault(section.tag, []).append(section)
    classes = defaults.read_defaults(sections.get("default", []))
    spec = Spec(
        modelname=root.values.get("model", "MuJoCo Model"),
        compiler=Section("compiler", _merged(sections, "compiler")),
        lengthrange=Section("lengthrange", _nested(sections, "compiler", "lengthrange")),
        option=Section("option", _merged(sections, "option")),
        flag=Section("flag", _flags(sections.get("option", []))),
        size=Section("size", _merged(sections, "size")),
        statistic=Section("statistic", _written(sections.get("statistic", []))),
        visual=Sections("visual", _visual(sections.get("visual", []))),
        defaults=classes,
        origins={tag: nodes[0].origin for tag, nodes in sections.items()},
        warnings=warnings,
        sources=list(dict.fromkeys(_sources(root))),
        base=files.base,
        assets=files.assets,
        directories=files.directories,
        limits=files.budget.limits,
    )
    for tag in LISTS:
        for section in sections.get(tag, []):
            for node in section.children:
                if node.tag == "model":
                    continue
                spec.append(_single(node, classes))
    assets.find_files(spec)
    draft = Draft(spec, files.budget, _models(sections.get("asset", []), files))
    spec.sources += [file for model in draft.models.values() for file in model.sources]
    for section in sections.get("worldbody", []):
        _fill_body(draft, spec.worldbody, section, defaults.ROOT_CLASS, world=True)
    keyframes.put(spec, draft.snapshots)
    if draft.grown:
        keyframes.pad(spec)
    _check_sections(spec, sections)
    return spec


def _set_aside(root: Node) -> list[str]:
    """Removes bodies outside of the world, which MuJoCo ignores, and returns a warning for each."""
    outside = [node for node in root.children if node.tag in _WORLD]
    root.children = [node for node in root.children if node.tag not in _WORLD]
    hint = "put it into <worldbody>"
    return [str(node.error("ignored, because it is not in the world", hint)) for node in outside]


def _sources(node: Node) -> Iterator[str]:
    """The files that a tree was read from."""
    yield node.file
    for child in node.children:
        yield from _sources(child)


def _written(nodes: list[Node]) -> dict[str, Any]:
    """The attributes of all sections of one name; the last one wins."""
    return {name: value for node in nodes for name, value in node.values.items()}


def _merged(sections: dict[str, list[Node]], tag: str) -> dict[str, Any]:
    """The attributes as in `_written`, laid over MuJoCo's defaults."""
    values = dict(defaults.builtin(tag))
    for node in sections.get(tag, []):
        values = defaults.overlay(values, node)
    return values


def _nested(sections: dict[str, list[Node]], tag: str, child: str) -> dict[str, Any]:
    nodes = [n for section in sections.get(tag, []) for n in section.children if n.tag == child]
    return dict(defaults.builtin(child)) | _written(nodes)


def _flags(sections: list[Node]) -> dict[str, int]:
    return _written([child for section in sections for child in section.children])


def _visual(sections: list[Node]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for section in sections:
        for child in section.children:
            found.setdefault(child.tag, {}).update(child.values)
    return found


def element(node: Node, classname: str, classes: dict[str, DefaultClass]) -> Element:
    """The element that a node describes, without its children."""
    return _MAKERS.get(node.tag, defaults.make)(node, classname, classes)


def _single(node: Node, classes: dict[str, DefaultClass]) -> Element:
    """One element outside the world."""
    classname = defaults.find_class(node, "class", defaults.ROOT_CLASS, classes)
    made = element(node, classname, classes)
    for child in node.children:
        made.add(defaults.make(child, classname, classes))
    return made


def _models(sections: list[Node], files: Files) -> dict[str, Spec]:
    """The models that may be attached, by the name given to them or their own."""
    models: dict[str, Spec] = {}
    for node in (n for section in sections for n in section.children if n.tag == "model"):
        name = node.values.get("file")
        if not name:
            raise node.error("attribute 'file' is required")
        found = files.find(name, os.path.dirname(node.file), node.origin)
        if found is None:
            raise node.error(f"cannot find the model file {name!r}")
        path, content = found
        chain = (*files.chain, os.path.normpath(node.file))
        if os.path.normpath(path) in chain:
            raise node.error(f"model {name!r} contains itself")
        if len(chain) > MAX_INCLUDE_DEPTH:
            raise node.error(f"models are attached more than {MAX_INCLUDE_DEPTH} deep")
        files.budget.make(node.origin, MODEL)
        inner = files.inner(path, chain)
        model = build(read_tree(content, path, inner), inner)
        models[node.values.get("name") or model.modelname] = model
    return models


def _fill_body(
    draft: Draft, parent: Element, node: Node, inherited: str, *, world: bool = False
) -> None:
    """Adds the children of `node` to a body or a frame.

    Args:
        draft: the model being built.
        parent: the body or frame.
        node: its XML element.
        inherited: default class of children that name no class.
        world: whether this is inside the world body, which may have no joints and no inertia.
    """
    classes = draft.spec.defaults
    for child in node.children:
        if world and child.tag in ("joint", "freejoint", "inertial"):
            raise child.error("the world cannot have joints or inertia", "put it in a <body>")
        classname = defaults.find_class(child, "class", inherited, classes)
        if child.tag in _HOLDERS:
            classname = defaults.find_class(child, "childclass", classname, classes)
        fill = functools.partial(_fill_body, draft, world=world and child.tag != "body")
        if child.tag in MACROS:
            MACROS[child.tag](draft, parent, child, classname, fill)
            continue
        added = parent.add(element(child, classname, classes))
        if child.tag in _HOLDERS:
            fill(added, child, classname)


def _freejoint(node: Node, classname: str, classes: dict[str, DefaultClass]) -> Element:
    """A free joint, which ignores the joint defaults of its class."""
    values = dict(defaults.builtin("joint"), type=int(JointType.FREE)) | node.values
    return Element("joint", values, node.origin, classname, key="freejoint")


def _inertial(node: Node, classname: str, classes: dict[str, DefaultClass]) -> Element:
    element = defaults.make(node, classname, classes)
    turned = element.values["alt"] is not None or "quat" in node.values
    if turned and "fullinertia" in node.values:
        raise node.error("fullinertia already says how the inertia is oriented")
    if "fullinertia" in node.values and any(element.values["diaginertia"]):
        raise node.error("fullinertia and diaginertia cannot both be given")
    return element


def _camera(node: Node, classname: str, classes: dict[str, DefaultClass]) -> Element:
    if "fovy" in node.values and "sensorsize" in node.values:
        raise node.error("'fovy' and 'sensorsize' cannot both be given", "remove 'fovy'")
    return defaults.make(node, classname, classes)


def _light(node: Node, classname: str, classes: dict[str, DefaultClass]) -> Element:
    if "directional" in node.values and "type" in node.values:
        raise node.error("'directional' and 'type' cannot both be given")
    return defaults.make(node, classname, classes)


_MAKERS = {
    "freejoint": _freejoint,
    "inertial": _inertial,
    "camera": _camera,
    "light": _light,
    "mesh": assets.named,
    "skin": assets.named,
    "hfield": assets.named,
    "texture": assets.named,
}


def _check_sections(spec: Spec, sections: dict[str, list[Node]]) -> None:
    """Makes the checks that MuJoCo makes while it reads the sections."""
    for node in sections.get("compiler", []):
        if node.values.get("coordinate"):
            raise node.error("global coordinates were removed from MJCF", "use local coordinates")
        if len(node.values.get("eulerseq", "xyz")) != 3:
            raise node.error("eulerseq must name three axes")
        for child in node.children:
            _check_lengthrange(child, spec)
    for node in sections.get("option", []):
        groups = node.values.get("actuatorgroupdisable", ())
        if any(not 0 <= group <= 30 for group in groups):
            raise node.error("only the actuator groups 0 to 30 can be disabled")
    for node in sections.get("size", []):
        _check_size(node)
    for node in sections.get("statistic", []):
        if node.values.get("extent", 1) <= 0:
            raise node.error("extent must be positive")
    for section in sections.get("visual", []):
        for node in section.children:
            for name in ("znear", "realtime"):
                if node.values.get(name, 1) <= 0:
                    raise node.error(f"{name} must be positive")
    for section in (*sections.get("asset", []), *sections.get("deformable", [])):
        for node in section.children:
            assets.check(node)
    for section in sections.get("actuator", []):
        for node in section.children:
            _check_transmission(node)
    for section in sections.get("worldbody", []):
        if section.attrib:
            raise section.error("the world cannot have attributes")


def _check_transmission(node: Node) -> None:
    for owner, names in _SECOND.items():
        wrong = [name for name in names if name in node.values and owner not in node.values]
        if wrong:
            raise node.error(f"{wrong[0]!r} goes with {owner!r} only", "remove it")


def _check_lengthrange(node: Node, spec: Spec) -> None:
    step = spec.lengthrange["timestep"]
    step = step if step > 0 else spec.option["timestep"]
    if step > 0:
        count = spec.lengthrange["inttotal"] / step
        spec.limits.bound(node.origin, "steps of the simulation", count, "steps")


def _check_size(node: Node) -> None:
    values = node.values
    for name, value in values.items():
        if name.startswith("nuser_") and value < -1:
            raise node.error(f"{name} cannot be less than -1")
    if values.get("nuserdata", 0) < 0:
        raise node.error("nuserdata cannot be negative")
    memory = values.get("memory", "-1").strip()
    number = memory[:-1] if memory[-1:].upper() in tuple("KMGTPE") else memory
    if memory != "-1" and not number.isdecimal():
        raise node.error(f"memory is {memory!r}, not a number with an optional suffix K,M,G,T,P,E")
    for name in ("njmax", "nstack"):
        if memory != "-1" and values.get(name, -1) != -1:
            raise node.error(f"'memory' and {name!r} cannot both be given")
