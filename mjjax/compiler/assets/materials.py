"""Textures and materials.

Of textures what can be said without decoding pictures; pictures themselves are read when drawn.
"""

from pathlib import PurePath

import numpy as np

from mjjax.compiler.context import Context
from mjjax.compiler.fields import bools, reals
from mjjax.mjcf import assets
from mjjax.mjcf.budget import PIXELS
from mjjax.mjcf.keywords import KEYWORDS
from mjjax.mjcf.spec import Element

_2D, _SKYBOX = 0, 2
_PNG, _KTX = "image/png", "image/ktx"
_KINDS = {".png": _PNG}
_GRID_LETTERS = frozenset(".RLUDFB")
_MAX_CHANNELS = 4
_ROLES = KEYWORDS["texrole"]
_REALS = ("emission", "specular", "shininess", "reflectance", "metallic", "roughness")


def compile_textures(ctx: Context) -> None:
    """Checks the textures.

    Raises:
        MjcfError: a file is missing or of another kind, or the parameters do not fit together.
    """
    files = assets.files_of(ctx.spec)
    for element in ctx.spec.elements["texture"]:
        wrong = _wrong(element)
        if wrong:
            raise element.origin.error(wrong)
        for attribute in assets.FILES:
            if element.values[attribute] and not element.values["builtin"]:
                _check_picture(element, attribute, assets.contents(element, files, attribute))


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
    if values["gridlayout"] and not _GRID_LETTERS.issuperset(values["gridlayout"]):
        return "gridlayout may have the letters RLUDFB and dots"
    return ""


def _check_picture(element: Element, attribute: str, content: bytes) -> None:
    """The head of the file fits the texture; what follows is read when it is drawn."""
    values, name = element.values, element.values[attribute]
    kind = values["content_type"] or _KINDS.get(PurePath(name).suffix.lower(), "")
    if kind == _KTX:
        return
    if kind != _PNG:
        if len(content) < 8 or len(content) != 8 + values["nchannel"] * _area(content):
            raise element.origin.error(f"the file {name!r} is not a picture", "use PNG")
        return
    size = assets.png_size(content)
    if size is None:
        raise element.origin.error(f"the file {name!r} is not a PNG picture")
    width, height = size
    rows, columns = values["gridsize"] if attribute == "file" else (1, 1)
    if values["type"] != _2D and width * rows != height * columns:
        raise element.origin.error(
            f"the picture {name!r} has {width} x {height} pixels, which gridsize does not cut "
            "into squares"
        )


def _area(content: bytes) -> int:
    width, height = np.frombuffer(content, "<i4", 2)
    return int(width) * int(height)


def compile_materials(ctx: Context) -> None:
    """Adds the fields `mat_*`; `mat_texid` has a column for each role, -1 for no texture."""
    elements, f = ctx.spec.elements["material"], ctx.fields
    f["mat_texid"] = np.full((len(elements), 1 + len(_ROLES)), -1, np.int32)
    f["mat_texid"][:, _ROLES["rgb"]] = ctx.names.find_all("texture", elements, "texture")
    for row, element in zip(f["mat_texid"], elements, strict=True):
        for layer in element.children:
            row[layer.values["role"]] = ctx.names.find("texture", layer.values["texture"], layer)
    f["mat_texuniform"] = bools(elements, "texuniform")
    f["mat_texrepeat"] = reals(elements, "texrepeat", 2)
    f["mat_rgba"] = reals(elements, "rgba", 4)
    for name in _REALS:
        f[f"mat_{name}"] = reals(elements, name)
