"""`mjjax play`: shows a trained policy."""

import argparse
from pathlib import Path

import mjjax
from mjjax.cli.arguments import UsageError, positive
from mjjax.cli.caching import add_cache, use_cache
from mjjax.cli.episodes import save_episode
from mjjax.cli.pictures import add_camera, check_file, check_size, check_video, chosen
from mjjax.cli.runs import Run
from mjjax.training import Policy


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.description = (
        "Shows in a browser on this machine what the policy does that is in a folder of "
        "`mjjax train --out`; drag a body to pull on it. With -o it writes an episode to a file."
    )
    parser.add_argument("folder", type=Path, help="folder of the training")
    parser.add_argument("--seed", type=int, default=0, help="seed of the start (%(default)s)")
    parser.add_argument(
        "-o",
        dest="out",
        type=Path,
        metavar="FILE",
        help="write a page (.html, with mjjax[view]) or a video (.gif, or .mp4 with mjjax[video])",
    )
    parser.add_argument(
        "--worlds", type=positive, default=1, metavar="N", help="worlds to show (%(default)s)"
    )
    parser.add_argument(
        "--port", type=int, default=8080, metavar="P", help="port of the page (%(default)s)"
    )
    add_camera(parser, 320, 240)
    add_cache(parser)
    parser.set_defaults(run=_play)


def _play(args: argparse.Namespace) -> None:
    use_cache(args)
    run = Run.load(args.folder)
    if args.out and args.out.suffix != ".html":
        check_video(args.out)
        check_size(args)
    elif args.out:
        check_file("-o", args.out, (".html",))
    env = run.environment()
    policy = _policy(args.folder)
    try:
        if args.out:
            camera = chosen(env.model, "camera", args.camera)
            size = args.width, args.height
            done = save_episode(env, policy, args.out, seed=args.seed, camera=camera, size=size)
            count, seconds = len(done.rewards), len(done.rewards) * done.interval
            print(f"return {done.rewards.sum():.1f} in {count} steps ({seconds:.1f} s)")
            print(f"saved       {args.out}")
            return
        settings = {"nworld": args.worlds, "seed": args.seed, "port": args.port}
        mjjax.view.watch(env, policy, **settings)
    except ImportError as error:
        raise UsageError(str(error)) from None


def _policy(folder: Path) -> Policy:
    try:
        return Policy.load(folder / "policy.npz")
    except FileNotFoundError:
        raise UsageError(f"{folder} has no policy yet: train longer") from None
