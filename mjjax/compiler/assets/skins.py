"""Skins: surfaces that are drawn over bodies and deform with them; nothing touches them."""

from typing import NamedTuple

import numpy as np

from mjjax.compiler.common.context import Context
from mjjax.compiler.common.fields import ints, reals
from mjjax.core.constants import MINVAL
from mjjax.mjcf import assets
from mjjax.mjcf.element import Element
from mjjax.mjcf.meshfile import real
from mjjax.mjcf.skinfile import Bone, SkinFile, read_skin

_DATA = ("vertex", "texcoord", "face")
# Arrays that all skins share: shape of an empty array, and type.
_EMPTY: dict[str, tuple[tuple[int, ...], type]] = {
    "vert": ((0, 3), np.float64),
    "texcoord": ((0, 2), np.float64),
    "face": ((0, 3), np.int32),
    "bonebindpos": ((0, 3), np.float64),
    "bonebindquat": ((0, 4), np.float64),
    "bonevertid": ((0,), np.int32),
    "bonevertweight": ((0,), np.float64),
}


class _Packed(NamedTuple):
    """Numbers of rows of each skin in a shared array, and first rows."""

    num: np.ndarray
    adr: np.ndarray


def compile_skins(ctx: Context) -> None:
    """Adds the fields `skin_*`.

    Raises:
        MjcfError: a file is missing or is not a skin, a bone has no body, or a vertex no weight.
    """
    elements, f = ctx.spec.elements["skin"], ctx.fields
    files = assets.files_of(ctx.spec)
    skins = []
    for element in elements:
        content = assets.contents(element, files) if element.values["file"] else None
        try:
            skins.append(_compile(element, content))
        except ValueError as error:
            raise element.origin.error(str(error)) from None
        ctx.spec.limits.bound(element.origin, "bones", len(skins[-1].bones), "bodies")
    bones = [bone for skin in skins for bone in skin.bones]
    f["skin_matid"] = np.array(ctx.names.find_all("material", elements, "material"), np.int32)
    f["skin_group"] = ints(elements, "group")
    f["skin_rgba"], f["skin_inflate"] = reals(elements, "rgba", 4), reals(elements, "inflate")
    f["skin_bonebodyid"] = np.array(
        [
            ctx.names.find("body", bone.body, element)
            for element, skin in zip(elements, skins, strict=True)
            for bone in skin.bones
        ],
        np.int32,
    )
    columns = {
        "vert": [skin.vert for skin in skins],
        "texcoord": [skin.texcoord for skin in skins],
        "face": [skin.face for skin in skins],
        "bonebindpos": [bone.pos[None] for bone in bones],
        "bonebindquat": [bone.quat[None] for bone in bones],
        "bonevertid": [bone.vertex for bone in bones],
        "bonevertweight": [bone.weight for bone in bones],
    }
    for name, (shape, dtype) in _EMPTY.items():
        f[f"skin_{name}"] = np.concatenate([np.zeros(shape, dtype), *columns[name]])
    for name in ("vert", "face"):
        f[f"skin_{name}num"], f[f"skin_{name}adr"] = _packed([len(x) for x in columns[name]])
    f["skin_bonenum"], f["skin_boneadr"] = _packed([len(skin.bones) for skin in skins])
    f["skin_bonevertnum"], f["skin_bonevertadr"] = _packed([len(bone.vertex) for bone in bones])
    number, address = _packed([len(skin.texcoord) for skin in skins])
    f["skin_texcoordadr"] = np.where(number > 0, address, -1).astype(np.int32)
    counted = {"": "group", "vert": "vert", "texvert": "texcoord", "face": "face"}
    counted |= {"bone": "bonebodyid", "bonevert": "bonevertid"}
    ctx.sizes |= {f"nskin{size}": len(f[f"skin_{name}"]) for size, name in counted.items()}


def _packed(rows: list[int]) -> _Packed:
    number = np.array(rows, np.int32)
    return _Packed(number, (np.cumsum(number) - number).astype(np.int32))


def _compile(element: Element, content: bytes | None) -> SkinFile:
    """One skin, with weights that add up to one; raises ValueError if it is not a skin."""
    skin = _source(element, content)
    if not len(skin.vert) or not len(skin.face) or not skin.bones:
        raise ValueError("a skin needs vertices, faces and bones")
    if len(skin.texcoord) not in (0, len(skin.vert)):
        raise ValueError(
            f"there are {len(skin.texcoord)} texture coordinates for {len(skin.vert)} vertices"
        )
    total = np.zeros(len(skin.vert), np.float32)
    for bone in skin.bones:
        if len(bone.vertex) != len(bone.weight) or not len(bone.vertex):
            raise ValueError("a bone needs a weight for each vertex, and vertices")
        wrong = (bone.vertex < 0) | (bone.vertex >= len(total))
        if wrong.any():
            raise ValueError(f"vertex {bone.vertex[np.argmax(wrong)]} of a bone does not exist")
        np.add.at(total, bone.vertex, bone.weight.astype(np.float32))
    light = ~(total > MINVAL)
    if light.any():
        raise ValueError(f"the weights of vertex {np.argmax(light)} must add up to more than 0")
    return skin._replace(bones=[_normalized(bone, total) for bone in skin.bones])


def _normalized(bone: Bone, total: np.ndarray) -> Bone:
    """A bone with a unit quaternion and the share that it has in its vertices."""
    length = np.sqrt(np.sum(bone.quat * bone.quat))
    quat = bone.quat / length if length > MINVAL else bone.quat
    weight = bone.weight.astype(np.float32) / total[bone.vertex]
    return bone._replace(quat=real(quat, 4)[0], weight=weight.astype(np.float64))


def _source(element: Element, content: bytes | None) -> SkinFile:
    """The skin as it is written."""
    values = element.values
    if content is not None:
        if any(values[name] for name in _DATA) or element.children:
            raise ValueError("a skin must be either in a file or in the model")
        try:
            return read_skin(content, values["file"])
        except ValueError as error:
            raise ValueError(f"{values['file']!r}: {error}") from None
    vert, texcoord, face = (values[name] or () for name in _DATA)
    for what, numbers, width in (("vertex", vert, 3), ("face", face, 3), ("texcoord", texcoord, 2)):
        if len(numbers) % width:
            raise ValueError(f"the number of values in {what!r} is not a multiple of {width}")
    bones = [
        Bone(
            bone["body"],
            real(bone["bindpos"], 3)[0],
            real(bone["bindquat"], 4)[0],
            np.array(bone["vertid"] or (), np.int32),
            np.array(bone["vertweight"] or (), np.float64),
        )
        for bone in (child.values for child in element.children)
    ]
    faces = np.array(face, np.int32).reshape(-1, 3)
    return SkinFile(real(vert, 3), real(texcoord, 2), faces, bones)
