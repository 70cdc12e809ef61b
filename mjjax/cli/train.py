"""`mjjax train`: trains a policy for a task, and saves its learning curve."""

import argparse
import csv
from pathlib import Path
from typing import Any

from tqdm import tqdm

import mjjax
from mjjax.cli.caching import add_cache, use_cache
from mjjax.cli.models import UsageError
from mjjax.cli.simulate import positive


def add(commands: Any) -> None:
    """Adds the command to the parser's commands."""
    made = commands.add_parser(
        "train",
        help="train a policy for a task by PPO",
        description="Trains a policy by PPO (rejax), on CPU or GPU, and prints its learning curve, "
        "whose points are mean returns of 64 test episodes. This command needs mjjax[train].",
        epilog=f"The tasks are {', '.join(mjjax.envs.TASKS)}. With --out, curve.png, curve.csv and "
        "policy.npz are saved in DIR; mjjax.envs.train.Policy.load reads policy.npz.",
    )
    made.add_argument("task", help="name of the task")
    made.add_argument("--seed", type=int, default=0, metavar="S", help="random seed (%(default)s)")
    made.add_argument(
        "--steps",
        type=positive,
        default=2_000_000,
        metavar="N",
        help="number of steps, counted over all worlds (%(default)s)",
    )
    made.add_argument(
        "--worlds", type=positive, default=256, metavar="W", help="number of worlds (%(default)s)"
    )
    made.add_argument(
        "--points", type=positive, default=10, help="number of points of the curve (%(default)s)"
    )
    made.add_argument(
        "--out", type=Path, metavar="DIR", help="folder in which the curve and the policy are saved"
    )
    add_cache(made)
    made.set_defaults(run=_train)


def _train(args: argparse.Namespace) -> None:
    use_cache(args)
    from mjjax.envs import train

    try:
        env = mjjax.envs.make(args.task)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
    with tqdm(total=args.steps, unit="step", disable=None) as bar:

        def report(point: train.Point) -> None:
            bar.update(point.steps - bar.n)
            bar.write(
                f"{point.steps:10,} steps {point.seconds:6.0f} s  return {point.mean:8.1f} "
                f"+- {point.std:.1f}  length {point.length:.0f}"
            )

        try:
            done = train.train(
                env,
                args.seed,
                args.steps,
                points=args.points,
                report=report,
                num_envs=args.worlds,
            )
        except ImportError as error:
            raise UsageError(f"{error}: pip install 'mjjax[train]'") from None
    if args.out:
        train.plot(done.curve, args.out / "curve.png", f"{args.task}, seed {args.seed}")
        done.policy.save(args.out / "policy.npz")
        with (args.out / "curve.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([train.Point._fields, *done.curve])
        print(f"saved       {args.out}: curve.png, curve.csv, policy.npz")
