"""Pixels of textures, which are read from files or made when they are needed.

A model does not keep pixels. It keeps the attributes of a texture and its files. A file is kept by
its path and a hash of its content when the model was loaded, or by its content if it came from
memory.
"""

import hashlib
import io
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, NamedTuple, Self

import numpy as np

from mjjax.core.enums import TextureType
from mjjax.core.errors import Origin
from mjjax.model.builtin_texture import builtin_texture

PNG, KTX = "image/png", "image/ktx"
SIDES = ("right", "left", "up", "down", "front", "back")
CHANNELS = {1: "L", 3: "RGB", 4: "RGBA"}
_KINDS = {".png": PNG}
_LETTERS = "RLUDFB"  # the faces of a cube, in the order in which they are kept
_PIECE = 2**20  # bytes of a file that are hashed at a time
# Attributes that decide the pixels.
_ATTRIBUTES = tuple(
    "type builtin mark width height nchannel rgb1 rgb2 markrgb random hflip vflip gridsize "
    "gridlayout content_type".split()
)


class File(NamedTuple):
    """A file of a texture.

    Attributes:
        name: name of the file in the model.
        digest: hash of its content, in hexadecimal digits.
        path: path of the file; "" if `content` holds it.
        content: bytes of the file, if it came from memory.
    """

    name: str
    digest: str
    path: str = ""
    content: bytes = b""

    @classmethod
    def given(cls, name: str, content: bytes) -> Self:
        """A file whose content is in memory."""
        return cls(name, hashlib.sha256(content).hexdigest(), content=content)

    @classmethod
    def at(cls, name: str, path: str) -> Self:
        """A file on the disk, which is read once, piece by piece, and not kept."""
        digest = hashlib.sha256()
        with open(path, "rb") as stream:
            while piece := stream.read(_PIECE):
                digest.update(piece)
        return cls(name, digest.hexdigest(), path=path)

    def read(self, origin: Origin) -> bytes:
        """The content of the file.

        Raises:
            MjcfError: the file is gone, or has changed since the model was loaded.
        """
        if not self.path:
            return self.content
        hint = "load the model again, or save it with Model.save, which keeps its pictures"
        try:
            with open(self.path, "rb") as stream:
                content = stream.read()
        except OSError as error:
            what = f"the file {self.path!r} cannot be read any more: {error.strerror}"
            raise origin.error(what, hint) from None
        if hashlib.sha256(content).hexdigest() != self.digest:
            raise origin.error(f"the file {self.path!r} has changed since it was loaded", hint)
        return content


class Texture(NamedTuple):
    """The attributes and files from which the pixels of a texture follow.

    Attributes:
        shape: height, width and channels of its pixels.
        values: the MJCF attributes that decide about them.
        files: by attribute, ``file``, ``fileright``, ...
        origin: where it was written, for messages.
    """

    shape: tuple[int, int, int]
    values: Mapping[str, Any]
    files: Mapping[str, File]
    origin: Origin = Origin()

    @classmethod
    def of(
        cls,
        shape: tuple[int, int, int],
        values: Mapping[str, Any],
        files: Mapping[str, File],
        origin: Origin,
    ) -> Self:
        """The texture of an element; it keeps only the attributes that it needs."""
        return cls(shape, {name: values[name] for name in _ATTRIBUTES}, files, origin)

    @property
    def size(self) -> int:
        """Number of bytes of its pixels."""
        height, width, channels = self.shape
        return height * width * channels

    @property
    def token(self) -> str:
        """A value that is equal for textures whose pixels come from equal attributes and files."""
        files = [(side, kind_of(f.name, self.values), f.digest) for side, f in self.files.items()]
        return repr((self.shape, [self.values[name] for name in _ATTRIBUTES], files))

    def pixels(self) -> np.ndarray:
        """Pixels (height, width, channels), uint8, rows from the top.

        Raises:
            MjcfError: a file is gone, has changed or cannot be read.
        """
        found = self._made() if self.size else np.zeros(self.shape, np.uint8)
        if found.shape != self.shape:
            raise self.origin.error(f"the texture has {found.shape} pixels, not {self.shape}")
        return found

    def _made(self) -> np.ndarray:
        values, square = self.values, self.values["type"] != TextureType.FLAT
        if values["builtin"]:
            return _recounted(builtin_texture(dict(values), square), values["nchannel"])
        if "file" in self.files:
            picture = self._picture("file")
            return _cut(picture, values) if square else picture
        found = {
            side: self._picture(f"file{side}") for side in SIDES if f"file{side}" in self.files
        }
        shape = next(iter(found.values())).shape
        return np.concatenate([found[s] if s in found else _blank(values, shape) for s in SIDES])

    def _size(self, attribute: str) -> tuple[int, int]:
        """Width and height that the picture of a file had when the model was loaded."""
        height, width, _ = self.shape
        if attribute != "file":
            return width, height // len(SIDES)
        rows, columns = self.values["gridsize"]
        if self.values["type"] == TextureType.FLAT or (rows, columns) == (1, 1):
            return width, height
        return columns * width, rows * width

    def _picture(self, attribute: str) -> np.ndarray:
        """Pixels (height, width, channels) of a file."""
        file, channels = self.files[attribute], self.values["nchannel"]
        content = file.read(self.origin)
        if kind_of(file.name, self.values) != PNG:
            width, height = np.frombuffer(content, "<i4", 2)
            pixels = np.frombuffer(content, np.uint8, offset=8).reshape(height, width, channels)
        else:
            try:
                pixels = _decoded(content, channels, self._size(attribute))
            except (OSError, SyntaxError, ValueError) as error:
                what = f"{file.name!r}: the PNG file cannot be read: {error}"
                raise self.origin.error(what) from None
        pixels = pixels[:, ::-1] if self.values["hflip"] else pixels
        return pixels[::-1] if self.values["vflip"] else pixels

    def packed(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """The parts from which `unpacked` makes the texture: those for JSON, and file contents.

        Raises:
            MjcfError: a file is gone, or has changed.
        """
        meta = {
            "shape": self.shape,
            "values": dict(self.values),
            "origin": self.origin,
            "files": {attribute: file.name for attribute, file in self.files.items()},
        }
        return meta, {name: file.read(self.origin) for name, file in self.files.items()}

    @classmethod
    def unpacked(cls, meta: Mapping[str, Any], contents: Mapping[str, bytes]) -> Self:
        """The texture from the parts that `packed` gave."""
        values = {k: tuple(v) if isinstance(v, list) else v for k, v in meta["values"].items()}
        files = {k: File.given(name, contents[k]) for k, name in meta["files"].items()}
        height, width, channels = (int(n) for n in meta["shape"])
        return cls((height, width, channels), values, files, Origin(*meta["origin"]))


class Textures:
    """The pixels of all textures, one after the other, in the place of `tex_data` in a model.

    `numpy.asarray` and slices read or make the pixels. Nothing is kept between two readings.
    """

    dtype = np.dtype(np.uint8)

    def __init__(self, textures: tuple[Texture, ...]):
        self.textures = textures
        self.start = np.cumsum([0, *(t.size for t in textures)])

    @property
    def shape(self) -> tuple[int]:
        """Number of bytes of all pixels."""
        return (int(self.start[-1]),)

    @property
    def token(self) -> bytes:
        """Equal for equal textures; comparisons of models use this value instead of the pixels."""
        return repr([texture.token for texture in self.textures]).encode()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self[:].astype(dtype or self.dtype, copy=False)

    def __getitem__(self, where: slice) -> np.ndarray:
        first, last, _ = where.indices(self.shape[0])
        chosen = np.flatnonzero((self.start[:-1] < last) & (self.start[1:] > first))
        found = np.zeros(self.shape[0] if where == slice(None) else last - first, np.uint8)
        for i in chosen:
            low, high = max(first, self.start[i]), min(last, self.start[i + 1])
            part = self.textures[i].pixels().ravel()[low - self.start[i] : high - self.start[i]]
            found[low - first : high - first] = part
        return found


def kind_of(name: str, values: Mapping[str, Any]) -> str:
    """The content type of a file of a texture; "" for MuJoCo's own format."""
    return values["content_type"] or _KINDS.get(PurePath(name).suffix.lower(), "")


def _decoded(content: bytes, channels: int, size: tuple[int, int]) -> np.ndarray:
    """Pixels (height, width, channels) of a PNG picture; a single channel is the first, red.

    A picture is not unpacked if its size differs from the one that the limits allowed.
    """
    from PIL import Image, PngImagePlugin

    with PngImagePlugin.PngImageFile(io.BytesIO(content)) as image:
        if image.size != size:
            raise ValueError(f"it has {image.size} pixels, not {size}")
        if image.mode.startswith("I"):  # 16 bits
            plain = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
        else:
            plain = image
        return np.asarray(plain.convert(CHANNELS[max(channels, 3)]))[:, :, :channels]


def _cut(picture: np.ndarray, values: Mapping[str, Any]) -> np.ndarray:
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


def _blank(values: Mapping[str, Any], shape: tuple[int, ...]) -> np.ndarray:
    """A face without a picture: the first colour."""
    colour = np.array((*(values["rgb1"] or (0.8, 0.8, 0.8)), 1.0))[: shape[2]]
    return np.broadcast_to((255 * colour).astype(np.uint8), shape)


def _recounted(pixels: np.ndarray, channels: int) -> np.ndarray:
    """Builtin pixels in a texture with a number of channels; the bytes stay, as in MuJoCo."""
    height, width, given = pixels.shape
    if channels == given:
        return pixels
    filled = np.zeros(height * width * channels, np.uint8)
    kept = min(filled.size, pixels.size)
    filled[:kept] = pixels.ravel()[:kept]
    return filled.reshape(height, width, channels)
