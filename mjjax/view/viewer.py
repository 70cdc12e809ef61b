"""A window in the browser that runs worlds, with the switches for them."""

import functools
import time
from typing import Any

import jax
import numpy as np

from mjjax.core.enums import WarningType
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.pipeline.make_data import make_data, reset_data
from mjjax.view.cameras import Cameras
from mjjax.view.controls import Controls
from mjjax.view.hand import Hand
from mjjax.view.looks import Looks
from mjjax.view.saving import Saving
from mjjax.view.scene import Moment, Scene
from mjjax.view.server import started
from mjjax.view.switches import Switches
from mjjax.view.world import Frame, advance, frame

_TICK = 1 / 30  # time between pictures [s]
_SHARE = 0.5  # part of a tick that steps may take


def serve(
    model: Model,
    data: Data | None = None,
    *,
    port: int = 8080,
    spacing: float | None = None,
    playing: bool = True,
) -> None:
    """Runs worlds and shows them in a browser, at http://127.0.0.1:PORT, until interrupted.

    The window offers play, pause, reset and speed, a slider for every actuator, the keyframes, the
    cameras and groups of the model, contacts and their forces, and buttons that save pictures and
    recordings into the current folder. Dragging a body with the mouse pulls on it. Other machines
    cannot connect. The function needs the extra `view`.

    Args:
        model: model.
        data: initial state of one world or a batch; by default one world at `qpos0`.
        port: port of the server.
        spacing: distance between worlds [m]; by default they just fit beside each other.
        playing: whether the worlds run from the start.

    Raises:
        ImportError: viser is not installed.
    """
    with started(port) as server:
        viewer = Viewer(server, model, data, spacing=spacing, playing=playing)
        print(f"http://{server.get_host()}:{server.get_port()}  Ctrl-C ends it", flush=True)
        before = time.perf_counter()
        while True:
            now = time.perf_counter()
            viewer.tick(now - before)
            before = now
            time.sleep(max(0.0, _TICK - (time.perf_counter() - now)))


class Viewer:
    """Worlds, the scene that shows them, and the switches."""

    def __init__(
        self,
        server: Any,
        model: Model,
        data: Data | None = None,
        *,
        spacing: float | None = None,
        playing: bool = True,
    ):
        data = make_data(model) if data is None else data
        self._start = data if data.time.ndim else jax.tree.map(lambda x: x[None], data)
        self._server, self._model, self._batch = server, model, self._start
        self._owed, self._cost, self._rate = 0.0, 0.0, 0.0
        self._hand = Hand()
        nworld, s = self._start.time.shape[0], model.structure
        self._scene = Scene(server, model, nworld, spacing, self._hand.hold)
        # so that users see something while steps are compiled
        self._scene.show(Moment(jax.device_get(_frames(model, self._start))))
        self._switches = Switches(server.gui, s, nworld, playing)
        self._cameras = Cameras(server, model)
        self._looks = Looks(server.gui, s)
        self._saving = Saving(server.gui, model, spacing)
        self._controls = Controls(server.gui, model, np.asarray(self._start.ctrl))

    def tick(self, elapsed: float) -> None:
        """Lets the worlds run for `elapsed` seconds of wall time, and shows them."""
        if self._switches.take_reset():
            self._owed = 0.0
            self._batch = self._from_start()
        n, world = self._steps(elapsed), self._switches.world
        begin = time.perf_counter()
        ctrl, count = self._controls.ctrl(world), np.array(n, np.int32)
        self._batch, seen = advance(self._model, self._batch, ctrl, self._hand.pull, count)
        seen = jax.device_get(seen)
        if n:
            cost = (time.perf_counter() - begin) / n
            self._cost = cost if not self._cost or cost < self._cost else 0.5 * (self._cost + cost)
        self._show(seen, world or 0)
        self._tell(seen, n, elapsed)

    def _show(self, seen: Frame, world: int) -> None:
        with self._server.atomic():
            shift = self._cameras.move(seen, world, self._scene.offset[world])
            moment = Moment(seen, self._looks.look(), shift)
            self._scene.show(moment)
        self._hand.watch(moment, self._scene.offset)
        self._saving.keep(moment)

    def _steps(self, elapsed: float) -> int:
        """Number of steps that are due; steps that cannot be computed in time are dropped."""
        single = self._switches.take_step()
        if not self._switches.playing:
            self._owed = 0.0
            return int(single)
        step = float(self._model.opt.timestep)
        self._owed += elapsed * self._switches.speed
        wanted = int(self._owed / step)
        possible = int(_SHARE * max(elapsed, _TICK) / self._cost) if self._cost else 1
        if wanted > max(1, possible):
            self._owed = 0.0
            return max(1, possible)
        self._owed -= wanted * step
        return wanted

    def _from_start(self) -> Data:
        key = self._switches.key
        if key is None:
            return self._start
        found = jax.jit(jax.vmap(lambda data: reset_data(self._model, data, key)))(self._start)
        self._controls.reset(np.asarray(found.ctrl))
        return found

    def _tell(self, seen: Frame, n: int, elapsed: float) -> None:
        rate = n * float(self._model.opt.timestep) / max(elapsed, 1e-6)
        self._rate = 0.9 * self._rate + 0.1 * rate
        counts = np.asarray(self._batch.warning).sum(axis=0)
        warned = ", ".join(kind.name for kind in WarningType if counts[kind])
        lines = [
            f"time {float(np.max(seen.time)):.2f} s",
            f"{self._rate:.2f} x real time",
            f"{int(np.sum(seen.touching))} contacts",
            *([f"warnings: {warned}"] if warned else []),
            *self._saving.notes(),
        ]
        text = "  \n".join(lines)
        if self._switches.status.content != text:
            self._switches.status.content = text


@jax.jit
def _frames(model: Model, batch: Data) -> Frame:
    return jax.vmap(functools.partial(frame, model))(batch)
