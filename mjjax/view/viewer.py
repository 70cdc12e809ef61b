"""A window in the browser that runs worlds, with the switches for them."""

import functools
import time
from typing import Any

import jax
import numpy as np

from mjjax.core.enums import WarningType
from mjjax.math import quat
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.pipeline.make_data import make_data, reset_data
from mjjax.view.scene import Scene
from mjjax.view.server import started
from mjjax.view.world import NO_PULL, Frame, Pull, advance, frame

_TICK = 1 / 30  # time between pictures [s]
_SHARE = 0.5  # part of a tick that steps may take
_FASTEST = 4.0


def serve(
    model: Model,
    data: Data | None = None,
    *,
    port: int = 8080,
    spacing: float | None = None,
    playing: bool = True,
) -> None:
    """Runs worlds and shows them in a browser, at http://127.0.0.1:PORT, until interrupted.

    The window offers play, pause, reset and speed, a slider for every actuator, the keyframes,
    contacts and their forces. Dragging a body with the mouse pulls on it. Other machines cannot
    connect. The function needs the extra `view`.

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
    """Worlds, the scene that shows them, and the switches.

    Callbacks of viser run in its own threads. They only set what the next tick reads.
    """

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
        self._model, self._batch = model, self._start
        self._scene = Scene(server, model, self._start.time.shape[0], spacing)
        self._pull, self._reset, self._single = NO_PULL, False, False
        self._owed, self._cost, self._rate = 0.0, 0.0, 0.0
        self._seen: Frame = jax.device_get(_frames(model, self._start))
        self._scene.show(self._seen)  # so that users see something while steps are compiled
        self._add_switches(server.gui, playing)
        self._sliders = self._add_sliders(server.gui)
        for body, handle in self._scene.handles:
            if model.structure.body_weldid[body] > 0:
                self._make_draggable(handle, body)

    def _add_switches(self, gui: Any, playing: bool) -> None:
        names = self._model.structure.names["key"]
        self._keys = {name or f"keyframe {i}": i for i, name in enumerate(names)}
        with gui.add_folder("Simulation"):
            self._status = gui.add_markdown("compiling ...")
            self._playing = gui.add_checkbox("Play", initial_value=playing)
            self._speed = gui.add_slider("Speed", 0.05, _FASTEST, 0.05, 1.0)
            step = gui.add_button("Step")
            reset = gui.add_button("Reset")
            self._key = None
            if self._keys:
                self._key = gui.add_dropdown("Keyframe", ("none", *self._keys))
                self._key.on_update(self._on_reset)
            self._contacts = gui.add_checkbox("Contacts", initial_value=False)
            self._forces = gui.add_checkbox("Forces", initial_value=False)
        step.on_click(self._on_step)
        reset.on_click(self._on_reset)

    def _on_step(self, _: Any) -> None:
        self._single = True

    def _on_reset(self, _: Any) -> None:
        self._reset = True

    def _add_sliders(self, gui: Any) -> list[Any]:
        s = self._model.structure
        if not s.nu:
            return []
        begin = np.asarray(self._start.ctrl[0], float)
        known = np.concatenate([begin[None], np.asarray(self._model.key_ctrl, float)])
        reach = np.maximum(1, 2 * np.abs(known).max(axis=0))
        ranges = np.asarray(self._model.actuator_ctrlrange, float)
        limited = np.asarray(s.actuator_ctrllimited, bool) & (ranges[:, 0] < ranges[:, 1])
        found = []
        with gui.add_folder("Controls"):
            for i, name in enumerate(s.names["actuator"]):
                low, high = ranges[i] if limited[i] else (-reach[i], reach[i])
                value = float(np.clip(begin[i], low, high))
                label = name or f"actuator {i}"
                found.append(gui.add_slider(label, low, high, (high - low) / 200, value))
        return found

    def _make_draggable(self, handle: Any, body: int) -> None:
        @handle.on_drag
        async def _(event: Any) -> None:  # async: viser keeps these in order
            world = event.instance_index or 0
            offset = self._scene.offset[world]
            if event.phase == "end":
                self._pull = NO_PULL
                return
            point = self._pull.point
            if event.phase == "start":
                turn = quat.to_mat(np.asarray(self._seen.xquat[world, body], float))
                held = np.asarray(event.start_position) - offset
                point = turn.T @ (held - np.asarray(self._seen.xpos[world, body], float))
            target = np.asarray(event.end_position) - offset
            self._pull = Pull(
                np.array(world, np.int32), np.array(body, np.int32), np.asarray(point), target
            )

    def tick(self, elapsed: float) -> None:
        """Lets the worlds run for `elapsed` seconds of wall time, and shows them."""
        if self._reset:
            self._reset, self._owed = False, 0.0
            self._batch = self._from_start()
        n = self._steps(elapsed)
        ctrl = np.asarray([slider.value for slider in self._sliders], self._start.ctrl.dtype)
        begin = time.perf_counter()
        count = np.array(n, np.int32)
        self._batch, seen = advance(self._model, self._batch, ctrl, self._pull, count)
        self._seen = jax.device_get(seen)
        if n:
            cost = (time.perf_counter() - begin) / n
            self._cost = cost if not self._cost or cost < self._cost else 0.5 * (self._cost + cost)
        self._scene.show(self._seen, contacts=self._contacts.value, forces=self._forces.value)
        self._tell(n, elapsed)

    def _steps(self, elapsed: float) -> int:
        """Number of steps that are due; steps that cannot be computed in time are dropped."""
        single, self._single = self._single, False
        if not self._playing.value:
            self._owed = 0.0
            return int(single)
        step = float(self._model.opt.timestep)
        self._owed += elapsed * self._speed.value
        wanted = int(self._owed / step)
        possible = int(_SHARE * max(elapsed, _TICK) / self._cost) if self._cost else 1
        if wanted > max(1, possible):
            self._owed = 0.0
            return max(1, possible)
        self._owed -= wanted * step
        return wanted

    def _from_start(self) -> Data:
        key = self._keys.get(self._key.value) if self._key is not None else None
        if key is None:
            return self._start
        found = jax.jit(jax.vmap(lambda data: reset_data(self._model, data, key)))(self._start)
        for slider, value in zip(self._sliders, np.asarray(found.ctrl[0]), strict=True):
            slider.value = float(np.clip(value, slider.min, slider.max))
        return found

    def _tell(self, n: int, elapsed: float) -> None:
        rate = n * float(self._model.opt.timestep) / max(elapsed, 1e-6)
        self._rate = 0.9 * self._rate + 0.1 * rate
        touching = int(np.sum(self._seen.touching))
        counts = np.asarray(self._batch.warning).sum(axis=0)
        warned = ", ".join(kind.name for kind in WarningType if counts[kind])
        lines = [
            f"time {float(np.max(self._seen.time)):.2f} s",
            f"{self._rate:.2f} x real time",
            f"{touching} contacts",
        ]
        text = "  \n".join([*lines, *([f"warnings: {warned}"] if warned else [])])
        if self._status.content != text:
            self._status.content = text


@jax.jit
def _frames(model: Model, batch: Data) -> Frame:
    return jax.vmap(functools.partial(frame, model))(batch)
