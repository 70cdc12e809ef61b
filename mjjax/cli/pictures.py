"""Makes pictures and videos of worlds and saves them in files."""

import argparse
from collections.abc import Iterable
from pathlib import Path

import numpy as np

import mjjax
from mjjax.cli.arguments import UsageError
from mjjax.core.limits import Limits

FPS = 25  # frames per second of a video; a GIF can represent this number exactly
_COLOURS = 128  # colours of a frame of a GIF


def add_camera(parser: argparse.ArgumentParser, width: int, height: int) -> None:
    """Adds the options for the camera and the size of pictures."""
    parser.add_argument(
        "--camera",
        metavar="C",
        help="name or number of a camera (default: a camera that sees everything)",
    )
    parser.add_argument(
        "--width", type=int, default=width, metavar="W", help="width in pixels (%(default)s)"
    )
    parser.add_argument(
        "--height", type=int, default=height, metavar="H", help="height in pixels (%(default)s)"
    )


def check_size(args: argparse.Namespace) -> None:
    most = Limits().pixels
    if min(args.width, args.height) < 1 or args.width * args.height > most:
        raise UsageError(f"--width times --height must be 1 to {most:,} pixels")


def check_file(option: str, path: Path, suffixes: tuple[str, ...]) -> None:
    """Refuses a file that could not be written at the end of the work."""
    if path.suffix not in suffixes:
        raise UsageError(f"{option} {path}: the name must end in {' or '.join(suffixes)}")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{option} {path}: no such folder")


def chosen(model: mjjax.Model, kind: str, wanted: str | None) -> int | None:
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


def check_video(path: Path) -> None:
    """Refuses a video that could not be written at the end of the work."""
    check_file("--video", path, (".mp4", ".gif"))
    if path.suffix == ".mp4":
        try:
            import imageio_ffmpeg  # noqa: F401
        except ImportError:
            raise UsageError(
                f"--video {path}: .mp4 needs `pip install 'mjjax[video]'`; .gif does not"
            ) from None


def save_video(frames: Iterable[np.ndarray], path: Path) -> None:
    """Writes pictures as a video that runs at `FPS`."""
    if path.suffix == ".mp4":
        _save_mp4(frames, path)
        return
    from PIL import Image

    images = [
        Image.fromarray(frame).quantize(_COLOURS, dither=Image.Dither.NONE) for frame in frames
    ]
    images[0].save(
        path, save_all=True, append_images=images[1:], duration=1000 // FPS, loop=0, optimize=True
    )


def _save_mp4(frames: Iterable[np.ndarray], path: Path) -> None:
    import imageio_ffmpeg

    writer = None
    for frame in frames:
        if writer is None:
            size = frame.shape[1], frame.shape[0]
            writer = imageio_ffmpeg.write_frames(str(path), size, fps=FPS, macro_block_size=2)
            writer.send(None)
        writer.send(np.ascontiguousarray(frame))
    if writer is not None:
        writer.close()
