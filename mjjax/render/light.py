"""Light on surfaces: the model of OpenGL's fixed pipeline, which MuJoCo draws with."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from mjjax.core.enums import LightType
from mjjax.math import safe
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.render.camera import CameraView
from mjjax.xla.linalg import dot
from mjjax.xla.namespace import Array, where

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
    s = model.structure
    ids = lit_lights(s)
    colours = jnp.stack([model.light_ambient, model.light_diffuse, model.light_specular], axis=1)
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
    own = jnp.stack([head.ambient, head.diffuse, head.specular])
    nothing = jnp.zeros_like(own[0, 0])
    last = Lights(view.eye, -view.turn[:, 2], own, jnp.zeros_like(view.eye), nothing, nothing)
    return Lights(*(jnp.concatenate([a, b[None]]) for a, b in zip(found, last, strict=True)))


def toward_lights(shining: Lights, kinds: np.ndarray, point: Array) -> tuple[Array, Array]:
    """Unit directions (n, m, 3) from points to lights, and distances (n, m)."""
    away = shining.pos[None] - point[:, None]
    unit, dist = safe.normalize(away)
    dist = dist[..., 0]
    parallel = (kinds == LightType.DIRECTIONAL)[None]
    back = jnp.broadcast_to(-shining.dir[None], away.shape)
    unit = where(parallel[..., None], back, unit)
    return unit, where(parallel, jnp.inf, dist)


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
    lambert = dot(at.normal[:, None], unit)
    half = safe.normalize(unit + at.toward[:, None])[0]
    shine = jnp.maximum(dot(at.normal[:, None], half), _LEAST)
    shine = where(lambert > 0, shine ** (_SHININESS * at.shininess[:, None]), 0)
    strength = where(free, _strength(shining, kinds, unit, dist), 0)
    ambient, diffuse, specular = (shining.colours[None, :, k] for k in range(3))
    matte = (ambient + jnp.maximum(lambert, 0)[..., None] * diffuse) * at.rgb[:, None]
    gloss = (at.specular[:, None] * shine)[..., None] * specular
    each = strength[..., None] * (matte + gloss)
    rest = np.setdiff1d(np.arange(len(kinds)), casting)
    plain = jnp.sum(each[:, rest], axis=1) + at.emission[:, None] * at.rgb
    return jnp.minimum(plain, 1) + jnp.sum(jnp.minimum(each[:, casting], 1), axis=1)


def _strength(shining: Lights, kinds: np.ndarray, unit: Array, dist: Array) -> Array:
    """Attenuation and cone (n, m) of lights; 1 for directional lights."""
    parallel = (kinds == LightType.DIRECTIONAL)[None]
    dist = where(parallel, 1, dist)
    a, b, c = (shining.attenuation[None, :, k] for k in range(3))
    fall = a + b * dist + c * dist * dist
    fall = 1 / where(parallel | (fall <= 0), 1, fall)
    along = -dot(unit, shining.dir[None])
    cone = jnp.maximum(along, _LEAST) ** shining.exponent[None]
    within = along >= jnp.cos(shining.cutoff * (np.pi / 180))[None]
    cone = where(within, cone, 0)
    spot = (kinds == LightType.SPOT)[None] & (shining.cutoff[None] <= 90)
    return where(parallel, 1, where(spot, cone, 1) * fall)
