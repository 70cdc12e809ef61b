"""Runs surveys: programs that compare the engine with MuJoCo on every model of a folder.

A survey writes a line of JSON for each model. It takes minutes to hours, so it is not part of the
suite. It may be stopped and started at any time, because models that are in its file of results are
not compared again.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import mujoco
import numpy as np

import mjjax

Compare = Callable[[mujoco.MjModel, mjjax.Model], dict[str, Any] | None]


def listed(folder: Path, max_nv: int, seed: int) -> Iterator[Path]:
    """The movable models of the folder's index, in an order that the seed decides."""
    entries = json.loads(next(folder.glob("*index*.json")).read_text(encoding="utf-8"))
    stats = {e["path"]: e.get("stats") or {} for e in entries if e["kind"] == "model"}
    paths = sorted(
        path
        for path, s in stats.items()
        if 0 < s.get("nv", 0) <= max_nv and not s.get("nflex") and not s.get("nplugin")
    )
    yield from (folder / paths[i] for i in np.random.default_rng(seed).permutation(len(paths)))


def random_state(m: mujoco.MjModel, seed: int) -> mujoco.MjData:
    """A state near the first keyframe or `qpos0`, with controls within their range."""
    rng, d = np.random.default_rng(seed), mujoco.MjData(m)
    if m.nkey:
        mujoco.mj_resetDataKeyframe(m, d, 0)
    low, high = m.actuator_ctrlrange.T
    limited = m.actuator_ctrllimited.astype(bool)
    d.ctrl[:] = rng.uniform(np.where(limited, low, -1), np.where(limited, high, 1))
    mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), 0.02)
    d.qvel[:] += 0.1 * rng.normal(size=m.nv)
    d.act[:] = rng.uniform(0, 1, m.na)
    return d


def run(compare: Compare, description: str | None, max_nv: int) -> None:
    """Reads the command line and compares models, up to the wanted number.

    Args:
        compare: returns the line of results for one model, or None if nothing can be compared.
        description: description of the program.
        max_nv: models with more degrees of freedom are left out, unless the user wants them.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", type=Path, help="folder with an index of models")
    parser.add_argument("--count", type=int, default=0, help="models to compare; all by default")
    parser.add_argument("--seed", type=int, default=0, help="decides their order")
    parser.add_argument("--max-nv", type=int, default=max_nv)
    parser.add_argument("--json", type=Path, required=True, help="file of results")
    args = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    args.json.touch()
    lines = [json.loads(line) for line in args.json.read_text(encoding="utf-8").splitlines()]
    done, compared = {line["path"] for line in lines}, sum(line["compared"] for line in lines)
    for path in listed(args.models, args.max_nv, args.seed):
        name, begin = str(path.relative_to(args.models)), time.process_time()
        if args.count and compared >= args.count:
            return
        if name in done:
            continue
        line = {"path": name, **_line(compare, path), "seconds": time.process_time() - begin}
        compared += line["compared"]
        text = json.dumps(line)
        print(text, flush=True)
        with args.json.open("a", encoding="utf-8") as file:
            file.write(text + "\n")
        jax.clear_caches()


def _line(compare: Compare, path: Path) -> dict[str, Any]:
    try:
        theirs = mujoco.MjModel.from_xml_path(str(path))
        found = compare(theirs, mjjax.Model.from_xml_path(str(path)))
    except (mjjax.MjcfError, mjjax.UnsupportedFeature) as error:
        return {"compared": False, "refused": str(error)[:200]}
    return {"compared": found is not None, **(found or {})}
