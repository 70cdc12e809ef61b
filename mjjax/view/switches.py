"""The switches that run the worlds: play, speed, step, reset, keyframe."""

from collections.abc import Sequence
from typing import Any

_FASTEST = 4.0
_ALL = "all"


class Switches:
    """The switches. Callbacks of viser run in its own threads; they only set what a tick takes.

    Attributes:
        status: text above the switches, with `content`.
    """

    def __init__(self, gui: Any, keyframes: Sequence[str], nworld: int, playing: bool):
        self._reset, self._single = False, False
        self._keys = {name or f"keyframe {i}": i for i, name in enumerate(keyframes)}
        self._key, self._world = None, None
        with gui.add_folder("Simulation"):
            self.status = gui.add_markdown("compiling ...")
            self._playing = gui.add_checkbox("Play", initial_value=playing)
            self._speed = gui.add_slider("Speed", 0.05, _FASTEST, 0.05, 1.0)
            step = gui.add_button("Step")
            reset = gui.add_button("Reset")
            if self._keys:
                self._key = gui.add_dropdown("Keyframe", ("none", *self._keys))
                self._key.on_update(self._on_reset)
            if nworld > 1:
                worlds = tuple(str(i) for i in range(nworld))
                hint = "the world to which sliders, cameras and the tracked body belong"
                self._world = gui.add_dropdown("World", (_ALL, *worlds), hint=hint)
        step.on_click(self._on_step)
        reset.on_click(self._on_reset)

    @property
    def playing(self) -> bool:
        """Whether the worlds run."""
        return self._playing.value

    @property
    def speed(self) -> float:
        """How fast they should run, in multiples of real time."""
        return self._speed.value

    @property
    def key(self) -> int | None:
        """The keyframe from which they start."""
        return None if self._key is None else self._keys.get(self._key.value)

    @property
    def world(self) -> int | None:
        """The world that is chosen, None for all."""
        return None if self._world is None or self._world.value == _ALL else int(self._world.value)

    def take_reset(self) -> bool:
        """Whether the worlds should start again, said once."""
        reset, self._reset = self._reset, False
        return reset

    def take_step(self) -> bool:
        """Whether worlds that do not run should make a step, said once."""
        single, self._single = self._single, False
        return single

    def _on_step(self, _: Any) -> None:
        self._single = True

    def _on_reset(self, _: Any) -> None:
        self._reset = True
