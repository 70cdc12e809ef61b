"""A window in the browser that runs worlds, with the switches for them."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mjjax.envs.environment import Environment
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.view.cameras import Cameras
from mjjax.view.hand import Hand
from mjjax.view.looks import Looks
from mjjax.view.running import Episodes, Running, Worlds
from mjjax.view.saving import Saving
from mjjax.view.scene import Moment, Scene
from mjjax.view.server import started
from mjjax.view.switches import Switches
from mjjax.view.world import Frame

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
    _run(Worlds(model, data), port, spacing, playing)


def watch(
    env: Environment,
    policy: Callable[[Any], Any],
    *,
    nworld: int = 1,
    seed: int = 0,
    port: int = 8080,
    spacing: float | None = None,
) -> None:
    """Shows a policy at work in a browser, at http://127.0.0.1:PORT, until interrupted.

    The window is that of `serve`, with the return so far in place of sliders. Dragging a body pulls
    on it, so you can see what the policy does about that. When an episode ends, the next one
    starts. The function needs the extra `view`.

    Args:
        env: environment.
        policy: function from an observation to an action in -1 to 1.
        nworld: number of worlds.
        seed: seed of the starts.
        port: port of the server.
        spacing: distance between worlds [m]; by default they just fit beside each other.

    Raises:
        ImportError: viser is not installed.
    """
    _run(Episodes(env, policy, nworld, seed), port, spacing, playing=True)


def _run(worlds: Running, port: int, spacing: float | None, playing: bool) -> None:
    with started(port) as server:
        viewer = Viewer(server, worlds, spacing=spacing, playing=playing)
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
        worlds: Running,
        *,
        spacing: float | None = None,
        playing: bool = True,
    ):
        self._server, self._worlds, model = server, worlds, worlds.model
        self._owed, self._cost, self._rate = 0.0, 0.0, 0.0
        self._hand, s = Hand(), model.structure
        self._scene = Scene(server, model, worlds.nworld, spacing, self._hand.hold)
        # so that users see something while steps are compiled
        self._scene.show(Moment(worlds.frames()))
        keys = s.names["key"] if worlds.keyframes else ()
        self._switches = Switches(server.gui, keys, worlds.nworld, playing)
        self._cameras = Cameras(server, model)
        self._looks = Looks(server.gui, s)
        self._saving = Saving(server.gui, model, spacing)
        worlds.add_controls(server.gui)

    def tick(self, elapsed: float) -> None:
        """Lets the worlds run for `elapsed` seconds of wall time, and shows them."""
        if self._switches.take_reset():
            self._owed = 0.0
            self._worlds.reset(self._switches.key)
        n, world = self._steps(elapsed), self._switches.world
        begin = time.perf_counter()
        seen = self._worlds.advance(world, self._hand.pull, n)
        if n:
            cost = (time.perf_counter() - begin) / n
            self._cost = cost if not self._cost or cost < self._cost else 0.5 * (self._cost + cost)
        self._show(seen, world or 0)
        self._tell(seen, world or 0, n, elapsed)

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
        step = self._worlds.interval
        self._owed += elapsed * self._switches.speed
        wanted = int(self._owed / step)
        possible = int(_SHARE * max(elapsed, _TICK) / self._cost) if self._cost else 1
        if wanted > max(1, possible):
            self._owed = 0.0
            return max(1, possible)
        self._owed -= wanted * step
        return wanted

    def _tell(self, seen: Frame, world: int, n: int, elapsed: float) -> None:
        rate = n * self._worlds.interval / max(elapsed, 1e-6)
        self._rate = 0.9 * self._rate + 0.1 * rate
        lines = [
            f"time {float(np.max(seen.time)):.2f} s",
            f"{self._rate:.2f} x real time",
            f"{int(np.sum(seen.touching))} contacts",
            *self._worlds.notes(world),
            *self._saving.notes(),
        ]
        text = "  \n".join(lines)
        if self._switches.status.content != text:
            self._switches.status.content = text
