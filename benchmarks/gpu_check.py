"""What to run first where there is a GPU: `python -m benchmarks.gpu_check --out FILE`.

It takes at most eight minutes. Every check runs in a process of its own with a time limit, and its
result is printed and written at once, as a line of JSON, so an interrupted run loses nothing:

- the largest errors of float32 of humanoid and hand, against states that float64 gave on a CPU;
- steps per second and seconds to compile, for humanoid, ant, quadruped and hand of mjjax, and for
  MuJoCo's own humanoid (of the package `mujoco-mjx`); for the humanoid also the reverse derivative;
- MJX with our humanoid, if it is installed.

Checks that matter most come first, and what does not fit into the time is named.
`--worlds 64 --platform cpu` tries it without a GPU.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
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
    Check("gradient", "humanoid", limit=120.0),  # after its speed
    Check("speed", "humanoid", 4),
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
        for found in measured(what, scene, int(worlds)):
            print(json.dumps(found), flush=True)
        return 0
    say({"mjjax": metadata.version("mjjax"), "date": time.strftime("%F %T")}, args.out)
    begin = time.perf_counter()
    for check in CHECKS:
        left = BUDGET_S - (time.perf_counter() - begin)
        say(run(check, args.worlds, args.platform, min(check.limit, left)), args.out)
    return 0


def say(found: dict[str, Any], out: Path | None) -> None:
    """Prints and writes a line."""
    line = json.dumps(found)
    print(line, flush=True)
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def run(check: Check, worlds: int, platform: str, limit: float) -> dict[str, Any]:
    """The result of a check, and why there is no more of it."""
    worlds *= check.factor
    found: dict[str, Any] = {"check": check.what, "scene": check.scene, "worlds": worlds}
    if limit < 5:
        return found | {"left_out": f"{BUDGET_S:.0f} s are over"}
    command = [sys.executable, "-m", "benchmarks.gpu_check", "--one"]
    command += [check.what, check.scene, str(worlds)]
    variables = os.environ | {"JAX_PLATFORMS": platform, "JAX_ENABLE_X64": "0"}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        begin = time.perf_counter()
        try:
            code = subprocess.run(
                command, stdout=out, stderr=errors, timeout=limit, env=variables
            ).returncode
            why = {"left_out": f"exit status {code}"} if code else {}
        except subprocess.TimeoutExpired:
            why = {"left_out": f"not done in {limit:.0f} s"}
        found["seconds"] = round(time.perf_counter() - begin, 1)
        for file in (out, errors):
            file.seek(0)
        for line in out.read().splitlines():
            if line.startswith("{"):  # packages print lines of their own
                found |= json.loads(line)
        if why:
            why["said"] = " ".join(errors.read().split())[-300:]
    return found | why


def measured(what: str, name: str, worlds: int) -> Iterator[dict[str, Any]]:
    """The numbers of a check, each as soon as it is there."""
    import jax

    yield {"device": jax.devices()[0].device_kind}
    if what == "errors":
        from benchmarks.accelerator import errors

        yield {"errors": errors(name, worlds)}
        return
    from mjjax.cli.bench import start
    from mjjax.cli.engines import best

    engine = _engine(what, name)
    compiled = engine.prepare(*start(engine, worlds, 0), STEPS, WARMUP)
    yield {"compile_s": round(compiled, 2)}
    seconds = best(engine.block, REPEATS) / STEPS
    yield {"step_us": round(1e6 * seconds, 1), "steps_per_s": round(worlds / seconds)}
    if what == "gradient":
        yield {"gradient": engine.gradient()}


def _engine(what: str, name: str) -> Any:
    import mjjax
    from benchmarks.scenes import SCENES
    from mjjax.cli.engines import JaxEngine
    from mjjax.cli.peers import open_peer

    if what == "mjx":
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"{name}.xml"
            file.write_text(SCENES[name], encoding="utf-8")
            return open_peer("mjx", str(file), 1)
    if name == "mujoco_humanoid":
        files = metadata.files("mujoco-mjx") or ()
        path = next(x.locate() for x in files if x.match("test_data/humanoid/humanoid.xml"))
        return JaxEngine("ours", mjjax, mjjax.Model.from_xml_path(str(path)))
    return JaxEngine("ours", mjjax, mjjax.Model.from_xml_string(SCENES[name]))


if __name__ == "__main__":
    sys.exit(main())
