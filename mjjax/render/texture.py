"""Colours from textures, whose pixels are kept in smaller and smaller copies.

The part of the texture that a pixel of the picture covers decides which copy is used, so that
distant objects do not flicker. The four nearest pixels of that copy are mixed.
"""

import functools
from typing import NamedTuple

import numpy as np

from mjjax.core.enums import TextureType
from mjjax.model.structure import Structure
from mjjax.xla.linalg import total
from mjjax.xla.namespace import Array, columns, held, namespace, rows, where

_FACES = 6
_WHITE = 255
_BLANK = np.full((1, 1, 1, 4), _WHITE, np.uint8)
_CORNERS = ((0, 0), (1, 0), (0, 1), (1, 1))


class Pool(NamedTuple):
    """Pixels of textures and their copies; all arrays except the pixels are always numpy arrays.

    Attributes:
        pixel: (n,) uint32: red in the lowest byte, then green and blue.
        first: (ntex, nlevel) first pixel of every copy, each half as large as the one before.
        size: (ntex, nlevel, 2) width and height of a copy; for cubes, of one face.
        last: (ntex,) the smallest copy.
        faces: (ntex,) how many faces are different: 1 or 6.
        cube: (ntex,) whether it is a cube.
    """

    pixel: Array
    first: np.ndarray
    size: np.ndarray
    last: np.ndarray
    faces: np.ndarray
    cube: np.ndarray


@functools.lru_cache(maxsize=8)
def texture_pool(s: Structure, used: tuple[int, ...]) -> Pool:
    """The pixels of the textures `used`, of which there is at least one.

    A texture without pixels is white. This function reads the files of these textures only.
    """
    copies = [_copies(_faces(s, i) if i in used else _BLANK) for i in range(s.ntex)]
    last = np.array([len(row) - 1 for row in copies], np.int32)
    depth = last.max() + 1
    padded = [row + row[-1:] * (depth - len(row)) for row in copies]
    count = [[level[..., 0].size * (k < len(row)) for k, level in enumerate(filled)]
             for row, filled in zip(copies, padded, strict=True)]  # fmt: skip
    ends = np.cumsum(count).reshape(s.ntex, depth)
    pixels = np.concatenate([level.reshape(-1, 4) for row in copies for level in row])
    return Pool(
        np.ascontiguousarray(pixels).view("<u4")[:, 0],
        (ends - count).astype(np.int32),
        np.array([[level.shape[2:0:-1] for level in row] for row in padded], np.int32),
        last,
        np.array([len(row[0]) for row in copies], np.int32),
        s.tex_type != TextureType.FLAT,
    )


def _faces(s: Structure, texture: int) -> np.ndarray:
    """Pixels (face, height, width, 4) of a texture."""
    height, width, channels = (int(x[texture]) for x in (s.tex_height, s.tex_width, s.tex_nchannel))
    if not height * width:
        return _BLANK
    start = int(s.tex_adr[texture])
    data = s.arrays["tex_data"][start : start + height * width * channels]
    many = s.tex_type[texture] != TextureType.FLAT and height != width
    data = data.reshape(_FACES if many else 1, -1, width, channels)
    full = np.zeros((*data.shape[:3], 4), np.uint8)
    full[..., :3] = data[..., :3]  # one channel is grey
    return full


def _copies(faces: np.ndarray) -> list[np.ndarray]:
    """A texture and its copies, down to one pixel; each copy has means of 2 x 2 pixels."""
    found = [faces]
    while max(found[-1].shape[1:3]) > 1:
        large = found[-1].astype(np.uint16)
        for axis in (1, 2):
            n = large.shape[axis]
            if n > 1:
                even = large.take(range(0, n - 1, 2), axis) + large.take(range(1, n, 2), axis)
                large = even // 2
        found.append(large.astype(np.uint8))
    return found


def sample(pool: Pool, texture: Array, face: Array, st: Array, covered: Array) -> Array:
    """Colours (n, 3) from 0 to 1 of textures.

    Args:
        pool: the pixels, which may be traced.
        texture: (n,) textures.
        face: (n,) faces of cubes.
        st: (n, 2) places: 0 to 1 from left to right and from top to bottom; flat textures repeat.
        covered: (n,) number of texture pixels that a pixel of the picture covers along a side.
    """
    xp = namespace(pool.pixel, st)
    level = xp.round(xp.log2(xp.maximum(held(covered), 1))).astype(np.int32)
    level = xp.minimum(level, rows(pool.last, texture))
    place = texture * pool.first.shape[1] + level
    size, cube = rows(pool.size.reshape(-1, 2), place), rows(pool.cube, texture)
    face = xp.minimum(face, rows(pool.faces, texture) - 1)
    start = rows(pool.first.reshape(-1), place) + face * size[:, 0] * size[:, 1]
    flat = where(cube[:, None], xp.clip(st, 0, 1), st - xp.floor(held(st)))
    place = flat * size.astype(st.dtype) - 0.5
    low = xp.floor(held(place)).astype(np.int32)
    part = place - low.astype(st.dtype)

    parts = []
    for x, y in _CORNERS:
        at = low + np.array([[x, y]], np.int32)
        at = where(cube[:, None], xp.clip(at, 0, size - 1), at % size)
        word = pool.pixel[start + at[:, 1] * size[:, 0] + at[:, 0]]
        share = (part[:, 0] if x else 1 - part[:, 0]) * (part[:, 1] if y else 1 - part[:, 1])
        bytes_ = columns(*(word >> np.uint32(8 * k) & np.uint32(_WHITE) for k in range(3)))
        parts.append((share / _WHITE)[:, None] * bytes_.astype(st.dtype))
    return total(parts)


def cube_place(direction: Array) -> tuple[Array, Array, Array]:
    """Faces (n,), places (n, 2) and largest components (n,) of directions (n, 3) on cubes."""
    xp = namespace(direction)
    x, y, z = (direction[:, k] for k in range(3))
    axis = xp.argmax(abs(direction), axis=1).astype(np.int32)
    largest = xp.take_along_axis(direction, axis[:, None], axis=1)[:, 0]
    ahead = largest >= 0
    across = where(axis == 0, where(ahead, -z, z), where((axis == 2) & ~ahead, -x, x))
    down = where(axis == 1, where(ahead, z, -z), -y)
    reach = xp.maximum(abs(largest), np.finfo(direction.dtype).tiny)
    st = 0.5 * (columns(across, down) / reach[:, None] + 1)
    return 2 * axis + where(ahead, 0, 1).astype(np.int32), st, reach
