"""`python -m benchmarks.training`: learning curves of mjjax's tasks, by algorithm and seed.

Every training runs alone, in a process of its own, and its times include compilation. Rows that the
file has are kept, so an interrupted run goes on. It needs the packages of `mjjax[train]`.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1] / "docs"
# Steps by task and algorithm; the tasks of the second group take up to an hour each, with one seed.
COMPARED = {
    "pendulum": {"ppo": 2_000_000, "shac": 400_000},
    "cartpole_swingup": {"ppo": 2_000_000, "shac": 700_000},
    "hopper": {"ppo": 4_000_000, "shac": 600_000},
    "halfcheetah": {"ppo": 4_000_000, "shac": 600_000},
}
LONG = {"ant": {"ppo": 20_000_000}, "humanoid": {"ppo": 8_000_000}}
SEEDS = 3
POINTS = 20
COLOURS = {"ppo": "#495057", "shac": "#d9480f"}


def main(argv: Sequence[str] | None = None) -> int:
    """Trains what the file does not have, and draws all curves."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training", description=__doc__)
    parser.add_argument("--tasks", nargs="*", default=[*COMPARED, *LONG])
    parser.add_argument("--json", type=Path, default=ROOT / "data/training.json")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.worker:
        task, algorithm, seed = args.worker
        print(json.dumps(trained(task, algorithm, int(seed))))
        return 0
    rows = json.loads(args.json.read_text(encoding="utf-8")) if args.json.exists() else []
    have = {(row["task"], row["algorithm"], row["seed"]) for row in rows}
    for run in runs(args.tasks):
        if run in have:
            continue
        command = [sys.executable, "-m", "benchmarks.training", "--worker", *map(str, run)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        task, algorithm, seed = run
        row: dict[str, Any] = {"task": task, "algorithm": algorithm, "seed": seed}
        row["date"] = time.strftime("%Y-%m-%d")
        rows.append(row | {"curve": json.loads(done.stdout.splitlines()[-1])})
        args.json.write_text(json.dumps(rows) + "\n", encoding="utf-8")
        steps, seconds, mean, _ = rows[-1]["curve"][-1]
        print(f"{task:20}{algorithm:8}{seed:3}{steps:12,}{seconds:8.0f} s{mean:10.1f}", flush=True)
    draw(rows, ROOT / "pictures/training.svg")
    return 0


def runs(tasks: Sequence[str]) -> Iterator[tuple[str, str, int]]:
    """Task, algorithm and seed of every training."""
    for seed in range(SEEDS):
        for task in tasks:
            if task in COMPARED or seed == 0:
                for algorithm in (COMPARED | LONG)[task]:
                    yield task, algorithm, seed


def trained(task: str, algorithm: str, seed: int) -> list[list[float]]:
    """Points of a learning curve: steps, seconds, mean and deviation of the returns."""
    import mjjax
    from mjjax.training import train

    steps = (COMPARED | LONG)[task][algorithm]
    every = -(-steps // POINTS)
    found = train(mjjax.envs.make(task), seed, steps, algorithm=algorithm, every=every)
    return [
        [point.steps, *(round(x, 2) for x in (point.seconds, point.mean, point.std))]
        for point in found.curve
    ]


def final(row: dict[str, Any]) -> float:
    """The return at the end of training: the mean of the last three points."""
    return float(np.mean([mean for *_, mean, _ in row["curve"][-3:]]))


def reached(row: dict[str, Any], wanted: float) -> list[float] | None:
    """The first point of a curve whose return is at least `wanted`."""
    return next((point for point in row["curve"] if point[2] >= wanted), None)


def draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draws the return against steps, and against time, by task; a line is a seed."""
    import matplotlib.pyplot as plt

    tasks = list(dict.fromkeys(row["task"] for row in rows))
    style: Any = {"font.size": 9, "svg.fonttype": "path", "svg.hashsalt": "mjjax"}
    with plt.rc_context(style):
        fig, axes = plt.subplots(
            2, len(tasks), figsize=(2.6 * len(tasks), 4.6), squeeze=False, layout="constrained"
        )
        for k, task in enumerate(tasks):
            for row in rows:
                if row["task"] != task:
                    continue
                curve = np.array(row["curve"])
                colour, name = COLOURS[row["algorithm"]], row["algorithm"].upper()
                label = name if row["seed"] == 0 else None
                axes[0, k].plot(curve[:, 0] / 1e6, curve[:, 2], color=colour, label=label)
                axes[1, k].plot(curve[:, 1], curve[:, 2], color=colour)
            axes[0, k].set(title=task.replace("_", " "), xlabel="million steps", xlim=0)
            axes[1, k].set(xlabel="seconds", xlim=0)
            for axis in axes[:, k]:
                axis.spines[["top", "right"]].set_visible(False)
        axes[0, 0].set_ylabel("return")
        axes[1, 0].set_ylabel("return")
        axes[0, 0].legend(frameon=False)
        fig.savefig(path, metadata={"Date": None})
        plt.close(fig)


if __name__ == "__main__":
    sys.exit(main())
