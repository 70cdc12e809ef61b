"""`mjjax play`: shows a trained policy."""

import argparse
import http.server
from pathlib import Path

import jax

from mjjax.cli.arguments import UsageError
from mjjax.cli.caching import add_cache, use_cache
from mjjax.cli.episodes import page, save_episode
from mjjax.cli.pictures import add_camera, check_file, check_size, check_video, chosen
from mjjax.cli.progress import doing
from mjjax.cli.runs import Run
from mjjax.training import Policy
from mjjax.training.episode import Episode, episode


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.description = (
        "Runs an episode of the policy in a folder that `mjjax train --out` has written, and plays "
        "it in a browser on this machine, or writes a file."
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
            print(_said(done))
            print(f"saved       {args.out}")
            return
        with doing("running an episode"):
            done = episode(env, policy, jax.random.key(args.seed))
        print(_said(done))
        _serve(page(env, done).encode(), args.port)
    except ImportError as error:
        raise UsageError(str(error)) from None


def _policy(folder: Path) -> Policy:
    try:
        return Policy.load(folder / "policy.npz")
    except FileNotFoundError:
        raise UsageError(f"{folder} has no policy yet: train longer") from None


def _said(done: Episode) -> str:
    count = len(done.rewards)
    return f"return {done.rewards.sum():.1f} in {count} steps ({count * done.interval:.1f} s)"


def _serve(content: bytes, port: int) -> None:
    """Shows a page on this machine, until it is interrupted."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Says nothing about requests."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        print(f"http://127.0.0.1:{server.server_port}  Ctrl-C ends it", flush=True)
        server.serve_forever()
