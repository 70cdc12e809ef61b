"""`mjjax train`: trains a policy for a task, and saves its learning curve."""

import argparse
import csv
import itertools
from pathlib import Path

from tqdm import tqdm

import mjjax
from mjjax.cli.arguments import UsageError, positive
from mjjax.cli.caching import add_cache, use_cache
from mjjax.cli.progress import doing
from mjjax.envs.train import Point, Trained, plot, training

PLAYGROUND = "playground:"  # before the name of an environment of MuJoCo Playground


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.description = (
        "Trains a policy with PPO (rejax), on CPU or GPU, and prints its learning curve, "
        "whose points are mean returns of 64 test episodes. This command needs mjjax[train]."
    )
    parser.epilog = (
        f"The tasks are {', '.join(mjjax.envs.TASKS)}, and Gymnasium's own: "
        f"{', '.join(mjjax.envs.GYMNASIUM_TASKS)}. With --out, curve.png, curve.csv and "
        "policy.npz are saved in DIR; mjjax.envs.train.Policy.load reads policy.npz. "
        f"{PLAYGROUND}NAME trains in an environment of MuJoCo Playground, if it is installed."
    )
    parser.add_argument("task", help="name of the task")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="S", help="random seed (%(default)s)"
    )
    parser.add_argument(
        "--steps",
        type=positive,
        default=2_000_000,
        metavar="N",
        help="number of steps, counted over all worlds (%(default)s)",
    )
    parser.add_argument(
        "--worlds", type=positive, default=256, metavar="W", help="number of worlds (%(default)s)"
    )
    parser.add_argument(
        "--points", type=positive, default=10, help="number of points on the curve (%(default)s)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder in which to save the curve and the policy"
    )
    add_cache(parser)
    parser.set_defaults(run=_train)


def _train(args: argparse.Namespace) -> None:
    use_cache(args)
    try:
        env = _made(args.task)
    except (ImportError, ValueError) as error:
        raise UsageError(str(error)) from None
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
    states = training(env, args.seed, args.steps, points=args.points, num_envs=args.worlds)
    done, interrupt = None, None
    try:
        with doing("compiling, and training to the first point"):
            done = next(states)
        with tqdm(total=args.steps, unit="step", desc="training", disable=None) as bar:
            for reached in itertools.chain([done], states):
                done, point = reached, reached.curve[-1]
                bar.update(point.steps - bar.n)
                bar.write(
                    f"{point.steps:10,} steps {point.seconds:6.0f} s  return {point.mean:8.1f} "
                    f"+- {point.std:.1f}  length {point.length:.0f}"
                )
    except ImportError as error:
        raise UsageError(f"{error}: pip install 'mjjax[train]'") from None
    except KeyboardInterrupt:
        steps = done.curve[-1].steps if done else 0
        interrupt = KeyboardInterrupt(f"after {steps:,} of {args.steps:,} steps")
    if args.out and done:
        _save(done, args)
    if interrupt:
        raise interrupt


def _made(task: str) -> mjjax.envs.Environment:
    """The environment of a task of mjjax, or of Playground."""
    if not task.startswith(PLAYGROUND):
        return mjjax.envs.make(task)
    from mjjax.playground import load

    with doing("loading Playground"):
        return load(task.removeprefix(PLAYGROUND))


def _save(done: Trained, args: argparse.Namespace) -> None:
    plot(done.curve, args.out / "curve.png", f"{args.task}, seed {args.seed}")
    done.policy.save(args.out / "policy.npz")
    with (args.out / "curve.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([Point._fields, *done.curve])
    print(f"saved       {args.out}: curve.png, curve.csv, policy.npz")
