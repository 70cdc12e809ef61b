"""`mjjax render`: a picture of a model."""

import argparse
from pathlib import Path
from typing import Any

import jax
import numpy as np

import mjjax
from mjjax.cli.models import UsageError, load
from mjjax.math.namespace import Array
from mjjax.mjcf.budget import PIXELS

_FINER = 2  # rays along the side of a pixel


def add(commands: Any) -> None:
    """Adds the command to the parser's commands."""
    made = commands.add_parser(
        "render",
        help="make a picture of a model",
        description="Makes a picture of a model, as it is at the start or in a keyframe, without "
        "OpenGL.",
    )
    made.add_argument("model", help="MJCF file, compiled model or embedded name")
    made.add_argument("-o", "--out", type=Path, required=True, metavar="FILE.png")
    made.add_argument("--keyframe", metavar="K", help="name or number of a keyframe")
    made.add_argument(
        "--camera", metavar="C", help="name or number of a camera (default: one that sees all)"
    )
    made.add_argument("--width", type=int, default=640, metavar="W", help="(%(default)s)")
    made.add_argument("--height", type=int, default=480, metavar="H", help="(%(default)s)")
    made.set_defaults(run=_render)


def _render(args: argparse.Namespace) -> None:
    if args.out.suffix != ".png":
        raise UsageError(f"--out {args.out}: the name must end in .png")
    if not args.out.absolute().parent.is_dir():
        raise UsageError(f"--out {args.out}: no such folder")
    if min(args.width, args.height) < 1 or args.width * args.height > PIXELS:
        raise UsageError(f"--width and --height: 1 to {PIXELS:,} pixels, not those")
    model = load(args.model)
    camera = _chosen(model, "camera", args.camera)
    data = posed(model, start(model, _chosen(model, "key", args.keyframe)))
    size = {"width": _FINER * args.width, "height": _FINER * args.height}
    save(mjjax.render(model, data, camera=camera, **size).rgb, args.out)
    print(f"saved {args.out}: {args.width} x {args.height} pixels")


def _chosen(model: mjjax.Model, kind: str, wanted: str | None) -> int | None:
    """Id of an element by its name or number; None if none is wanted."""
    names = model.structure.names[kind]
    if wanted is None:
        return None
    if wanted in names:
        return names.index(wanted)
    if wanted.isdecimal() and int(wanted) < len(names):
        return int(wanted)
    known = ", ".join(n for n in names if n) or f"{len(names)} without names"
    raise UsageError(f"no {'keyframe' if kind == 'key' else kind} {wanted!r}; there are: {known}")


def start(model: mjjax.Model, keyframe: int | None) -> mjjax.Data:
    """A world as it is at the start, or in a keyframe."""
    data = mjjax.make_data(model)
    return data if keyframe is None else mjjax.reset_data(model, data, keyframe)


@jax.jit
def posed(model: mjjax.Model, data: mjjax.Data) -> mjjax.Data:
    """The world with the poses that a picture needs."""
    return mjjax.camlight(model, mjjax.com_pos(model, mjjax.kinematics(model, data)))


def save(rgb: Array, path: Path) -> None:
    """Writes colours as a picture, the mean of so many rays in each pixel."""
    from PIL import Image

    shape = (rgb.shape[0] // _FINER, _FINER, rgb.shape[1] // _FINER, _FINER, 3)
    mean = np.asarray(rgb).reshape(shape).mean(axis=(1, 3))
    Image.fromarray((255 * mean + 0.5).astype(np.uint8)).save(path)
