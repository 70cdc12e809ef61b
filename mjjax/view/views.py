"""Views: where the camera of a browser is, and what it sees."""

from typing import Any, NamedTuple

import numpy as np

from mjjax.math.spatial import mat3
from mjjax.model.model import Model
from mjjax.render.camera import edges, free_camera, free_view, is_orthographic
from mjjax.view.world import Frame

_AWAY = 20.0  # from where an orthographic camera is shown, in extents of the model


class View(NamedTuple):
    """A view of a browser.

    Attributes:
        position: (3,) where the camera is [m].
        look_at: (3,) point at which it looks, around which users turn it [m].
        up: (3,) direction that is up in the picture, and around which users turn it.
        fov: vertical angle [rad].
    """

    position: np.ndarray
    look_at: np.ndarray
    up: np.ndarray
    fov: float


def free(model: Model, reach: float) -> View:
    """The view of MuJoCo's free camera, from farther away by the reach of many worlds."""
    look = free_camera(model)
    ahead = -np.asarray(free_view(model, look, 1.0).turn, float)[:, 2]
    at = np.asarray(look.lookat, float)
    fov = float(np.radians(np.asarray(model.vis.global_.fovy)))
    return View(at - (float(look.distance) + reach) * ahead, at, np.array([0.0, 0, 1]), fov)


def fixed(model: Model, seen: Frame, world: int, camera: int) -> View:
    """The view of a camera of the model in a world that is at the origin.

    The middle of the picture is where the camera points, also if its `principal` says otherwise. A
    browser has no parallel rays: an orthographic camera is shown by one that is far behind it.
    """
    eye = np.asarray(seen.cam_xpos[world, camera], float)
    turn = np.asarray(mat3(seen.cam_xmat[world, camera]), float)
    low, high = edges(model, camera, 1.0)
    half, extent = 0.5 * float(high[1] - low[1]), float(model.stat.extent)
    away = _AWAY * extent if is_orthographic(model, camera) else 0.0
    fov = 2 * float(np.arctan(half / (away or 1.0)))
    back, up = turn[:, 2], turn[:, 1]
    return View(eye + away * back, eye - extent * back, up, fov)


def view_of(camera: Any) -> View:
    """The view of a client of viser."""
    position, look_at = np.array(camera.position, float), np.array(camera.look_at, float)
    return View(position, look_at, np.array(camera.up_direction, float), camera.fov)


def set_view(camera: Any, view: View) -> None:
    """Gives a client of viser a view."""
    with camera.client.atomic():
        camera.position = view.position
        camera.look_at = view.look_at
        camera.up_direction = view.up
        camera.fov = view.fov


def moved(view: View, by: np.ndarray) -> View:
    """The same view from elsewhere."""
    return view._replace(position=view.position + by, look_at=view.look_at + by)
