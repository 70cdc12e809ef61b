"""The menus from which users choose who moves the camera of their browser."""

from typing import Any

import jax
import numpy as np

from mjjax.model.model import Model
from mjjax.view.views import View, fixed, moved, set_view, view_of
from mjjax.view.world import Frame

_FREE, _NONE = "free", "none"


class Cameras:
    """Moves the views of all browsers after the cameras of the model, or after a body.

    The free camera is the user's. If it tracks a body, then not the camera moves but all worlds, so
    that the centre of mass of the body's subtree stays where the free camera looks at first. So
    users can turn the view meanwhile.
    """

    def __init__(self, server: Any, model: Model):
        self._server, self._model = server, jax.device_get(model)
        names = model.structure.names
        self._ids = {name or f"camera {i}": i for i, name in enumerate(names["camera"])}
        bodies = list(enumerate(names["body"]))[1:]  # without the world
        self._bodies = {name or f"body {i}": i for i, name in bodies}
        with server.gui.add_folder("View"):
            self._camera = server.gui.add_dropdown("Camera", (_FREE, *self._ids))
            self._track = server.gui.add_dropdown("Track", (_NONE, *self._bodies))
        self._centre = np.asarray(model.stat.center, float)
        self._tracked: tuple[int, int] | None = None  # world and body
        self._shift = np.zeros(3)
        self._left: dict[int, View] = {}  # clients' free views, while they see by another camera

    def move(self, seen: Frame, world: int, place: np.ndarray) -> np.ndarray:
        """Moves the views, and returns how far (3,) the scene has to move all worlds.

        Args:
            seen: frames of the worlds.
            world: the world whose cameras and bodies are meant.
            place: (3,) where this world is.
        """
        camera, body = self._ids.get(self._camera.value), self._bodies.get(self._track.value)
        self._track.disabled = camera is not None
        cameras = {i: client.camera for i, client in self._server.get_clients().items()}
        if camera is None:
            self._return(cameras)
        tracked = None if camera is not None or body is None else (world, body)
        if tracked != self._tracked:
            self._turn_to(tracked, cameras)
        self._shift = np.zeros(3)
        if tracked is not None:
            self._shift = self._centre - place - np.asarray(seen.subtree_com[tracked], float)
        if camera is not None:
            view = moved(fixed(self._model, seen, world, camera), place)
            for i, client in cameras.items():
                self._left.setdefault(i, view_of(client))
                set_view(client, view)
        return self._shift

    def _return(self, cameras: dict[int, Any]) -> None:
        """Gives the clients their free views back."""
        for i in self._left.keys() & cameras.keys():
            set_view(cameras[i], self._left[i])
        self._left.clear()

    def _turn_to(self, tracked: tuple[int, int] | None, cameras: dict[int, Any]) -> None:
        """Looks at the body that is tracked now; after that, lets everything stay where it is."""
        for client in cameras.values():
            view = view_of(client)
            by = -self._shift if tracked is None else self._centre - view.look_at
            set_view(client, moved(view, by))
        self._tracked = tracked
