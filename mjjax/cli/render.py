"""`mjjax render`: makes a picture of a model."""

import argparse
from pathlib import Path

import mjjax
from mjjax.cli.caching import add_cache, use_cache
from mjjax.cli.models import load
from mjjax.cli.pictures import add_camera, check_file, check_size, chosen
from mjjax.render.smooth import smooth_picture


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.description = (
        "Makes a picture of a model in its initial state or in a keyframe, without OpenGL."
    )
    parser.add_argument("model", help="MJCF file, compiled model, or name of an embedded model")
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="FILE.png", help="picture to write"
    )
    parser.add_argument("--keyframe", metavar="K", help="name or number of a keyframe to show")
    add_camera(parser, 640, 480)
    add_cache(parser)
    parser.set_defaults(run=_render)


def _render(args: argparse.Namespace) -> None:
    use_cache(args)
    from PIL import Image

    check_file("--out", args.out, (".png",))
    check_size(args)
    model = load(args.model)
    camera = chosen(model, "camera", args.camera)
    data = start(model, chosen(model, "key", args.keyframe))
    pixels = smooth_picture(model, data, camera, args.width, args.height)
    Image.fromarray(pixels).save(args.out)
    print(f"saved {args.out}: {args.width} x {args.height} pixels")


def start(model: mjjax.Model, keyframe: int | None) -> mjjax.Data:
    """A world in its initial state, or in the state of a keyframe."""
    data = mjjax.make_data(model)
    return data if keyframe is None else mjjax.reset_data(model, data, keyframe)
