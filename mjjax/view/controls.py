"""Sliders for the controls of worlds."""

from typing import Any

import numpy as np

from mjjax.model.model import Model


class Controls:
    """A slider for every actuator, for all worlds or for one of them.

    A slider that is moved changes the worlds that are chosen then; the others keep their controls.
    """

    def __init__(self, gui: Any, model: Model, ctrl: np.ndarray):
        self._ctrl, self._world = np.array(ctrl), None
        s = model.structure
        if not s.nu:
            self._sliders, self._last = [], np.zeros(0)
            return
        begin = np.asarray(ctrl[0], float)
        known = np.concatenate([begin[None], np.asarray(model.key_ctrl, float)])
        reach = np.maximum(1, 2 * np.abs(known).max(axis=0))
        ranges = np.asarray(model.actuator_ctrlrange, float)
        limited = np.asarray(s.actuator_ctrllimited, bool) & (ranges[:, 0] < ranges[:, 1])
        self._sliders = []
        with gui.add_folder("Controls"):
            for i, name in enumerate(s.names["actuator"]):
                low, high = ranges[i] if limited[i] else (-reach[i], reach[i])
                value = float(np.clip(begin[i], low, high))
                label = name or f"actuator {i}"
                self._sliders.append(gui.add_slider(label, low, high, (high - low) / 200, value))
        self._last = self._values()

    def ctrl(self, world: int | None) -> np.ndarray:
        """The controls (nworld, nu), while the sliders belong to a world, or to all for None."""
        if world != self._world:
            self._world = world
            self._show()
        values = self._values()
        moved = values != self._last
        self._ctrl[slice(None) if world is None else world, moved] = values[moved]
        self._last = values
        return self._ctrl.copy()

    def reset(self, ctrl: np.ndarray) -> None:
        """Starts again from controls (nworld, nu)."""
        self._ctrl = np.array(ctrl)
        self._show()

    def _show(self) -> None:
        for slider, value in zip(self._sliders, self._ctrl[self._world or 0], strict=True):
            slider.value = float(np.clip(value, slider.min, slider.max))
        self._last = self._values()

    def _values(self) -> np.ndarray:
        return np.array([slider.value for slider in self._sliders])
