"""`Renderer` without OpenGL: pictures by `mjjax.render`."""

import functools
import logging
from types import TracebackType
from typing import Any

import numpy as np

import mjjax
from mjjax.mujoco.data import MjData
from mjjax.mujoco.model import MjModel
from mjjax.mujoco.names import TYPES
from mjjax.render.drawn import SEEN

_VIS: Any = TYPES["mjtVisFlag"]
# What MuJoCo shows unless a program says otherwise.
_BY_DEFAULT = "TEXTURE TENDON RANGEFINDER PERTOBJ STATIC SKIN FLEXEDGE FLEXSKIN".split()


class MjvOption:
    """What pictures show (`mujoco.MjvOption`).

    Pictures of mjjax follow the groups of geoms, sites and tendons. A warning names flags that were
    changed and that they do not follow.

    Attributes:
        flags: one for each `mjtVisFlag`.
        geomgroup: six flags, which groups of geoms are seen.
        sitegroup: which groups of sites are seen.
        tendongroup: which groups of tendons are seen.
    """

    def __init__(self) -> None:
        self.flags = np.zeros(int(_VIS.mjNVISFLAG), np.uint8)
        self.flags[[_VIS[f"mjVIS_{name}"] for name in _BY_DEFAULT]] = 1
        self.frame = self.label = 0
        self.geomgroup, self.sitegroup, self.tendongroup = (np.array(SEEN, np.uint8) for _ in "123")
        self.jointgroup, self.actuatorgroup, self.skingroup, self.flexgroup = (
            np.array(SEEN, np.uint8) for _ in "1234"
        )

    def groups(self) -> dict[str, Any]:
        """The groups that are seen, for `mjjax.render`; a warning names what it does not follow."""
        for name in self._unheard():
            _say_that_it_is_not_drawn(name)
        return {
            name: getattr(self, name).astype(bool)
            for name in ("geomgroup", "sitegroup", "tendongroup")
        }

    def _unheard(self) -> list[str]:
        usual = MjvOption()
        changed = [_VIS(i).name for i in np.flatnonzero(self.flags != usual.flags)]
        return changed + [name for name in ("frame", "label") if getattr(self, name)]


@functools.cache
def _say_that_it_is_not_drawn(name: str) -> None:
    logging.getLogger("mjjax").warning(
        "pictures of mjjax do not follow MjvOption's %s; MuJoCo's Renderer does", name
    )


class MjvScene:
    """What a `Renderer` of MuJoCo draws (`mujoco.MjvScene`); programs name it as a type."""

    def __init__(self, *args: Any, **kwargs: Any):
        raise NotImplementedError(_NO_SCENE)


_NO_SCENE = "mjjax has no scene to draw into; use MuJoCo's Renderer, or do not modify scenes"


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

    @property
    def scene(self) -> MjvScene:
        """Scenes are not modified here.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(_NO_SCENE)

    def update_scene(self, data: MjData, camera: Any = -1, scene_option: Any = None) -> None:
        """Takes a state; `camera` is a name or an id, -1 for the camera that sees the whole model.

        Args:
            data: data as after `mj_forward`.
            camera: name or id of a camera.
            scene_option: what the picture shows.
        """
        shown = scene_option.groups() if scene_option is not None else {}
        chosen = None if camera == -1 else camera
        self._picture = mjjax.render(
            self.model.native(),
            data.native(),
            camera=chosen,
            width=self.width,
            height=self.height,
            **shown,
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
