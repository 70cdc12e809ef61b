"""Height fields: sizes, and elevations scaled to the range from 0 to 1."""

import io
from pathlib import PurePath

import numpy as np

from mjjax.compiler.common.context import Context
from mjjax.compiler.common.fields import reals
from mjjax.mjcf import assets
from mjjax.mjcf.element import Element
from mjjax.mjcf.read import Files
from mjjax.xla.namespace import A, namespace

_PNG = "image/png"
_TOP, _BASE = 1 / 4, 1 / 2  # weights of the heights in the size of a geom
# What the channels of a picture are converted from; the first one is the elevation.
_CHANNELS = {"P": "RGB", "1": "L"}


def compile_hfields(ctx: Context) -> None:
    """Adds the fields `hfield_*`.

    Raises:
        MjcfError: a file is missing or broken, a size is not positive, or there are no cells.
    """
    elements, f = ctx.spec.elements["hfield"], ctx.fields
    files = assets.files_of(ctx.spec)
    most = ctx.spec.limits.numbers
    grids = [_elevation(element, files, most) for element in elements]
    count = np.array([grid.size for grid in grids], np.int32)
    f["hfield_size"] = reals(elements, "size", 4)
    f["hfield_nrow"] = np.array([grid.shape[0] for grid in grids], np.int32)
    f["hfield_ncol"] = np.array([grid.shape[1] for grid in grids], np.int32)
    f["hfield_adr"] = (np.cumsum(count) - count).astype(np.int32)
    f["hfield_data"] = np.concatenate([np.zeros(0), *(grid.ravel() for grid in grids)])
    ctx.sizes["nhfield"], ctx.sizes["nhfielddata"] = len(elements), int(count.sum())


def hfield_box(size: A) -> tuple[A, A, A]:
    """Sizes of geoms, bounding spheres and boxes of height fields with sizes (..., 4)."""
    xp = namespace(size)
    x, y, top, base = (size[..., i] for i in range(4))
    zero = xp.zeros_like(x)
    box = xp.stack([zero, zero, (top - base) / 2, x, y, (top + base) / 2], axis=-1)
    radius = xp.sqrt(x * x + y * y + xp.maximum(top, base) ** 2)
    return xp.stack([x, y, _TOP * top + _BASE * base], axis=-1), radius, box


def _elevation(element: Element, files: Files, most: int) -> np.ndarray:
    """Elevations (nrow, ncol) in [0, 1], at most `most`; the first row is at negative y."""
    origin, values = element.origin, element.values
    if not element.name:
        raise origin.error("a height field needs a name or a file")
    if min(values["size"]) <= 0:
        raise origin.error("the four sizes of a height field must be positive")
    content = assets.contents(element, files) if values["file"] else b""
    try:
        grid = _from_file(values, content, most) if values["file"] else _written(values, most)
    except ValueError as error:
        raise origin.error(str(error)) from None
    low, high = np.min(grid), np.max(grid)
    scaled = grid - low
    if high > low:
        scaled = scaled / np.float32(high - low)
    return scaled.astype(np.float64)


def _written(values: dict, most: int) -> np.ndarray:
    """The elevations in the file, whose first row is at the top; flat if there are none."""
    nrow, ncol = values["nrow"], values["ncol"]
    if min(nrow, ncol) <= 0 or values["file"] is not None:
        raise ValueError("the height field needs a file, or nrow and ncol")
    if nrow * ncol > most:
        raise ValueError(f"nrow times ncol cannot be more than {most:,}, the limit of numbers")
    grid = np.array(values["elevation"] or np.zeros(nrow * ncol), np.float32)
    return grid.reshape(nrow, ncol)[::-1]


def _from_file(values: dict, content: bytes, most: int) -> np.ndarray:
    name, kind = values["file"], values["content_type"]
    picture = kind == _PNG if kind else PurePath(name).suffix.lower() == ".png"
    try:
        return _picture(content, most) if picture else _binary(content)
    except ValueError as error:
        raise ValueError(f"{name!r}: {error}") from None


def _picture(content: bytes, most: int) -> np.ndarray:
    """Brightness of a PNG picture in 256 steps, the first row at the bottom."""
    from PIL import Image

    size = assets.png_size(content)
    if size is not None and size[0] * size[1] > most:
        raise ValueError(f"the picture has more than {most:,} pixels, the limit of numbers")
    try:
        with Image.open(io.BytesIO(content), formats=["PNG"]) as image:
            image = image.convert(_CHANNELS.get(image.mode, image.mode))
            pixels = np.asarray(image)
    except (OSError, SyntaxError) as error:
        raise ValueError(f"the PNG file cannot be read: {error}") from None
    if pixels.dtype != np.uint8:
        pixels = pixels >> 8  # 16 bits
    pixels = pixels if pixels.ndim == 2 else pixels[:, :, 0]
    return pixels[::-1].astype(np.float32)


def _binary(content: bytes) -> np.ndarray:
    """MuJoCo's own format: numbers of rows and columns, then elevations."""
    if len(content) < 8:
        raise ValueError("the height field file has no header")
    nrow, ncol = (int(n) for n in np.frombuffer(content, "<i4", 2))
    if min(nrow, ncol) < 1:
        raise ValueError("the numbers of rows and columns must be positive")
    if len(content) != 8 + 4 * nrow * ncol:
        raise ValueError("the size of the height field file does not match its header")
    return np.frombuffer(content, "<f4", offset=8).reshape(nrow, ncol)
