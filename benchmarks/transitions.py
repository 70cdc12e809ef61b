"""Compares the matrices A and B of a step with MuJoCo's `mjd_transitionFD`, in one process.

    python -m benchmarks.transitions [MODEL ...] [--worlds 256] [--warmup 300] [--devices 2]

Our matrices are exact, in float32, and come from one program for all worlds, which is spread over
devices. MuJoCo's matrices are centred or forward differences, computed world by world in as many
threads as there are cores. Both start from the states that our simulation reaches after `warmup`
steps. After the default number the humanoid lies on the floor.
"""

# MuJoCo's extension modules have no type information that pyright can follow.
# pyright: reportAttributeAccessIssue=false

import argparse
import concurrent.futures
import functools
import time

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

import mjjax
from mjjax.cli.bench import model_file, start
from mjjax.cli.engines import JaxEngine, best
from mjjax.pipeline.devices import cores

SIZE = 1e-6  # step of MuJoCo's finite differences
CARRIED = "qpos qvel act ctrl qacc_warmstart".split()


def measure(path: str, worlds: int, warmup: int, devices: int) -> dict[str, float]:
    """Seconds to compile, and us per world for our matrices and both kinds of differences."""
    engine = JaxEngine("ours", mjjax, mjjax.Model.from_xml_path(path), devices)
    engine.begin(*start(engine, worlds, 0))
    model = engine.model

    def moved(data: mjjax.Data) -> mjjax.Data:
        return mjjax.rollout(model, data, nstep=warmup, keep=())[0]

    batch = jax.jit(jax.vmap(moved))(engine.batch)
    matrices = jax.vmap(mjjax.transition_jacobian, in_axes=(None, 0))
    ours = mjjax.jit_worlds(matrices, devices=devices)
    begin = time.perf_counter()
    program = ours.lower(model, batch).compile()
    found = {"compile_s": time.perf_counter() - begin, "contacts": float(jnp.mean(batch.ncon))}
    m = mujoco.MjModel.from_xml_path(path)
    states = [_state(m, jax.tree.map(lambda x, k=k: x[k], batch)) for k in range(worlds)]
    calls = {
        "ours": lambda: jax.block_until_ready(program(model, batch)),
        "centred": functools.partial(differences, m, states, True),
        "forward": functools.partial(differences, m, states, False),
    }
    for call in calls.values():
        call()
    for _ in range(5):  # calls take turns, so that a disturbance affects all of them
        for name, call in calls.items():
            us = 1e6 * best(call, 1) / worlds
            found[name] = min(found.get(name, us), us)
    return found


def _state(m: mujoco.MjModel, data: mjjax.Data) -> mujoco.MjData:
    d = mujoco.MjData(m)
    for name in CARRIED:
        getattr(d, name)[:] = getattr(data, name)
    return d


def differences(m: mujoco.MjModel, states: list[mujoco.MjData], centred: bool) -> None:
    """Computes A and B of all states with MuJoCo."""
    n = 2 * m.nv + m.na

    def some(states: list[mujoco.MjData]) -> None:
        a, b = np.zeros((n, n)), np.zeros((n, m.nu))
        for d in states:
            mujoco.mjd_transitionFD(m, d, SIZE, centred, a, b, None, None)

    with concurrent.futures.ThreadPoolExecutor(cores()) as pool:
        list(pool.map(some, [states[k :: cores()] for k in range(cores())]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", default=["humanoid"])
    parser.add_argument("--worlds", type=int, default=256)
    parser.add_argument("--warmup", type=int, default=300)
    parser.add_argument("--devices", type=int, default=1)
    args = parser.parse_args()
    if args.devices > 1:
        mjjax.use_all_cores(args.devices)
    print(f"{'model':20} {'contacts':>8} {'compile s':>9}   us a world: ours, centred, forward")
    for name in args.models:
        found = measure(model_file(name), args.worlds, args.warmup, args.devices)
        times = " ".join(f"{found[key]:9.1f}" for key in ("ours", "centred", "forward"))
        print(f"{name:20} {found['contacts']:8.1f} {found['compile_s']:9.1f}   {times}", flush=True)


if __name__ == "__main__":
    main()
