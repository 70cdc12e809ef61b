"""`python -m benchmarks.results`: measures what the page of results and the README's figure show.

Every part is a command of its own, which this one calls with the models and the files of the page.
The parts of Playground and of training go on where they were interrupted. A GPU's part must be run
on that machine.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from benchmarks import figure

DATA = Path(__file__).parents[1] / "docs/data"
# Three of the models with which MJX is tested, in the package `mujoco-mjx`.
MODELS = (
    "humanoid/humanoid.xml",
    "barkour_v0/assets/barkour_v0_mjx.xml",
    "shadow_hand/scene_right.xml",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Measures the parts that the command line names, and draws the figure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.results", description=__doc__)
    parser.add_argument("parts", nargs="*", default=[*PARTS], help=", ".join(PARTS))
    parser.add_argument("--models", type=Path, help="folder of models for `conformance`")
    args = parser.parse_args(argv)
    if "conformance" in args.parts and not args.models:
        parser.error("conformance needs a folder: --models FOLDER")
    for part in args.parts:
        if part not in PARTS:
            parser.error(f"no part {part!r}: there are {', '.join(PARTS)}")
        subprocess.run([sys.executable, "-m", *PARTS[part](args.models)], check=True)
    figure.main()
    return 0


def conformance(models: Path) -> list[str]:
    """Models of a folder in both compilers, and steps of 40 of them."""
    file = DATA / "conformance.json"
    return ["benchmarks.conformance", str(models), "--step", "40", "--json", str(file)]


def speed(_: Path) -> list[str]:
    """Steps of a CPU, beside MuJoCo in C and MJX."""
    folder = resources.files("mujoco.mjx") / "test_data"
    files = [str(folder / model) for model in MODELS]
    options = "--batch 1024 --steps 20 --warmup 100 --repeats 3 --devices 2 --peers c mjx".split()
    return ["benchmarks", *files, *options, "--json", str(DATA / "benchmarks-cpu.json")]


def gymnasium(_: Path) -> list[str]:
    """Gymnasium's tasks, step by step."""
    return ["benchmarks.gymnasium_tasks", "--json", str(DATA / "gymnasium.json")]


def playground(_: Path) -> list[str]:
    """MuJoCo Playground's environments on mjjax and on MJX."""
    return ["benchmarks.playground", "--json", str(DATA / "playground.json")]


def training(_: Path) -> list[str]:
    """Learning curves of mjjax's tasks."""
    return ["benchmarks.training"]


PARTS = {f.__name__: f for f in (conformance, speed, gymnasium, playground, training)}

if __name__ == "__main__":
    sys.exit(main())
