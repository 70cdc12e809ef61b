"""Values as text that fits on a screen, such as a notebook prints.

Arrays show their numbers if these are few and known, otherwise their type and shape. Nothing here
computes with JAX, so a `repr` neither compiles a program nor fails inside a trace.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

LIMIT = 1900  # characters
_WIDTH = 72  # characters of one value
_FEW = 8  # numbers, or members of a collection, to show


def short(value: Any) -> str:
    """A value in one line of at most 72 characters."""
    return cut(_words(value), _WIDTH)


def cut(text: str, width: int) -> str:
    """A text in one line, with an ellipsis in the place of the part that is left out."""
    line = " ".join(text[: 10 * width].split())
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A title and a line for each row (name, text); rows for which there is no room are counted."""
    found = [(name, text) for name, text in rows]
    width = max((len(name) for name, _ in found), default=0)
    lines, left = [cut(title, 2 * _WIDTH)], LIMIT - len(title)
    for k, (name, text) in enumerate(found):
        line = f"  {name:{width}}  {text}".rstrip()
        left -= len(line) + 1
        if left < 0:
            return "\n".join([*lines, f"  and {len(found) - k} more"])
        lines.append(line)
    return "\n".join(lines)


def represent(self: Any) -> str:
    """A dataclass or named tuple: its name and its fields."""
    names = getattr(self, "_fields", ()) or [f.name for f in dataclasses.fields(self) if f.repr]
    return table(type(self).__name__, [(name, short(getattr(self, name))) for name in names])


def shape_text(dtype: Any, shape: Iterable[int]) -> str:
    """Type and shape of an array: `float32[3, 4]`."""
    return f"{dtype}[{', '.join(map(str, shape))}]"


def _words(value: Any) -> str:
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return _array(value)
    if isinstance(value, Mapping):
        return _members("{", "}", [f"{k}: {short(x)}" for k, x in _first(value.items())], value)
    if isinstance(value, tuple | list) and type(value).__repr__ in (tuple.__repr__, list.__repr__):
        marks = "()" if isinstance(value, tuple) else "[]"
        return _members(marks[0], marks[1], [short(x) for x in _first(value)], value)
    if callable(value) or type(value).__repr__ is object.__repr__:
        return getattr(value, "__qualname__", type(value).__qualname__)
    return repr(value)


def _members(left: str, right: str, texts: list[str], whole: Any) -> str:
    more = [f"… {len(whole)} in all"] if len(whole) > len(texts) else []
    return left + ", ".join([*texts, *more]) + right


def _first(members: Iterable[Any]) -> list[Any]:
    return [x for _, x in zip(range(_FEW), members, strict=False)]


def _array(x: Any) -> str:
    if int(np.prod(x.shape)) > _FEW:
        return shape_text(x.dtype, x.shape)
    try:
        numbers = np.asarray(x)
    except (TypeError, RuntimeError):  # traced, of another type than numbers, or deleted
        return shape_text(x.dtype, x.shape)
    if not numbers.size or numbers.dtype == object:
        return shape_text(x.dtype, x.shape)
    return _nested(numbers)


def _nested(numbers: np.ndarray) -> str:
    if numbers.ndim == 0:
        x = numbers[()]
        return f"{x:.6g}" if numbers.dtype.kind == "f" else str(x)
    return "[" + " ".join(_nested(row) for row in numbers) + "]"
