"""Reads XML text to a tree of nodes: hardened parsing, includes, file and line of every element."""

import functools
import os
import tempfile
from dataclasses import dataclass, field
from typing import Any

import lxml.etree as etree

from mjjax.core.errors import MjcfError, Origin, UnsupportedFeature
from mjjax.core.limits import bound
from mjjax.mjcf.budget import ATTRIBUTES, MOST_NESTED, Budget
from mjjax.mjcf.tolerant_xml import rewritten

MAX_INCLUDE_DEPTH = 50
URDF = "robot"  # root element, in any case
_CLIMB = 5  # number of levels above its folder in which a model finds files


@dataclass(slots=True)
class Node:
    """One XML element, with includes replaced by what they contain.

    Attributes:
        tag: the element's name.
        attrib: attributes as text.
        file: path of the file that holds it.
        line: line in that file.
        children: child elements in document order.
        key: the element's key in `schema.ELEMENTS`, set by `check`.
        values: typed attributes, set by `check`.
    """

    tag: str
    attrib: dict[str, str]
    file: str
    line: int
    children: list["Node"] = field(default_factory=list)
    key: str = ""
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def origin(self) -> Origin:
        """The place where it was written."""
        return Origin(self.tag, self.file, self.line, self.attrib.get("name", ""))

    def error(self, what: str, hint: str = "") -> MjcfError:
        """The error that this element is not valid."""
        return self.origin.error(what, hint)

    def unsupported(self, what: str, hint: str = "") -> UnsupportedFeature:
        """The error that this element is valid but not simulated."""
        return self.origin.unsupported(what, hint)


def joined(folder: str, name: str) -> str:
    """The path of a file that a model names.

    As in MuJoCo, ``..`` cancels the folder before it even if this folder does not exist, and a
    backslash is a slash.
    """
    return os.path.normpath(os.path.join(folder, name.replace("\\", "/")))


@dataclass
class Files:
    """The source of the files of one model: first memory, then the disk.

    A model is not trusted. From the disk it gets files in its folder or in the folders around it,
    but not in folders that it shares with others, such as the root, the home and the temporary
    folder.

    Attributes:
        base: directory of the main file.
        assets: contents of files by name.
        directories: other directories whose files it may read.
        seen: files read so far; a file may be included once.
        chain: the models that this one is attached to, from the outermost on.
    """

    base: str
    assets: dict[str, bytes]
    directories: tuple[str, ...] = ()
    seen: set[str] = field(default_factory=set)
    chain: tuple[str, ...] = ()
    budget: Budget = field(default_factory=Budget)

    def inner(self, path: str, chain: tuple[str, ...]) -> "Files":
        """The files of a model that this one attaches; it may read what this one may."""
        roots = (self.root, *self.directories)
        return Files(os.path.dirname(path), self.assets, roots, chain=chain, budget=self.budget)

    @functools.cached_property
    def root(self) -> str:
        """The folder that holds everything that the model may read."""
        home = os.path.expanduser("~")
        shared = {os.path.realpath(d) for d in (home, os.path.dirname(home), tempfile.gettempdir())}
        top = os.path.realpath(self.base or os.curdir)
        for _ in range(_CLIMB):
            above = os.path.dirname(top)
            if top in shared or above in shared or above == os.path.dirname(above):
                break
            top = above
        return top

    def find(self, name: str, folder: str, origin: Origin) -> tuple[str, bytes] | None:
        """Path and content of `name`, looked up from the main file, then from `folder`."""
        for path in dict.fromkeys((joined(self.base, name), joined(folder, name))):
            content = self.content(path, name, origin)
            if content is not None:
                return path, content
        return None

    def content(self, path: str, name: str, origin: Origin) -> bytes | None:
        """Content of the file `path`, None if there is none; arguments and errors as `source`."""
        found = self.source(path, name, origin)
        if not isinstance(found, str):
            return found
        try:
            with open(found, "rb") as stream:
                return stream.read()
        except OSError as error:
            raise origin.error(f"cannot read the file {name!r}: {error.strerror}") from None

    def source(self, path: str, name: str, origin: Origin) -> bytes | str | None:
        """Content of the file if it is given in memory as `name`, otherwise its path.

        As in MuJoCo, folders and case do not matter for files in memory.

        Args:
            path: path on the disk at which the file should be.
            name: name of the file in the model.
            origin: the element that names it.

        Raises:
            MjcfError: the model may not read the file, or it cannot be read.
            UnsupportedFeature: the file is too large.
        """
        for key in (name, path, os.path.normpath(path), os.path.normpath(name)):
            if key in self.assets:
                return self.assets[key]
        for key, content in self.assets.items():
            if os.path.basename(key).lower() == os.path.basename(path).lower():
                return content
        if not os.path.isfile(path):
            return None
        real = os.path.realpath(path)
        if not any(_holds(folder, real) for folder in (self.root, *self.directories)):
            raise origin.error(
                f"the file {name!r} lies outside the folders of the model",
                f"if you trust it, load the model with directories=[{os.path.dirname(real)!r}]",
            )
        size, limits = os.path.getsize(real), self.budget.limits
        limits.bound(origin, f"bytes of {name!r}", size, "file_bytes")
        return real


def _holds(folder: str, path: str) -> bool:
    """Whether a path without symbolic links is in a folder."""
    folder = os.path.realpath(folder)
    return path.startswith(os.path.join(folder, ""))


def read_tree(content: bytes, file: str, files: Files) -> Node:
    """The tree of the main file, includes resolved.

    Args:
        content: the XML text.
        file: its path, for messages and against including itself.
        files: where included files are found.

    Raises:
        MjcfError: the XML is broken, the root element is wrong, or an include is missing or
            repeated.
    """
    if file:
        files.seen.add(os.path.normpath(file))
    files.budget.read(Origin(file=file), len(content))
    root = _parse(content, file)
    if root.tag == "mujoco" and root.nsmap:
        raise _node(root, file).error("unknown attribute 'xmlns'", "MJCF has no namespaces")
    if root.tag != "mujoco" and root.tag.lower() != URDF:
        raise _node(root, file).error("the root element must be <mujoco>, or <robot> in URDF")
    return _convert(root, file, files, 0, 0)


def _parse(content: bytes, file: str) -> etree._Element:
    """The first element of an XML text, read as MuJoCo reads it."""
    if not content.strip():
        raise MjcfError("the file is empty", file=file)
    text = content.decode("utf-8-sig", errors="replace")
    if text.count("<?") == text.startswith("<?xml "):  # MuJoCo refuses them elsewhere
        try:
            return _strict(text, file)
        except etree.XMLSyntaxError:  # MuJoCo may accept it all the same
            pass
    try:
        return _strict(rewritten(text, file), file)
    except etree.XMLSyntaxError as error:
        line = int(error.lineno or 0)
        raise MjcfError(f"broken XML: {error.msg}", file=file, line=line) from None


def _strict(text: str, file: str) -> etree._Element:
    """The root of XML proper."""
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        attribute_defaults=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    root = etree.fromstring(text.encode(), parser)
    dtd = root.getroottree().docinfo.internalDTD
    if dtd is not None and any(True for _ in dtd.iterentities()):
        raise MjcfError("entity declarations are not allowed", file=file, line=1)
    return root


def _node(element: etree._Element, file: str) -> Node:
    origin = Origin(str(element.tag), file, int(element.sourceline or 0))
    bound(origin, "attributes", len(element.attrib), ATTRIBUTES)
    attrib = {str(name): str(value) for name, value in element.attrib.items()}
    return Node(str(element.tag), attrib, file, int(element.sourceline or 0))


def _convert(element: etree._Element, file: str, files: Files, depth: int, level: int) -> Node:
    """The node of an element `level` others deep, in a file `depth` includes deep."""
    node = _node(element, file)
    files.budget.make(node.origin, 1)
    bound(node.origin, "elements in one another", level, MOST_NESTED)
    for child in element:
        if not isinstance(child.tag, str):
            raise node.error("entities are not allowed")
        if child.tag.lower() == "include":
            node.children.extend(_include(child, file, files, depth, level))
        else:
            node.children.append(_convert(child, file, files, depth, level + 1))
    return node


def _include(
    element: etree._Element, file: str, files: Files, depth: int, level: int
) -> list[Node]:
    """The children of the root of the included file."""
    node = _node(element, file)
    name = node.attrib.get("file")
    if name is None:
        raise node.error("attribute 'file' is required")
    if len(element):
        raise node.error("an include cannot have children")
    if depth >= MAX_INCLUDE_DEPTH:
        raise node.error(f"includes are nested more than {MAX_INCLUDE_DEPTH} deep")
    found = files.find(name, os.path.dirname(file), node.origin)
    if found is None:
        raise node.error(
            f"cannot find the included file {name!r}",
            f"it is looked up relative to {files.base or '.'!r}; pass it in `assets` otherwise",
        )
    path, content = found
    if os.path.normpath(path) in files.seen:
        raise node.error(f"file {name!r} is already included", "include a file only once")
    files.seen.add(os.path.normpath(path))
    files.budget.read(node.origin, len(content))
    root = _parse(content, path)
    if not len(root):
        raise node.error(f"the included file {name!r} is empty")
    return _convert(root, path, files, depth + 1, level).children
