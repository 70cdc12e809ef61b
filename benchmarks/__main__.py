"""Command line of the benchmarks; see `python -m benchmarks --help`."""

import argparse
import json
import platform
import sys
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import numpy as np

from benchmarks.engines import STAGES, Engine, JaxEngine, best, cores, installed, open_engine
from benchmarks.report import stage_table, table
from mjjax.cli import use_all_cores

JITTER = 0.01  # standard deviation of the starting states: m or rad, and m/s or rad/s


def main(argv: Sequence[str] | None = None) -> int:
    """Measures what the command line asks for and prints or saves it."""
    args = _parser().parse_args(argv)
    if any(worlds % args.devices for worlds in args.batch):
        raise SystemExit("benchmarks: --devices must divide every --batch")
    if args.devices > 1:
        use_all_cores()
    names = [n for n in ("ours", *args.peers) if n not in args.without]
    for name in [n for n in names if not installed(n)]:
        print(f"{name}: not installed, left out", file=sys.stderr)
        names.remove(name)
    results = [
        record
        for path in args.models
        for worlds in args.batch
        for record in measure(path, worlds, names, args)
    ]
    print(table(results))
    if args.stages is not None:
        print(stage_table(results))
    if args.json:
        args.json.write_text(json.dumps({"machine": machine(), "results": results}, indent=1))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Steps per second, compile time and more, of mjjax and its peers.",
    )
    parser.add_argument("models", nargs="+", help="MJCF files or embedded names")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 64, 1024], help="worlds")
    parser.add_argument("--steps", type=int, default=100, help="per timed block (%(default)s)")
    parser.add_argument("--warmup", type=int, default=200, help="steps before (%(default)s)")
    parser.add_argument("--repeats", type=int, default=5, help="blocks; the best counts")
    parser.add_argument("--peers", nargs="*", choices=("c", "mjx"), default=["c", "mjx"])
    parser.add_argument("--without", nargs="*", choices=("ours",), default=[], help="leave out")
    parser.add_argument("--devices", type=int, default=1, help="CPU devices to spread worlds over")
    parser.add_argument("--gradient", action="store_true", help="reverse derivative of a step")
    parser.add_argument(
        "--stages", nargs="*", metavar="STAGE", help="each stage on its own, or those named"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="save everything measured")
    return parser


def measure(
    path: str, worlds: int, names: Sequence[str], args: argparse.Namespace
) -> list[dict[str, Any]]:
    """One record per engine, for one model and number of worlds."""
    path = _file(path)
    records, engines = [], []
    for name in names:
        record: dict[str, Any] = {"model": path, "worlds": worlds, "engine": name}
        records.append(record)
        try:
            record["load_s"] = best(lambda name=name: open_engine(name, path, args.devices), 2)
            engine = open_engine(name, path, args.devices)
            qpos, qvel = start(engine, worlds, args.seed)
            record["compile_s"] = engine.prepare(qpos, qvel, args.steps, args.warmup)
        except (NotImplementedError, ValueError) as error:
            record["refused"] = str(error).splitlines()[0]
            continue
        record["dtype"] = engine.dtype
        record["block_s"] = []
        engines.append((engine, record))
    # Engines take turns, so that a disturbance of the machine meets all of them.
    for _ in range(args.repeats):
        for engine, record in engines:
            record["block_s"].append(best(engine.block, 1))
    for engine, record in engines:
        record["steps_per_s"] = worlds * args.steps / min(record["block_s"])
        record |= engine.details()
        if isinstance(engine, JaxEngine) and args.gradient:
            record["gradient"] = engine.gradient()
        if isinstance(engine, JaxEngine) and args.stages is not None:
            record["stages_us"] = engine.stages(args.stages or STAGES)
    return records


def start(engine: Engine, worlds: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The same starting states for every engine, near the reference configuration.

    Quaternions are left a little off unit length: every engine normalizes them where it uses them.
    """
    rng = np.random.default_rng(seed)
    qpos = engine.qpos0 + JITTER * rng.standard_normal((worlds, len(engine.qpos0)))
    return qpos, JITTER * rng.standard_normal((worlds, engine.nv))


def machine() -> dict[str, Any]:
    """What the numbers depend on besides the code."""
    versions = {}
    for package in ("mjjax", "jax", "jaxlib", "mujoco", "mujoco-mjx"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {
        "date": time.strftime("%Y-%m-%d %H:%M:%S"),
        "python": platform.python_version(),
        "processor": platform.processor() or platform.machine(),
        "cores": cores(),
        "devices": [d.device_kind for d in jax.devices()],
        "versions": versions,
    }


def _file(name: str) -> str:
    if Path(name).is_file():
        return name
    path = Path(__file__).parents[1] / "mjjax" / "assets" / f"{name}.xml"
    if not path.is_file():
        raise SystemExit(f"benchmarks: no model {name!r}")
    return str(path)


if __name__ == "__main__":
    sys.exit(main())
