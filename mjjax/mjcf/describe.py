"""The MJCF language as text, and the files that a model is made of."""

import os
from collections.abc import Iterator

from mjjax.mjcf import assets, read_path
from mjjax.mjcf.keywords import KEYWORDS
from mjjax.mjcf.schema import ELEMENTS, Attribute

_INDENT = "  "


def schema_text() -> str:
    """MJCF as mjjax reads it (`mj_printSchema`): each element with its attributes.

    Elements are indented below their parents; ``?`` marks an element that may occur only once. The
    content of an element inside one of the same name is not repeated. Attributes are shown with
    their kind or keywords, the number of values, the default, and ``*`` if they are required.
    """
    return "\n".join(_lines("mujoco", "mujoco", False, ())) + "\n"


def _lines(tag: str, key: str, unique: bool, above: tuple[str, ...]) -> Iterator[str]:
    pad = _INDENT * len(above)
    yield f"{pad}{tag}{'?' * unique}"
    for attribute in ELEMENTS[key].attributes.values():
        yield f"{pad}{_INDENT}@{_attribute(attribute)}"
    for child, (child_key, once) in ELEMENTS[key].children.items():
        if child_key in above or child_key == key:
            yield f"{pad}{_INDENT}{child}{'?' * once} ..."
        else:
            yield from _lines(child, child_key, once, (*above, key))


def _attribute(attribute: Attribute) -> str:
    kind = "|".join(KEYWORDS.get(attribute.kind, (attribute.kind,)))
    least = "" if attribute.exact else ".."
    count = "" if attribute.scalar else f"[{least}{attribute.count or ''}]"
    text = f"{attribute.name}{'*' * attribute.required} {kind}{count}"
    return text if attribute.default is None else f"{text} = {_value(attribute)}"


def _value(attribute: Attribute) -> str:
    values = attribute.default if isinstance(attribute.default, tuple) else (attribute.default,)
    words = {number: word for word, number in KEYWORDS.get(attribute.kind, {}).items()}
    return " ".join(str(words.get(x, x)).removesuffix(".0") for x in values)


def dependencies(path: str | os.PathLike[str]) -> list[str]:
    """The files that a model needs; the model itself is first (`mju_getXMLDependencies`).

    These are includes, attached models, and the files of assets, including those of attached
    models.

    Raises:
        MjcfError: the model cannot be read. Files of assets need not exist.
        UnsupportedFeature: the model uses something that mjjax cannot compile.
    """
    spec = read_path(path)
    found = list(spec.sources)
    for element in spec.everything():
        found += [x for name in assets.FILES.values() if (x := element.values.get(name))]
    return list(dict.fromkeys(map(os.path.normpath, found)))
