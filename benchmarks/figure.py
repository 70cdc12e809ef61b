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
ENGINES = {"ours": "mjjax", "mjx": "MJX", "c": "MuJoCo C"}


def main() -> int:
    """Draws four panels: speed on a GPU, on a CPU, time to compile, and agreement."""
    gpu, cpu = (read(f"benchmarks-{name}") for name in ("h100", "cpu"))
    style: Any = {
        "font.size": 10,
        "svg.fonttype": "path",
        "svg.hashsalt": "mjjax",
        "axes.linewidth": 0,
    }
    with plt.rc_context(style):
        shape = {"width_ratios": [3, 5, 5]}
        fig, axes = plt.subplots(1, 3, figsize=(11, 3.1), layout="constrained", gridspec_kw=shape)
        at = [r for r in gpu["results"] if r["worlds"] == 8192]
        groups(axes[0], table(at, "steps_per_s", 1e6), "{:.2f}")
        axes[0].set_title("Million steps/s on an H100,\n8,192 worlds", loc="left")
        groups(axes[1], table(cpu["results"], "steps_per_s", 1e3), "{:,.0f}")
        axes[1].set_title("Thousand steps/s on two CPU cores,\n1,024 worlds", loc="left")
        jax = [r for r in cpu["results"] if r["engine"] != "c"]
        groups(axes[2], table(jax, "compile_s", 1), "{:.0f}")
        axes[2].set_title("Seconds to compile a step,\nthe same two cores", loc="left")
        handles = [Rectangle((0, 0), 1, 1, color=colour) for colour in COLOURS.values()]
        fig.legend(handles, [*COLOURS], loc="outside lower left", ncols=3, frameon=False)
        fig.savefig(ROOT / "pictures/results.svg", metadata={"Date": None})
    return 0


def read(name: str) -> Any:
    """A file of measurements."""
    return json.loads((ROOT / f"data/{name}.json").read_text(encoding="utf-8"))


def table(records: Any, key: str, unit: float) -> dict[str, dict[str, float]]:
    """Numbers by model and engine; engines that refused the model have none."""
    found: dict[str, dict[str, float]] = {}
    for record in records:
        if key in record:
            model = Path(record["model"]).stem.replace("_", " ")
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
    axis.set_yticks(middle, [*numbers], rotation=0)
    axis.set_xticks([])
    axis.set_xlim(0, 1.25 * largest)
    axis.invert_yaxis()
    axis.tick_params(length=0)


if __name__ == "__main__":
    sys.exit(main())
