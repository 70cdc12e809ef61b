"""`mjjax simulate`: simulates a model in many worlds, and prints a report."""

import argparse
import time
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from tqdm import tqdm

import mjjax
from mjjax.cli.arguments import positive
from mjjax.cli.caching import add_cache, use_cache
from mjjax.cli.models import listing, load
from mjjax.cli.pictures import (
    FPS,
    add_camera,
    check_file,
    check_size,
    check_video,
    chosen,
    save_video,
)
from mjjax.cli.progress import doing
from mjjax.cli.worlds import advance, start
from mjjax.render.smooth import smooth_picture
from mjjax.xla.compiling import compiled

STEPS_PER_FRAME = 10  # steps between frames of the saved file


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.description = (
        "Simulates worlds that start from slightly different states, without controls, "
        "and prints the speed, the largest numbers of contacts and rows, and warnings."
    )
    parser.epilog = (
        "The file that --out writes has these arrays: time (nframe, nworld) [s], "
        "qpos (nframe, nworld, nq), qvel (nframe, nworld, nv), warning (nworld, 9) with counts, "
        f"timestep [s] and model. There is a frame at the start, every {STEPS_PER_FRAME} steps "
        "and at the end; nworld is N."
    )
    parser.add_argument(
        "model",
        nargs="?",
        default="humanoid",
        help="MJCF file, compiled model, or name of an embedded model (%(default)s)",
    )
    parser.add_argument(
        "--worlds", type=positive, default=1024, metavar="N", help="number of worlds (%(default)s)"
    )
    parser.add_argument(
        "--steps", type=positive, default=200, metavar="T", help="number of steps (%(default)s)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the starting states (%(default)s)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE.npz", help="save the trajectories to a file"
    )
    add_cache(parser)
    parser.add_argument(
        "--video",
        type=Path,
        metavar="FILE",
        help="save a video of the first world as .gif, or .mp4 with mjjax[video]",
    )
    add_camera(parser, 320, 240)
    parser.add_argument("--list", action="store_true", help="list the embedded models and exit")
    parser.set_defaults(run=lambda args: print(listing()) if args.list else _simulate(args))


class _Simulation(NamedTuple):
    batch: mjjax.Data
    steps: int
    ncon: int
    nefc: int
    frames: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
    shots: list[mjjax.Data]
    compile_seconds: float
    run_seconds: float
    devices: int


def _run(model: mjjax.Model, args: argparse.Namespace) -> _Simulation:
    devices = max(n for n in range(1, jax.device_count() + 1) if args.worlds % n == 0)
    begin = time.perf_counter()
    with doing(f"compiling a program for {args.worlds} worlds"):
        batch = start(model, args.worlds, args.seed)
        model, batch = mjjax.shard_worlds(model, batch, devices)
        program = mjjax.jit_worlds(advance, devices)
        chunk = compiled("advance", program, model, batch, jnp.int32(STEPS_PER_FRAME))
    compile_seconds = time.perf_counter() - begin

    frames, shots = [_frame(batch)] if args.out else [], []
    done = ncon = nefc = 0
    begin = time.perf_counter()
    try:
        with tqdm(total=args.steps, unit="step", desc="simulating", disable=None) as bar:
            for until in (*_stops(model, args), args.steps):
                if args.video and done % _stride(model) == 0:
                    shots.append(jax.tree.map(lambda x: x[0], batch))
                after, seen = chunk(model, batch, jnp.int32(until - done))
                ncon, nefc = max(ncon, int(seen.ncon.max())), max(nefc, int(seen.nefc.max()))
                bar.update(until - done)
                batch, done = after, until
                if args.out and (done % STEPS_PER_FRAME == 0 or done == args.steps):
                    frames.append(_frame(batch))
    except KeyboardInterrupt:
        pass  # what there is is reported and saved
    seconds = time.perf_counter() - begin
    return _Simulation(batch, done, ncon, nefc, frames, shots, compile_seconds, seconds, devices)


def _stops(model: mjjax.Model, args: argparse.Namespace) -> list[int]:
    """Steps after which a frame is kept, without the start and the end."""
    kept = set(range(STEPS_PER_FRAME, args.steps, STEPS_PER_FRAME))
    if args.video:
        kept.update(range(_stride(model), args.steps, _stride(model)))
    return sorted(kept)


def _stride(model: mjjax.Model) -> int:
    """Number of steps between frames of a video that runs as fast as the world."""
    return max(1, round(1 / (FPS * float(model.opt.timestep))))


def _frame(batch: mjjax.Data) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.asarray(batch.time), np.asarray(batch.qpos), np.asarray(batch.qvel)


def _simulate(args: argparse.Namespace) -> None:
    if args.out:
        check_file("--out", args.out, (".npz",))
    if args.video:
        check_video(args.video)
        check_size(args)
    mjjax.use_all_cores()
    use_cache(args)
    model = load(args.model)
    camera = chosen(model, "camera", args.camera)
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
    if args.video:
        shots = (
            smooth_picture(model, data, camera, args.width, args.height)
            for data in tqdm(run.shots, unit="frame", disable=None)
        )
        save_video(shots, args.video)
        print(f"saved       {args.video}: {len(run.shots)} frames of {args.width} x {args.height}")
    if run.steps < args.steps:
        raise KeyboardInterrupt(f"after {run.steps} of {args.steps} steps")


def _report(model: mjjax.Model, args: argparse.Namespace, run: _Simulation) -> str:
    device = jax.devices()[0]
    speed = args.worlds * run.steps / run.run_seconds
    capacity = run.batch.contact.dist.shape[-1], run.batch.efc_vel.shape[-1]
    counts = np.asarray(run.batch.warning)
    warned = [
        f"{kind.name} in {np.count_nonzero(counts[:, kind])} of {args.worlds} worlds"
        for kind in mjjax.WarningType
        if counts[:, kind].any()
    ]
    return "\n".join(
        (
            f"{args.model}: {args.worlds} worlds x {run.steps} steps of "
            f"{float(model.opt.timestep):g} s on {run.devices} x {device.device_kind} "
            f"({run.batch.qpos.dtype})",
            f"speed       {speed:,.0f} steps per second ({run.run_seconds:.1f} s)",
            f"compile     {run.compile_seconds:.1f} s",
            f"contacts    at most {run.ncon} in a world, capacity {capacity[0]}",
            f"rows        at most {run.nefc} in a world, capacity {capacity[1]}",
            f"warnings    {'; '.join(warned) or 'none'}",
        )
    )
