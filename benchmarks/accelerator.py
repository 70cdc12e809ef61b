"""Measures a step on this machine's accelerator: `python -m benchmarks.accelerator [SCENE ...]`.

- It prints the errors of float32 here, after one step from each state and after 20 steps in a row.
  They are differences from states that float64 gave on a CPU and that are stored (`--store` makes
  them). The errors of float32 on that CPU are printed for comparison.
- From a trace it prints the number of kernels, the number of copies to the host, each of which is a
  synchronization, and the time that they take.

`python -m benchmarks MODEL --batch 1024 8192 32768 --steps 20` measures speed, memory and
compilation.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import mjjax
from benchmarks.scenes import SCENES
from mjjax.cli.arguments import positive
from mjjax.cli.bench import machine, start
from mjjax.cli.engines import JaxEngine
from mjjax.cli.worlds import advance

FILE = Path(__file__).with_name("states.npz")
WORLDS, STOPS = 16, (1, 20)
WARMUP = 200  # steps after which the scenes have fallen


class Event(NamedTuple):
    """Something that a device did: its name and its duration [s]."""

    name: str
    seconds: float


def scene(name: str) -> Callable[..., dict[str, np.ndarray]]:
    """Function that takes positions and velocities of a batch and returns them some steps later."""
    model = mjjax.Model.from_xml_string(SCENES[name])
    program = jax.jit(advance)

    def run(qpos: Any, qvel: Any, steps: int) -> dict[str, np.ndarray]:
        data = mjjax.make_data(model)
        q, v = (jnp.asarray(x, data.qpos.dtype) for x in (qpos, qvel))
        batch = jax.vmap(lambda q, v: data.replace(qpos=q, qvel=v))(q, v)
        last, _ = program(model, batch, jnp.asarray(steps))
        return {"qpos": np.asarray(last.qpos), "qvel": np.asarray(last.qvel)}

    return run


def store() -> None:
    """Stores the states that float64 gives on this machine's CPU, and the errors of float32 there.

    This process must run in float64; the errors of float32 come from a process of their own.
    """
    arrays: dict[str, Any] = {}
    for name, xml in SCENES.items():
        model = mjjax.Model.from_xml_string(xml)
        begin = start(JaxEngine("ours", mjjax, model), WORLDS, 0)
        run = scene(name)
        fallen = run(*begin, WARMUP)
        first = {k: x.astype(np.float32) for k, x in fallen.items()}
        arrays |= {f"{name}/{k}": x for k, x in first.items()}
        for steps in STOPS:
            exact = run(*first.values(), steps)
            arrays |= {f"{name}/{k}/{steps}": x for k, x in exact.items()}
    np.savez_compressed(FILE, allow_pickle=False, **arrays)
    variables = {**os.environ, "JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "0"}
    command = [sys.executable, "-m", "benchmarks.accelerator", "--only-errors"]
    command += ["--worlds", str(WORLDS)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=variables)
    arrays["single"] = np.array(done.stdout.splitlines()[-1])
    np.savez_compressed(FILE, allow_pickle=False, **arrays)


def errors(name: str, worlds: int) -> dict[str, float]:
    """Largest errors of positions and velocities in float32, by field and number of steps.

    The stored worlds are repeated until there are `worlds`, because a GPU runs other programs for
    large batches.
    """
    run, copies = scene(name), -(-worlds // WORLDS)
    with np.load(FILE) as stored:
        first = [np.tile(stored[f"{name}/{k}"], (copies, 1)) for k in ("qpos", "qvel")]
        found = {}
        for steps in STOPS:
            here = run(*first, steps)
            for k, x in here.items():
                off = x.reshape(copies, WORLDS, -1) - stored[f"{name}/{k}/{steps}"]
                found[f"{k} {steps}"] = float(np.abs(off).max())
    return found


def traced(call: Any) -> list[Event]:
    """The events of the first device during a call, from JAX's profiler."""
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            jax.block_until_ready(call())
        (file,) = Path(folder).rglob("*.xplane.pb")
        planes = jax.profiler.ProfileData.from_file(str(file)).planes
        return [
            Event(event.name, event.duration_ns / 1e9)
            for plane in planes
            if plane.name.startswith("/device:") and plane.name.endswith(":0")
            for line in plane.lines
            if "Stream" in line.name
            for event in line.events
        ]


def profile(name: str, worlds: int, steps: int) -> dict[str, Any]:
    """Kernels, synchronizations and times per step of a block of steps."""
    engine = JaxEngine("ours", mjjax, mjjax.Model.from_xml_string(SCENES[name]))
    engine.prepare(*start(engine, worlds, 0), steps, WARMUP)
    events = traced(engine.block)
    to_host = [e for e in events if "D2H" in e.name]
    kernels = [e for e in events if not e.name.startswith(("Memcpy", "Memset"))]
    by_name: dict[str, list[float]] = collections.defaultdict(list)
    for event in events:
        by_name[event.name].append(event.seconds)
    slowest = sorted(by_name.items(), key=lambda item: -sum(item[1]))[:25]
    return {
        "kernels": len(kernels) / steps,
        "to_host": len(to_host) / steps,
        "copies": (len(events) - len(kernels)) / steps,
        "busy_us": 1e6 * sum(e.seconds for e in events) / steps,
        "slowest": {n: [len(x) / steps, 1e6 * sum(x) / steps] for n, x in slowest},
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measures what the command line asks for and prints it."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accelerator",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help=f"some of {', '.join(SCENES)}")
    parser.add_argument("--store", action="store_true", help="store the states from float64")
    parser.add_argument("--only-errors", action="store_true", help="print only the errors, as JSON")
    parser.add_argument(
        "--worlds", type=positive, default=8192, help="worlds in a batch (%(default)s)"
    )
    parser.add_argument("--steps", type=positive, default=20, help="steps in a trace (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="save all measurements")
    args = parser.parse_args(argv)
    if unknown := set(args.scenes) - SCENES.keys():
        parser.error(f"no scene {', '.join(sorted(unknown))}: there are {', '.join(SCENES)}")
    if args.store:
        if not jax.config.read("jax_enable_x64"):
            parser.error("--store is for float64: set JAX_ENABLE_X64=1")
        store()
        return 0
    names = args.scenes or SCENES
    if args.only_errors:
        print(json.dumps({name: errors(name, args.worlds) for name in names}))
        return 0
    found: dict[str, Any] = {"machine": machine()}
    with np.load(FILE) as stored:
        found["errors on CPU"] = json.loads(str(stored["single"]))
    for name in names:
        off = errors(name, args.worlds)
        found[name] = {"errors": off}
        if jax.default_backend() != "cpu":
            found[name]["step"] = profile(name, args.worlds, args.steps)
        print(name, json.dumps(found[name]), flush=True)
    if args.json:
        args.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
