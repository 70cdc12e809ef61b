"""Writes an episode of a policy as a video or as a page that plays."""

from collections.abc import Callable
from pathlib import Path

import jax
from tqdm import tqdm

import mjjax
from mjjax.cli.pictures import FPS, save_video
from mjjax.cli.progress import doing
from mjjax.core.files import write_atomic
from mjjax.render.smooth import smooth_picture
from mjjax.training.episode import Episode, episode

SIZE = (320, 240)


def save_episode(
    env: mjjax.envs.Environment,
    policy: Callable[[jax.Array], jax.Array],
    path: Path,
    *,
    seed: int = 0,
    camera: int | None = None,
    size: tuple[int, int] = SIZE,
) -> Episode:
    """Runs an episode and writes it to a file that ends in .html, .gif or .mp4."""
    with doing("running an episode"):
        done = episode(env, policy, jax.random.key(seed))
    if path.suffix == ".html":
        page = mjjax.view.html(env.model, done.moves, interval=done.interval)
        write_atomic(path, page.encode())
        return done
    count = len(done.rewards)
    stride = max(1, round(1 / (FPS * done.interval)))
    data = mjjax.make_data(env.model)
    shots = (
        data.replace(**{name: x[k] for name, x in done.moves.items()})
        for k in range(0, count, stride)
    )
    bar = tqdm(shots, total=-(-count // stride), unit="frame", disable=None, leave=False)
    save_video((smooth_picture(env.model, shot, camera, *size) for shot in bar), path)
    return done
