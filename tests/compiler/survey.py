"""Compares compiled real models with MuJoCo's, in every field that has a name of MuJoCo's.

A field with one of `mjModel`'s names must have its values; otherwise it must have another name. A
line of the result lists the fields that differ, with their largest differences.

    python -m tests.compiler.survey MODELS --count 60 --json results.jsonl
"""

from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np

import mjjax
from tests import surveys

PARTS = ("opt", "stat", "vis")
TOLERANCE = 1e-6  # relative to the largest entry: MuJoCo keeps some fields in float32
# Fields that cannot be equal, with the reason.
LOOSE = {
    "mesh_normal": "sums of tiny triangles: MuJoCo rounds them to float32 in another frame",
    "mesh_polynormal": "of polygons that are lines: MuJoCo divides by almost nothing",
}


def shared(theirs: Any, ours: Any, prefix: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Fields that both models have, by name: arrays, numbers and texts."""
    for name in dir(theirs):
        value = getattr(theirs, name)
        mine = name if hasattr(ours, name) else f"{name}_"  # `global` is a word of Python
        if name.startswith("_") or callable(value) or not hasattr(ours, mine):
            continue
        if name in PARTS or prefix == "vis.":
            yield from shared(value, getattr(ours, mine), f"{prefix}{name}.")
        else:
            yield prefix + name, value, getattr(ours, mine)


def differences(theirs: mujoco.MjModel, ours: mjjax.Model) -> dict[str, str]:
    """The differences, by field."""
    found: dict[str, str] = {}
    for name, wanted, value in shared(theirs, ours):
        wrong = _difference(wanted, value)
        if wrong:
            found[name] = wrong
    return found


def _difference(wanted: Any, value: Any) -> str:
    if isinstance(wanted, bytes):  # texts are bytes in MuJoCo's Python
        wanted = np.frombuffer(wanted, np.uint8)
    x, y = np.asarray(wanted), np.asarray(value)
    if x.dtype.kind in "SU":
        x = np.frombuffer(x.tobytes(), np.uint8)
    if x.shape != y.shape:
        return f"shape {y.shape}, not {x.shape}"
    x, y = np.atleast_1d(x).astype(float), np.atleast_1d(y).astype(float)
    with np.errstate(invalid="ignore"):
        apart = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.abs(x - y))
    largest = np.abs(x[np.isfinite(x)]).max(initial=1)
    return "" if (apart <= TOLERANCE * largest).all() else f"{apart.max():.1e}"


def compare(m: mujoco.MjModel, model: mjjax.Model) -> dict[str, Any]:
    """The line of results of one model."""
    found = differences(m, model)
    return {"differ": {name: text for name, text in found.items() if name not in LOOSE},
            "loose": {name: text for name, text in found.items() if name in LOOSE}}  # fmt: skip


if __name__ == "__main__":
    surveys.run(compare, __doc__, max_nv=1000)
