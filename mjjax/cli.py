"""The command `mjjax`: compile a model; simulate it in many worlds and report what happened."""

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from tqdm import tqdm

import mjjax

CHUNK = 10  # steps per call of the compiled function; one frame is saved after each
JITTER = 0.01  # standard deviation of the start: m or rad, and m/s or rad/s


class _UsageError(Exception):
    """Something the user asked for cannot be done; the message is one line."""


class Watch(NamedTuple):
    """The largest counts seen in any world at any step."""

    ncon: jax.Array
    nefc: jax.Array


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line `argv` (default: of the process) and returns its exit status."""
    try:
        args = _parser().parse_args(argv)
        args.run(args)
    except (_UsageError, OSError, mjjax.MjcfError, mjjax.UnsupportedFeature) as error:
        print("mjjax: error: " + " ".join(str(error).split()), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("mjjax: interrupted", file=sys.stderr)
        return 130
    return 0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _UsageError(f"{message} (see {self.prog} --help)")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="mjjax", description="MuJoCo physics in JAX.")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
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
    sim.add_argument("--worlds", type=_positive, default=1024, metavar="N", help="(%(default)s)")
    sim.add_argument("--steps", type=_positive, default=200, metavar="T", help="(%(default)s)")
    sim.add_argument("--seed", type=int, default=0, help="of the starting states (%(default)s)")
    sim.add_argument("--out", type=Path, metavar="FILE.npz", help="save the trajectories")
    sim.add_argument("--list", action="store_true", help="print the embedded models and stop")
    sim.set_defaults(run=lambda args: print(_listing()) if args.list else _simulate(args))
    made = commands.add_parser(
        "compile",
        help="compile a model to one file",
        description="Compiles a model to one file, which loads faster and needs no other files. "
        "If its name ends in .xml, the model is written as plain MJCF instead: without includes, "
        "macros and default classes.",
    )
    made.add_argument("model", help="MJCF file or embedded name")
    made.add_argument("-o", "--out", type=Path, required=True, metavar="FILE")
    made.set_defaults(run=_compile)
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return value


def embedded() -> dict[str, str]:
    """The models that come with mjjax: name to MJCF text."""
    files = resources.files("mjjax") / "assets"
    texts = {
        p.name.removesuffix(".xml"): p.read_text(encoding="utf-8")
        for p in files.iterdir()
        if p.name.endswith(".xml")
    }
    return dict(sorted(texts.items()))


def _listing() -> str:
    lines = []
    for name, text in embedded().items():
        m = mjjax.Model.from_xml_string(text)
        lines.append(f"{name:16} {_sizes(m)}")
    return "\n".join(lines)


def _load(name: str) -> mjjax.Model:
    """The model of an MJCF file, of a file of `mjjax compile`, or one that comes with mjjax."""
    if name in embedded() or name.endswith(".xml") or not Path(name).is_file():
        return _spec(name).compile()
    try:
        return mjjax.Model.load(name)
    except ValueError as error:
        raise _UsageError(str(error)) from None


def _spec(name: str) -> mjjax.Spec:
    models = embedded()
    if name in models:
        return mjjax.Spec.from_string(models[name])
    if not Path(name).is_file():
        raise _UsageError(f"no model {name!r}: neither a file nor embedded ({', '.join(models)})")
    return mjjax.Spec.from_file(name)


def _compile(args: argparse.Namespace) -> None:
    if not args.out.absolute().parent.is_dir():
        raise _UsageError(f"--out {args.out}: no such folder")
    spec = _spec(args.model)
    model = spec.compile()
    for warning in model.warnings:
        print(f"mjjax: warning: {warning}", file=sys.stderr)
    if args.out.suffix == ".xml":
        spec.to_file(args.out)
    else:
        model.save(args.out)
    print(f"saved {args.out}: {' '.join(_sizes(model).split())}")


def _sizes(m: mjjax.Model) -> str:
    return f"{m.nbody - 1:3} bodies {m.nv:3} dofs {m.nu:3} actuators"


def use_all_cores() -> None:
    """Makes one JAX CPU device per core; call before JAX is first used.

    XLA runs small batched matrix products on about one core, whatever the batch; a batch spread
    over devices runs on all of them.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    more_threads()
    with contextlib.suppress(RuntimeError):  # JAX is in use already and keeps its devices
        jax.config.update("jax_num_cpu_devices", cores or 1)


def more_threads() -> None:
    """Gives XLA's pool more threads than cores; call before JAX is first used.

    XLA's batched LAPACK kernels (Cholesky, triangular solve) wait for threads of the pool that
    they run on. Where as many of them meet as the pool has threads, they wait for ever.
    """
    os.environ.setdefault("NPROC", str(8 * (os.cpu_count() or 1)))


class Spread:
    """Worlds split over devices: each runs its own worlds and never waits for another.

    Args:
        devices: how many; must divide the number of worlds.
    """

    def __init__(self, devices: int):
        self.mesh = Mesh(np.asarray(jax.devices()[:devices]), ("worlds",))
        self.worlds = NamedSharding(self.mesh, P("worlds"))

    def place(self, model: Any, batch: Any) -> tuple[Any, Any]:
        """The model on every device, and of the batch of worlds each its part."""
        everywhere = NamedSharding(self.mesh, P())
        return jax.device_put(model, everywhere), jax.device_put(batch, self.worlds)

    def jit(self, f: Callable[..., Any]) -> Any:
        """`jax.jit` of `f(model, batch, *rest)`, run by each device on its part of the batch.

        All results of `f` must have the worlds as leading dimension.
        """

        def spread(model: Any, batch: Any, *rest: Any) -> Any:
            specs = (P(), P("worlds"), *[P()] * len(rest))
            # Loops run a number of rounds that differs between devices: not to be checked.
            inner = jax.shard_map(
                f, mesh=self.mesh, in_specs=specs, out_specs=P("worlds"), check_vma=False
            )
            return inner(model, batch, *rest)

        # Named, because arrays without elements would come back as if they were everywhere.
        return jax.jit(spread, out_shardings=self.worlds)


def start(model: mjjax.Model, worlds: int, seed: int) -> mjjax.Data:
    """A batch of worlds near the reference configuration, each a little different."""

    def one(key: jax.Array) -> mjjax.Data:
        data = mjjax.make_data(model)
        kq, kv = jax.random.split(key)
        dq = JITTER * jax.random.normal(kq, data.qvel.shape, data.qvel.dtype)
        qvel = JITTER * jax.random.normal(kv, data.qvel.shape, data.qvel.dtype)
        qpos = mjjax.integrate_pos(model, data.qpos, dq, jnp.ones((), dq.dtype))
        return data.replace(qpos=qpos, qvel=qvel)

    return jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(seed), worlds))


def advance(model: mjjax.Model, batch: mjjax.Data, nstep: jax.Array) -> tuple[mjjax.Data, Watch]:
    """`nstep` steps of every world; `nstep` is traced, so that any number runs the same program."""

    def body(_: jax.Array, carry: tuple[mjjax.Data, Watch]) -> tuple[mjjax.Data, Watch]:
        batch, seen = carry
        batch = jax.vmap(mjjax.step, in_axes=(None, 0))(model, batch)
        return batch, Watch(jnp.maximum(seen.ncon, batch.ncon), jnp.maximum(seen.nefc, batch.nefc))

    nothing = Watch(jnp.zeros_like(batch.ncon), jnp.zeros_like(batch.nefc))
    return jax.lax.fori_loop(0, nstep, body, (batch, nothing))


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
    spread = Spread(devices)
    model, batch = spread.place(model, start(model, args.worlds, args.seed))
    chunk = spread.jit(advance).lower(model, batch, jnp.int32(CHUNK)).compile()
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
        raise _UsageError(f"--out {args.out}: the name must end in .npz")
    if args.out and not args.out.absolute().parent.is_dir():
        raise _UsageError(f"--out {args.out}: no such folder")
    use_all_cores()
    model = _load(args.model)
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
