"""`python -m benchmarks.playground`: MuJoCo Playground's environments on mjjax and on MJX.

Each environment is loaded unmodified, reset and stepped with random actions, in a process for each
engine. A row of the table has the time to compile, steps per second, and the largest differences of
observations and rewards after 1, 5 and 20 steps. It needs the packages of `mjjax[compat]`.

Where observations differ, the row says why. Many tasks allow their solvers few iterations, which do
not converge, and two unconverged solvers differ: both run again with 50. An engine can differ from
MuJoCo in C, which makes each step again, from the same state. Motion can also be chaotic: the row
has what a change of all actions by a millionth makes of the observations of one engine.

Playground clones the meshes of its robots from the network. Here every mesh is a small box and
every texture is grey, on both sides. Bodies, joints, actuators and sensors are those of the robots.
"""

import argparse
import importlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

ENGINES = ("mjjax", "mjx")
AFTER = (1, 5, 20)
# JAX's batched LAPACK calls can wait for each other on few cores (`mjjax/xla/threads.py`).
THREADS = {"NPROC": "8"}
CLOSE = 1e-3  # difference of observations after the last of these steps
CONVERGED = 50  # iterations
SHAKE = 1e-6  # relative change of actions, some roundings of single precision
MINUTES = 20  # after which an engine has not finished


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the environments and prints a row of each as soon as it is there."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.playground", description=__doc__)
    parser.add_argument("environments", nargs="*", help="names; by default all of Playground")
    parser.add_argument("--worlds", type=int, default=32)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument(
        "--iterations", type=int, help="of both solvers, in place of the few that tasks allow"
    )
    parser.add_argument(
        "--json", type=Path, help="file for the rows; environments that it has are not run again"
    )
    parser.add_argument(
        "--check", action="store_true", help=f"fail if observations differ by more than {CLOSE}"
    )
    parser.add_argument("--worker", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.worker:
        (name,) = args.environments
        work(args.worker, name, args)
        return 0
    rows = json.loads(args.json.read_text()) if args.json and args.json.exists() else []
    print(
        f"{'environment':38}{'compile s':>16}{'steps/s':>18}"
        f"   obs, reward after {', '.join(map(str, AFTER))} steps"
    )
    there = {row["environment"]: row for row in rows}
    for name in args.environments or names():
        if name in there:
            print(line(there[name]))
            continue
        rows.append(compared(name, args, args.iterations))
        if differs(rows[-1]) and not args.iterations:
            rows[-1]["converged"] = compared(name, args, CONVERGED).get("obs")
        if differs(rows[-1]):
            rows[-1]["reason"] = reason(rows[-1])
        print(line(rows[-1]), flush=True)
        if args.json:
            args.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    agrees = all("obs" in row and row["obs"][-1] <= CLOSE for row in rows)
    return int(args.check and not agrees)


def names() -> list[str]:
    """All environments of Playground."""
    code = "from mujoco_playground import registry; print(*registry.ALL_ENVS)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


def differs(row: dict[str, Any]) -> bool:
    """Whether observations of both engines are not close."""
    return "obs" in row and row["obs"][-1] > CLOSE


def compared(name: str, args: argparse.Namespace, iterations: int | None) -> dict[str, Any]:
    """The row of an environment, from a process of each engine."""
    row: dict[str, Any] = {"environment": name}
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for engine in ENGINES:
            out = Path(folder) / f"{engine}.npz"
            command = [sys.executable, "-m", "benchmarks.playground", name]
            command += ["--worker", engine, "--out", str(out)]
            command += ["--worlds", str(args.worlds), "--steps", str(args.steps)]
            command += ["--iterations", str(iterations)] if iterations else []
            try:
                done = subprocess.run(
                    command,
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=60 * MINUTES,
                    env=THREADS | os.environ,
                )
                errors = done.stderr.strip().splitlines()
            except subprocess.TimeoutExpired:
                errors = [f"not finished after {MINUTES} minutes"]
            if out.exists():
                found[engine] = dict(np.load(out))
                row[engine] = {k: float(found[engine][k]) for k in ("compile", "speed")}
            else:
                row[engine] = {"error": errors[-1] if errors else "ended without a word"}
    for engine, numbers in found.items():
        row[engine] |= {"from_c": float(numbers["from_c"]), "shaken": float(numbers["shaken"])}
    if len(found) == len(ENGINES):
        for what in ("obs", "reward"):
            ours, theirs = (found[engine][what] for engine in ENGINES)
            apart = np.abs(ours - theirs).reshape(len(ours), -1).max(axis=1)
            row[what] = [float(apart[k]) for k in AFTER]
    return row


def line(row: dict[str, Any]) -> str:
    """A row as text."""
    both = [row[engine] for engine in ENGINES]
    text = f"{row['environment']:38}"
    for key, digits in (("compile", 1), ("speed", 0)):
        numbers = (f"{x[key]:.{digits}f}" if key in x else "-" for x in both)
        text += f"{' / '.join(numbers):>{18 if key == 'speed' else 16}}"
    if "obs" in row:
        for what in ("obs", "reward"):
            text += "   " + " ".join(f"{x:.0e}" for x in row[what])
    text += "   " + row.get("reason", "")
    errors = (
        f"   {engine}: {row[engine]['error']}" for engine in ENGINES if "error" in row[engine]
    )
    return text + "".join(errors)


def reason(row: dict[str, Any]) -> str:
    """Why observations differ."""
    found = row.get("converged")
    if found and found[-1] <= CLOSE:
        return f"solvers not converged; with {CONVERGED} iterations {found[-1]:.0e}"
    words = [f"with {CONVERGED} iterations {found[-1]:.0e}"] if found else []
    ours, theirs = (row[engine]["from_c"] for engine in ENGINES)
    if max(ours, theirs) > CLOSE / 10:
        words += [f"in one step mjjax differs from C by {ours:.0e}, MJX by {theirs:.0e}"]
    shaken = row[ENGINES[0]]["shaken"]
    if shaken > CLOSE / 10:
        words += [f"chaotic: {SHAKE:.0e} of the actions makes {shaken:.0e}"]
    return "; ".join(words)


def work(engine: str, name: str, args: argparse.Namespace) -> None:
    """Runs one environment on one engine and writes what it did."""
    import jax

    import mjjax.mujoco
    from mjjax.mujoco.install import former_jax

    if engine == "mjjax":
        mjjax.mujoco.install()
    former_jax()

    from benchmarks.playground_assets import without_downloads

    without_downloads()
    registry: Any = importlib.import_module("mujoco_playground").registry
    config = registry.get_default_config(name)
    if "impl" in config:
        config.impl = "jax"
    env = registry.load(name, config=config)
    if args.iterations:
        mjx: Any = importlib.import_module("mujoco.mjx")
        env.mj_model.opt.iterations = args.iterations
        env.mj_model.opt.ls_iterations = args.iterations
        env._mjx_model = mjx.put_model(env.mj_model)
    worlds, steps = args.worlds, args.steps
    start = time.perf_counter()
    reset, step = (jax.jit(jax.vmap(f)) for f in (env.reset, env.step))
    keys = jax.random.split(jax.random.key(0), worlds)
    actions = jax.random.uniform(
        jax.random.key(1), (steps + 2, worlds, env.action_size), minval=-1, maxval=1
    )
    state = reset(jax.vmap(jax.random.key_data)(keys))
    observed, rewards, times, states = [flat(state.obs)], [np.asarray(state.reward)], [], [state]
    for action in actions:
        state = jax.block_until_ready(step(state, action))
        states = [*states, state][: max(AFTER) + 1]
        times.append(time.perf_counter() - start)
        observed.append(flat(state.obs))
        rewards.append(np.asarray(state.reward))
        start = time.perf_counter()
    # A second program is compiled where a step returns other types than the reset.
    compiled, seconds = sum(times[:2]), sum(times[2:])
    numbers = {"obs": np.stack(observed[: max(AFTER) + 1]), "reward": np.stack(rewards)}
    numbers["reward"] = numbers["reward"][: max(AFTER) + 1]
    speed = worlds * steps * env.n_substeps / seconds
    state = reset(jax.vmap(jax.random.key_data)(keys))
    for action in actions[: max(AFTER)]:
        state = step(state, (1 - SHAKE) * action)
    shaken = np.abs(flat(state.obs) - observed[max(AFTER)]).max()
    numbers |= {"from_c": from_c(env, states), "shaken": shaken}
    np.savez(args.out, compile=compiled, speed=speed, **numbers)


def from_c(env: Any, states: Sequence[Any]) -> float:
    """The largest difference of positions from those that C reaches in a step from the same state.

    Tasks that change the state in a step, by a push for instance, differ on both engines.
    """
    mujoco: Any = importlib.import_module("mujoco")
    given = "time qpos qvel act mocap_pos mocap_quat qacc_warmstart xfrc_applied".split()
    data = mujoco.MjData(env.mj_model)
    largest = 0.0
    for before, after in itertools.pairwise(states):
        start = {name: np.asarray(getattr(before.data, name)) for name in given}
        ctrl, reached = np.asarray(after.data.ctrl), np.asarray(after.data.qpos)
        for world in range(len(reached)):
            for name, x in start.items():
                setattr(data, name, x[world])
            data.ctrl = ctrl[world]
            mujoco.mj_step(env.mj_model, data, env.n_substeps)
            largest = max(largest, float(np.abs(data.qpos - reached[world]).max()))
    return largest


def flat(observation: Any) -> np.ndarray:
    """Observations (worlds, n), those of a dictionary side by side."""
    import jax

    leaves = [np.asarray(x) for x in jax.tree.leaves(observation)]
    return np.concatenate([x.reshape(len(x), -1) for x in leaves], axis=1)


if __name__ == "__main__":
    sys.exit(main())
