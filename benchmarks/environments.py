"""Compares steps of environments with bare steps of the simulator, in one process.

    python -m benchmarks.environments [TASK ...] [--worlds 1024] [--steps 50]

A step of an environment consists of `frame_skip` steps of the simulator, resets, reward and
observation. A bare step consists of the steps of the simulator alone, from the same states and with
the same controls. Processor time is compared as well as wall time, because it depends less on other
programs that run.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import jax

import mjjax
from mjjax import envs


def measure(name: str, worlds: int, steps: int) -> dict[str, float]:
    """Wall and processor time [s] of both kinds of steps, and how often the first was traced."""
    env = envs.make(name)
    params, traces = env.default_params, []
    reset, _ = envs.vectorize(env)
    starting, stepping, acting = jax.random.split(jax.random.key(0), 3)
    _, state = reset(jax.random.split(starting, worlds), params)
    actions = jax.random.uniform(acting, (steps, worlds, env.model.nu), minval=-1, maxval=1)
    keys = jax.random.split(stepping, (steps, worlds))

    def whole(params: Any, state: Any, actions: Any) -> Any:
        traces.append(1)

        def one(state: Any, given: Any) -> Any:
            step = jax.vmap(env.step, in_axes=(0, 0, 0, None))
            _, state, reward, done, _ = step(given[0], state, given[1], params)
            return state, (reward, done)

        return jax.lax.scan(one, state, (keys, actions))

    def bare(params: Any, state: Any, actions: Any) -> Any:
        def steps_of(data: Any, action: Any) -> Any:
            ctrl = env.control(params.model, action)
            return mjjax.rollout(
                params.model, data, ctrl, nstep=env.frame_skip, keep=(), derived=()
            )[0]

        def one(data: Any, action: Any) -> Any:
            return jax.vmap(steps_of)(data, action), None

        start = jax.vmap(lambda p: mjjax.make_data(params.model).replace(**p))(state.physics)
        return jax.lax.scan(one, start, actions)[0].qpos

    given = params, state, actions
    best = _race({"env": jax.jit(whole), "bare": jax.jit(bare)}, given)
    return best | {"traces": len(traces)}


def _race(functions: dict[str, Callable], given: tuple, repeats: int = 5) -> dict[str, float]:
    """Least wall and processor time of each function; they take turns after a first call."""
    for function in functions.values():
        jax.block_until_ready(function(*given))
    best: dict[str, float] = {}
    for _ in range(repeats):
        for label, function in functions.items():
            wall, cpu = time.perf_counter(), time.process_time()
            jax.block_until_ready(function(*given))
            spent = {label: time.perf_counter() - wall, f"{label} cpu": time.process_time() - cpu}
            best |= {name: min(best.get(name, seconds), seconds) for name, seconds in spent.items()}
    return best


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", nargs="*", default=list(envs.TASKS))
    parser.add_argument("--worlds", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=50)
    args = parser.parse_args()
    print(f"{'task':20} {'env steps/s':>12} {'of bare':>8} {'of bare, cpu':>13} {'traces':>7}")
    for name in args.tasks:
        found = measure(name, args.worlds, args.steps)
        rate = args.worlds * args.steps / found["env"]
        wall, cpu = found["bare"] / found["env"], found["bare cpu"] / found["env cpu"]
        print(f"{name:20} {rate:12,.0f} {wall:8.2f} {cpu:13.2f} {found['traces']:7.0f}", flush=True)


if __name__ == "__main__":
    main()
