"""What a training writes into its folder: the curve, TensorBoard's events, policies, a picture."""

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mjjax.core.files import write_atomic
from mjjax.training.training import Point, Training

# Numbers of a point, by their names in TensorBoard.
_LOGGED = {"return/mean": "mean", "return/std": "std", "episode/length": "length"}


class Log:
    """The files of a training in a folder; each is whole after every point.

    Attributes:
        folder: the folder.
    """

    def __init__(self, folder: Path, training: Training, seed: int):
        """Begins to write, after the steps that the training has made.

        Args:
            folder: folder, which is made.
            training: training.
            seed: its first seed.
        """
        from tensorboardX import SummaryWriter

        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self._training, self._seed = folder, training, seed
        # Events after the checkpoint, of a training that was killed, are not shown twice.
        begin = training.made_steps + 1
        self._writers: list[Any] = [
            SummaryWriter(str(folder / f"tensorboard/seed {seed + k}"), purge_step=begin)
            for k in range(len(training.results))
        ]

    def write(self) -> None:
        """Writes what the last point of the curve has brought."""
        for writer, result in zip(self._writers, self._training.results, strict=True):
            point = result.curve[-1]
            for tag, name in _LOGGED.items():
                writer.add_scalar(tag, getattr(point, name), point.steps)
            writer.flush()
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(("seed", *Point._fields))
        for k, result in enumerate(self._training.results):
            rows.writerows((self._seed + k, *point) for point in result.curve)
        write_atomic(self.folder / "curve.csv", text.getvalue().encode())
        self._training.best.policy.save(self.folder / "policy.npz")

    def close(self, title: str) -> None:
        """Ends with a picture of the learning curve."""
        for writer in self._writers:
            writer.close()
        curves = [result.curve for result in self._training.results]
        if curves[0]:
            plot(curves, self.folder / "curve.png", title)


def plot(curves: Sequence[Sequence[Point]], path: str | os.PathLike[str], title: str) -> None:
    """Saves learning curves as a picture.

    The line is the mean. The band is a standard deviation wide on both sides: between seeds, or
    between episodes if there is one seed.

    Args:
        curves: curve of each seed.
        path: file.
        title: title.
    """
    from matplotlib.figure import Figure

    means = np.array([[point.mean for point in curve] for curve in curves])
    steps = [point.steps for point in curves[0]]
    spread = means.std(axis=0) if len(means) > 1 else [point.std for point in curves[0]]
    mean = means.mean(axis=0)
    fig = Figure(figsize=(6, 4))
    ax = fig.subplots()
    ax.fill_between(steps, mean - spread, mean + spread, alpha=0.2)
    ax.plot(steps, mean)
    ax.set(xlabel="steps of the environment", ylabel="return", title=title)
    fig.savefig(Path(path), dpi=120, bbox_inches="tight")
