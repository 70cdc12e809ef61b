"""Contents of skin files: MuJoCo's SKN, the only format of skins."""

from pathlib import PurePath
from typing import NamedTuple

import numpy as np

from mjjax.mjcf.meshfile import real

_NAME = 40  # bytes of the name of a body
_BONE = _NAME + 7 * 4 + 4  # bytes before the vertices of a bone


class Bone(NamedTuple):
    """A body that moves some vertices.

    Attributes:
        body: its name.
        pos, quat: pose (3,) [m], (4,) of the body when the skin was made.
        vertex: ids of the vertices (n,).
        weight: how strongly the body moves each vertex (n,).
    """

    body: str
    pos: np.ndarray
    quat: np.ndarray
    vertex: np.ndarray
    weight: np.ndarray


class SkinFile(NamedTuple):
    """A skin: vertices (n, 3) [m], texture coordinates (n, 2) or none, faces (m, 3), bones."""

    vert: np.ndarray
    texcoord: np.ndarray
    face: np.ndarray
    bones: list[Bone]


def read_skin(content: bytes, name: str) -> SkinFile:
    """The skin in a file called `name`.

    The file has four counts (vertices, texture coordinates, faces, bones), then the data of the
    first three. Each bone follows with the name of its body, position, quaternion, number of
    vertices, their ids and their weights.

    Raises:
        ValueError: the file is not a skin.
    """
    if PurePath(name).suffix.lower() != ".skn":
        raise ValueError("a skin file must end in .skn")
    if len(content) < 16:
        raise ValueError("the SKN file has no header")
    nvert, ntexcoord, nface, nbone = (int(n) for n in np.frombuffer(content, "<i4", 4))
    if min(nvert, ntexcoord, nface, nbone) < 0:
        raise ValueError("a size in the SKN file is negative")
    counts = (3 * nvert, 2 * ntexcoord, 3 * nface)
    at = 16 + 4 * sum(counts)
    if len(content) < at:
        raise ValueError("the SKN file is shorter than its header says")
    vert, texcoord = np.split(np.frombuffer(content, "<f4", sum(counts[:2]), 16), counts[:1])
    face = np.frombuffer(content, "<i4", counts[2], 16 + 4 * sum(counts[:2])).astype(np.int32)
    bones = []
    for _ in range(nbone):
        bone, at = _bone(content, at)
        bones.append(bone)
    if at != len(content):
        raise ValueError("the SKN file is longer than its header says")
    return SkinFile(real(vert, 3), real(texcoord, 2), face.reshape(-1, 3), bones)


def _bone(content: bytes, at: int) -> tuple[Bone, int]:
    """The bone that begins at a place, and where it ends."""
    if len(content) < at + _BONE:
        raise ValueError("a bone is missing in the SKN file")
    name = content[at : at + _NAME - 1].partition(b"\0")[0].decode(errors="replace")
    pose = real(np.frombuffer(content, "<f4", 7, at + _NAME), 7)[0]
    (count,) = (int(n) for n in np.frombuffer(content, "<i4", 1, at + _BONE - 4))
    at += _BONE
    if count < 1 or len(content) < at + 8 * count:
        raise ValueError("a bone in the SKN file has no vertices, or too few")
    vertex = np.frombuffer(content, "<i4", count, at).astype(np.int32)
    weight = np.frombuffer(content, "<f4", count, at + 4 * count).astype(np.float64)
    return Bone(name, pose[:3], pose[3:], vertex, weight), at + 8 * count
