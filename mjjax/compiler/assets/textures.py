"""Textures: reads their sizes from the heads of files; pixels are read when they are drawn."""

import io
import struct
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np

from mjjax.compiler.common.context import Context
from mjjax.compiler.common.fields import ints
from mjjax.core.enums import TextureType
from mjjax.core.limits import Limits
from mjjax.mjcf import assets
from mjjax.mjcf.element import Element
from mjjax.mjcf.read import Files
from mjjax.model.texture import CHANNELS, KTX, PNG, SIDES, File, Texture, Textures, kind_of

_FACES = "RLUDFB."
_MAX_CHANNELS, _MAX_SQUARES = 4, 12
_CHUNK = struct.Struct(">I4s")  # head of a chunk of a PNG file: its length and kind
_CHECKSUM = 4


def compile_textures(ctx: Context) -> None:
    """Adds the fields `tex_*`.

    `tex_data` stands for the pixels of all textures, 8 bits per channel, row by row from the top.
    Cubes are six squares, one above the other; a square picture is used for all faces.
    A picture in KTX format is not read: its texture has no pixels.

    Raises:
        MjcfError: a file is missing or of another kind, or the parameters do not fit together.
        UnsupportedFeature: there are too many pixels.
    """
    elements, f = ctx.spec.elements["texture"], ctx.fields
    files, limits = assets.files_of(ctx.spec), ctx.spec.limits
    textures = Textures(tuple(_texture(element, files, limits) for element in elements))
    total = textures.shape[0]
    if elements:
        what = "bytes of the pixels of all textures"
        limits.bound(elements[-1].origin, what, total, "texture_bytes")
    shapes = np.array([t.shape for t in textures.textures], np.int32).reshape(-1, 3)
    f["tex_type"] = ints(elements, "type")
    f["tex_height"], f["tex_width"], f["tex_nchannel"] = shapes.T
    f["tex_adr"] = textures.start[:-1].astype(np.int32)
    f["tex_data"] = textures
    ctx.sizes["ntexdata"] = total


def _texture(element: Element, files: Files, limits: Limits) -> Texture:
    """A texture whose files are there and begin as they should."""
    values = element.values
    wrong = _wrong(element)
    if wrong:
        raise element.origin.error(wrong)
    square, channels = values["type"] != TextureType.FLAT, values["nchannel"]
    found: dict[str, File] = {}
    if values["builtin"]:
        height = 6 * values["width"] if square else values["height"]
        limits.bound(element.origin, "pixels", height * values["width"], "pixels")
        return Texture.of((height, values["width"], channels), values, found, element.origin)
    names = ("file",) if values["file"] else tuple(f"file{side}" for side in SIDES)
    sizes = []
    for name in (name for name in names if values[name]):
        found[name], size = _file(element, name, files, limits)
        sizes.append(size)
    if len(set(sizes)) > 1:
        raise element.origin.error("the pictures of the sides must have the same size")
    width, height = sizes[0]
    if not values["file"]:
        height *= len(SIDES)
    elif square and tuple(values["gridsize"]) != (1, 1):
        width //= values["gridsize"][1]
        height = len(SIDES) * width
    return Texture.of((height, width, channels), values, found, element.origin)


def _wrong(element: Element) -> str:
    """The message about wrong attributes of a texture, or an empty text."""
    values = element.values
    single = bool(values["file"])
    sides = any(values[name] for name in assets.FILES if name != "file")
    if not element.name and values["type"] != TextureType.SKYBOX:
        return "a texture needs a name or a file"
    if values["builtin"]:
        square = values["type"] != TextureType.FLAT
        if (values["width"] or 0) <= 0 or (not square and (values["height"] or 0) <= 0):
            return "a builtin texture needs a positive width and height"
    elif not single and not sides:
        return "a texture needs a file or a builtin pattern"
    elif not single and values["type"] == TextureType.FLAT:
        return "a flat texture has one file, not one for each side"
    if not 1 <= values["nchannel"] <= _MAX_CHANNELS:
        return f"a texture has between 1 and {_MAX_CHANNELS} channels"
    rows, columns = values["gridsize"]
    cut = single and values["type"] != TextureType.FLAT
    if cut and (min(rows, columns) < 1 or rows * columns > _MAX_SQUARES):
        return f"gridsize asks for 1 to {_MAX_SQUARES} squares"
    if values["gridlayout"] and not set(_FACES).issuperset(values["gridlayout"]):
        return "gridlayout may have the letters RLUDFB and dots"
    return ""


def _file(
    element: Element, attribute: str, files: Files, limits: Limits
) -> tuple[File, tuple[int, int]]:
    """A file of a texture, with the width and height of its picture."""
    name, values = element.values[attribute], element.values
    kind = kind_of(name, values)
    found = assets.source(element, files, attribute)
    try:
        with io.BytesIO(found) if isinstance(found, bytes) else open(found, "rb") as stream:
            size = (0, 0) if kind == KTX else _HEADS.get(kind, _raw)(element, name, stream)
        file = File.given(name, found) if isinstance(found, bytes) else File.at(name, found)
    except OSError as error:
        raise element.origin.error(f"cannot read the file {name!r}: {error.strerror}") from None
    width, height = size
    limits.bound(element.origin, f"pixels of the picture {name!r}", width * height, "pixels")
    if kind != KTX and values["type"] != TextureType.FLAT:
        rows, columns = values["gridsize"] if attribute == "file" else (1, 1)
        if width % columns or height % rows or width * rows != height * columns:
            raise element.origin.error(
                f"the picture {name!r} has {width} x {height} pixels, which gridsize does not cut "
                "into squares"
            )
    return file, size


def _png(element: Element, name: str, stream: BinaryIO) -> tuple[int, int]:
    """Width and height of a PNG picture, all of whose chunks are there."""
    size = assets.png_size(stream.read(assets.PNG_HEAD))
    if size is None:
        raise element.origin.error(f"the file {name!r} is not a PNG picture")
    if element.values["nchannel"] not in CHANNELS:
        raise element.origin.error("a texture from a PNG file has 1, 3 or 4 channels")
    end, kinds = stream.seek(0, io.SEEK_END), set()
    at = len(assets.PNG_SIGNATURE)
    while b"IEND" not in kinds:
        stream.seek(at)
        head = stream.read(_CHUNK.size)
        if len(head) == _CHUNK.size:
            length, kind = _CHUNK.unpack(head)
            kinds.add(kind)
            at += _CHUNK.size + length + _CHECKSUM
        if len(head) < _CHUNK.size or at > end:
            raise element.origin.error(f"{name!r}: the PNG file cannot be read: it is truncated")
    if b"IDAT" not in kinds or not all(size):
        raise element.origin.error(f"{name!r}: the PNG file cannot be read: it has no pixels")
    return size


def _raw(element: Element, name: str, stream: BinaryIO) -> tuple[int, int]:
    """Width and height of pixels in MuJoCo's own format, which are all there."""
    head = np.frombuffer(stream.read(8), np.uint8)
    total = stream.seek(0, io.SEEK_END)
    width, height = (int(x) for x in head.view("<i4")) if len(head) == 8 else (0, 0)
    size = 8 + element.values["nchannel"] * width * height
    if min(width, height) <= 0 or total != size:
        raise element.origin.error(f"the file {name!r} is not a picture", "use PNG")
    return width, height


_HEADS: dict[str, Callable[[Element, str, Any], tuple[int, int]]] = {PNG: _png}
