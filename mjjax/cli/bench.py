"""`mjjax bench`: measures how fast a model runs in mjjax and in installed peers."""

import argparse
import json
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from importlib import import_module, metadata, resources
from pathlib import Path
from typing import Any

import jax
import numpy as np
from tqdm import tqdm

import mjjax
from mjjax.cli.arguments import UsageError, embedded, positive
from mjjax.cli.engines import TIMED_STAGES, Engine, JaxEngine, best, installed
from mjjax.cli.models import load
from mjjax.cli.report import Table, operation_table, stage_table
from mjjax.cli.worlds import JITTER
from mjjax.pipeline.devices import cores

Record = dict[str, Any]


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.description = (
        "Measures steps per second, compile time, memory and more for mjjax, and in "
        "the same process for MuJoCo in C and MJX, if they are installed and asked for."
    )
    arguments(parser, peers=[])
    parser.set_defaults(run=measure_all)


def arguments(parser: argparse.ArgumentParser, peers: Sequence[str]) -> None:
    """Adds the options; `peers` are measured by default."""
    parser.add_argument("models", nargs="+", metavar="MODEL", help="MJCF files or model names")
    parser.add_argument(
        "--batch",
        type=positive,
        nargs="+",
        default=[1, 64, 1024],
        help="numbers of worlds to measure (1 64 1024)",
    )
    parser.add_argument(
        "--steps", type=positive, default=100, help="number of steps in a timed block (%(default)s)"
    )
    parser.add_argument(
        "--warmup",
        type=int,
        default=200,
        help="number of steps before the first timed block (%(default)s)",
    )
    parser.add_argument(
        "--repeats",
        type=positive,
        default=5,
        help="number of timed blocks, of which the fastest counts (%(default)s)",
    )
    parser.add_argument(
        "--peers",
        nargs="*",
        choices=("c", "mjx"),
        default=peers,
        help=f"engines to measure beside mjjax ({' '.join(peers) or 'none'})",
    )
    parser.add_argument(
        "--without", nargs="*", choices=("ours",), default=[], help="engines to leave out"
    )
    parser.add_argument(
        "--devices",
        type=positive,
        default=1,
        help="number of CPU cores or GPUs over which worlds are spread (%(default)s)",
    )
    parser.add_argument(
        "--gradient", action="store_true", help="also measure the reverse-mode derivative of a step"
    )
    parser.add_argument(
        "--stages", nargs="*", metavar="STAGE", help="also time single stages: those named, or all"
    )
    parser.add_argument(
        "--operations",
        action="store_true",
        help="also count the operations of the compiled programs",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the starting states (%(default)s)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="save all measurements to a file")


def measure_all(args: argparse.Namespace) -> None:
    """Measures what the command line asks for and prints or saves it."""
    if any(worlds % args.devices for worlds in args.batch):
        raise UsageError("--devices must divide every --batch")
    if args.json and not args.json.absolute().parent.is_dir():
        raise UsageError(f"--json {args.json}: no such folder")
    if args.devices > 1:
        mjjax.use_all_cores(args.devices)
    names = [n for n in ("ours", *args.peers) if n not in args.without]
    for name in [n for n in names if not installed(n)]:
        print(f"{name} is not installed and is left out", file=sys.stderr)
        names.remove(name)
    runs = [(model_file(name), worlds) for name in args.models for worlds in args.batch]
    table = Table([path for path, _ in runs])
    results = []
    try:
        with tqdm(total=len(runs) * len(names), unit="run", disable=None) as bar:
            bar.write(table.head())
            for path, worlds in runs:
                new = measure(path, worlds, names, args, bar)
                bar.write(table.rows(new))
                results += new
    finally:
        if results:
            _report(results, args)


def _report(results: Sequence[Record], args: argparse.Namespace) -> None:
    """Prints what the rows do not show, and saves everything if that is asked for."""
    if args.stages is not None:
        print(stage_table(results))
    if args.operations:
        print(operation_table(results))
    if args.json:
        args.json.write_text(
            json.dumps({"machine": machine(), "results": results}, indent=1), encoding="utf-8"
        )


def measure(
    path: str, worlds: int, names: Sequence[str], args: argparse.Namespace, bar: Any
) -> list[Record]:
    """Measures one model with one number of worlds; returns one record per engine."""
    records, engines = [], []
    for name in names:
        bar.set_description(f"{Path(path).stem} x {worlds}: {name}")
        record: Record = {"model": path, "worlds": worlds, "engine": name}
        records.append(record)
        # A peer may fail in any way, for instance MJX with a newer JAX than its own.
        refusals = (NotImplementedError, ValueError) if name == "ours" else Exception
        try:
            engine = _prepared(name, path, worlds, args, record)
        except refusals as error:
            record["refused"] = (str(error) or type(error).__name__).splitlines()[0]
            continue
        finally:
            bar.update()
        record["dtype"] = engine.dtype
        record["block_s"] = []
        engines.append((engine, record))
    # Engines take turns, so that a disturbance of the machine affects all of them.
    for _ in range(args.repeats):
        for engine, record in engines:
            record["block_s"].append(best(engine.block, 1))
    for engine, record in engines:
        record["steps_per_s"] = worlds * args.steps / min(record["block_s"])
        record |= dict(_details(engine, args))
    return records


def open_engine(name: str, path: str, devices: int) -> Engine:
    """Loads the model at `path` into the engine `ours` or one of its peers.

    Raises:
        ValueError, NotImplementedError: the engine refuses the model.
    """
    if name == "ours":
        return JaxEngine(name, mjjax, load(path), devices)
    # The module `peers` imports MuJoCo, so it is imported only if a peer is asked for.
    return import_module("mjjax.cli.peers").open_peer(name, path, devices)


def _prepared(
    name: str, path: str, worlds: int, args: argparse.Namespace, record: Record
) -> Engine:
    record["load_s"] = best(lambda: open_engine(name, path, args.devices), 2)
    engine = open_engine(name, path, args.devices)
    qpos, qvel = start(engine, worlds, args.seed)
    record["compile_s"] = engine.prepare(qpos, qvel, args.steps, args.warmup)
    return engine


def _details(engine: Engine, args: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    yield from engine.details().items()
    if not isinstance(engine, JaxEngine):
        return
    if args.gradient:
        yield "gradient", engine.gradient()
    if args.stages is not None:
        yield "stages_us", engine.stages(args.stages or TIMED_STAGES)
    if args.operations:
        yield "operations", engine.operations(args.gradient)


def start(engine: Engine, worlds: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Starting states near the reference configuration, the same for every engine.

    Quaternions are left a little off unit length: every engine normalizes them where it uses them.
    """
    rng = np.random.default_rng(seed)
    qpos = engine.qpos0 + JITTER * rng.standard_normal((worlds, len(engine.qpos0)))
    return qpos, JITTER * rng.standard_normal((worlds, engine.nv))


def machine() -> dict[str, Any]:
    """The circumstances, apart from the code, on which the numbers depend."""
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
        "platform": jax.devices()[0].client.platform_version,
        "versions": versions,
    }


def model_file(name: str) -> str:
    """The file of a model, which every engine can read."""
    if Path(name).is_file():
        return name
    if name not in embedded():
        raise UsageError(
            f"no model {name!r}: neither a file nor embedded ({', '.join(embedded())})"
        )
    return str(resources.files("mjjax") / "assets" / f"{name}.xml")
