"""Validation of a node tree against the table: names, counts, types; text becomes numbers."""

import difflib
import math
from collections.abc import Iterator
from typing import Any

from mjjax.mjcf.keywords import KEYWORDS
from mjjax.mjcf.read import Node
from mjjax.mjcf.schema import ELEMENTS, Attribute

_INT_MAX = 2**31


def check(root: Node) -> None:
    """Validates the tree and fills `key` and `values` of its nodes.

    Raises:
        MjcfError: an unknown element or attribute, a repeated unique element, a bad value.
    """
    root.key = "mujoco"
    _check(root)


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


def nearest(word: str, words: Any) -> str:
    """A hint with the valid word most like `word`."""
    close = difflib.get_close_matches(word, list(words), n=1)
    return f"did you mean {close[0]!r}?" if close else ""


def _check(node: Node) -> None:
    schema = ELEMENTS[node.key]
    for name, text in node.attrib.items():
        attribute = schema.attributes.get(name)
        if attribute is None:
            raise node.error(f"unknown attribute {name!r}", nearest(name, schema.attributes))
        value = read_value(node, attribute, text)
        if value is not None:
            node.values[name] = value
    for attribute in schema.attributes.values():
        if attribute.required and attribute.name not in node.values:
            raise node.error(f"attribute {attribute.name!r} is required")
    seen: set[str] = set()
    for child in node.children:
        entry = schema.children.get(child.tag)
        if entry is None:
            hint = nearest(child.tag, schema.children)
            raise child.error(f"unknown element in <{node.tag}>", hint)
        child.key, unique = entry
        if unique and child.tag in seen:
            raise child.error(f"only one <{child.tag}> is allowed in <{node.tag}>")
        seen.add(child.tag)
        _check(child)


def read_value(node: Node, attribute: Attribute, text: str) -> Any:
    """The typed value of an attribute; None where MuJoCo treats it as absent."""
    if attribute.kind == "text":
        return text
    if attribute.kind in KEYWORDS:
        return _keyword(node, attribute, text)
    words = text.split()
    if not words:
        return None
    numbers = tuple(_number(node, attribute, word) for word in words)
    if attribute.count is not None:
        if len(numbers) > attribute.count:
            raise node.error(f"attribute {attribute.name!r} has more than {attribute.count} values")
        if attribute.exact and len(numbers) < attribute.count:
            raise node.error(f"attribute {attribute.name!r} needs {attribute.count} values")
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
            f"the keywords of attribute {attribute.name!r} are not in their order",
            f"the order is {', '.join(words)}",
        )
    return sum(numbers) if numbers else None


def _number(node: Node, attribute: Attribute, word: str) -> float | int:
    try:
        if "_" in word:  # Python's digit grouping is not a number in XML
            raise ValueError
        value = int(word) if attribute.kind == "int" else float(word)
    except ValueError:
        kind = "integer" if attribute.kind == "int" else "number"
        raise node.error(
            f"attribute {attribute.name!r} has {word!r} where a {kind} is expected"
        ) from None
    if attribute.kind == "int":
        if not -_INT_MAX <= value < _INT_MAX:
            raise node.error(f"integer {word} in attribute {attribute.name!r} is too large")
    elif math.isinf(value) and "inf" not in word.lower():
        raise node.error(f"number {word} in attribute {attribute.name!r} is too large")
    return value
