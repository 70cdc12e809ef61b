"""Makes plain-text tables of measurements."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mjjax.xla.operations import OPERATION_KINDS, total

HEAD = (
    "model",
    "worlds",
    "engine",
    "load s",
    "compile s",
    "steps/s",
    "ours/it",
    "kB/world",
    "grad us",
    "grad compile s",
    "equations",
)


def table(results: Sequence[dict[str, Any]]) -> str:
    """A table with one line per model, number of worlds and engine."""
    speed = {_key(r): r["steps_per_s"] for r in results if r["engine"] == "ours" and _ran(r)}
    rows = [_row(r, speed.get(_key(r))) for r in results]
    return _align([HEAD, *rows]) + "".join(
        f"\n{r['engine']} refused {Path(r['model']).name}: {r['refused']}"
        for r in results
        if not _ran(r)
    )


def stage_table(results: Sequence[dict[str, Any]]) -> str:
    """Tables of microseconds per world of each stage, with engines side by side."""
    parts = []
    for key in dict.fromkeys(_key(r) for r in results):
        columns = {r["engine"]: r["stages_us"] for r in results if _key(r) == key and _staged(r)}
        names = dict.fromkeys(name for stages in columns.values() for name in stages)
        head = (f"{Path(key[0]).stem} x {key[1]}, us per world", *columns)
        rows = [
            (name, *(_number(stages.get(name), ".2f") for stages in columns.values()))
            for name in names
        ]
        parts.append(_align([head, *rows]))
    return "\n\n".join(("", *parts))


def operation_table(results: Sequence[dict[str, Any]]) -> str:
    """A table of the operations of each compiled program, by kind; the sum leaves loops out."""
    rows = [
        tuple(map(str, (_name(r), r["worlds"], r["engine"], program, total(c), *c.values())))
        for r in results
        for program, c in r.get("operations", {}).items()
    ]
    head = ("model", "worlds", "engine", "program", "operations", *OPERATION_KINDS)
    return "\n" + _align([head, *rows])


def _row(record: dict[str, Any], ours: float | None) -> tuple[str, ...]:
    speed = record.get("steps_per_s")
    gradient = record.get("gradient", {})
    size = record.get("bytes_per_world")
    return (
        _name(record),
        str(record["worlds"]),
        record["engine"],
        _number(record.get("load_s"), ".2f"),
        _number(record.get("compile_s") or None, ".1f"),
        _number(speed, ",.0f"),
        _number(ours / speed if ours and speed else None, ".2f"),
        _number(size / 1000 if size else None, ".1f"),
        "refused" if "refused" in gradient else _number(gradient.get("us_per_world"), ",.1f"),
        _number(gradient.get("compile_s"), ".1f"),
        _number(record.get("equations"), ","),
    )


def _name(record: dict[str, Any]) -> str:
    return Path(record["model"]).stem


def _key(record: dict[str, Any]) -> tuple[str, int]:
    return record["model"], record["worlds"]


def _ran(record: dict[str, Any]) -> bool:
    return "steps_per_s" in record


def _staged(record: dict[str, Any]) -> bool:
    return "stages_us" in record


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _align(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
