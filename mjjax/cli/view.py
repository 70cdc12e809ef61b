"""`mjjax view`: runs a model in a browser."""

import argparse

import jax

import mjjax
from mjjax.cli.arguments import UsageError
from mjjax.cli.caching import add_cache, use_cache
from mjjax.cli.models import load
from mjjax.cli.pictures import chosen
from mjjax.cli.worlds import start


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.description = (
        "Runs a model and shows it in a browser on this machine. On the page you can "
        "play and pause it, change speed and controls, choose a keyframe and a camera, show "
        "contacts and groups, and save pictures and recordings into the current folder. "
        "Drag a body to pull on it. This command needs mjjax[view]."
    )
    parser.add_argument("model", help="MJCF file, compiled model, or name of an embedded model")
    parser.add_argument(
        "--worlds",
        type=int,
        default=1,
        metavar="N",
        help="number of worlds, shown in a grid (%(default)s)",
    )
    parser.add_argument(
        "--keyframe", metavar="K", help="name or number of a keyframe to start from"
    )
    parser.add_argument("--spacing", type=float, metavar="M", help="distance between worlds [m]")
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the starting states if there are many worlds"
    )
    parser.add_argument(
        "--port", type=int, default=8080, metavar="P", help="port of the page (%(default)s)"
    )
    parser.add_argument("--paused", action="store_true", help="do not run until Play is chosen")
    add_cache(parser)
    parser.set_defaults(run=_view)


def _view(args: argparse.Namespace) -> None:
    use_cache(args)
    if args.worlds < 1:
        raise UsageError(f"--worlds must be at least 1, not {args.worlds}")
    model = load(args.model)
    key = chosen(model, "key", args.keyframe)
    data = mjjax.make_data(model) if args.worlds == 1 else start(model, args.worlds, args.seed)
    if key is not None:
        data = mjjax.reset_data(model, mjjax.make_data(model), key)
        data = jax.tree.map(lambda x: x[None].repeat(args.worlds, axis=0), data)
    settings = {"port": args.port, "spacing": args.spacing, "playing": not args.paused}
    try:
        mjjax.view.serve(model, data, **settings)
    except ImportError as error:
        raise UsageError(str(error)) from None
