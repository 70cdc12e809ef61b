"""Pictures of a world: colours, depth and geoms, pixel by pixel along rays."""

import functools
import logging
from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np
from jax.core import Tracer

from mjjax.core.constants import NGROUP
from mjjax.core.representation import represent
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.pipeline.boundary import check_shapes
from mjjax.render import embree
from mjjax.render.camera import FreeCamera, camera_id, pixel_order, pixel_places
from mjjax.render.drawn import SEEN, Shown
from mjjax.render.host import host_scene, on_host
from mjjax.render.paint import textures_to_read
from mjjax.render.scene import Sight
from mjjax.render.texture import texture_pool
from mjjax.render.traced import traced
from mjjax.xla.namespace import Array


class Picture(NamedTuple):
    """A picture of what a camera sees; its first row is at the top.

    Attributes:
        rgb: (height, width, 3) colours from 0 to 1.
        depth: (height, width) distance along the optical axis [m]. Where there is no geom, it is
            `model.vis.map.zfar * model.stat.extent`, beyond which nothing is seen.
        segmentation: (height, width, 2) int32, id and `ObjType` of the geom, site or tendon; -1 for
            none.
    """

    rgb: Array
    depth: Array
    segmentation: Array

    __repr__ = represent


def render(
    model: Model,
    data: Data,
    *,
    camera: str | int | FreeCamera | None = None,
    width: int = 320,
    height: int = 240,
    geomgroup: Sequence[bool] = SEEN,
    sitegroup: Sequence[bool] = SEEN,
    tendongroup: Sequence[bool] = SEEN,
) -> Picture:
    """Draws a picture without OpenGL, with one ray per pixel (MuJoCo's `Renderer`).

    Lighting follows MuJoCo's formulas: ambient, diffuse and specular light, attenuation, cones and
    shadows. So do materials, textures, mirrors, the sky and haze. The picture shows geoms, sites
    and spatial tendons, but no skins, flexible bodies or fog. What is behind a transparent geom
    shines through. A solid (but not a mesh) is invisible to a camera inside it.

    A plain call compiles nothing and returns NumPy arrays. It runs on the host, where Embree (the
    extra `mjjax[render]`) intersects meshes and height fields. Under `jit`, `vmap` and derivatives,
    over worlds or models, mjjax's own rays are part of the program. The two pictures agree up to
    rounding at edges, except that SDF geoms show their mesh on the host, as in MuJoCo.

    The derivative of `depth` is that of `ray`, which is exact for the geom that is seen. The
    derivative of `rgb` is that of the shading of the nearest surface; shadows, and what is seen
    through the surface or mirrored in it, have none.

    Args:
        model: model.
        data: data after `forward` (poses of geoms, cameras and lights).
        camera: name or id of a camera, or a free camera; by default one that sees the whole model
            (`free_camera`).
        width: columns of the picture.
        height: rows of the picture.
        geomgroup: six flags that say which groups of geoms are shown; by default the first three.
        sitegroup: the same for sites.
        tendongroup: the same for tendons.

    Raises:
        KeyError: no camera has that name.
        ValueError: no camera has that id, the picture has no pixels, or the data are a batch.
    """
    check_shapes("render", {"model": model, "data": data})
    if width < 1 or height < 1:
        raise ValueError(f"a picture of {width} x {height} pixels is empty")
    free = camera if isinstance(camera, FreeCamera) else None
    fixed = camera_id(model, camera) if isinstance(camera, str | int) else None
    groups = (geomgroup, sitegroup, tendongroup)
    if any(len(group) != NGROUP for group in groups):
        raise ValueError(f"geomgroup, sitegroup and tendongroup have {NGROUP} flags each")
    shown = Shown(*(tuple(bool(x) for x in group) for group in groups))
    sight = Sight(fixed, int(width), int(height), shown)
    if can_be_on_host(model, data, free, sight):
        order = pixel_order(sight.width, sight.height)
        places = pixel_places(sight.width, sight.height, order)
        found = on_host(host_scene(model, data, free, sight), places)
        return Picture(*(arranged(x, order, (sight.height, sight.width)) for x in found))
    used = textures_to_read(model.structure)
    texels = texture_pool(model.structure, used).pixel if used else None
    return Picture(*traced(model, data, texels, free, sight))


def can_be_on_host(model: Model, data: Data, free: FreeCamera | None, sight: Sight) -> bool:
    """Whether a picture is made outside of programs; says so once if Embree is missing for it."""
    if any(isinstance(x, Tracer) for x in jax.tree.leaves((model, data, free))):
        return False
    s = model.structure
    seen = np.array(sight.shown.geoms)[np.clip(s.geom_group, 0, NGROUP - 1)]
    if embree.is_there() or not np.isin(s.geom_type[seen], embree.OF_TRIANGLES).any():
        return True
    say_that_embree_is_missing()
    return False


def arranged(values: np.ndarray, order: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Values (n, ...) of pixels in an order, as an image (height, width, ...)."""
    image = np.empty_like(values, order="C")
    image[order] = values
    return image.reshape(*shape, *values.shape[1:])


@functools.cache
def say_that_embree_is_missing() -> None:
    logging.getLogger("mjjax").warning(
        "pictures of meshes take minutes without Embree: pip install 'mjjax[render]'"
    )
