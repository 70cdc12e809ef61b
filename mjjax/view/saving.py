"""Buttons that save a picture of the window, or a recording of what it shows, as a file."""

import io
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

from mjjax.model.model import Model
from mjjax.view.recording import played
from mjjax.view.scene import Moment
from mjjax.view.views import view_of

_RATE = 30  # moments of a recording per second
_LONGEST = 5 * 60 * _RATE  # moments
_MOST = 2**30  # bytes of a recording in memory
_PATIENCE = 30.0  # for a browser that draws a picture [s]
_CONTACTS = ("contact", "force", "touching")  # in `Frame`


class Recorder:
    """Moments in the time of the worlds: pauses are left out, and slow worlds play in real time."""

    def __init__(self) -> None:
        self._moments: list[Moment] = []
        self._bytes = 0
        self.full = False

    @property
    def seconds(self) -> float:
        """About how long it plays [s]."""
        return len(self._moments) / _RATE

    def keep(self, moment: Moment) -> None:
        """Adds a moment, if it is time for the next one and there is room for it."""
        if self.full or (self._moments and _slot(moment) == _slot(self._moments[-1])):
            return
        if not moment.look.contacts and not moment.look.forces:
            seen = moment.seen
            contacts = {name: getattr(seen, name)[:, :0] for name in _CONTACTS}
            moment = moment._replace(seen=seen._replace(**contacts))
        size = sum(x.nbytes for x in jax.tree.leaves(moment.seen))
        self.full = len(self._moments) >= _LONGEST or self._bytes + size > _MOST
        if not self.full:
            self._moments.append(moment)
            self._bytes += size

    def moments(self) -> Iterator[tuple[Moment, float]]:
        """The moments, and for how long [s] each is seen."""
        for moment, after in itertools.pairwise([*self._moments, self._moments[-1]]):
            ahead = float(after.seen.time.max() - moment.seen.time.max())
            yield moment, ahead if ahead > 0 else 1 / _RATE


def _slot(moment: Moment) -> int:
    return int(float(moment.seen.time.max()) * _RATE + 1e-6)


class Saving:
    """The buttons. They do their work in viser's threads, so that the worlds go on."""

    def __init__(self, gui: Any, model: Model, spacing: float | None):
        self._model, self._spacing = model, spacing
        self._recorder: Recorder | None = None
        self._saved = ""
        with gui.add_folder("Save"):
            picture, self._button = gui.add_button("Picture"), gui.add_button("Record")
        picture.on_click(self._on_picture)
        self._button.on_click(self._on_record)

    def keep(self, moment: Moment) -> None:
        """Adds what the window shows to the recording, if there is one."""
        recorder = self._recorder
        if recorder is not None:
            recorder.keep(moment)

    def notes(self) -> list[str]:
        """What there is to say about the recording and the last file."""
        recorder, notes = self._recorder, [self._saved] if self._saved else []
        if recorder is not None:
            full = ", which is full" if recorder.full else ""
            notes.append(f"recording: {recorder.seconds:.0f} s{full}")
        return notes

    def _on_record(self, event: Any) -> None:
        recorder = self._recorder
        self._recorder = Recorder() if recorder is None else None
        self._button.label = "Record" if recorder is not None else "Stop recording"
        if recorder is None or not recorder.seconds:
            return
        self._saved = "writing the recording ..."
        view = None if event.client is None else view_of(event.client.camera)
        moments = list(recorder.moments())
        nworld = len(moments[0][0].seen.time)
        page = played(self._model, nworld, moments, self._spacing, view)
        self._saved = _saved("recording.html", page.encode())

    def _on_picture(self, event: Any) -> None:
        if event.client is None:
            return
        camera = event.client.camera
        try:
            pixels = event.client.get_render(
                camera.image_height,
                camera.image_width,
                transport_format="png",
                timeout=_PATIENCE,
            )
        except (RuntimeError, TimeoutError) as error:
            self._saved = f"no picture: {error}"
            return
        self._saved = _saved("picture.png", _png(pixels))


def _png(pixels: np.ndarray) -> bytes:
    """A file of a picture with alpha (height, width, 4), on white as in the browser."""
    from PIL import Image

    picture, content = Image.fromarray(pixels), io.BytesIO()
    white = Image.new("RGBA", picture.size, "white")
    white.alpha_composite(picture)
    white.convert("RGB").save(content, "png")
    return content.getvalue()


def _saved(name: str, content: bytes) -> str:
    """Writes a file into the current folder, and says so; replaces no other file."""
    try:
        return f"saved {written(name, content)}"
    except OSError as error:
        return f"not saved: {error}"


def written(name: str, content: bytes) -> Path:
    """Writes a file of that name, or of the first free one: `name-2`, `name-3` ..."""
    for k in itertools.count(1):
        path = Path(name) if k == 1 else Path(name).with_stem(f"{Path(name).stem}-{k}")
        try:
            with path.open("xb") as file:
                file.write(content)
            return path
        except FileExistsError:
            continue
    raise AssertionError
