"""MJCF and URDF files to `Spec`: reading, includes, default classes, shortcuts. No JAX in here."""

import os

from mjjax.core.errors import MjcfError
from mjjax.mjcf.build import build
from mjjax.mjcf.read import Files, read_tree
from mjjax.mjcf.spec import DefaultClass, Element, Origin, Spec

__all__ = ["DefaultClass", "Element", "Origin", "Spec", "read_path", "read_string"]


def read_path(path: str | os.PathLike) -> Spec:
    """Reads an MJCF or URDF file; included files are looked up from its directory.

    Args:
        path: the file.

    Raises:
        MjcfError: the file cannot be read or is not valid MJCF.
        UnsupportedFeature: it uses something that mjjax does not simulate.
    """
    file = os.fspath(path)
    try:
        with open(file, "rb") as stream:
            content = stream.read()
    except OSError as error:
        raise MjcfError(f"cannot read the file: {error.strerror}", file=file) from error
    return read_string(content, file=file, base=os.path.dirname(file))


def read_string(
    xml: str | bytes,
    assets: dict[str, bytes] | None = None,
    *,
    file: str = "",
    base: str | None = None,
) -> Spec:
    """Reads MJCF or URDF from a string.

    Args:
        xml: the text.
        assets: contents of the files it refers to, by name; looked up before the disk.
        file: path to name in messages.
        base: directory that file names are relative to; the current one if None.

    Raises:
        MjcfError: the text is not valid MJCF.
        UnsupportedFeature: it uses something that mjjax does not simulate.
    """
    content = xml.encode() if isinstance(xml, str) else xml
    files = Files(base or "", dict(assets or {}))
    return build(read_tree(content, file, files), files)
