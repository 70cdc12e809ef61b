"""`python -m benchmarks.figure`: draws the README's figure from the files in `docs/data`."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

ROOT = Path(__file__).parents[1] / "docs"
COLOURS = {"mjjax": "#d9480f", "MJX": "#adb5bd", "MuJoCo C": "#495057"}
MODELS = {"barkour_v0_mjx": "Barkour on a\nheight field", "scene_right": "Shadow hand"}
ENGINES = {"ours": "mjjax", "mjx": "MJX", "c": "MuJoCo C"}


def main() -> int:
    """Draws four panels: speed on a GPU and on a CPU, time to compile, and agreement."""
    gpu, cpu = (read(f"benchmarks-{name}") for name in ("h100", "cpu"))
    on_gpu = [record for record in gpu["results"] if record["worlds"] == 8192]
    in_jax = [record for record in cpu["results"] if record["engine"] != "c"]
    style: Any = {
        "font.size": 10,
        "axes.titlesize": 10,
        "svg.fonttype": "path",
        "svg.hashsalt": "mjjax",
    }
    style["axes.linewidth"] = 0
    with plt.rc_context(style):
        fig, axes = plt.subplots(2, 2, figsize=(8, 5), layout="constrained")
        groups(axes[0, 0], table(on_gpu, "steps_per_s", 1e6), "{:.2f}")
        axes[0, 0].set_title("Million steps/s on an H100, 8,192 worlds", loc="left")
        agreement(axes[1, 0], read("conformance")["compile"])
        axes[1, 0].set_title("Public models beside MuJoCo's compiler", loc="left")
        groups(axes[0, 1], table(cpu["results"], "steps_per_s", 1e3), "{:,.0f}")
        axes[0, 1].set_title("Thousand steps/s, 2 CPU cores", loc="left")
        groups(axes[1, 1], table(in_jax, "compile_s", 1), "{:.0f}")
        axes[1, 1].set_title("Seconds to compile a step", loc="left")
        handles = [Rectangle((0, 0), 1, 1, color=colour) for colour in COLOURS.values()]
        fig.legend(handles, [*COLOURS], loc="outside lower left", ncols=3, frameon=False)
        fig.savefig(ROOT / "pictures/results.svg", metadata={"Date": None})
    return 0


def agreement(axis: Axes, found: Mapping[str, int]) -> None:
    """A bar for each outcome of the models that MuJoCo loads."""
    shown = {"the same model": "equal", "refused by name": "refused", "other models": "differs"}
    for i, outcome in enumerate(shown.values()):
        number = found.get(outcome, 0)
        axis.barh(i, number, color=COLOURS["mjjax"] if i == 0 else COLOURS["MJX"], height=0.8)
        axis.text(number + 15, i, f"{number:,}", va="center", weight="normal" if i else "bold")
    axis.set_yticks(range(len(shown)), [*shown])
    bare(axis, max(found.values()))


def read(name: str) -> Any:
    """A file of measurements."""
    return json.loads((ROOT / f"data/{name}.json").read_text(encoding="utf-8"))


def table(records: Any, key: str, unit: float) -> dict[str, dict[str, float]]:
    """Numbers by model and engine; engines that refused the model have none."""
    found: dict[str, dict[str, float]] = {}
    for record in records:
        if key in record:
            stem = Path(record["model"]).stem
            model = MODELS.get(stem, stem)
            found.setdefault(model, {})[ENGINES[record["engine"]]] = record[key] / unit
    return found


def groups(axis: Axes, numbers: Mapping[str, Mapping[str, float]], form: str) -> None:
    """Horizontal bars, a group for each model."""
    engines = [name for name in COLOURS if any(name in row for row in numbers.values())]
    largest = max(max(row.values()) for row in numbers.values())
    for i, row in enumerate(numbers.values()):
        for k, (name, value) in enumerate((n, row[n]) for n in engines if n in row):
            y = i * (len(engines) + 1) + k
            axis.barh(y, value, color=COLOURS[name], height=0.9)
            weight = "bold" if name == "mjjax" else "normal"
            text = form.format(value)
            axis.text(value + 0.02 * largest, y, text, va="center", weight=weight)
    middle = [i * (len(engines) + 1) + (len(engines) - 1) / 2 for i in range(len(numbers))]
    axis.set_yticks(middle, [*numbers])
    bare(axis, largest)


def bare(axis: Axes, largest: float) -> None:
    """Leaves room for the numbers beside the bars, and no ticks."""
    axis.set_xticks([])
    axis.set_xlim(0, 1.25 * largest)
    axis.invert_yaxis()
    axis.tick_params(length=0)


if __name__ == "__main__":
    sys.exit(main())
