"""Checks values that a program assigns, as in a file: names, types, lengths, keywords."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from mjjax.core.words import nearest
from mjjax.mjcf.keywords import KEYWORDS
from mjjax.mjcf.schema import ELEMENTS, Attribute

ORIENTATIONS = ("axisangle", "xyaxes", "zaxis", "euler")
_INT_MAX = 2**31
# Rows whose elements have attributes of other rows, too.
_ALSO = {
    "actuator": ("actuator.general", "actuator.position"),
    "joint": ("freejoint", "joint"),
    "freejoint": ("freejoint", "joint"),
}


@functools.cache
def attributes_of(kind: str, key: str) -> dict[str, Attribute]:
    """The attributes that an element of a kind, of a row of the table, may be given."""
    found: dict[str, Attribute] = {}
    for row in _ALSO.get(kind, (key,)):
        found |= ELEMENTS[row].attributes
    return {name: a for name, a in found.items() if name not in ("class", "childclass")}


def find(attributes: Mapping[str, Attribute], what: str, name: str) -> Attribute:
    """The attribute called `name`.

    Raises:
        AttributeError: there is no such attribute; the message names the nearest.
    """
    if name not in attributes:
        hint = nearest(name, attributes)
        raise AttributeError(f"{what} has no attribute {name!r}{'; ' + hint if hint else ''}")
    return attributes[name]


def coerce(attribute: Attribute, value: Any, below: Any = None) -> Any:
    """A value in the form in which elements hold it.

    Args:
        attribute: the attribute that gets the value.
        value: number, sequence, keyword or its number, text, or an element for its name.
        below: the value so far; a shorter vector keeps its remaining entries.

    Raises:
        TypeError: the value has a wrong type.
        ValueError: the value has a wrong length, an unknown keyword, or is not a whole number.
    """
    if value is None:
        if attribute.default is None and not attribute.required:
            return None
        raise ValueError(f"{attribute.name!r} cannot be None")
    if attribute.kind == "text":
        return _text(attribute, value)
    if attribute.kind in KEYWORDS:
        return _keyword(attribute, value)
    try:
        numbers = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{attribute.name!r} must be numbers, not {value!r}") from None
    if attribute.scalar:
        if numbers.ndim:
            raise ValueError(f"{attribute.name!r} is one number, not {numbers.size}")
        return _numbers(attribute, numbers[None])[0]
    return _vector(attribute, numbers.ravel(), below)


def _text(attribute: Attribute, value: Any) -> str:
    text = value if isinstance(value, str) else getattr(value, "name", None)
    if not isinstance(text, str):
        raise TypeError(f"{attribute.name!r} must be text, not {value!r}")
    return text


def _keyword(attribute: Attribute, value: Any) -> int:
    words = KEYWORDS[attribute.kind]
    given = value.split() if attribute.several and isinstance(value, str) else [value]
    total = 0
    for one in given:
        number = words.get(one) if isinstance(one, str) else int(one)
        allowed = sum(words.values()) if attribute.several else 0
        if number is None or (number not in words.values() and not 0 < number <= allowed):
            raise ValueError(f"{attribute.name!r} cannot be {one!r}; one of {', '.join(words)}")
        total |= number
    return total


def _numbers(attribute: Attribute, numbers: np.ndarray) -> tuple[Any, ...]:
    if attribute.kind != "int":
        return tuple(numbers.tolist())
    if not (np.isfinite(numbers).all() and (numbers == np.round(numbers)).all()):
        raise ValueError(f"{attribute.name!r} must be whole numbers")
    if (np.abs(numbers) >= _INT_MAX).any():
        raise ValueError(f"{attribute.name!r} is too large")
    return tuple(int(number) for number in numbers)


def _vector(attribute: Attribute, numbers: np.ndarray, below: Any) -> tuple[Any, ...] | None:
    count, size = attribute.count, len(numbers)
    values = _numbers(attribute, numbers)
    if count is None:
        return values or None
    if size > count or (size < count and attribute.exact) or not size:
        exactly = "" if attribute.exact else "at most "
        raise ValueError(f"{attribute.name!r} has {exactly}{count} values, not {size}")
    return values + tuple(below if below is not None else ())[size:]


class Section(dict[str, Any]):
    """The attributes of one section, also as Python attributes: `spec.option.timestep = 0.01`."""

    def __init__(self, row: str, values: Mapping[str, Any]):
        super().__init__(values)
        self.__dict__["_row"] = row

    @property
    def row(self) -> str:
        """Its row of the MJCF table."""
        return self._row

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        find(ELEMENTS[self._row].attributes, f"<{self._row}>", name)
        return self.get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        attribute = find(ELEMENTS[self._row].attributes, f"<{self._row}>", name)
        self[name] = coerce(attribute, value, self.get(name))

    def copy(self) -> "Section":
        """An independent copy."""
        return Section(self._row, self)


class Sections(dict[str, Section]):
    """Sub-sections by name, also as Python attributes: `spec.visual.map.znear = 0.1`.

    A name that is a Python keyword ends in an underscore: `spec.visual.global_`.
    """

    def __init__(self, row: str, values: Mapping[str, Mapping[str, Any]]):
        found = {tag: Section(key, values.get(tag, {})) for tag, key in _tags(row)}
        super().__init__(found)
        self.__dict__["_row"] = row

    def __getattr__(self, name: str) -> Section:
        tag = name.removesuffix("_")
        if name.startswith("__"):
            raise AttributeError(name)
        if tag not in self:
            hint = nearest(tag, self)
            raise AttributeError(f"<{self._row}> has no {tag!r}{'; ' + hint if hint else ''}")
        return self[tag]

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"assign the attributes of {name!r}")

    def copy(self) -> "Sections":
        """An independent copy."""
        return Sections(self.__dict__["_row"], self)


def _tags(row: str) -> list[tuple[str, str]]:
    return [(tag, key) for tag, (key, _) in ELEMENTS[row].children.items()]
