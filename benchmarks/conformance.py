"""`python -m benchmarks.conformance FOLDER`: compares models of a folder with MuJoCo C's.

Every file of the folder that is a whole model is compiled by both compilers, and compared in all
fields that have one of `mjModel`'s names. mjjax may refuse a model by name: then the element that
it refuses is counted. A sample of the models also makes 20 steps in both engines, in double
precision, with random controls. Models that MuJoCo resets, because they diverge, are counted apart.

Models are compared in other processes, so that one that takes too long ends nothing but itself.
"""

import argparse
import collections
import importlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from tqdm import tqdm

STEPS = 20
TOLERANCE = 1e-5  # of positions after these steps, relative to max(1, largest)
TOGETHER = {"compile": 25, "step": 1}  # models that share a process
SECONDS = 600  # that a process may take
OUTCOMES = {
    "equal": "compile to MuJoCo's model, in every field",
    "differs": "compile to another model",
    "refused": "are refused by name",
    "refused by both": "are refused by both",
    "accepted": "are refused by MuJoCo only",
    "failed": "end in an error without a name, or not in time",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Compares the models and writes the numbers of each outcome."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conformance", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="+")
    parser.add_argument("--step", type=int, default=0, help="models that also make steps (0)")
    parser.add_argument("--seed", type=int, default=0, help="decides which (0)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, help="file for the numbers")
    parser.add_argument("--worker", choices=("compile", "step"), help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.worker:
        for path in args.folder:
            print(json.dumps({"compile": compiled, "step": stepped}[args.worker](str(path))))
            sys.stdout.flush()
        return 0
    (folder,) = args.folder
    paths = [path for path in sorted(folder.rglob("*.xml")) if is_model(path)]
    found = dict(zip(paths, in_processes("compile", paths, args.jobs), strict=True))
    equal = [path for path, row in found.items() if row["outcome"] == "equal" and row["nv"]]
    order = np.random.default_rng(args.seed).permutation(len(equal))
    sample = [equal[i] for i in order[: args.step]]
    steps = in_processes("step", sample, args.jobs)
    report = {
        "date": time.strftime("%Y-%m-%d"),
        "compile": count(found.values()),
        "refused": collections.Counter(r["why"] for r in found.values() if "why" in r),
        "refused files": [
            str(path.relative_to(folder)) for path, row in found.items() if "why" in row
        ],
        "step": count(steps),
        "named": {
            str(path.relative_to(folder)): row
            for path, row in [*found.items(), *zip(sample, steps, strict=True)]
            if row["outcome"] in ("differs", "accepted", "failed")
        },
    }
    print(json.dumps(report, indent=1))
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


def count(rows: Any) -> dict[str, int]:
    """How many rows have each outcome."""
    return dict(collections.Counter(row["outcome"] for row in rows))


def is_model(path: Path) -> bool:
    """Whether a file is a whole model, not a part that others include."""
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError:
        return True  # both engines shall refuse it
    return root.tag in ("mujoco", "robot")


def in_processes(worker: str, paths: Sequence[Path], jobs: int) -> list[dict[str, Any]]:
    """A row for each path, in order."""
    parts = [paths[i : i + TOGETHER[worker]] for i in range(0, len(paths), TOGETHER[worker])]
    rows: list[dict[str, Any]] = []
    with ThreadPoolExecutor(jobs) as pool, tqdm(total=len(paths), desc=worker) as bar:
        for part in pool.map(lambda part: in_a_process(worker, part), parts):
            rows += part
            bar.update(len(part))
    return rows


def in_a_process(worker: str, paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Rows of a process; another process goes on after a model that ends it."""
    command = [sys.executable, "-m", "benchmarks.conformance", "--worker", worker]
    rows: list[dict[str, Any]] = []
    while len(rows) < len(paths):
        left = [str(path) for path in paths[len(rows) :]]
        with subprocess.Popen(
            command + left, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            try:
                out, errors = process.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                out, _ = process.communicate()
                errors = f"not finished after {SECONDS} s"
        rows += [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        if process.returncode:
            rows.append({"outcome": "failed", "error": errors[-300:]})
    return rows


def compiled(path: str) -> dict[str, Any]:
    """What becomes of a file in both compilers."""
    mujoco: Any = importlib.import_module("mujoco")
    import mjjax
    from tests.compiler.survey import LOOSE, differences

    try:
        theirs = mujoco.MjModel.from_xml_path(path)
    except ValueError:
        theirs = None
    try:
        ours = mjjax.Model.from_xml_path(path)
        mjjax.make_data(ours)
    except (mjjax.MjcfError, mjjax.UnsupportedFeature) as error:
        if theirs is None:
            return {"outcome": "refused by both"}
        kind = "an error" if isinstance(error, mjjax.MjcfError) else element(str(error))
        return {"outcome": "refused", "why": kind}
    if theirs is None:
        return {"outcome": "accepted"}
    wrong = {k: v for k, v in differences(theirs, ours).items() if k not in LOOSE}
    if wrong:
        return {"outcome": "differs", "fields": wrong}
    return {"outcome": "equal", "nv": theirs.nv}


def element(message: str) -> str:
    """The element of the file that a refusal names."""
    named = re.search(r"<(\w+)", message)
    return named[1] if named else message[:80]


def stepped(path: str) -> dict[str, Any]:
    """How far positions are apart after some steps of both engines."""
    import jax

    import mjjax
    from tests.oracle_tools import to_ours
    from tests.surveys import random_state

    mujoco: Any = importlib.import_module("mujoco")
    jax.config.update("jax_enable_x64", True)
    theirs, ours = mujoco.MjModel.from_xml_path(path), mjjax.Model.from_xml_path(path)
    d = random_state(theirs, 0)
    data, _ = jax.jit(lambda data: mjjax.rollout(ours, data, nstep=STEPS, keep=()))(
        to_ours(ours, d)
    )
    mujoco.mj_step(theirs, d, STEPS)
    if any(warning.number for warning in d.warning):
        return {"outcome": "diverges"}
    apart = np.abs(np.asarray(data.qpos) - d.qpos).max() / max(1, np.abs(d.qpos).max())
    close = bool(apart <= TOLERANCE)
    return {"outcome": "equal" if close else "differs", "apart": float(apart)}


if __name__ == "__main__":
    sys.exit(main())
