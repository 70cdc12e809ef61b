"""Light on surfaces: the model of OpenGL's fixed pipeline, which MuJoCo draws with."""

from typing import NamedTuple

import numpy as np

from mjjax.core.enums import LightType
from mjjax.math import safe
from mjjax.math.quat import cross
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.render.camera import CameraView
from mjjax.xla.linalg import dot
from mjjax.xla.namespace import Array, namespace, where

_WITHOUT_LIGHTS = 0.3  # ambient light of a scene that has no lights
_WIDEST = 80.0  # largest half angle of the shadows of a spotlight [deg]
_ASIDE = 0.01  # square of the sine by which a light's direction must differ from the x axis
_LEAST = 1e-6  # cosine: a power of it has a derivative
_SHININESS = 128


class Lights(NamedTuple):
    """Traced numbers of the lights that are on; the headlight is the last.

    Attributes:
        pos: (m, 3) position, world [m].
        dir: (m, 3) direction, unit, world.
        colours: (m, 3, 3) ambient, diffuse and specular colour.
        attenuation: (m, 3) of 1, the distance and its square.
        cutoff: (m,) half angle of the cone [deg].
        exponent: (m,) exponent by which the light falls off within the cone.
    """

    pos: Array
    dir: Array
    colours: Array
    attenuation: Array
    cutoff: Array
    exponent: Array


class Surface(NamedTuple):
    """Points of surfaces.

    Attributes:
        point: (n, 3) position, world [m].
        normal: (n, 3) outward unit normal, world.
        toward: (n, 3) unit direction to the camera.
        rgb: (n, 3) colour.
        emission, specular, shininess: (n,) of the material.
    """

    point: Array
    normal: Array
    toward: Array
    rgb: Array
    emission: Array
    specular: Array
    shininess: Array


def lit_lights(s: Structure) -> np.ndarray:
    """Ids of the lights that are drawn: those that are on and are not image lights."""
    return np.flatnonzero(s.light_active & (s.light_type != LightType.IMAGE))


def light_kinds(model: Model) -> np.ndarray:
    """`LightType` of the lights in `lights`."""
    s = model.structure
    kinds = s.light_type[lit_lights(s)]
    head = [int(LightType.DIRECTIONAL)] * bool(model.vis.headlight.active)
    return np.concatenate([kinds, np.array(head, int)])


def lights(model: Model, data: Data, view: CameraView) -> Lights:
    """The lights of a world, and the headlight of the camera that sees it."""
    s, xp = model.structure, namespace(model.light_ambient, view.eye)
    ids = lit_lights(s)
    colours = xp.stack([model.light_ambient, model.light_diffuse, model.light_specular], axis=1)
    found = Lights(
        data.light_xpos[ids],
        data.light_xdir[ids],
        colours[ids],
        model.light_attenuation[ids],
        model.light_cutoff[ids],
        model.light_exponent[ids],
    )
    head = model.vis.headlight
    if not head.active:
        return found
    own = xp.stack([head.ambient, head.diffuse, head.specular])
    nothing = xp.zeros_like(own[0, 0])
    last = Lights(view.eye, -view.turn[:, 2], own, xp.zeros_like(view.eye), nothing, nothing)
    return Lights(*(xp.concatenate([a, b[None]]) for a, b in zip(found, last, strict=True)))


def toward_lights(shining: Lights, kinds: np.ndarray, point: Array) -> tuple[Array, Array]:
    """Unit directions (n, m, 3) from points to lights, and distances (n, m)."""
    xp, away = namespace(point), shining.pos[None] - point[:, None]
    unit, dist = safe.normalize(away)
    dist = dist[..., 0]
    parallel = (kinds == LightType.DIRECTIONAL)[None]
    back = xp.broadcast_to(-shining.dir[None], away.shape)
    unit = where(parallel[..., None], back, unit)
    return unit, where(parallel, xp.inf, dist)


def colour(
    at: Surface,
    shining: Lights,
    kinds: np.ndarray,
    unit: Array,
    dist: Array,
    free: Array,
    casting: np.ndarray,
) -> Array:
    """Colours (n, 3) of surfaces, not below 0.

    A colour is a sum over lights, plus emission. A light adds ambient + diffuse (n . l) + specular
    (n . h)^(128 shininess), times attenuation and cone, where h is halfway between the directions
    to light and camera. MuJoCo paints a picture for each light with shadows, and one picture for
    all other lights and emission, and adds these pictures. Each of them is at most 1, so each of
    these parts is clipped here too.

    Args:
        at: the points.
        shining: m lights.
        kinds: (m,) `LightType` of the lights.
        unit: (n, m, 3) directions to the lights.
        dist: (n, m) distances from the lights [m].
        free: (n, m) whether nothing stands between a point and a light.
        casting: which lights have shadows.
    """
    xp, lambert = namespace(at.point), dot(at.normal[:, None], unit)
    half = safe.normalize(unit + at.toward[:, None])[0]
    shine = xp.maximum(dot(at.normal[:, None], half), _LEAST)
    shine = where(lambert > 0, _power(shine, _SHININESS * at.shininess[:, None]), 0)
    strength = where(free, _strength(shining, kinds, unit, dist), 0)
    ambient, diffuse, specular = (shining.colours[None, :, k] for k in range(3))
    matte = (ambient + xp.maximum(lambert, 0)[..., None] * diffuse) * at.rgb[:, None]
    gloss = (at.specular[:, None] * shine)[..., None] * specular
    each = strength[..., None] * (matte + gloss)
    rest = np.setdiff1d(np.arange(len(kinds)), casting)
    own = at.emission if len(kinds) else at.emission + _WITHOUT_LIGHTS
    plain = xp.sum(each[:, rest], axis=1) + own[:, None] * at.rgb
    return xp.minimum(plain, 1) + xp.sum(xp.minimum(each[:, casting], 1), axis=1)


def _strength(shining: Lights, kinds: np.ndarray, unit: Array, dist: Array) -> Array:
    """Attenuation and cone (n, m) of lights; 1 for directional lights."""
    xp, parallel = namespace(unit), (kinds == LightType.DIRECTIONAL)[None]
    dist = where(parallel, 1, dist)
    a, b, c = (shining.attenuation[None, :, k] for k in range(3))
    fall = a + b * dist + c * dist * dist
    fall = 1 / where(parallel | (fall <= 0), 1, fall)
    along = -dot(unit, shining.dir[None])
    cone = _power(xp.maximum(along, _LEAST), shining.exponent[None])
    within = along >= xp.cos(shining.cutoff * (np.pi / 180))[None]
    cone = where(within, cone, 0)
    spot = (kinds == LightType.SPOT)[None] & (shining.cutoff[None] <= 90)
    return where(parallel, 1, where(spot, cone, 1) * fall)


def _power(x: Array, exponent: Array) -> Array:
    """Powers of positive numbers. In NumPy, these two functions take a seventh of its `power`."""
    xp = namespace(x)
    return xp.exp2(exponent * xp.log2(x))


def shadow_reach(
    model: Model, shining: Lights, kinds: np.ndarray, point: Array, dist: Array
) -> Array:
    """How far before points (n, 3) something may stand and shade them from lights (n, m) [m].

    MuJoCo keeps, for each light, a square picture of the depths that the light sees. A directional
    light sees from its position on, `shadowclip` extents of the model to each side. A spotlight
    sees an angle of `shadowscale` times its cutoff. No shadow falls outside of these pictures; the
    reach is 0 there.

    Args:
        model: model.
        shining: m lights.
        kinds: (m,) `LightType` of the lights.
        point: points, world [m].
        dist: (n, m) distances from the lights [m].
    """
    xp, ahead = namespace(point), shining.dir
    other = where(_square_of_sine(ahead) > _ASIDE, _axis(ahead, 0, -1), _axis(ahead, 1, 1))
    up = safe.normalize(cross(ahead, other))[0]
    away = point[:, None] - shining.pos[None]
    aside = xp.maximum(abs(dot(away, up[None])), abs(dot(away, cross(ahead, up)[None])))
    deep = dot(away, ahead[None])
    parallel = (kinds == LightType.DIRECTIONAL)[None]
    half = xp.minimum(shining.cutoff * model.vis.map.shadowscale, _WIDEST) * (np.pi / 180)
    wide = where(parallel, model.vis.map.shadowclip * model.stat.extent, deep * xp.tan(half)[None])
    return where((deep > 0) & (aside < wide), where(parallel, deep, dist), 0)


def _square_of_sine(ahead: Array) -> Array:
    """Square (m, 1) of the sine of the angle between directions and the x axis."""
    return ahead[:, 1:2] ** 2 + ahead[:, 2:] ** 2


def _axis(like: Array, axis: int, sign: int) -> Array:
    """A signed axis, once for each of some vectors (m, 3)."""
    return namespace(like).broadcast_to(sign * np.eye(3, dtype=like.dtype)[axis], like.shape)
