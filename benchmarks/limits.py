"""Limits on the size of compiled programs: `python -m benchmarks.limits`; `--write` sets them anew.

The limits are numbers of operations, bytes and compilations, which do not depend on the load of a
machine. They depend on the version of JAX, so operations are compared only with the version with
which they were counted.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax

import mjjax
from benchmarks.scenes import SCENES
from mjjax.cli.bench import start
from mjjax.cli.engines import JaxEngine
from mjjax.xla.operations import COUNTED, total

FILE = Path(__file__).with_name("limits.json")
WORLDS = 1024
SLACK = 0.02  # relative excess that is allowed, so that no formula is bent to save one operation


def measure(name: str) -> dict[str, Any]:
    """Figures of one model; apart from code generation JAX's options must be the defaults."""
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, *_, **__: compiled.append(event) if "backend_compile" in event else None
    )
    model = mjjax.Model.from_xml_string(SCENES[name])
    data = mjjax.make_data(model)
    step = jax.jit(mjjax.step, compiler_options=COUNTED)
    for _ in range(3):
        data = step(model, data)
    compilations = len(compiled)
    engine = JaxEngine("ours", mjjax, model)
    engine.begin(*start(engine, WORLDS, 0))
    counts = {
        program: {"operations": total(found), **found}
        for program, found in engine.operations(gradient=True).items()
    }
    return {
        **counts,
        "bytes_per_world": engine.bytes_per_world(),
        "compilations": compilations,
    }


def in_a_fresh_process(name: str) -> dict[str, Any]:
    """Calls `measure` in a fresh process, so that options and history of this one do not matter."""
    variables = {k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", "JAX_ENABLE_X64")}
    root = Path(__file__).parents[1]
    variables["PYTHONPATH"] = os.pathsep.join([str(root), variables.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.limits", "--only", name],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=variables,
    )
    return json.loads(done.stdout)


def exceeded(name: str, found: dict[str, Any]) -> list[str]:
    """Sentences about the limits of a model that are exceeded by more than `SLACK`."""
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    limits, here = stored["models"][name], dict(found)
    if stored["jax"] != jax.__version__:
        limits = {key: x for key, x in limits.items() if not isinstance(x, dict)}
    flat, now = _flat(limits), _flat(here)
    return [
        f"{name}: {key} {now[key]}, at most {x} and {SLACK:.0%} more"
        for key, x in flat.items()
        if now[key] > (1 + SLACK) * x
    ]


def _flat(figures: dict[str, Any]) -> dict[str, int]:
    pairs: dict[str, int] = {}
    for key, x in figures.items():
        inner = x.items() if isinstance(x, dict) else [("", x)]
        pairs |= {f"{key} {name}".strip(): value for name, value in inner}
    return pairs


def main(argv: Sequence[str] | None = None) -> int:
    """Compares all models with their limits, or writes new limits."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.limits", description=__doc__)
    parser.add_argument("--write", action="store_true", help="make the present figures the limits")
    parser.add_argument("--only", choices=SCENES, help="print the figures of one model")
    args = parser.parse_args(argv)
    if args.only:
        print(json.dumps(measure(args.only)))
        return 0
    found = {name: in_a_fresh_process(name) for name in SCENES}
    if args.write:
        stored = {"jax": jax.__version__, "models": found}
        FILE.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    for name, figures in found.items():
        print(name, figures["step"]["operations"], figures["gradient"]["operations"])
    bad = [line for name, figures in found.items() for line in exceeded(name, figures)]
    print("\n".join(bad) or "within the limits", file=sys.stderr)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
