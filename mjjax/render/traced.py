"""Pictures inside of programs: our own rays and trees of boxes, in JAX.

`jit`, `vmap` and derivatives work. Many pixels, of one world or of a batch, are traced together.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.collision.rays.ray import Hit, Lines, RayPlan, cast, cast_faces
from mjjax.core.profile import stage
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.render.camera import FreeCamera, pixel_order, pixel_places, view_rays
from mjjax.render.paint import textures_to_read
from mjjax.render.scene import Scene, Sight, scene_of
from mjjax.render.shade import LAYERS, Ray, depth, first_rays, meet, surface
from mjjax.render.texture import texture_pool
from mjjax.xla.loops import while_loop
from mjjax.xla.namespace import Array

_WORK = 2**21  # rays times geoms that are tried together in one world
_FEWEST, _MOST = 256, 1024  # bounds of the number of rays that are tried together


class _Traced(NamedTuple):
    """The tracer of programs.

    Attributes:
        model, data: the world as it is drawn.
        plan: geoms that rays may meet.
    """

    model: Model
    data: Data
    plan: RayPlan

    def first(self, start: Array, along: Array, seen: Array) -> tuple[Hit, Array]:
        return cast_faces(self.model, self.data, self.plan, _lines(start, along), seen)

    def blocked(self, start: Array, along: Array, reach: Array, seen: Array) -> Array:
        model, data = lax.stop_gradient((self.model, self.data))
        found = cast(model, data, self.plan, _lines(start, along), seen)
        return (found.dist >= 0) & (found.dist < reach)


def _lines(start: Array, along: Array) -> Lines:
    return Lines(start, along, jnp.full(start.shape[0], -1, jnp.int32))


@functools.partial(jax.jit, static_argnums=(4,))
@stage
def traced(
    model: Model, data: Data, texels: Array | None, free: FreeCamera | None, sight: Sight
) -> tuple[Array, Array, Array]:
    """Colours (height, width, 3), depths and elements (height, width, 2) of a picture.

    Args:
        model: model.
        data: data with the poses of geoms, sites, cameras and lights.
        texels: pixels of the textures, an argument of the program because they may be many.
        free: the free camera, None for its default.
        sight: what the picture shows.
    """
    pool = None
    if texels is not None:
        used = textures_to_read(model.structure)
        pool = texture_pool(model.structure, used)._replace(pixel=texels)
    scene = scene_of(model, data, free, sight, pool)
    order = pixel_order(sight.width, sight.height)
    places = pixel_places(sight.width, sight.height, order)
    rays = view_rays(scene.view, scene.parallel, places)
    found = _in_pieces(functools.partial(_look, scene), rays, _piece(scene))
    back = np.argsort(order)
    shape = sight.height, sight.width
    rgb, deep, geom = (x[back].reshape(*shape, *x.shape[1:]) for x in found)
    element = np.concatenate([scene.element, np.full((1, 2), -1, np.int32)])
    return rgb, deep, jnp.asarray(element)[geom]  # entry -1 is the last


def _piece(scene: Scene) -> int:
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


def _look(scene: Scene, start: Array, along: Array) -> tuple[Array, Array, Array]:
    """Colours (n, 3), depths (n,) and geoms (n,) of rays."""
    ray, tracer = first_rays(start, along), _Traced(scene.model, scene.data, scene.plan)
    met = meet(scene, tracer, ray)
    rgb, following = surface(scene, tracer, ray, met)
    rgb = rgb + _beyond(scene, lax.stop_gradient(following))
    return jnp.clip(rgb, 0, 1), depth(scene, ray, met.hit), met.hit.geomid


def _beyond(scene: Scene, ray: Ray) -> Array:
    """Colours (n, 3) through transparent surfaces and from mirrors, without derivative."""
    parts = ("model", "data", "paint", "shining", "view", "far", "haze", "pixel")
    scene = scene._replace(**{x: lax.stop_gradient(getattr(scene, x)) for x in parts})
    tracer = _Traced(scene.model, scene.data, scene.plan)

    def body(state: tuple[Array, Array, Ray]) -> tuple[Array, Array, Ray]:
        count, rgb, ray = state
        own, following = surface(scene, tracer, ray, meet(scene, tracer, ray))
        return count + 1, rgb + own, following

    first = (jnp.int32(0), jnp.zeros_like(ray.start), ray)
    more = while_loop(lambda x: (x[0] < LAYERS) & jnp.any(x[2].weight > 0), body, first)
    return more[1]
