"""A hand that pulls on a body which a user drags with the mouse."""

from typing import Any

import numpy as np

from mjjax.math import quat
from mjjax.view.scene import Moment
from mjjax.view.world import NO_PULL, Pull


class Hand:
    """The mouse, as a pull on one of the worlds.

    Attributes:
        pull: how it pulls now.
    """

    def __init__(self) -> None:
        self.pull = NO_PULL
        self._moment: Moment | None = None
        self._offset = np.zeros((1, 3))

    def watch(self, moment: Moment, offset: np.ndarray) -> None:
        """Says what the scene shows, and the place (nworld, 3) of each world in it."""
        self._moment, self._offset = moment, offset + moment.shift

    def hold(self, body: int, handle: Any) -> None:
        """Makes an object draggable that shows a body."""

        @handle.on_drag
        async def _(event: Any) -> None:  # async: viser keeps these in order
            self._drag(event, body)

    def _drag(self, event: Any, body: int) -> None:
        if event.phase == "end" or self._moment is None:
            self.pull = NO_PULL
            return
        world = event.instance_index or 0
        point = self.pull.point
        if event.phase == "start":
            seen = self._moment.seen
            turn = quat.to_mat(np.asarray(seen.xquat[world, body], float))
            held = np.asarray(event.start_position) - self._offset[world]
            point = turn.T @ (held - np.asarray(seen.xpos[world, body], float))
        target = np.asarray(event.end_position) - self._offset[world]
        self.pull = Pull(
            np.array(world, np.int32), np.array(body, np.int32), np.asarray(point), target
        )
