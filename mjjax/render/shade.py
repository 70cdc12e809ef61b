"""How surfaces look that rays meet: light, shadows, textures, what is behind glass and in mirrors.

The functions take numpy or JAX arrays. A `Tracer` tells them what stands between points and lights.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from mjjax.collision.rays.ray import Hit
from mjjax.math import safe
from mjjax.math.spatial import mat3
from mjjax.render.light import Surface, colour, shadow_reach, toward_lights
from mjjax.render.paint import on_triangles, texture_colour
from mjjax.render.scene import OPAQUE, Scene, Tracer
from mjjax.render.sky import haze_over, sky_distance, sky_radius
from mjjax.xla.linalg import dot, matvec3, matvec3_t
from mjjax.xla.namespace import Array, held, namespace, on_some, rows, where

LAYERS = 8  # largest number of surfaces that a pixel shows through one another
_OFF = 3e-4  # part of the distance by which the next ray starts off a surface, against rounding
_GRAZING = 1e-3  # cosine below which a surface looks no flatter


class Ray(NamedTuple):
    """Rays that add to the colours of pixels.

    Attributes:
        start, along: (n, 3) their starts and unit directions.
        weight: (n,) how much their colours count.
        mirrored: (n,) reflectance of the mirror that they come from, 0 if there is none. It scales
            the colours of surfaces, but not their highlights. A mirror shows no sky, no shadows and
            no other mirror.
        passed: (n,) length of the way from the camera to their starts [m].
    """

    start: Array
    along: Array
    weight: Array
    mirrored: Array
    passed: Array


class Met(NamedTuple):
    """What rays met.

    Attributes:
        hit: the geoms, -1 where a ray meets the sky or nothing.
        face: (n,) triangles of `mesh_face`, -1 for none.
        away: (n,) distance from the start of the ray [m]; infinite if it meets no geom.
    """

    hit: Hit
    face: Array
    away: Array


def first_rays(start: Array, along: Array) -> Ray:
    """The rays of pixels."""
    one = namespace(along).ones_like(along[:, 0])
    return Ray(start, along, one, 0 * one, 0 * one)


def meet(scene: Scene, tracer: Tracer, ray: Ray) -> Met:
    """The first surfaces on rays, up to the far plane."""
    hit, face = tracer.first(ray.start, ray.along, scene.seen)
    met = (hit.dist >= 0) & (hit.dist * dot(ray.along, scene.ahead[None]) <= scene.far)
    hit = Hit(
        where(met, hit.dist, 0),
        where(met, hit.geomid, -1),
        where(met[:, None], hit.normal, 0),
    )
    return Met(hit, face, where(met, hit.dist, np.inf))


def depth(scene: Scene, ray: Ray, hit: Hit) -> Array:
    """Distances (n,) of hits along the optical axis; the far plane where there is none [m]."""
    return where(hit.geomid >= 0, hit.dist * dot(ray.along, scene.ahead[None]), scene.far)


def surface(scene: Scene, tracer: Tracer, ray: Ray, met: Met) -> tuple[Array, Ray]:
    """Colours (n, 3) that the surfaces that rays met, or the sky, add; and how rays go on."""
    xp, model, look, hit = namespace(ray.along), scene.model, scene.paint, met.hit
    radius = sky_radius(scene.far)
    if not scene.parallel:  # the sky hides what is behind it
        behind = ray.passed + met.away > sky_distance(model.structure, ray.along, radius)
        behind = behind & (ray.mirrored == 0)
        hit = hit._replace(geomid=where(behind, -1, hit.geomid))
    if not model.structure.ngeom:
        size = xp.broadcast_to(scene.pixel, hit.dist.shape)
        plain = texture_colour(model, hit.geomid, ray.start, ray.along, size, None, scene.pool)
        return plain, ray._replace(weight=0 * ray.weight)
    there, geom = hit.geomid >= 0, xp.maximum(hit.geomid, 0)
    own, at, up = _look(scene, ray, hit, met.face)
    alpha = where(there, rows(look.rgba[:, 3], geom), 1)
    glass = alpha < OPAQUE
    shade = _shade(scene, tracer, ray, at, hit, glass)
    rgb = own * where(there[:, None], shade, 1)
    # As in MuJoCo, glass has no back and is painted twice.
    back = dot(hit.normal, ray.along) > 0
    alpha = where(glass, where(back, 0, 1 - (1 - alpha) ** 2), 1)
    counts = where(there | (ray.mirrored == 0), ray.weight * alpha, 0)
    clear = xp.ones_like(ray.weight)
    if scene.haze is not None:
        away = where(there, ray.passed + hit.dist, np.inf)
        thick = where(glass | (ray.mirrored > 0), 0, haze_over(scene.haze, ray.along, away, radius))
        clear = 1 - thick
        rgb = clear[:, None] * rgb + thick[:, None] * scene.haze.rgb[None]
    # Of a box, only the upper face is a mirror.
    reflects = there & (ray.mirrored == 0) & (dot(up, hit.normal) > 0.5)
    mirror = where(reflects, rows(look.mirror, geom), 0)
    return counts[:, None] * rgb, _following(ray, hit, glass, alpha, mirror, clear)


def _look(scene: Scene, ray: Ray, hit: Hit, face: Array) -> tuple[Array, Surface, Array]:
    """Colours of textures (n, 3), what light falls on, and z axes (n, 3) of geoms, at hits."""
    xp, model, look = namespace(ray.along), scene.model, scene.paint
    there, geom = hit.geomid >= 0, xp.maximum(hit.geomid, 0)
    point = ray.start + hit.dist[:, None] * ray.along
    turn, normal = mat3(rows(scene.data.geom_xmat, geom)), hit.normal
    local = matvec3_t(turn, point - rows(scene.data.geom_xpos, geom))
    triangles = None
    if len(scene.plan.meshes):
        triangles = on_some(partial(on_triangles, model), face >= 0, geom, face, local)
        smooth = safe.normalize(matvec3(turn, triangles.normal))[0]
        normal = where(xp.any(triangles.normal != 0, axis=1)[:, None], smooth, normal)
    slope = where(there, xp.maximum(abs(dot(hit.normal, ray.along)), _GRAZING), 1)
    size = xp.broadcast_to(scene.pixel, hit.dist.shape)
    size = where(there & (not scene.parallel), size * (ray.passed + hit.dist), size) / slope
    toward_eye = -ray.along
    if scene.parallel:  # as in MuJoCo, highlights are still seen from an eye at the camera
        toward_eye = safe.normalize(scene.view.eye[None] - point)[0]
    own = texture_colour(model, hit.geomid, local, ray.along, size, triangles, scene.pool)
    at = Surface(
        point,
        normal,
        toward_eye,
        rows(look.rgba[:, :3], geom) * where(ray.mirrored > 0, ray.mirrored, 1)[:, None],
        rows(look.emission, geom),
        rows(look.specular, geom),
        rows(look.shininess, geom),
    )
    return own, at, turn[:, :, 2]


def _following(ray: Ray, hit: Hit, glass: Array, alpha: Array, mirror: Array, clear: Array) -> Ray:
    """The rays behind transparent surfaces, or from mirrors."""
    turned = ray.along - 2 * dot(ray.along, hit.normal)[:, None] * hit.normal
    way = hit.dist * (1 + where(glass, _OFF, -_OFF).astype(hit.dist.dtype))
    return Ray(
        ray.start + way[:, None] * ray.along,
        where(glass[:, None], ray.along, turned),
        ray.weight * where(glass, 1 - alpha, where(mirror > 0, clear, 0)),
        where(glass, ray.mirrored, mirror),
        ray.passed + way,
    )


def _shade(scene: Scene, tracer: Tracer, ray: Ray, at: Surface, hit: Hit, glass: Array) -> Array:
    """Colours (n, 3) of surfaces under the lights; glass and what a mirror shows has no shadows."""
    unit, dist = toward_lights(scene.shining, scene.kinds, at.point)
    free = namespace(dist).ones(dist.shape, bool)
    if len(scene.casting):
        bare = (hit.geomid >= 0) & ~glass & (ray.mirrored == 0)
        free = ~_shadows(scene, tracer, at, hit, unit, dist, bare)
    return colour(at, scene.shining, scene.kinds, unit, dist, free, scene.casting)


def _shadows(
    scene: Scene, tracer: Tracer, at: Surface, hit: Hit, unit: Array, dist: Array, bare: Array
) -> Array:
    """Whether something stands between lights and points, where these are `bare` (n, m)."""
    xp, chosen = namespace(dist), scene.casting
    shining, kinds = type(scene.shining)(*(x[chosen] for x in scene.shining)), scene.kinds[chosen]
    point, normal, toward, away, unit, dist = (
        held(x)
        for x in (at.point, hit.normal, at.toward, hit.dist, unit[:, chosen], dist[:, chosen])
    )
    reach = shadow_reach(scene.model, shining, kinds, point, dist)
    # A light without ambient colour leaves the far side of a surface dark anyway.
    tinted = xp.any(shining.colours[:, 0] > 0, axis=1)[None]
    faces = tinted | (dot(held(at.normal)[:, None], unit) > 0)
    reach = where(faces & bare[:, None], held(reach), 0)
    outside = where(dot(normal, toward) < 0, -1, 1).astype(point.dtype)
    point = point + (_OFF * away * outside)[:, None] * normal
    start = xp.broadcast_to(point[:, None], unit.shape).reshape(-1, 3)
    dark = tracer.blocked(start, unit.reshape(-1, 3), reach.reshape(-1), scene.coloured)
    # The columns of all lights; those that cast no shadow take the last one.
    place = np.full(len(scene.kinds), -1)
    place[chosen] = np.arange(len(chosen))
    none = xp.zeros((len(reach), 1), bool)
    return xp.concatenate([dark.reshape(reach.shape), none], axis=1)[:, place]
