"""Models and data as text that fits on a screen: their `repr`."""

import dataclasses
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from mjjax.core.below import work
from mjjax.core.enums import DisableBit, EnableBit, WarningType
from mjjax.core.representation import short, table
from mjjax.core.struct import specs
from mjjax.model.option import CHOICES

Rows = Iterator[tuple[str, str]]

# Sizes of things that a user counts; other sizes only say how long a table is.
_SIZES = (
    "nq nv nu na nbody njnt ngeom nsite ncam nlight nmesh nhfield nskin nmat ntex npair nexclude "
    "neq ntendon nsensor nsensordata nkey nmocap nuserdata"
).split()
_WORDS = CHOICES | {"disableflags": DisableBit, "enableflags": EnableBit}
_WIDTH = 88


def model_text(model: Any) -> str:
    """Name and sizes of a model, options that are not the default, terms, fields with worlds."""
    return table(f"Model {model.structure.model_name!r}", _model_rows(model))


def data_text(data: Any) -> str:
    """Worlds, time, counts and warnings of data, and its fields that are not empty, by shape."""
    fields = {name: vars(data).get(name) for name in specs(data)}
    contact = fields["contact"]
    if dataclasses.is_dataclass(contact):
        fields |= {f"contact.{name}": vars(contact).get(name) for name in specs(contact)}
    fields = {name: x for name, x in fields.items() if hasattr(x, "shape")}
    return table(f"Data of {data.structure.model_name!r}", _data_rows(fields))


def _model_rows(model: Any) -> Rows:
    s = model.structure
    yield from _wrapped("sizes", [f"{n}={s.sizes[n]}" for n in _SIZES if s.sizes.get(n)])
    yield from _wrapped("options", _options(model.opt) or ["all default"])
    on = {name: np.asarray(mask) for name, mask in s.terms.items()}
    on = {name: mask for name, mask in on.items() if mask.any()}
    counts = [f"{k} ({m.sum()} of {m.size})" if m.size > 1 else k for k, m in on.items()]
    yield from _wrapped("terms", counts or ["none"])
    batched = [name for name, worlds in _batches(model) if worlds]
    if batched:
        yield from _wrapped("worlds in", batched)


def _batches(model: Any) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Axes of worlds of each field."""
    for prefix, tree in (("", model), ("opt.", model.opt)):
        if not dataclasses.is_dataclass(tree):
            continue  # a mark
        for name, spec in specs(tree).items():
            shape = getattr(vars(tree).get(name), "shape", ())
            yield prefix + name, shape[: len(shape) - len(spec.shape)]


def _options(opt: Any) -> list[str]:
    """Options that differ from the default, as `name=value`."""
    if not dataclasses.is_dataclass(opt):
        return [short(opt)]  # a mark
    default = work("default attributes")("option")
    found = []
    for field in dataclasses.fields(opt):
        value, usual = getattr(opt, field.name), default.get(field.name, 0)
        if _differs(value, usual):
            word = _WORDS.get(field.name)
            text = word(value).name if word and isinstance(value, int) else short(value)
            found.append(f"{field.name}={text}")
    return found


def _differs(value: Any, usual: Any) -> bool:
    try:
        number = np.asarray(value)
        return not np.array_equal(number, np.asarray(usual, number.dtype))
    except (TypeError, RuntimeError, ValueError):  # traced, deleted, or no number
        return True


def _data_rows(fields: dict[str, Any]) -> Rows:
    worlds = fields["time"].shape if "time" in fields else ()
    if worlds:
        yield "worlds", " x ".join(map(str, worlds))
    for name in ("time", "ncon", "nefc"):
        if name in fields:
            yield name, short(fields[name])
    yield from _warnings(fields.get("warning"))
    shapes: dict[tuple[int, ...], list[str]] = {}
    for name, x in fields.items():
        shape = tuple(x.shape[len(worlds) :])
        if shape and 0 not in shape:
            shapes.setdefault(shape, []).append(name)
    for shape, names in sorted(shapes.items()):
        yield from _wrapped(f"[{', '.join(map(str, shape))}]", names)


def _warnings(counts: Any) -> Rows:
    """Rows for the warnings that occurred in any world."""
    try:
        total = np.asarray(counts).reshape(-1, len(WarningType)).sum(0)
    except (TypeError, RuntimeError, ValueError):  # traced, deleted, or no number
        return
    found = [f"{kind.name} {total[kind]}" for kind in WarningType if total[kind]]
    if found:
        yield from _wrapped("warnings", found)


def _wrapped(name: str, words: Iterable[str]) -> Rows:
    """Rows with words under a name, as many as the words need."""
    for k, line in enumerate(textwrap.wrap("  ".join(words), _WIDTH, break_on_hyphens=False)):
        yield name if k == 0 else "", line
