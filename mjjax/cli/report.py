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
NUMBER = 10  # characters that numbers need, such as steps per second


class Table:
    """A table with one line for each model, number of worlds and engine, printed as they come."""

    def __init__(self, models: Sequence[str]):
        names = max(len(Path(model).stem) for model in models)
        self._widths = [max(names, len(HEAD[0])), *(max(len(title), NUMBER) for title in HEAD[1:])]

    def head(self) -> str:
        """The line with the titles."""
        return _line(HEAD, self._widths)

    def rows(self, records: Sequence[dict[str, Any]]) -> str:
        """The lines of all engines of one model with one number of worlds."""
        ours = next((r["steps_per_s"] for r in records if r["engine"] == "ours" and _ran(r)), None)
        lines = [_line(_row(r, ours), self._widths) for r in records]
        refused = [r for r in records if not _ran(r)]
        return "\n".join(
            lines
            + [f"{r['engine']} refused {Path(r['model']).name}: {r['refused']}" for r in refused]
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
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(row, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)])
