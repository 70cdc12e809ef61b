"""The sky and the haze before it, as far as they hide what stands behind them.

MuJoCo draws the sky on a cylinder around the camera. Over the first endless plane it draws haze on
a cone that rises from the plane to the height of the camera, where it meets the sky. The haze is
clear at both ends and opaque in between.
"""

from typing import NamedTuple

import numpy as np

from mjjax.core.enums import GeomType
from mjjax.math import safe
from mjjax.math.spatial import mat3
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.render.paint import sky
from mjjax.xla.linalg import dot, matvec3_t
from mjjax.xla.namespace import Array, namespace, where

_RADIUS = 0.7  # of the cylinder of the sky, and its half height, in depths of the far plane


class Haze(NamedTuple):
    """The haze over a plane.

    Attributes:
        turn: (3, 3) axes of the plane as columns, world.
        height: () of the camera above the plane, in radii of the sky; at most 0 if there is no
            haze.
        wide: () part of the radius of the sky over which the haze extends.
        rgb: (3,) its colour.
    """

    turn: Array
    height: Array
    wide: Array
    rgb: Array


def haze(model: Model, data: Data, seen: Array, eye: Array, radius: Array) -> Haze | None:
    """The haze of a world; None if no world of this structure has any.

    Args:
        model: model.
        data: data with `geom_xpos` and `geom_xmat`.
        seen: (ngeom,) geoms that can be seen.
        eye: (3,) position of the camera, world [m].
        radius: () of the sky [m].
    """
    planes = np.flatnonzero(model.structure.geom_type == GeomType.PLANE)
    if sky(model.structure) < 0 or not len(planes):
        return None
    xp = namespace(eye)
    endless = seen[planes] & xp.all(model.geom_size[planes, :2] == 0, axis=1)
    first = xp.asarray(planes)[xp.argmax(endless)]
    turn = mat3(data.geom_xmat[first])
    height = dot(eye - data.geom_xpos[first], turn[:, 2]) / radius
    height = where(xp.any(endless), height, 0)
    return Haze(turn, height, model.vis.map.haze, model.vis.rgba.haze[:3])


def sky_radius(far: Array) -> Array:
    """Radius of the cylinder of the sky [m], by the depth of the far plane [m]."""
    return _RADIUS * far


def sky_distance(s: Structure, along: Array, radius: Array) -> Array:
    """How far the sky (n,) is from the camera in some directions (n, 3) [m]."""
    xp = namespace(along)
    if sky(s) < 0:
        return xp.full(along.shape[:1], np.inf, along.dtype)
    return radius / xp.maximum(safe.norm(along[:, :2]), abs(along[:, 2]))


def haze_over(found: Haze, along: Array, dist: Array, radius: Array) -> Array:
    """How opaque (n,) the haze is before what rays from the camera meet.

    In radii of the sky and above the plane's foot of the camera, the cone has the radius
    1 - r (1 - h) at the part h of the camera's height.

    Args:
        found: the haze.
        along: (n, 3) unit directions of the rays, world.
        dist: (n,) distances of what they meet; infinite for the sky [m].
        radius: () of the sky [m].
    """
    xp, r = namespace(along), found.wide
    local = matvec3_t(found.turn[None], along)
    across, down = safe.norm(local[:, :2]), -local[:, 2]
    there = found.height > 0
    height = where(there, found.height, 1)
    away = 1 / (across + r * down / height)  # along the ray, in radii of the sky
    part = 1 - away * down / height
    # The haze is opaque where the cone meets the diagonal of its cross-section.
    angle = xp.arctan2(xp.ones_like(r), r)
    top = 0.5**0.5 * r * xp.sin(angle) / xp.sin(0.75 * np.pi - angle)
    opaque = where(part < top, part / top, (1 - part) / (1 - top))
    meets = there & (part >= 0) & (part <= 1) & (away * radius < dist)
    return where(meets, opaque, 0)
