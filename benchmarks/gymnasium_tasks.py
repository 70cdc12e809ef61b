"""`python -m benchmarks.gymnasium_tasks`: Gymnasium's MuJoCo tasks, here and in Gymnasium.

A row has the largest differences of observations and rewards after 1, 5 and 20 steps with the same
random actions, from a state that Gymnasium has drawn, in double precision. It also has the time to
compile 256 worlds in single precision, their steps per second, and those of a Gymnasium environment
in one process. It needs the packages of `mjjax[envs]` and `mujoco`.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

import mjjax
from mjjax.envs import GYMNASIUM_TASKS, EnvState

AFTER = (1, 5, 20)
WORLDS = 256
STEPS = 50  # timed


def main(argv: Sequence[str] | None = None) -> int:
    """Prints a row of each task as soon as it is there."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gymnasium_tasks")
    parser.description = __doc__
    parser.add_argument("tasks", nargs="*", default=[*GYMNASIUM_TASKS])
    parser.add_argument("--json", type=Path, help="file for the rows")
    parser.add_argument("--worker", choices=WORKERS, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.worker:
        (name,) = args.tasks
        print(json.dumps(WORKERS[args.worker](name)))
        return 0
    print(
        f"{'task':28}{'compile s':>10}{'steps/s: here, Gymnasium':>28}   obs; reward after {AFTER}"
    )
    rows = []
    for name in args.tasks:
        row: dict[str, Any] = {"task": name}
        for worker in WORKERS:  # of their own processes, for the two precisions
            command = [sys.executable, "-m", "benchmarks.gymnasium_tasks", name, "--worker", worker]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            row |= json.loads(done.stdout.splitlines()[-1])
        rows.append(row)
        speeds = f"{row['speed']:,.0f}, {row['gymnasium']:,.0f}"
        apart = "; ".join(" ".join(f"{x:.0e}" for x in row[k]) for k in ("obs", "reward"))
        print(f"{name:28}{row['compile']:10.1f}{speeds:>28}   {apart}", flush=True)
        if args.json:
            found = {"date": time.strftime("%Y-%m-%d"), "worlds": WORLDS, "rows": rows}
            args.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


def agreement(name: str) -> dict[str, Any]:
    """How far observations and rewards are apart, in double precision."""
    jax.config.update("jax_enable_x64", True)
    theirs: Any = gymnasium.make(name).unwrapped
    ours = mjjax.envs.make(name)
    theirs.reset(seed=0)
    data = mjjax.make_data(ours.model)
    data = data.replace(qpos=theirs.data.qpos, qvel=theirs.data.qvel)
    seen = jax.jit(ours.seen)(ours.model, data)
    state = EnvState(jnp.int32(0), {name: getattr(seen, name) for name in ours.fields})
    step = jax.jit(ours.step_env)
    space, rng = ours.action_space(), np.random.default_rng(0)
    apart = []
    for _ in range(max(AFTER)):
        action = rng.uniform(space.low, space.high, space.shape)
        wanted, reward, ended, *_ = theirs.step(action)
        obs, state, found, *_ = step(jax.random.key(0), state, action, ours.default_params)
        apart.append((np.abs(np.asarray(obs) - wanted).max(), abs(float(found) - reward)))
        if ended:  # afterwards the comparison would be of another episode
            break
    rows = [apart[min(k, len(apart)) - 1] for k in AFTER]
    return {"obs": [float(o) for o, _ in rows], "reward": [float(r) for _, r in rows]}


def speeds(name: str) -> dict[str, Any]:
    """Steps of the environment per second, here and in Gymnasium."""
    theirs, ours = gymnasium.make(name), mjjax.envs.make(name)
    params = ours.default_params
    actions = jax.random.uniform(
        jax.random.key(1), (STEPS, WORLDS, *ours.action_space().shape), minval=-1, maxval=1
    )
    start = time.perf_counter()
    reset = jax.jit(jax.vmap(ours.reset, (0, None)))
    step = jax.jit(jax.vmap(ours.step, (0, 0, 0, None)))
    keys = jax.random.split(jax.random.key(0), WORLDS)
    _, state = reset(keys, params)
    state = jax.block_until_ready(step(keys, state, actions[0], params))[1]
    compiled = time.perf_counter() - start
    start = time.perf_counter()
    for action in actions:
        state = step(keys, state, action, params)[1]
    jax.block_until_ready(state)
    speed = WORLDS * STEPS / (time.perf_counter() - start)
    theirs.reset(seed=0)
    n, start = 0, time.perf_counter()
    while time.perf_counter() - start < 2:
        _, _, ended, truncated, _ = theirs.step(theirs.action_space.sample())
        n += 1
        if ended or truncated:
            theirs.reset()
    return {"compile": compiled, "speed": speed, "gymnasium": n / (time.perf_counter() - start)}


WORKERS = {"agreement": agreement, "speeds": speeds}

if __name__ == "__main__":
    sys.exit(main())
