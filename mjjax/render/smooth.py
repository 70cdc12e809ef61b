"""Pictures for people: with smooth edges, from the state of a world alone, on the host."""

import numpy as np

from mjjax.dynamics.camlight import camlight
from mjjax.dynamics.inertia import com_pos
from mjjax.dynamics.kinematics import kinematics
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.render.camera import FreeCamera, camera_id, pixel_order, pixel_places
from mjjax.render.drawn import Shown
from mjjax.render.host import host_scene, on_host, to_host
from mjjax.render.picture import arranged, can_be_on_host, render
from mjjax.render.scene import Sight

_FINER = 2  # rays along the side of a pixel at an edge
_STEP = 1 / 8  # between neighbouring colours, from which on there is an edge


def posed(model: Model, data: Data) -> Data:
    """The world with the poses that a picture needs, in NumPy, of which nothing is compiled."""
    model, data = to_host(model, data)
    return camlight(model, com_pos(model, kinematics(model, data)))


def smooth_picture(
    model: Model, data: Data, camera: str | int | FreeCamera | None, width: int, height: int
) -> np.ndarray:
    """A picture (height, width, 3) with values from 0 to 255, of a world in any state.

    As with OpenGL's multisampling, pixels at edges have the mean of several rays, and all others
    have one ray.

    Args:
        model: model.
        data: data with `qpos`, `mocap_pos` and `mocap_quat`.
        camera: as for `render`.
        width: columns of the picture.
        height: rows of the picture.
    """
    data = posed(model, data)
    free = camera if isinstance(camera, FreeCamera) else None
    fixed = camera_id(model, camera) if isinstance(camera, str | int) else None
    sight = Sight(fixed, width, height, Shown())
    if can_be_on_host(model, data, free, sight):
        rgb = _smooth(model, data, free, sight)
    else:
        seen = render(model, data, camera=camera, width=_FINER * width, height=_FINER * height)
        rgb = np.asarray(seen.rgb).reshape(height, _FINER, width, _FINER, 3).mean(axis=(1, 3))
    return (255 * rgb + 0.5).astype(np.uint8)


def _smooth(model: Model, data: Data, free: FreeCamera | None, sight: Sight) -> np.ndarray:
    """Colours (height, width, 3) with smooth edges."""
    shape, order = (sight.height, sight.width), pixel_order(sight.width, sight.height)
    scene, places = (
        host_scene(model, data, free, sight),
        pixel_places(sight.width, sight.height, order),
    )
    rgb, _, element = on_host(scene, places)
    near = _edges(arranged(rgb, order, shape), arranged(element, order, shape)).reshape(-1)[order]
    part = (np.arange(_FINER) + 0.5) / _FINER - 0.5
    shift = np.stack(np.meshgrid(part, part), axis=-1).reshape(-1, 2) / shape[::-1]
    finer = places[near][:, None] + shift
    rgb[near] = on_host(scene, finer.reshape(-1, 2))[0].reshape(*finer.shape[:2], 3).mean(axis=1)
    return arranged(rgb, order, shape)


def _edges(rgb: np.ndarray, element: np.ndarray) -> np.ndarray:
    """Pixels (height, width) that differ clearly from a neighbour."""
    near = np.zeros(rgb.shape[:2], bool)
    for axis in (0, 1):
        other = (np.diff(element, axis=axis) != 0).any(axis=2)
        other |= (abs(np.diff(rgb, axis=axis)) > _STEP).any(axis=2)
        first, last = [slice(None)] * 2, [slice(None)] * 2
        first[axis], last[axis] = slice(None, -1), slice(1, None)
        near[tuple(first)] |= other
        near[tuple(last)] |= other
    return near
