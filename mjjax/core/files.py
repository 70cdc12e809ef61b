"""Writes files completely or not at all, in one format for named arrays. It never loads code.

A file has 8 bytes of magic, the format version and the length of the header (little-endian uint32
and uint64), the header in JSON, the numbers one after the other, and the SHA-256 of all before.
"""

import contextlib
import hashlib
import json
import os
import struct
import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np

FORMAT = 1
_MAGIC = b"\x93MJJAX\r\n"
_HEAD = struct.Struct("<8sIQ")
_DIGEST = 32
_DTYPES = frozenset("bool int8 uint8 int16 uint16 int32 int64 float16 float32 float64".split())


def write_atomic(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes a file; if this fails, `path` keeps its old content."""
    path = os.path.abspath(os.fspath(path))
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".mjjax-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.remove(temporary)
        raise


def pack(kind: str, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """The content of a file.

    Args:
        kind: kind of the content.
        meta: anything that JSON can hold.
        arrays: arrays by name.
    """
    flat = {name: np.asarray(a) for name, a in arrays.items()}
    table = [[name, a.dtype.name, list(a.shape)] for name, a in flat.items()]
    header = json.dumps({"kind": kind, "meta": dict(meta), "arrays": table}).encode()
    numbers = (a.astype(a.dtype.newbyteorder("<")).tobytes() for a in flat.values())
    body = _HEAD.pack(_MAGIC, FORMAT, len(header)) + header + b"".join(numbers)
    return body + hashlib.sha256(body).digest()


def unpack(kind: str, content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The `meta` and `arrays` from which `pack` made the content.

    Raises:
        ValueError: the content has another or a newer format, or is truncated or damaged.
    """
    if len(content) < _HEAD.size + _DIGEST or not content.startswith(_MAGIC):
        if content and _MAGIC.startswith(content[: len(_MAGIC)]):
            raise ValueError("the file is truncated")
        raise ValueError("this is not a file written by mjjax")
    _, version, length = _HEAD.unpack_from(content)
    if version > FORMAT:
        raise ValueError(
            f"the file has format {version}, but this mjjax reads up to {FORMAT}; update mjjax"
        )
    body = content[:-_DIGEST]
    if hashlib.sha256(body).digest() != content[-_DIGEST:]:
        raise ValueError("the file is truncated or damaged: its checksum is wrong")
    try:
        header = json.loads(body[_HEAD.size : _HEAD.size + length])
        arrays = _arrays(header["arrays"], body[_HEAD.size + length :])
        found, meta = header["kind"], dict(header["meta"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"the file is not valid: {error}") from None
    if found != kind:
        raise ValueError(f"the file holds a {found}, not a {kind}")
    return meta, arrays


def _arrays(table: list[Any], numbers: bytes) -> dict[str, np.ndarray]:
    found, start = {}, 0
    for name, dtype, shape in table:
        if dtype not in _DTYPES:
            raise ValueError(f"array type {dtype!r}")
        kind = np.dtype(dtype)
        size = kind.itemsize * int(np.prod(shape, dtype=np.int64))
        data = np.frombuffer(numbers[start : start + size], kind.newbyteorder("<"))
        found[name] = data.astype(kind).reshape(shape)
        start += size
    if start != len(numbers):
        raise ValueError("its length does not fit its header")
    return found
