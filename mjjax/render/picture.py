"""Pictures of a world: colours, depth and geoms, pixel by pixel along rays."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.collision.rays.ray import Hit, Lines, RayPlan, cast, cast_faces, ray_plan
from mjjax.collision.rays.ray_shapes import SOLIDS
from mjjax.core.constants import NGROUP
from mjjax.core.profile import stage
from mjjax.core.representation import represent
from mjjax.math import safe
from mjjax.math.spatial import mat3
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.render import camera as cameras
from mjjax.render.camera import CameraView, FreeCamera
from mjjax.render.drawn import SEEN, Shown, drawn
from mjjax.render.light import Lights, Surface, colour, light_kinds, lights, lit_lights
from mjjax.render.light import toward_lights as toward
from mjjax.render.paint import Paint, on_triangles, paint, texture_colour, textures_to_read
from mjjax.render.texture import Pool, texture_pool
from mjjax.xla.linalg import dot, matvec3, matvec3_t
from mjjax.xla.loops import while_loop
from mjjax.xla.namespace import Array, where

_LAYERS = 8  # largest number of surfaces that a pixel shows through one another
_OFF = 3e-4  # part of the distance by which the next ray starts off a surface, against rounding
_GRAZING = 1e-3  # cosine below which a surface looks no flatter
_WORK = 2**21  # rays times geoms that are tried together in one world
_FEWEST, _MOST = 256, 1024  # bounds of the number of rays that are tried together


class Picture(NamedTuple):
    """A picture of what a camera sees; its first row is at the top.

    Attributes:
        rgb: (height, width, 3) colours from 0 to 1.
        depth: (height, width) distance along the optical axis [m]. Where there is no geom it is
            `model.vis.map.zfar * model.stat.extent`, beyond which nothing is seen.
        segmentation: (height, width, 2) int32, id and `ObjType` of the geom, site or tendon; -1 for
            none.
    """

    rgb: Array
    depth: Array
    segmentation: Array

    __repr__ = represent


class _Scene(NamedTuple):
    """The values that all rays of a picture share.

    Attributes:
        model, data: the world as it is drawn, in which everything is a geom.
        plan: geoms that rays may meet.
        coloured, seen: (ngeom,) geoms that can be seen; `seen` leaves out those around the camera.
        paint: how geoms look.
        shining, kinds, casting: the lights, their types, and which of them cast shadows.
        eye: (3,) position of the camera, world [m].
        far: () depth beyond which nothing is seen [m].
        ahead: (3,) optical axis.
        pixel: () width of a pixel at distance 1, or everywhere if `parallel` [m].
        parallel: whether the rays are parallel.
        pool: pixels of textures.
    """

    model: Model
    data: Data
    plan: RayPlan
    coloured: Array
    seen: Array
    paint: Paint
    shining: Lights
    kinds: np.ndarray
    casting: np.ndarray
    eye: Array
    far: Array
    ahead: Array
    pixel: Array
    parallel: bool
    pool: Pool | None


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
    """Makes a picture without OpenGL, by one ray per pixel (MuJoCo's `Renderer`).

    Light follows MuJoCo's formulas: ambient, diffuse and specular light, attenuation, cones and
    shadows. So do materials, textures, mirrors and the sky. The picture shows geoms, sites and
    spatial tendons, but no skins, fog and haze. A transparent geom shows what is behind it. If the
    camera is inside a solid (not a mesh), the picture does not show this solid. `jit` and `vmap`
    work over worlds and models.

    The derivative of `depth` is that of `ray`, which is exact for the geom that is seen. The
    derivative of `rgb` is that of the shading of the nearest surface; shadows, and what is seen
    through or in the surface, have none.

    Args:
        model: model.
        data: data as after `forward` (poses of geoms, cameras and lights).
        camera: name or id of a camera, or a free camera. None takes the camera that sees the whole
            model (`free_camera`).
        width: columns of the picture.
        height: rows of the picture.
        geomgroup: six flags, which groups of geoms are seen; by default the first three.
        sitegroup: which groups of sites are seen.
        tendongroup: which groups of tendons are seen.

    Raises:
        KeyError: no camera has that name.
        ValueError: there is no such camera, or the picture has no pixels.
    """
    if width < 1 or height < 1:
        raise ValueError(f"a picture of {width} x {height} pixels is empty")
    free = camera if isinstance(camera, FreeCamera) else None
    fixed = cameras.camera_id(model, camera) if isinstance(camera, str | int) else None
    groups = (geomgroup, sitegroup, tendongroup)
    if any(len(group) != NGROUP for group in groups):
        raise ValueError(f"geomgroup, sitegroup and tendongroup have {NGROUP} flags each")
    shown = Shown(*(tuple(bool(x) for x in group) for group in groups))
    pool = _pool(model.structure)
    texels = None if pool is None else pool.pixel  # an argument of the program, as it may be large
    return _render(model, data, texels, free, fixed, int(width), int(height), shown)


def _pool(s: Structure) -> Pool | None:
    """The pixels of all textures that a picture can show; None if there are none."""
    used = textures_to_read(s)
    return texture_pool(s, used) if used else None


@functools.partial(jax.jit, static_argnums=(4, 5, 6, 7))
@stage
def _render(
    model: Model,
    data: Data,
    texels: Array | None,
    free: FreeCamera | None,
    fixed: int | None,
    width: int,
    height: int,
    shown: Shown,
) -> Picture:
    aspect = width / height
    if fixed is not None:
        view = cameras.fixed_view(model, data, fixed, aspect)
    else:
        view = cameras.free_view(model, free or cameras.free_camera(model), aspect)
    parallel = cameras.is_orthographic(model, fixed)
    order = cameras.pixel_order(width, height)
    everything = drawn(model, data, shown)
    shining = lights(model, data, view)
    pool = _pool(model.structure)
    pool = None if pool is None or texels is None else pool._replace(pixel=texels)
    shape = (width, height)
    scene = _scene(everything.model, everything.data, view, shining, parallel, shape, pool)
    rays = cameras.pixel_rays(view, parallel, width, height, order)
    found = _in_pieces(functools.partial(_look, scene), rays, _piece(scene))
    back = np.argsort(order)
    rgb, depth, geom = (x[back].reshape(height, width, *x.shape[1:]) for x in found)
    element = np.concatenate([everything.element, np.full((1, 2), -1, np.int32)])
    return Picture(rgb, depth, jnp.asarray(element)[geom])  # entry -1 is the last


def _scene(
    model: Model,
    data: Data,
    view: CameraView,
    shining: Lights,
    parallel: bool,
    shape: tuple[int, int],
    pool: Pool | None,
) -> _Scene:
    s = model.structure
    plan, look = ray_plan(s, SEEN, True), paint(model)
    coloured = look.rgba[:, 3] != 0
    seen = coloured if parallel else coloured & ~_around(model, data, plan, view.eye)
    real = view.eye.dtype
    return _Scene(
        model,
        data,
        plan,
        coloured,
        seen,
        look,
        shining,
        light_kinds(model),
        np.flatnonzero(s.light_castshadow[lit_lights(s)]),
        view.eye,
        model.vis.map.zfar * model.stat.extent,
        -view.turn[:, 2],
        jnp.max((view.high - view.low) / jnp.asarray(shape, real)),
        parallel,
        pool,
    )


def _around(model: Model, data: Data, plan: RayPlan, eye: Array) -> Array:
    """Solid geoms (ngeom,) that contain a point."""
    found = jnp.zeros(model.structure.ngeom, bool)
    for kind, ids in plan.solids:
        if kind in SOLIDS:
            turn = jnp.swapaxes(mat3(data.geom_xmat[ids]), 1, 2)
            local = matvec3(turn, eye[None] - data.geom_xpos[ids])
            up = jnp.broadcast_to(jnp.asarray([[0, 0, 1]], local.dtype), local.shape)
            inside = SOLIDS[kind](local, up, model.geom_size[ids])
            within = inside.meets & (inside.enter < 0) & (inside.leave > 0)
            found = found.at[ids].set(within)
    return found


def _piece(scene: _Scene) -> int:
    """Number of rays that are followed together; few neighbours where a ray may take long."""
    if len(scene.plan.meshes):
        return _FEWEST
    return int(np.clip(_WORK // max(1, len(scene.seen)), _FEWEST, _MOST))


def _in_pieces(function: Callable[..., Any], arrays: Any, size: int) -> Any:
    """A function of arrays with rows (n, ...), applied to pieces of `size` rows."""
    n = arrays[0].shape[0]
    if n <= size:
        return function(*arrays)
    count = -(-n // size)
    index = np.minimum(np.arange(count * size), n - 1).reshape(count, size)
    pieces = lax.map(lambda x: function(*x), tuple(x[index] for x in arrays))
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[:n], pieces)


class _Ray(NamedTuple):
    """Rays that add to the colours of pixels.

    Attributes:
        start, along: (n, 3) their starts and unit directions.
        weight: (n,) how much their colours count.
        mirrored: (n,) whether they come from a mirror; a mirror shows no sky and no other mirror.
    """

    start: Array
    along: Array
    weight: Array
    mirrored: Array


def _look(scene: _Scene, start: Array, along: Array) -> tuple[Array, Array, Array]:
    """Colours (n, 3), depths (n,) and geoms (n,) of rays."""
    one = jnp.ones_like(start[:, 0])
    ray = _Ray(start, along, one, one < 0)
    hit, face = _first(scene, ray)
    depth = where(hit.geomid >= 0, hit.dist * dot(along, scene.ahead[None]), scene.far)
    rgb, following = _surface(scene, ray, hit, face)
    rgb = rgb + _beyond(scene, lax.stop_gradient(following))
    return jnp.clip(rgb, 0, 1), depth, hit.geomid


def _first(scene: _Scene, ray: _Ray) -> tuple[Hit, Array]:
    """The first hits of rays, up to the far plane, and their triangles."""
    lines = Lines(ray.start, ray.along, jnp.full(ray.weight.shape, -1, jnp.int32))
    hit, face = cast_faces(scene.model, scene.data, scene.plan, lines, scene.seen)
    met = (hit.dist >= 0) & (hit.dist * dot(ray.along, scene.ahead[None]) <= scene.far)
    hit = Hit(
        where(met, hit.dist, 0),
        where(met, hit.geomid, -1),
        where(met[:, None], hit.normal, 0),
    )
    return hit, face


def _beyond(scene: _Scene, ray: _Ray) -> Array:
    """Colours (n, 3) through transparent surfaces and from mirrors, without derivative."""
    scene = scene._replace(**{
        name: lax.stop_gradient(getattr(scene, name))
        for name in ("model", "data", "paint", "shining", "far", "ahead", "pixel")
    })  # fmt: skip

    def body(state: tuple[Array, Array, _Ray]) -> tuple[Array, Array, _Ray]:
        count, rgb, ray = state
        own, following = _surface(scene, ray, *_first(scene, ray))
        return count + 1, rgb + own, following

    first = (jnp.int32(0), jnp.zeros_like(ray.start), ray)
    more = while_loop(lambda x: (x[0] < _LAYERS) & jnp.any(x[2].weight > 0), body, first)
    return more[1]


def _following(ray: _Ray, hit: Hit, alpha: Array, mirror: Array) -> _Ray:
    """The rays behind transparent surfaces, or from mirrors."""
    through = alpha < 1
    turned = ray.along - 2 * dot(ray.along, hit.normal)[:, None] * hit.normal
    off = where(through, 1 + _OFF, 1 - _OFF)
    reflected = where(ray.mirrored, 0, mirror)
    return _Ray(
        ray.start + (hit.dist * off)[:, None] * ray.along,
        where(through[:, None], ray.along, turned),
        ray.weight * where(through, 1 - alpha, reflected),
        ray.mirrored | ~through,
    )


def _surface(scene: _Scene, ray: _Ray, hit: Hit, face: Array) -> tuple[Array, _Ray]:
    """Colours (n, 3) that the surfaces that rays met, or the sky, add; and how rays go on."""
    model, data, look = scene.model, scene.data, scene.paint
    size = jnp.broadcast_to(scene.pixel, hit.dist.shape)
    if not model.structure.ngeom:
        plain = texture_colour(model, hit.geomid, ray.start, ray.along, size, None, scene.pool)
        return plain, ray._replace(weight=0 * ray.weight)
    met, geom = hit.geomid >= 0, jnp.maximum(hit.geomid, 0)
    point = ray.start + hit.dist[:, None] * ray.along
    turn, normal = mat3(data.geom_xmat[geom]), hit.normal
    local = matvec3_t(turn, point - data.geom_xpos[geom])
    triangles = None
    if len(scene.plan.meshes):
        triangles = on_triangles(model, geom, face, local)
        smooth = safe.normalize(matvec3(turn, triangles.normal))[0]
        normal = where(jnp.any(triangles.normal != 0, axis=1)[:, None], smooth, normal)
    slope = where(met, jnp.maximum(jnp.abs(dot(hit.normal, ray.along)), _GRAZING), 1)
    size = where(met & (not scene.parallel), size * hit.dist, size) / safe.sqrt(slope)
    toward_eye = -ray.along
    if scene.parallel:  # as in MuJoCo, highlights are still seen from an eye at the camera
        toward_eye = safe.normalize(scene.eye[None] - point)[0]
    at = Surface(
        point,
        normal,
        toward_eye,
        look.rgba[geom, :3],
        look.emission[geom],
        look.specular[geom],
        look.shininess[geom],
    )
    shade = where(met[:, None], _shade(scene, at, hit), 1)
    own = texture_colour(model, hit.geomid, local, ray.along, size, triangles, scene.pool)
    rgb = own * shade
    alpha = where(met, look.rgba[geom, 3], 1)
    counts = where(met | ~ray.mirrored, ray.weight * alpha, 0)
    following = _following(ray, hit, alpha, where(met, look.mirror[geom], 0))
    return counts[:, None] * rgb, following


def _shade(scene: _Scene, at: Surface, hit: Hit) -> Array:
    """Colours (n, 3) of surfaces under the lights."""
    unit, dist = toward(scene.shining, scene.kinds, at.point)
    free = jnp.ones(dist.shape, bool)
    if len(scene.casting):
        dark = _shadows(scene, at, hit, unit[:, scene.casting], dist[:, scene.casting])
        free = free.at[:, scene.casting].set(~dark)
    return colour(at, scene.shining, scene.kinds, unit, dist, free, scene.casting)


def _shadows(scene: _Scene, at: Surface, hit: Hit, unit: Array, dist: Array) -> Array:
    """Whether something stands between points and lights (n, m)."""
    point, normal, toward, away, unit, dist = lax.stop_gradient(
        (at.point, hit.normal, at.toward, hit.dist, unit, dist)
    )
    outside = where(dot(normal, toward) < 0, -1, 1).astype(point.dtype)
    point = point + (_OFF * away * outside)[:, None] * normal
    start = jnp.broadcast_to(point[:, None], unit.shape).reshape(-1, 3)
    lines = Lines(start, unit.reshape(-1, 3), jnp.full(start.shape[0], -1, jnp.int32))
    model, data = lax.stop_gradient((scene.model, scene.data))
    found = cast(model, data, scene.plan, lines, scene.coloured).dist.reshape(dist.shape)
    return (found >= 0) & (found < dist)
