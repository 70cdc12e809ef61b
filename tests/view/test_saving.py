"""Recordings and files, and the sliders of one world among many."""

from pathlib import Path

import numpy as np
import pytest

import mjjax
from mjjax import cli
from mjjax.view import saving
from mjjax.view.controls import Controls
from mjjax.view.looks import Look
from mjjax.view.saving import Recorder, written
from mjjax.view.scene import Moment
from mjjax.view.server import started
from mjjax.view.world import Frame


def moment(time: float, contacts: bool = False) -> Moment:
    """A world with four contacts."""
    x = np.zeros((1, 4, 3))
    seen = Frame(np.array([time]), x, x, x, x, x, x, x, x, np.ones((1, 4), bool))
    return Moment(seen, Look(contacts=contacts))


def test_recordings_play_in_the_time_of_worlds() -> None:
    """Pauses are left out, 30 moments per second are kept, and a reset takes one of them."""
    recorder = Recorder()
    for time in (0.0, 0.005, 0.035, 0.035, 0.035, 0.07, 0.2, 0.0, 0.035):
        recorder.keep(moment(time))
    times, pauses = zip(*((m.seen.time[0], pause) for m, pause in recorder.moments()), strict=True)
    assert times == (0, 0.035, 0.07, 0.2, 0, 0.035)
    np.testing.assert_allclose(pauses, (0.035, 0.035, 0.13, 1 / 30, 0.035, 1 / 30))


@pytest.mark.parametrize(("limit", "value"), [("_LONGEST", 3), ("_MOST", 5000)])
def test_recordings_are_bounded(monkeypatch: pytest.MonkeyPatch, limit: str, value: int) -> None:
    """A recording that is full says so and takes no more; it has contacts only if they are seen."""
    monkeypatch.setattr(saving, limit, value)
    recorder = Recorder()
    for k in range(100):
        recorder.keep(moment(k / 10, k == 0))
    kept = [m.seen.contact.shape[1] for m, _ in recorder.moments()]
    assert recorder.full and 3 <= len(kept) <= 8
    assert kept == [4] + [0] * (len(kept) - 1)


def test_files_are_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file gets a name of its own; where none can be written, a note says so."""
    monkeypatch.chdir(tmp_path)
    names = [written("run.html", content).name for content in (b"one", b"two", b"three")]
    assert names == ["run.html", "run-2.html", "run-3.html"]
    assert [Path(name).read_bytes() for name in names] == [b"one", b"two", b"three"]
    assert "not saved" in saving._saved("nowhere/run.html", b"")


@pytest.mark.feature("A179")
def test_sliders_move_the_chosen_worlds() -> None:
    """A slider sets its control in all worlds or in one, and shows the one that is chosen."""
    model = mjjax.Model.from_xml_string(cli.embedded()["reacher"])
    with started(None) as server:
        controls = Controls(server.gui, model, np.array([[0.1, 0.2], [0.3, 0.4]]))
        np.testing.assert_array_equal(controls.ctrl(None), [[0.1, 0.2], [0.3, 0.4]])
        controls._sliders[0].value = 0.5
        np.testing.assert_array_equal(controls.ctrl(None), [[0.5, 0.2], [0.5, 0.4]])
        controls.ctrl(1)
        assert controls._sliders[1].value == 0.4
        controls._sliders[1].value = -0.5
        np.testing.assert_array_equal(controls.ctrl(1), [[0.5, 0.2], [0.5, -0.5]])
        np.testing.assert_array_equal(controls.ctrl(None), [[0.5, 0.2], [0.5, -0.5]])
        controls.reset(np.array([[0.6, 0.7], [0.6, 0.7]]))
        np.testing.assert_array_equal(controls.ctrl(None), [[0.6, 0.7]] * 2)
        assert controls._sliders[0].value == 0.6
