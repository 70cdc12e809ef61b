"""Validates a node tree against the table (names, counts, types), and turns text into numbers."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from mjjax.core.words import nearest
from mjjax.mjcf.keywords import KEYWORDS
from mjjax.mjcf.read import Node
from mjjax.mjcf.schema import ELEMENTS, Attribute

_INT_MAX = 2**31
# Smallest and largest numbers that are kept in full precision.
_RANGE = {
    kind: (float(np.finfo(dtype).tiny), float(np.finfo(dtype).max))
    for kind, dtype in (("real", np.float64), ("single", np.float32))
}
_LONGEST, _FEW = 60, 8  # most letters of a word to show, and most elements to list
_LOOSE = ("frame", "replicate")  # MuJoCo compares nothing in them with its schema


def check(root: Node) -> list[str]:
    """Validates the tree and fills `key` and `values` of its nodes.

    Returns:
        Warnings, because in frames and replicates MuJoCo ignores unknown elements and attributes.

    Raises:
        MjcfError: an element or attribute is unknown, a unique element is repeated, or a value is
            bad.
    """
    root.key = "mujoco"
    warnings: list[str] = []
    _check(root, False, warnings)
    return warnings


def refuse_unsupported(node: Node) -> None:
    """Raises `UnsupportedFeature` for the first element that mjjax does not simulate."""
    schema = ELEMENTS[node.key]
    if schema.unsupported:
        raise node.unsupported(f"not supported yet: {schema.unsupported}")
    for child in node.children:
        refuse_unsupported(child)


def not_a_number(root: Node) -> Iterator[str]:
    """A warning for every attribute that contains nan."""
    for name, value in root.values.items():
        numbers = value if isinstance(value, tuple) else (value,)
        if any(isinstance(number, float) and math.isnan(number) for number in numbers):
            yield f"{root.file}:{root.line}: attribute {name!r} of <{root.tag}> is not a number"
    for child in root.children:
        yield from not_a_number(child)


def _check(node: Node, loose: bool, warnings: list[str]) -> None:
    """Checks a node; with `loose` it is in a frame, in which unknown things are ignored."""
    schema = ELEMENTS[node.key]
    loose = loose or node.key in _LOOSE
    for name, text in node.attrib.items():
        attribute = schema.attributes.get(name)
        if attribute is None and loose:
            _ignored_attribute(node, name, warnings)
            continue
        if attribute is None:
            raise node.error(f"unknown attribute {name!r}", _known_elsewhere(node, name))
        value = read_value(node, attribute, text)
        if value is not None:
            node.values[name] = value
    for attribute in schema.attributes.values():
        if attribute.required and attribute.name not in node.values:
            raise node.error(f"attribute {attribute.name!r} is required")
    _check_children(node, loose, warnings)


def _ignored_attribute(node: Node, name: str, warnings: list[str]) -> None:
    """Notes an unknown attribute in a frame; a class still counts for the element's children."""
    if name == "class" and "childclass" in ELEMENTS[node.key].attributes:
        node.values["class"] = node.attrib["class"]
        return
    hint = _known_elsewhere(node, name)
    warnings.append(str(node.error(f"the unknown attribute {name!r} is ignored", hint)))


def _check_children(node: Node, loose: bool, warnings: list[str]) -> None:
    schema = ELEMENTS[node.key]
    if loose and node.key not in (*_LOOSE, "body"):
        for child in [child for child in node.children if child.tag not in schema.children]:
            warnings.append(str(child.error(f"ignored, because it is unknown in <{node.tag}>")))
            node.children.remove(child)
    seen: set[str] = set()
    for child in node.children:
        entry = schema.children.get(child.tag)
        if entry is None:
            hint = nearest(child.tag, schema.children) or _holder(child.tag)
            raise child.error(f"unknown element in <{node.tag}>", hint)
        child.key, unique = entry
        if unique and child.tag in seen:
            raise child.error(f"only one <{child.tag}> is allowed in <{node.tag}>")
        seen.add(child.tag)
        _check(child, loose, warnings)


def _known_elsewhere(node: Node, name: str) -> str:
    """A hint for an unknown attribute: one like it, or similar elements that have it."""
    section = node.key.rpartition(".")[0]
    others = [
        key.rpartition(".")[2]
        for key, schema in ELEMENTS.items()
        if section and key.startswith(f"{section}.") and name in schema.attributes
    ]
    if others:
        return f"{', '.join(f'<{tag}>' for tag in others[:_FEW])} has it"
    return nearest(name, ELEMENTS[node.key].attributes)


def _holder(tag: str) -> str:
    """A hint about where an element is allowed."""
    for key in ("worldbody", *ELEMENTS):
        if tag in ELEMENTS[key].children:
            return f"it belongs in <{key.rpartition('.')[2]}>"
    return ""


def read_value(node: Node, attribute: Attribute, text: str) -> Any:
    """The typed value of an attribute; None where MuJoCo treats it as absent."""
    if attribute.kind == "text":
        return text
    if attribute.kind in KEYWORDS:
        return _keyword(node, attribute, text)
    words = [word.decode() for word in text.encode().split()]  # at blanks of ASCII
    if not words and attribute.scalar and attribute.kind == "int":
        raise node.error(f"attribute {attribute.name!r} is empty", "give it a whole number")
    if not words:
        return None
    numbers = tuple(_number(node, attribute, word) for word in words)
    if attribute.count is not None:
        if len(numbers) > attribute.count:
            given = f"{len(numbers)} are given"
            raise node.error(
                f"attribute {attribute.name!r} has more than {attribute.count} values", given
            )
        if attribute.exact and len(numbers) < attribute.count:
            given = f"{len(numbers)} {'is' if len(numbers) == 1 else 'are'} given"
            raise node.error(f"attribute {attribute.name!r} needs {attribute.count} values", given)
    return numbers[0] if attribute.scalar else numbers


def _keyword(node: Node, attribute: Attribute, text: str) -> int | None:
    words = KEYWORDS[attribute.kind]
    given = text.split() if attribute.several else [text]
    for word in given:
        if word not in words:
            hint = nearest(word, words) or f"one of {', '.join(words)}"
            raise node.error(f"invalid keyword {word!r} for attribute {attribute.name!r}", hint)
    numbers = [words[word] for word in given]
    if len(set(numbers)) < len(numbers):
        raise node.error(f"attribute {attribute.name!r} repeats a keyword")
    if attribute.ordered and numbers != sorted(numbers):
        raise node.error(
            f"the keywords of attribute {attribute.name!r} are out of order",
            f"the order is {', '.join(words)}",
        )
    return sum(numbers) if numbers else None


def _number(node: Node, attribute: Attribute, word: str) -> float | int:
    try:
        if "_" in word or not word.isascii():  # numbers to Python, but not in XML
            raise ValueError
        read = int if attribute.kind == "int" else float.fromhex if "x" in word.lower() else float
        value = read(word)
    except (ValueError, OverflowError):
        kind = "an integer" if attribute.kind == "int" else "a number"
        raise node.error(
            f"attribute {attribute.name!r} has {word[:_LONGEST]!r} where {kind} is expected",
            "separate numbers by blanks" if "," in word else "",
        ) from None
    if attribute.kind == "int":
        if not -_INT_MAX <= value < _INT_MAX:
            raise node.error(f"an integer in attribute {attribute.name!r} is too large")
    elif not _RANGE[attribute.kind][0] <= abs(value) <= _RANGE[attribute.kind][1]:
        _check_range(node, attribute, word, value)
    return value


def _check_range(node: Node, attribute: Attribute, word: str, value: float) -> None:
    """Refuses a number that cannot be kept as it is written; zero, inf and nan can be kept."""
    if math.isnan(value) or "inf" in word.lower():
        return
    mantissa = word.lower().partition("e")[0]
    if not value and not any(digit in "123456789" for digit in mantissa):
        return
    how = "small" if abs(value) < 1 else "large"
    raise node.error(f"number {word[:_LONGEST]} in attribute {attribute.name!r} is too {how}")
