"""`Renderer` without OpenGL: pictures by `mjjax.render`."""

from types import TracebackType
from typing import Any

import numpy as np

import mjjax
from mjjax.mujoco.data import MjData
from mjjax.mujoco.model import MjModel


class Renderer:
    """Makes pictures of a world (`mujoco.Renderer`), by rays and not by OpenGL.

    Args:
        model: the model.
        height: rows of the picture.
        width: columns of the picture.
        max_geom: without meaning here.
    """

    def __init__(self, model: MjModel, height: int = 240, width: int = 320, max_geom: int = 10000):
        del max_geom
        self.model, self.height, self.width = model, height, width
        self._kind = "rgb"
        self._picture: Any = None

    def update_scene(self, data: MjData, camera: Any = -1, scene_option: Any = None) -> None:
        """Takes a state; `camera` is a name or an id, -1 for the camera that sees the whole model.

        Args:
            data: data as after `mj_forward`.
            camera: name or id of a camera.
            scene_option: without meaning here.
        """
        del scene_option
        chosen = None if camera == -1 else camera
        self._picture = mjjax.render(
            self.model.native(), data.native(), camera=chosen, width=self.width, height=self.height
        )

    def render(self, *, out: np.ndarray | None = None) -> np.ndarray:
        """The picture: (height, width, 3) bytes, depths [m], or ids and types of what is seen."""
        if self._picture is None:
            raise RuntimeError("call update_scene(data) before render()")
        if self._kind == "rgb":
            found = np.round(255 * np.asarray(self._picture.rgb)).astype(np.uint8)
        else:
            found = np.asarray(getattr(self._picture, self._kind))
        if out is None:
            return found
        out[...] = found
        return out

    def enable_depth_rendering(self) -> None:
        """Pictures are depths from now on."""
        self._kind = "depth"

    def disable_depth_rendering(self) -> None:
        """Pictures are colours from now on."""
        self._kind = "rgb"

    def enable_segmentation_rendering(self) -> None:
        """Pictures are ids and types of elements from now on."""
        self._kind = "segmentation"

    def disable_segmentation_rendering(self) -> None:
        """Pictures are colours from now on."""
        self._kind = "rgb"

    def close(self) -> None:
        """Does nothing: there is no OpenGL context."""

    def __enter__(self) -> "Renderer":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()
