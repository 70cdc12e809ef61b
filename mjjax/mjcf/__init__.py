"""Reads MJCF and URDF files to a `Spec`: includes, default classes, shortcuts. It uses no JAX."""

import os
from collections.abc import Iterable, Mapping

from mjjax.core.below import does
from mjjax.core.errors import MjcfError, Origin
from mjjax.core.limits import Limits
from mjjax.mjcf import new, write  # noqa: F401  they do work of `Spec` and `Element`
from mjjax.mjcf.budget import Budget
from mjjax.mjcf.build import build
from mjjax.mjcf.element import DefaultClass, Element
from mjjax.mjcf.read import Files, read_tree
from mjjax.mjcf.spec import Spec

__all__ = ["DefaultClass", "Element", "Origin", "Spec", "read_path", "read_string"]


@does("Spec.from_file")
def read_path(
    path: str | os.PathLike[str],
    directories: Iterable[str | os.PathLike[str]] = (),
    limits: Limits | None = None,
) -> Spec:
    """Reads an MJCF or URDF file; included files are looked up from its directory.

    Args:
        path: the file.
        directories: folders in which files that the model refers to may be, besides the folders
            around the model.
        limits: how large the model may be.

    Raises:
        MjcfError: the file cannot be read or is not valid MJCF.
        UnsupportedFeature: the file uses something that mjjax does not simulate.
    """
    file = os.fspath(path)
    try:
        with open(file, "rb") as stream:
            content = stream.read((limits or Limits()).xml_bytes + 1)
    except OSError as error:
        if "<" in file:
            text = "this is XML, not the path of a file: Model.from_xml_string reads it"
            raise MjcfError(text) from None
        raise MjcfError(f"cannot read the file: {error.strerror}", file=file) from error
    base = os.path.dirname(file)
    return read_string(content, file=file, base=base, directories=directories, limits=limits)


@does("Spec.from_string")
def read_string(
    xml: str | bytes,
    assets: Mapping[str, bytes] | None = None,
    *,
    file: str = "",
    base: str | None = None,
    directories: Iterable[str | os.PathLike[str]] = (),
    limits: Limits | None = None,
) -> Spec:
    """Reads MJCF or URDF from a string.

    Args:
        xml: the text.
        assets: contents of the files that it refers to, by name; these come before files on disk.
        file: path for messages.
        base: directory that file names are relative to; None takes the current one.
        directories: as in `read_path`.
        limits: as in `read_path`.

    Raises:
        MjcfError: the text is not valid MJCF.
        UnsupportedFeature: it uses something that mjjax does not simulate.
    """
    content = xml.encode() if isinstance(xml, str) else xml
    files = Files(
        base or "",
        dict(assets or {}),
        tuple(os.fspath(folder) for folder in directories),
        budget=Budget(limits or Limits()),
    )
    return build(read_tree(content, file, files), files)
