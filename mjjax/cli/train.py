"""`mjjax train`: trains policies for a task, and goes on with a training that was interrupted."""

import argparse
import ast
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from tqdm import tqdm

import mjjax
from mjjax.cli.arguments import UsageError, positive
from mjjax.cli.caching import add_cache, use_cache
from mjjax.cli.episodes import save_episode
from mjjax.cli.hosts import add_hosts, is_first, join, together
from mjjax.cli.progress import doing
from mjjax.cli.runs import FILE, PLAYGROUND, Run, task_of
from mjjax.training import ALGORITHMS, Point, Training, restore, save
from mjjax.training.algorithms import check_settings
from mjjax.training.checkpoints import FOLDER as CHECKPOINTS
from mjjax.training.log import Log
from mjjax.training.training import POINTS

STEPS = 2_000_000


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.description = (
        "Trains policies by reinforcement learning (rejax), on CPU or GPU, and prints the learning "
        "curve, whose points are mean returns of 64 test episodes. This command needs mjjax[train]."
    )
    parser.epilog = (
        f"The tasks are {', '.join(mjjax.envs.TASKS)}, and Gymnasium's own: "
        f"{', '.join(mjjax.envs.GYMNASIUM_TASKS)}. {PLAYGROUND}NAME trains in an environment of "
        "MuJoCo Playground, if it is installed, and MODULE:CLASS in one of your own. MODEL.xml and "
        "MODEL.xml:KEYFRAME learn to keep the pose of a keyframe (mjjax.envs.Hold). The folder of "
        "--out has curve.csv, curve.png, TensorBoard's events, policy.npz, which `mjjax play` and "
        "mjjax.training.Policy.load read, and checkpoints, from which --resume goes on."
    )
    parser.add_argument("task", nargs="?", help="name of a task, MODULE:CLASS or MODEL.xml")
    parser.add_argument(
        "--algorithm",
        choices=[*ALGORITHMS],
        help="ppo (if nothing is said), sac, or shac, which uses the gradients of the simulator",
    )
    parser.add_argument("--seed", type=int, metavar="S", help="first random seed (0)")
    parser.add_argument(
        "--seeds", type=positive, metavar="K", help="number of seeds, trained in one program (1)"
    )
    parser.add_argument(
        "--steps",
        type=positive,
        metavar="N",
        help=f"steps in all worlds of a seed together ({STEPS:,})",
    )
    parser.add_argument("--worlds", type=positive, metavar="W", help="worlds of a seed")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of the algorithm, such as learning_rate=3e-4; a wrong key lists all",
    )
    parser.add_argument(
        "--every",
        type=positive,
        metavar="N",
        help="steps between tests, which are points of the curve and checkpoints (a tenth)",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the results")
    parser.add_argument(
        "--resume", type=Path, metavar="DIR", help="go on from the newest checkpoint in a folder"
    )
    parser.add_argument(
        "--video", action="store_true", help="save a video of an episode at each point, in DIR"
    )
    add_hosts(parser)
    add_cache(parser)
    parser.set_defaults(run=_train)


def _train(args: argparse.Namespace) -> None:
    use_cache(args)
    run, folder = _asked(args)
    join(args)
    with together(lambda: _going_on(folder)):
        _run(run, folder, args)


def _run(run: Run, folder: Path | None, args: argparse.Namespace) -> None:
    """Makes the training, brings it to its end, and writes into its folder."""
    env = run.environment()
    try:
        check_settings(run.algorithm, run.settings)
    except ImportError as error:
        raise UsageError(f"{error}: pip install 'mjjax[train]'") from None
    except ValueError as error:
        raise UsageError(str(error)) from None
    shape = {"every": run.every, "seed": run.seed, "seeds": run.seeds}
    training = Training(env, run.steps, algorithm=run.algorithm, **shape, **run.settings)
    if args.resume:
        restore(training, args.resume)
    log = Log(folder, training, run.seed) if folder and is_first() else None
    if log:
        run.save(log.folder)
    try:
        _advance(training, env, folder, log, args.video)
    except KeyboardInterrupt:
        steps = f"after {training.made_steps:,} of {training.steps:,} steps"
        advice = _going_on(folder)
        raise KeyboardInterrupt(f"{steps}; {advice}" if advice else steps) from None
    finally:
        if log:
            log.close(f"{run.task}, {run.algorithm}")
    if log:
        print(f"saved       {folder}: curve.csv, curve.png, policy.npz; `mjjax play {folder}`")


def _asked(args: argparse.Namespace) -> tuple[Run, Path | None]:
    """What the command line asks for, and the folder of the training."""
    if args.resume:
        given = ("task", "algorithm", "seed", "seeds", "worlds", "every", "out")
        wrong = [name for name in given if getattr(args, name) is not None]
        if wrong or args.set:
            raise UsageError(f"--resume goes on as before, so it takes no {(wrong or ['set'])[0]}")
        run = Run.load(args.resume)
        return run._replace(steps=args.steps or run.steps), args.resume
    if args.task is None:
        raise UsageError("a task is needed, or --resume DIR")
    if args.out and (args.out / FILE).exists():
        raise UsageError(f"{args.out} has a training: --resume {args.out}, or name another folder")
    if args.video and not args.out:
        raise UsageError("--video needs --out DIR")
    settings = _settings(args.set)
    if args.worlds:
        settings["num_envs"] = args.worlds
    steps = args.steps or STEPS
    every = args.every or -(-steps // POINTS)
    algorithm, seed, seeds = args.algorithm or "ppo", args.seed or 0, args.seeds or 1
    return Run(task_of(args.task), algorithm, steps, every, seed, seeds, settings), args.out


def _settings(texts: list[str]) -> dict[str, Any]:
    """Values by key, of arguments KEY=VALUE."""
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--set {text}: write KEY=VALUE")
        try:
            found[key] = ast.literal_eval(value)
        except (SyntaxError, ValueError):
            raise UsageError(f"--set {text}: {value!r} is no number or tuple") from None
    return found


def _advance(
    training: Training,
    env: mjjax.envs.Environment,
    folder: Path | None,
    log: Log | None,
    video: bool,
) -> None:
    """Trains to the end; every point is printed and saved as soon as it is there."""
    first_process = is_first()
    with tqdm(
        total=training.steps,
        initial=training.made_steps,
        unit="step",
        desc="training",
        disable=None if first_process else True,
    ) as bar:
        first: AbstractContextManager[object] = doing("compiling, and training to the next point")
        while not training.finished:
            with first:
                points = training.advance()
            first = nullcontext()
            bar.update(training.made_steps - bar.n)
            if first_process:
                bar.write(_line(points))
            if log:
                log.write()
            if folder:
                save(training, folder)
            if video and log:
                path = log.folder / f"{training.made_steps}.gif"
                save_episode(env, training.best.policy, path)


def _line(points: list[Point]) -> str:
    """A point of the curve, or the mean of the points of all seeds."""
    mean, std, length = (
        sum(getattr(point, name) for point in points) / len(points)
        for name in ("mean", "std", "length")
    )
    text = (
        f"{points[0].steps:10,} steps {points[0].seconds:6.0f} s  return {mean:8.1f} +- {std:.1f}"
    )
    seeds = "" if len(points) == 1 else "  seeds " + " ".join(f"{p.mean:.1f}" for p in points)
    skipped = sum(point.skipped for point in points)
    left_out = f"  skipped {skipped} updates, gradient not finite" if skipped else ""
    return f"{text}  length {length:.0f}{seeds}{left_out}"


def _going_on(folder: Path | None) -> str:
    """How to go on from a checkpoint, if there is one."""
    if folder is None or not any((folder / CHECKPOINTS).glob("*")):
        return ""
    return f"`mjjax train --resume {folder}` goes on"
