"""Textures that are made instead of read: gradients, checkers, one colour, and marks on them.

Pixels have three channels from 0 to 1, rounded down to 256 steps. A flat texture is a picture
(height, width). A cube is six squares, one above the other: right, left, up, down, front, back.
"""

import functools
from typing import Any

import numpy as np

_NONE, _GRADIENT, _CHECKER, _FLAT = range(4)
_EDGE, _CROSS, _RANDOM = range(1, 4)
_UP, _DOWN = 2, 3
_FACES = 6
_TURNED = (0, 0, 0, 0, 1, 1)  # the faces of a checkered cube whose first square has colour 2

# Constants of the generator of the marks, mt19937_64: state, mixing and tempering.
_SEED, _WORDS, _HALF = 42, 312, 156
_UPPER, _TWIST = np.uint64(0xFFFFFFFF80000000), np.uint64(0xB5026F5AA96619E9)
_TEMPER = (0x5555555555555555, 0x71D67FFFEDA60000, 0xFFF7EEE000000000)


def builtin_texture(values: dict[str, Any], square: bool) -> np.ndarray:
    """Pixels (height, width, 3), uint8, of a builtin texture; with `square`, of a cube's faces."""
    width = values["width"]
    height = width if square else values["height"]
    first, second = (_bytes(values[name], default) for name, default in _COLOURS)
    kind = values["builtin"]
    if kind == _GRADIENT:
        part = _cube_gradient(width) if square else _flat_gradient(height, width)
        ends = [np.array(values[name] or default) for name, default in _COLOURS]
        mixed = part[..., None] * ends[1] + (1 - part[..., None]) * ends[0]
        faces = (mixed * 255).astype(np.uint8) if width > 1 else np.zeros(mixed.shape, np.uint8)
        faces = faces[[0, 0, 1, 2, 0, 0]] if square else faces
    elif kind == _CHECKER:
        board, turned = _board(height, width), np.array(_TURNED if square else (0,))
        faces = np.array([first, second])[board ^ turned[:, None, None]]
    else:
        faces = np.broadcast_to(first, (_FACES if square else 1, height, width, 3)).copy()
        if square:
            faces[_DOWN] = second
    faces = faces.reshape(-1, height, width, 3)
    _mark(faces, values)
    return faces.reshape(-1, width, 3)


_COLOURS = (("rgb1", (0.8, 0.8, 0.8)), ("rgb2", (0.5, 0.5, 0.5)))


def _bytes(colour: tuple[float, ...] | None, default: tuple[float, ...]) -> np.ndarray:
    return (np.array(colour or default) * 255).astype(np.uint8)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    """A curve from 0 at 0 to 1 at 1 that is steepest between; it goes on beyond 1."""
    z = 2 * np.minimum(x, 1) - 1
    return 0.5 + np.sqrt(0.5) * z / np.sqrt(1 + z * z)


def _places(n: int) -> np.ndarray:
    """Places of n pixels between -1 and 1."""
    return 2 * np.arange(n) / max(1, n - 1) - 1


def _flat_gradient(height: int, width: int) -> np.ndarray:
    """Share of the second colour, which grows from the middle outward."""
    x, y = _places(width), _places(height)[:, None]
    return _sigmoid(np.sqrt(x * x + y * y))


def _cube_gradient(n: int) -> np.ndarray:
    """Share of the second colour on a side, the top and the bottom, by the angle from above."""
    x, y = _places(n), _places(n)[:, None]
    side = np.arccos(-y / np.sqrt(1 + x * x + y * y))
    top = np.arccos(1 / np.sqrt(1 + x * x + y * y))
    return _sigmoid(np.stack([side, top, np.pi - top]) / np.pi)


def _board(height: int, width: int) -> np.ndarray:
    """Colours (height, width) of two by two fields."""
    right, low = np.arange(width) >= width // 2, np.arange(height) >= height // 2
    return (right ^ low[:, None]).astype(int)


def _mark(faces: np.ndarray, values: dict[str, Any]) -> None:
    """Draws the marks."""
    colour = _bytes(values["markrgb"], (0.0, 0.0, 0.0))
    height, width = faces.shape[1:3]
    if values["mark"] == _EDGE:
        faces[:, [0, -1]] = colour
        faces[:, :, [0, -1]] = colour
    elif values["mark"] == _CROSS:
        faces[:, height // 2] = colour
        faces[:, :, width // 2] = colour
    elif values["mark"] == _RANDOM:
        share = 0.01 if values["random"] is None else values["random"]
        dots = np.unpackbits(_dots(faces[..., 0].size, float(share)))[: faces[..., 0].size]
        faces[dots.reshape(faces.shape[:3]).astype(bool)] = colour


@functools.lru_cache(maxsize=4)
def _dots(count: int, share: float) -> np.ndarray:
    """Packed bits of `count` pixels, of which a share is set."""
    state = [np.uint64(_SEED)]
    for i in range(1, _WORDS):
        last = int(state[-1])
        state.append(np.uint64((6364136223846793005 * (last ^ last >> 62) + i) % 2**64))
    words = np.array(state, np.uint64)
    blocks = np.empty((-(-count // _WORDS), _WORDS), np.uint64)
    for block in blocks:
        low = _twisted(words[:_HALF], words[1 : _HALF + 1]) ^ words[_HALF:]
        after = np.append(words[_HALF + 1 :], low[0])
        words[_HALF:] = _twisted(words[_HALF:], after) ^ low
        words[:_HALF] = low
        block[:] = words
    x = blocks.reshape(-1)[:count]
    first, second, third = (np.uint64(mask) for mask in _TEMPER)
    x ^= x >> np.uint64(29) & first
    x ^= x << np.uint64(17) & second
    x ^= x << np.uint64(37) & third
    x ^= x >> np.uint64(43)
    return np.packbits(x.astype(float) / 2.0**64 < share)


def _twisted(upper: np.ndarray, lower: np.ndarray) -> np.ndarray:
    mixed = (upper & _UPPER) | (lower & ~_UPPER)
    return mixed >> np.uint64(1) ^ (mixed & np.uint64(1)) * _TWIST
