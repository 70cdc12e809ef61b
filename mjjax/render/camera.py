"""Cameras: their positions, and the rays through their pixels."""

import functools
from typing import Any, NamedTuple

import numpy as np

from mjjax.core.enums import ObjType, ProjectionType
from mjjax.math import safe
from mjjax.math.quat import cross
from mjjax.math.spatial import mat3
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.xla.linalg import matvec3
from mjjax.xla.namespace import Array, namespace, where

TILE = 16  # pixels along the side of the squares in which rays are ordered


class FreeCamera(NamedTuple):
    """A camera that looks at a point from somewhere around it (`mjvCamera`).

    Attributes:
        lookat: (3,) the point, world [m].
        distance: () how far the camera is from it [m].
        azimuth: () direction in which it looks, as an angle around z from x [deg].
        elevation: () direction in which it looks, as an angle above the horizon [deg]; negative if
            it looks down.
    """

    lookat: Array
    distance: Array | float
    azimuth: Array | float
    elevation: Array | float


class CameraView(NamedTuple):
    """The numbers that determine the rays of a camera.

    Attributes:
        eye: (3,) position, world [m].
        turn: (3, 3) its axes as columns: right, up, backward.
        low: (2,) left and lower edge of the image: at depth 1, or in metres if orthographic.
        high: (2,) right and upper edge.
    """

    eye: Array
    turn: Array
    low: Array
    high: Array


def free_camera(model: Model) -> FreeCamera:
    """A camera that sees the whole model (`mjv_defaultFreeCamera`)."""
    stat, look = model.stat, model.vis.global_
    return FreeCamera(stat.center, 1.5 * stat.extent, look.azimuth, look.elevation)


def camera_id(model: Model, camera: str | int) -> int:
    """Id of a camera by its name or id.

    Raises:
        KeyError: no camera has that name.
        ValueError: no camera has that id.
    """
    if isinstance(camera, str):
        return model.structure.id_of(NAME, camera)
    if not 0 <= camera < model.structure.ncam:
        raise ValueError(f"no camera {camera}: the model has {model.structure.ncam}")
    return int(camera)


NAME = ObjType.CAMERA.name.lower()


def is_orthographic(model: Model, camera: int | None) -> bool:
    """Whether a camera of the model, or the free camera for None, has parallel rays."""
    if camera is None:
        return bool(model.vis.global_.orthographic)
    return bool(model.structure.cam_projection[camera] == ProjectionType.ORTHOGRAPHIC)


def free_view(model: Model, free: FreeCamera, aspect: float) -> CameraView:
    """The view of a free camera; `aspect` is width over height of the picture."""
    given: Any = free
    xp, real = namespace(model.stat.center, *given), model.stat.center.dtype
    azimuth, elevation = (xp.asarray(x, real) * (np.pi / 180) for x in free[2:])
    x, y, level = xp.cos(azimuth), xp.sin(azimuth), xp.cos(elevation)
    ahead = xp.stack([level * x, level * y, xp.sin(elevation)])
    right = xp.stack([y, -x, xp.zeros_like(azimuth)])
    turn = xp.stack([right, cross(right, ahead), -ahead], axis=1)
    eye = xp.asarray(free.lookat, real) - xp.asarray(free.distance, real) * ahead
    high = _half(model.vis.global_.fovy, is_orthographic(model, None), aspect)
    return CameraView(eye, turn, -high, high)


def fixed_view(model: Model, data: Data, camera: int, aspect: float) -> CameraView:
    """The view of a camera of the model."""
    low, high = edges(model, camera, aspect)
    return CameraView(data.cam_xpos[camera], mat3(data.cam_xmat[camera]), low, high)


def edges(model: Model, camera: int, aspect: float) -> tuple[Array, Array]:
    """The image of a camera of the model: `CameraView.low` and `CameraView.high`.

    A camera with a sensor size sees what falls on the sensor, whatever the shape of the picture.
    """
    high = _half(model.cam_fovy[camera], is_orthographic(model, camera), aspect)
    low = -high
    if not is_orthographic(model, camera):
        size, intrinsic = model.cam_sensorsize[camera], model.cam_intrinsic[camera]
        sensed = (size != 0).all()
        focal, centre = where(sensed, intrinsic[:2], 1), intrinsic[2:]
        centre = centre * np.array([1, -1], centre.dtype)  # it counts to the right and down
        low = where(sensed, (centre - 0.5 * size) / focal, low)
        high = where(sensed, (centre + 0.5 * size) / focal, high)
    return low, high


def _half(fovy: Array, parallel: bool, aspect: float) -> Array:
    """Half width and half height of the image, with equal scales along both."""
    xp = namespace(fovy)
    half = 0.5 * fovy if parallel else xp.tan(fovy * (np.pi / 360))
    return xp.stack([half * aspect, half])


@functools.lru_cache(maxsize=8)
def pixel_order(width: int, height: int) -> np.ndarray:
    """Pixels (n,), numbered by rows, in an order that keeps neighbours in the picture together."""
    row, column = np.divmod(np.arange(width * height), width)
    keys = (column % TILE, row % TILE, column // TILE, row // TILE)
    return np.lexsort(keys)


def pixel_places(width: int, height: int, pixels: np.ndarray) -> np.ndarray:
    """Centres (n, 2) of pixels as parts of the picture, from its lower left corner.

    Pixel 0 is in the upper left corner of the picture; numbers go along its rows.
    """
    row, column = np.divmod(pixels, width)
    return np.stack([(column + 0.5) / width, 1 - (row + 0.5) / height], axis=1)


def view_rays(view: CameraView, parallel: bool, places: np.ndarray) -> tuple[Array, Array]:
    """Starts and unit directions (n, 3), world, of the rays through places (n, 2) of a picture."""
    xp, real, n = namespace(view.eye), view.eye.dtype, len(places)
    flat = view.low[None] + xp.asarray(places, real) * (view.high - view.low)[None]
    zero = xp.zeros((n, 1), real)
    turn, eye = view.turn[None], xp.broadcast_to(view.eye[None], (n, 3))
    if parallel:
        ahead = xp.broadcast_to(-view.turn[None, :, 2], (n, 3))
        return eye + matvec3(turn, xp.concatenate([flat, zero], axis=1)), ahead
    look = safe.normalize(xp.concatenate([flat, zero - 1], axis=1))[0]
    return eye, matvec3(turn, look)
