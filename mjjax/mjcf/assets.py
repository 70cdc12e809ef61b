"""Assets as they are written: their names, the places of their files, and the first checks."""

import os
import struct
from collections.abc import Callable, Iterable
from typing import TypeVar

from mjjax.core.constants import NGROUP
from mjjax.core.errors import Origin
from mjjax.mjcf import defaults
from mjjax.mjcf.budget import Budget
from mjjax.mjcf.element import DefaultClass, Element
from mjjax.mjcf.read import Files, Node, joined
from mjjax.mjcf.spec import Spec

T = TypeVar("T")

_TEXTURE_TYPES = ("", "image/png", "image/ktx", "image/vnd.mujoco.texture")
_HFIELD_TYPES = ("", "image/png", "image/vnd.mujoco.hfield")
PNG_SIGNATURE, PNG_HEAD = b"\x89PNG\r\n\x1a\n", 24
_FOLDERS = {"mesh": "meshdir", "hfield": "meshdir", "skin": "meshdir", "texture": "texturedir"}
_SIDES = tuple(f"file{side}" for side in "right left up down front back".split())
# Maps the attribute of an asset with a file to the attribute under which its path is kept.
FILES = {"file": "path"} | {side: f"path{side.removeprefix('file')}" for side in _SIDES}


def named(node: Node, classname: str, classes: dict[str, DefaultClass]) -> Element:
    """The element of an asset; an asset without a name has the name of its file."""
    element = defaults.make(node, classname, classes)
    if not element.name and element.values["file"]:
        name = element.values["file"].replace("\\", "/").rpartition("/")[2]
        element.values["name"] = name.rpartition(".")[0] or name
    return element


def files_of(spec: Spec) -> Files:
    """The source of the files of a model."""
    return Files(spec.base, spec.assets, spec.directories, budget=Budget(spec.limits))


def find_files(spec: Spec) -> None:
    """Gives every asset with files the paths of these files, from the folders in <compiler>."""
    for kind in _FOLDERS:
        for element in spec.elements[kind]:
            for attribute, path in FILES.items():
                name = element.values.get(attribute)
                if name:
                    element.values[path] = file_path(spec, kind, name)


def file_path(spec: Spec, kind: str, name: str) -> str:
    """The path at which a file that an asset of this kind names should be."""
    compiler = spec.compiler
    folder = compiler[_FOLDERS[kind]] or compiler["assetdir"] or ""
    plain = os.path.basename(name.replace("\\", "/")) if compiler["strippath"] else name
    return joined(spec.base, os.path.join(folder, plain))


def keep_files(spec: Spec, elements: Iterable[Element]) -> None:
    """Gives files that are not in the folders of the model their full path as a name."""
    for element in elements:
        for attribute, path in FILES.items():
            name = element.values.get(attribute)
            if name and file_path(spec, element.kind, name) != element.values[path]:
                element.values[attribute] = os.path.abspath(element.values[path])


def contents(element: Element, files: Files, attribute: str = "file") -> bytes:
    """The content of a file that the element names.

    Raises:
        MjcfError: there is no such file.
    """
    return _found(element, files.content, attribute)


def source(element: Element, files: Files, attribute: str) -> bytes | str:
    """The content of a file that the element names if it is in memory, otherwise its path.

    Raises:
        MjcfError: there is no such file.
    """
    return _found(element, files.source, attribute)


def _found(element: Element, find: Callable[[str, str, Origin], T | None], attribute: str) -> T:
    path, name = element.values[FILES[attribute]], element.values[attribute]
    found = find(path, name, element.origin)
    if found is None:
        raise element.origin.error(
            f"cannot find the file {name!r}", f"it should be {path!r}; or pass it in `assets`"
        )
    return found


def png_size(content: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG picture, from its head; None if the content is not a PNG."""
    if not content.startswith(PNG_SIGNATURE) or len(content) < PNG_HEAD:
        return None
    width, height = struct.unpack_from(">II", content, PNG_HEAD - 8)
    return width, height


def check(node: Node) -> None:
    """Makes the checks that MuJoCo makes while it reads an asset."""
    if node.tag in _CHECKS:
        _CHECKS[node.tag](node)


def _check_mesh(node: Node) -> None:
    values = node.values
    if -1 != values.get("maxhullvert", -1) < 4:
        raise node.error("maxhullvert must be larger than 3")
    if "builtin" in values:
        if "file" in values or "vertex" in values:
            other = "file" if "file" in values else "vertex"
            raise node.error(f"'builtin' and {other!r} cannot both be given")
        if "params" not in values:
            raise node.error("attribute 'params' is required with 'builtin'")


def _check_hfield(node: Node) -> None:
    values = node.values
    _check_content(node, _HFIELD_TYPES)
    cells = max(values.get("nrow", 0), 0) * max(values.get("ncol", 0), 0)
    if cells and len(values.get("elevation", ())) not in (0, cells):
        raise node.error(f"elevation has {len(values['elevation'])} values, not nrow x ncol")


def _check_texture(node: Node) -> None:
    values = node.values
    _check_content(node, _TEXTURE_TYPES)
    rows, columns = values.get("gridsize", (1, 1))
    if "gridlayout" in values and len(values["gridlayout"]) != rows * columns:
        raise node.error(f"gridlayout needs one letter for each of {rows} x {columns} cells")


def _check_content(node: Node, types: tuple[str, ...]) -> None:
    content = node.values.get("content_type", "")
    if "file" in node.values and content not in types:
        raise node.error(f"unknown content type {content!r}", f"one of {types[1:]}")


def _check_material(node: Node) -> None:
    if "texture" in node.values and node.children:
        raise node.error("a material can have a texture or layers, not both", "use layers only")
    if not node.values.get("name"):
        raise node.error("a material needs a name", "add the attribute 'name'")


def _check_skin(node: Node) -> None:
    if not 0 <= node.values.get("group", 0) < NGROUP:
        raise node.error(f"the group of a skin must be between 0 and {NGROUP - 1}")


_CHECKS: dict[str, Callable[[Node], None]] = {
    "mesh": _check_mesh,
    "hfield": _check_hfield,
    "texture": _check_texture,
    "material": _check_material,
    "skin": _check_skin,
}
