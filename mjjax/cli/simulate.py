"""`mjjax simulate`: a model in many worlds, and a report of what happened."""

import argparse
import time
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from tqdm import tqdm

import mjjax
from mjjax.cli.models import UsageError, listing, load
from mjjax.cli.worlds import advance, start

CHUNK = 10  # steps per call of the compiled function; one frame is saved after each


def add(commands: Any) -> None:
    """Adds the command to the parser's commands."""
    sim = commands.add_parser(
        "simulate",
        help="simulate a model in many worlds at once",
        description="Simulates worlds that start from slightly different states, without control, "
        "and prints speed, capacity used and warnings.",
        epilog=f"The file of --out holds nworld = N and nframe (the start, then one frame each "
        f"{CHUNK} steps and the end): time (nframe, nworld) [s], qpos (nframe, nworld, nq), "
        f"qvel (nframe, nworld, nv), warning (nworld, 8) counts, timestep [s] and model.",
    )
    sim.add_argument(
        "model", nargs="?", default="humanoid", help="MJCF file or embedded name (humanoid)"
    )
    sim.add_argument("--worlds", type=positive, default=1024, metavar="N", help="(%(default)s)")
    sim.add_argument("--steps", type=positive, default=200, metavar="T", help="(%(default)s)")
    sim.add_argument("--seed", type=int, default=0, help="of the starting states (%(default)s)")
    sim.add_argument("--out", type=Path, metavar="FILE.npz", help="save the trajectories")
    sim.add_argument(
        "--cache", action="store_true", help="keep compiled programs on disk for the next start"
    )
    sim.add_argument("--list", action="store_true", help="print the embedded models and stop")
    sim.set_defaults(run=lambda args: print(listing()) if args.list else _simulate(args))


def positive(text: str) -> int:
    """A number of a command line that must be at least 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return value


class _Run(NamedTuple):
    batch: mjjax.Data
    ncon: int
    nefc: int
    frames: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
    compile_seconds: float
    run_seconds: float
    devices: int


def _run(model: mjjax.Model, args: argparse.Namespace) -> _Run:
    devices = max(n for n in range(1, jax.device_count() + 1) if args.worlds % n == 0)
    begin = time.perf_counter()
    batch = start(model, args.worlds, args.seed)
    model, batch = mjjax.shard_worlds(model, batch, devices)
    chunk = mjjax.jit_worlds(advance, devices).lower(model, batch, jnp.int32(CHUNK)).compile()
    compile_seconds = time.perf_counter() - begin

    frames = [_frame(batch)] if args.out else []
    ncon = nefc = 0
    begin = time.perf_counter()
    with tqdm(total=args.steps, unit="step", disable=None) as bar:
        for done in range(0, args.steps, CHUNK):
            n = min(CHUNK, args.steps - done)
            batch, seen = chunk(model, batch, jnp.int32(n))
            ncon, nefc = max(ncon, int(seen.ncon.max())), max(nefc, int(seen.nefc.max()))
            if args.out:
                frames.append(_frame(batch))
            bar.update(n)
    run_seconds = time.perf_counter() - begin
    return _Run(batch, ncon, nefc, frames, compile_seconds, run_seconds, devices)


def _frame(batch: mjjax.Data) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.asarray(batch.time), np.asarray(batch.qpos), np.asarray(batch.qvel)


def _simulate(args: argparse.Namespace) -> None:
    if args.out and args.out.suffix != ".npz":
        raise UsageError(f"--out {args.out}: the name must end in .npz")
    if args.out and not args.out.absolute().parent.is_dir():
        raise UsageError(f"--out {args.out}: no such folder")
    mjjax.use_all_cores()
    if args.cache:
        mjjax.cache_compilations()
    model = load(args.model)
    run = _run(model, args)
    print(_report(model, args, run))
    if args.out:
        times, qpos, qvel = (np.stack(x) for x in zip(*run.frames, strict=True))
        np.savez(
            args.out,
            time=times,
            qpos=qpos,
            qvel=qvel,
            warning=np.asarray(run.batch.warning),
            timestep=np.asarray(model.opt.timestep),
            model=np.asarray(args.model),
        )
        print(f"saved       {args.out}: {len(times)} frames of qpos and qvel")


def _report(model: mjjax.Model, args: argparse.Namespace, run: _Run) -> str:
    device = jax.devices()[0]
    speed = args.worlds * args.steps / run.run_seconds
    capacity = run.batch.contact.dist.shape[-1], run.batch.efc_D.shape[-1]
    counts = np.asarray(run.batch.warning)
    warned = [
        f"{kind.name} in {np.count_nonzero(counts[:, kind])} of {args.worlds} worlds"
        for kind in mjjax.WarningType
        if counts[:, kind].any()
    ]
    return "\n".join(
        (
            f"{args.model}: {args.worlds} worlds x {args.steps} steps of "
            f"{float(model.opt.timestep):g} s on {run.devices} x {device.device_kind} "
            f"({run.batch.qpos.dtype})",
            f"speed       {speed:,.0f} steps per second ({run.run_seconds:.1f} s)",
            f"compile     {run.compile_seconds:.1f} s",
            f"contacts    at most {run.ncon} in a world, capacity {capacity[0]}",
            f"rows        at most {run.nefc} in a world, capacity {capacity[1]}",
            f"warnings    {'; '.join(warned) or 'none'}",
        )
    )
