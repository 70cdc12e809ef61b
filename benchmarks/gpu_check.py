"""What to run first where there is a GPU: `python -m benchmarks.gpu_check --out FILE`.

It takes at most eight minutes. Every check runs in a process of its own with a time limit, and its
result is printed and written at once, as a line of JSON, so an interrupted run loses nothing:

- the largest errors of float32, against states that float64 gave on a CPU;
- steps per second, seconds to compile, and times of the reverse derivative of a step, for humanoid,
  ant, quadruped and hand of mjjax, and for MuJoCo's own humanoid (of the package `mujoco-mjx`);
- MJX on the same models, if it is installed.

Checks that matter most come first. `--worlds 64 --platform cpu` tries it without a GPU.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

BUDGET_S = 480.0
STEPS, WARMUP, REPEATS = 20, 200, 3


class Check(NamedTuple):
    """A check: what is measured, and the seconds that it may take."""

    what: str
    scene: str
    factor: int = 1  # of the number of worlds
    limit: float = 90.0


CHECKS = (
    Check("errors", "humanoid"),
    Check("speed", "humanoid"),
    Check("speed", "humanoid", 4),
    Check("gradient", "humanoid"),
    Check("speed", "mujoco_humanoid"),
    Check("speed", "hand"),
    Check("speed", "ant"),
    Check("speed", "quadruped"),
    Check("mjx", "humanoid", limit=150.0),
    Check("errors", "hand"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs all checks, or the one that a process of ours is for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu_check",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--worlds", type=int, default=8192, help="worlds (%(default)s)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="file that gets the lines")
    parser.add_argument("--platform", default="cuda", help="platform of JAX (%(default)s)")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.one:
        what, scene, worlds = args.one
        print(json.dumps(measured(what, scene, int(worlds))))
        return 0
    begin = time.perf_counter()
    for check in CHECKS:
        left = BUDGET_S - (time.perf_counter() - begin)
        line = json.dumps(run(check, args.worlds, args.platform, min(check.limit, left)))
        print(line, flush=True)
        if args.out:
            with args.out.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
    return 0


def run(check: Check, worlds: int, platform: str, limit: float) -> dict[str, Any]:
    """The result of a check, or why there is none."""
    worlds *= check.factor
    found: dict[str, Any] = {"check": check.what, "scene": check.scene, "worlds": worlds}
    if limit < 5:
        return found | {"left_out": f"{BUDGET_S:.0f} s are over"}
    command = [sys.executable, "-m", "benchmarks.gpu_check", "--one"]
    command += [check.what, check.scene, str(worlds)]
    begin = time.perf_counter()
    try:
        done = subprocess.run(
            ["env", f"JAX_PLATFORMS={platform}", *command],
            capture_output=True,
            text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return found | {"left_out": f"not done in {limit:.0f} s"}
    if done.returncode:
        return found | {"left_out": " ".join(done.stderr.split())[-400:]}
    seconds = round(time.perf_counter() - begin, 1)
    return found | json.loads(done.stdout.splitlines()[-1]) | {"seconds": seconds}


def measured(what: str, name: str, worlds: int) -> dict[str, Any]:
    """The numbers of a check."""
    import jax

    device = jax.devices()[0].device_kind
    if what == "errors":
        from benchmarks.accelerator import errors

        return {"device": device, "errors": errors(name, worlds)}
    from mjjax.cli.bench import start
    from mjjax.cli.engines import best

    engine = _engine(what, name)
    compiled = engine.prepare(*start(engine, worlds, 0), STEPS, WARMUP)
    found = {"device": device, "compile_s": round(compiled, 2)}
    seconds = best(engine.block, REPEATS) / STEPS
    found |= {"step_us": round(1e6 * seconds, 1), "steps_per_s": round(worlds / seconds)}
    return found | ({"gradient": engine.gradient()} if what == "gradient" else {})


def _engine(what: str, name: str) -> Any:
    import mjjax
    from benchmarks.scenes import SCENES
    from mjjax.cli.engines import JaxEngine
    from mjjax.cli.peers import open_peer

    if what == "mjx":
        file = Path(f"{name}.xml")
        file.write_text(SCENES[name], encoding="utf-8")
        return open_peer("mjx", str(file), 1)
    if name == "mujoco_humanoid":
        files = metadata.files("mujoco-mjx") or ()
        path = next(x.locate() for x in files if x.match("test_data/humanoid/humanoid.xml"))
        return JaxEngine("ours", mjjax, mjjax.Model.from_xml_path(str(path)))
    return JaxEngine("ours", mjjax, mjjax.Model.from_xml_string(SCENES[name]))


if __name__ == "__main__":
    sys.exit(main())
