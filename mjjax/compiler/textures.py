"""Textures: what can be said without decoding pictures; pictures themselves are read when drawn."""

from pathlib import PurePath

from mjjax.compiler.context import Context
from mjjax.mjcf import assets
from mjjax.mjcf.read import Files
from mjjax.mjcf.spec import Element

_2D, _SKYBOX = 0, 2
_PNG = "image/png"
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_GRID_LETTERS = frozenset(".RLUDFB")
_MAX_CHANNELS = 4


def compile_textures(ctx: Context) -> None:
    """Checks the textures.

    Raises:
        MjcfError: a file is missing or of another kind, or the parameters do not fit together.
    """
    files = Files(ctx.spec.base, ctx.spec.assets)
    for element in ctx.spec.elements["texture"]:
        wrong = _wrong(element)
        if wrong:
            raise element.origin.error(wrong)
        for attribute in assets.FILES:
            if element.values[attribute]:
                content = assets.contents(element, files, attribute)
                if not _readable(content, element, attribute):
                    name = element.values[attribute]
                    raise element.origin.error(f"the file {name!r} is not a picture", "use PNG")


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
    elif not single and not sides:
        return "a texture needs a file or a builtin pattern"
    elif not single and values["type"] == _2D:
        return "a flat texture has one file, not one for each side"
    if not 1 <= values["nchannel"] <= _MAX_CHANNELS:
        return f"a texture has between 1 and {_MAX_CHANNELS} channels"
    if values["gridlayout"] and not _GRID_LETTERS.issuperset(values["gridlayout"]):
        return "gridlayout may have the letters RLUDFB and dots"
    return ""


def _readable(content: bytes, element: Element, attribute: str) -> bool:
    """The file begins like what it should be: a PNG picture, or rows, columns and channels."""
    kind, suffix = element.values["content_type"], PurePath(element.values[attribute]).suffix
    if kind == _PNG or (not kind and suffix.lower() == ".png"):
        return content.startswith(_PNG_SIGNATURE)
    return bool(content)
