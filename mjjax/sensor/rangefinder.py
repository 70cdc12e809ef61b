"""Rangefinders: rays from sites and through the pixels of cameras."""

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np

from mjjax.collision.rays.ray import Lines, cast, ray_plan, visible
from mjjax.core.enums import ObjType, ProjectionType
from mjjax.math import safe
from mjjax.math.spatial import mat3
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.sensor.position import focal_lengths
from mjjax.xla.linalg import dot, matvec3
from mjjax.xla.namespace import Array, where

# Columns of a ray's table, for each bit of the data: dist, dir, origin, point, normal, depth.
_COLUMNS = ((0,), (1, 2, 3), (4, 5, 6), (7, 8, 9), (10, 11, 12), (13,))


@dataclasses.dataclass(frozen=True)
class Rays:
    """Rays of rangefinders, those of sites first.

    Attributes:
        site: (n,) sites that shoot one ray each.
        cam: (m,) camera of each pixel.
        pixel: (m, 2) column and row of each pixel.
        body: (n + m,) body that each ray passes through.
        reading: entries of the flattened (n + m, 14) table, in the order of the readings.
    """

    site: np.ndarray
    cam: np.ndarray
    pixel: np.ndarray
    body: np.ndarray
    reading: np.ndarray


@functools.lru_cache(maxsize=64)
def _rays(s: Structure, ids: tuple[int, ...]) -> Rays:
    kind, index = s.sensor_objtype[list(ids)], s.sensor_objid[list(ids)]
    fixed = kind == ObjType.SITE
    site = index[fixed]
    pixels = [np.argwhere(np.ones(s.cam_resolution[c][::-1]))[:, ::-1] for c in index[~fixed]]
    cam = np.repeat(index[~fixed], [len(p) for p in pixels]).astype(int)
    pixel = np.concatenate([np.zeros((0, 2), int), *pixels])
    body = np.concatenate([s.site_bodyid[site], s.cam_bodyid[cam]]).astype(np.int32)
    rows_, start, next_site = [], len(site), 0
    sizes = iter([len(p) for p in pixels])
    for sensor, single in zip(ids, fixed, strict=True):
        if single:
            own = np.array([next_site])
            next_site += 1
        else:
            own = start + np.arange(next(sizes))
            start += len(own)
        bits = s.sensor_intprm[sensor, 0]
        columns = [c for k, group in enumerate(_COLUMNS) if bits >> k & 1 for c in group]
        rows_.append((14 * own[:, None] + np.array(columns, int)).ravel())
    return Rays(site, cam, pixel, body, np.concatenate(rows_))


def rangefinder(model: Model, data: Data, ids: np.ndarray) -> Array:
    """The data of rays that a sensor asks for: distance, direction, origin, point, normal, depth.

    Rays pass through geoms of the sensor's own body. Without a hit, distance and depth are -1, and
    all other data except the origin are zero.
    """
    s = model.structure
    rays = _rays(s, tuple(int(i) for i in ids))
    axis = mat3(data.site_xmat[rays.site])[:, :, 2]
    origin, direction, forward = data.site_xpos[rays.site], axis, axis
    if len(rays.cam):
        eye, look, ahead = _pixels(model, data, rays)
        origin = jnp.concatenate([origin, eye])
        direction = jnp.concatenate([direction, look])
        forward = jnp.concatenate([forward, ahead])
    plan = ray_plan(s, None, True)
    lines = Lines(origin, direction, jnp.asarray(rays.body))
    hit = cast(model, data, plan, lines, visible(model))
    met = hit.dist[:, None] >= 0
    point = origin + hit.dist[:, None] * direction
    depth = where(met[:, 0], hit.dist * dot(direction, forward), -1)
    columns = [
        hit.dist[:, None],
        where(met, direction, 0),
        origin,
        where(met, point, 0),
        hit.normal,
        depth[:, None],
    ]
    return jnp.concatenate(columns, axis=1).ravel()[rays.reading]


def _pixels(model: Model, data: Data, rays: Rays) -> tuple[Array, Array, Array]:
    """Origins, directions and optical axes (m, 3) of rays through pixels, world."""
    s, cam = model.structure, rays.cam
    real = data.cam_xpos.dtype
    resolution = jnp.asarray(s.cam_resolution[cam], real)
    centre = jnp.asarray(rays.pixel + 0.5, real)
    size = model.cam_sensorsize[cam]
    sensed = jnp.all(size != 0, axis=1, keepdims=True)
    # As in MuJoCo, the principal point counts from the corner of the image if there is a sensor
    # size.
    own = model.cam_intrinsic[cam, 2:] / where(sensed, size, 1) * resolution
    offset = centre - where(sensed, own, 0.5 * resolution)
    down = jnp.asarray([[1.0, -1.0]], real)
    flat = offset / focal_lengths(model, cam) * down
    back = -jnp.ones((len(cam), 1), real)
    look = safe.normalize(jnp.concatenate([flat, back], axis=1))[0]
    parallel = (s.cam_projection[cam] == ProjectionType.ORTHOGRAPHIC)[:, None]
    wide = (2 * centre / resolution - 1) * down * (0.5 * model.cam_fovy[cam, None])
    shift = jnp.concatenate([where(parallel, wide, 0), 0 * back], axis=1)
    look = where(parallel, jnp.concatenate([0 * flat, back], axis=1), look)
    turn = mat3(data.cam_xmat[cam])
    return data.cam_xpos[cam] + matvec3(turn, shift), matvec3(turn, look), -turn[:, :, 2]
