"""Textures: pictures from files, cut into the faces of cubes, or builtin patterns."""

import io
from pathlib import PurePath
from typing import Any

import numpy as np

from mjjax.compiler.assets.builtin_textures import builtin_texture
from mjjax.compiler.context import Context
from mjjax.compiler.fields import ints
from mjjax.mjcf import assets
from mjjax.mjcf.budget import PIXELS, bound
from mjjax.mjcf.read import Files
from mjjax.mjcf.spec import Element

_2D, _SKYBOX = 0, 2
_PNG, _KTX = "image/png", "image/ktx"
_KINDS = {".png": _PNG}
_LETTERS = "RLUDFB"  # the faces of a cube, in the order in which they are kept
_SIDES = ("right", "left", "up", "down", "front", "back")
_CHANNELS = {1: "L", 3: "RGB", 4: "RGBA"}
_MAX_CHANNELS = 4


def compile_textures(ctx: Context) -> None:
    """Adds the fields `tex_*`.

    `tex_data` holds the pixels of all textures, 8 bits per channel, row by row from the top.
    Cubes are six squares, one above the other; as high as wide they have one square for all faces.
    A picture in KTX format is not read: its texture has no pixels.

    Raises:
        MjcfError: a file is missing or of another kind, or the parameters do not fit together.
        UnsupportedFeature: there are too many pixels.
    """
    elements, f = ctx.spec.elements["texture"], ctx.fields
    files = assets.files_of(ctx.spec)
    pictures = [_pixels(element, files) for element in elements]
    shapes = np.array([picture.shape for picture in pictures], np.int64).reshape(-1, 3)
    count = shapes.prod(axis=1)
    total = int(count.sum())
    if total > _MAX_CHANNELS * PIXELS:
        bound(elements[-1].origin, "pixels of all textures", total, _MAX_CHANNELS * PIXELS)
    f["tex_type"] = ints(elements, "type")
    f["tex_height"], f["tex_width"], f["tex_nchannel"] = shapes.T.astype(np.int32)
    f["tex_adr"] = (np.cumsum(count) - count).astype(np.int32)
    f["tex_data"] = np.concatenate([np.zeros(0, np.uint8), *(p.ravel() for p in pictures)])
    ctx.sizes["ntexdata"] = total


def _pixels(element: Element, files: Files) -> np.ndarray:
    """Pixels (height, width, channels) of a texture."""
    values = element.values
    wrong = _wrong(element)
    if wrong:
        raise element.origin.error(wrong)
    square = values["type"] != _2D
    if values["builtin"]:
        return _recounted(builtin_texture(values, square), values["nchannel"])
    if values["file"]:
        picture = _picture(element, "file", files)
        return _cut(picture, values) if square and picture.size else picture
    found = {s: _picture(element, f"file{s}", files) for s in _SIDES if values[f"file{s}"]}
    shape = next(iter(found.values())).shape
    if any(picture.shape != shape for picture in found.values()):
        raise element.origin.error("the pictures of the sides must have the same size")
    if not all(shape):
        return np.zeros((0, 0, values["nchannel"]), np.uint8)
    return np.concatenate([found[s] if s in found else _blank(values, shape) for s in _SIDES])


def _wrong(element: Element) -> str:
    """What is wrong with the attributes of a texture, or nothing."""
    values = element.values
    single = bool(values["file"])
    sides = any(values[name] for name in assets.FILES if name != "file")
    if not element.name and values["type"] != _SKYBOX:
        return "a texture needs a name or a file"
    if values["builtin"]:
        square = values["type"] != _2D
        if (values["width"] or 0) <= 0 or (not square and (values["height"] or 0) <= 0):
            return "a builtin texture needs a positive width and height"
        if values["width"] * (6 * values["width"] if square else values["height"]) > PIXELS:
            return f"a builtin texture cannot have more than {PIXELS:,} pixels"
    elif not single and not sides:
        return "a texture needs a file or a builtin pattern"
    elif not single and values["type"] == _2D:
        return "a flat texture has one file, not one for each side"
    if not 1 <= values["nchannel"] <= _MAX_CHANNELS:
        return f"a texture has between 1 and {_MAX_CHANNELS} channels"
    if values["gridlayout"] and not set(_LETTERS + ".").issuperset(values["gridlayout"]):
        return "gridlayout may have the letters RLUDFB and dots"
    return ""


def _picture(element: Element, attribute: str, files: Files) -> np.ndarray:
    """Pixels (height, width, channels) of a file; none of a KTX file."""
    values, name = element.values, element.values[attribute]
    content = assets.contents(element, files, attribute)
    kind = values["content_type"] or _KINDS.get(PurePath(name).suffix.lower(), "")
    channels = values["nchannel"]
    if kind == _KTX:
        return np.zeros((0, 0, channels), np.uint8)
    if kind != _PNG:
        if len(content) < 8 or len(content) != 8 + channels * _area(content):
            raise element.origin.error(f"the file {name!r} is not a picture", "use PNG")
        width, height = np.frombuffer(content, "<i4", 2)
        pixels = np.frombuffer(content, np.uint8, offset=8).reshape(height, width, channels)
    else:
        _check_png(element, attribute, content)
        try:
            pixels = _decoded(content, channels)
        except (OSError, SyntaxError, ValueError) as error:
            raise element.origin.error(f"{name!r}: the PNG file cannot be read: {error}") from None
    pixels = pixels[:, ::-1] if values["hflip"] else pixels
    return pixels[::-1] if values["vflip"] else pixels


def _check_png(element: Element, attribute: str, content: bytes) -> None:
    """The head of the file fits the texture."""
    values, name = element.values, element.values[attribute]
    size = assets.png_size(content)
    if size is None:
        raise element.origin.error(f"the file {name!r} is not a PNG picture")
    width, height = size
    bound(element.origin, f"pixels of the picture {name!r}", width * height, PIXELS)
    if values["nchannel"] not in _CHANNELS:
        raise element.origin.error("a texture from a PNG file has 1, 3 or 4 channels")
    rows, columns = values["gridsize"] if attribute == "file" else (1, 1)
    if values["type"] != _2D and width * rows != height * columns:
        raise element.origin.error(
            f"the picture {name!r} has {width} x {height} pixels, which gridsize does not cut "
            "into squares"
        )


def _decoded(content: bytes, channels: int) -> np.ndarray:
    """Pixels (height, width, channels) of a PNG picture; a single channel is the first, red."""
    from PIL import Image

    with Image.open(io.BytesIO(content), formats=["PNG"]) as image:
        if image.mode.startswith("I"):  # 16 bits
            grey = (np.asarray(image) >> 8).astype(np.uint8)
            image = Image.fromarray(grey)
        image = image.convert(_CHANNELS[max(channels, 3)])
        return np.asarray(image)[:, :, :channels]


def _area(content: bytes) -> int:
    width, height = np.frombuffer(content, "<i4", 2)
    return int(width) * int(height)


def _cut(picture: np.ndarray, values: dict[str, Any]) -> np.ndarray:
    """The faces of a cube from the fields of a grid; one square stays one square."""
    rows, columns = values["gridsize"]
    if (rows, columns) == (1, 1):
        return picture
    size = picture.shape[1] // columns
    shape = (size, size, picture.shape[2])
    faces = [_blank(values, shape) for _ in _LETTERS]
    for place, letter in enumerate(values["gridlayout"] or ""):
        if letter != ".":
            row, column = (size * k for k in divmod(place, columns))
            faces[_LETTERS.index(letter)] = picture[row : row + size, column : column + size]
    return np.concatenate(faces)


def _blank(values: dict[str, Any], shape: tuple[int, ...]) -> np.ndarray:
    """A face without a picture: the first colour."""
    colour = np.array((*(values["rgb1"] or (0.8, 0.8, 0.8)), 1.0))[: shape[2]]
    return np.broadcast_to((255 * colour).astype(np.uint8), shape)


def _recounted(pixels: np.ndarray, channels: int) -> np.ndarray:
    """Builtin pixels in a texture of so many channels: the same bytes, as MuJoCo writes them."""
    height, width, given = pixels.shape
    if channels == given:
        return pixels
    filled = np.zeros(height * width * channels, np.uint8)
    kept = min(filled.size, pixels.size)
    filled[:kept] = pixels.ravel()[:kept]
    return filled.reshape(height, width, channels)
