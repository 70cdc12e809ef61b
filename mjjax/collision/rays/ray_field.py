"""Rays against SDF geoms, followed in steps as long as the distance from the surface.

As in MuJoCo, distances are taken without their sign, so that a ray goes on to the far side if a
step ends below the surface. A ray that has not arrived after 40 steps meets nothing.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.collision.fields.field import octree, octree_slope
from mjjax.collision.rays.ray_hfield import FieldHit
from mjjax.collision.rays.ray_shapes import shape_hit
from mjjax.collision.shape.shapes import Shape, pools_of
from mjjax.core.enums import GeomType
from mjjax.math import safe
from mjjax.model.model import Model
from mjjax.xla.linalg import dot
from mjjax.xla.loops import fori_loop
from mjjax.xla.namespace import Array, where

_STEPS = 40
_NEAR, _NEAR_SINGLE = 1e-7, 1e-6  # distance below which a ray has arrived [m]
_FLOATS = ("cell_box", "cell_value")


def field_hits(model: Model, geoms: np.ndarray, point: Array, direction: Array) -> FieldHit:
    """First hits of rays (n, m) with SDF geoms (m,); distances are in metres, as in MuJoCo.

    A distance has the derivative of the first point of the ray on the surface.

    Args:
        model: model.
        geoms: SDF geoms.
        point: (n, m, 3) points where the rays start, in the frames of the geoms [m].
        direction: (n, m, 3) directions of the rays.
    """
    kind = jnp.full((1, len(geoms)), int(GeomType.SDF), jnp.int32)
    mesh = jnp.asarray(model.structure.geom_dataid[geoms], jnp.int32)[None]
    nothing = jnp.zeros((1, len(geoms), 3), point.dtype)
    shape = Shape(nothing, nothing, nothing, kind, mesh, jnp.zeros_like(mesh))
    pools, unit = pools_of(model, ()), safe.normalize(direction)[0]
    start, along = lax.stop_gradient((point, unit))
    still = pools._replace(**lax.stop_gradient({k: getattr(pools, k) for k in _FLOATS}))
    near = _NEAR if point.dtype == np.float64 else _NEAR_SINGLE

    def step(_: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        total, arrived = state
        away = jnp.abs(octree(still, shape, start + total[..., None] * along)[0])
        total = where(arrived, total, total + away)
        return total, arrived | (away < near)

    zero = jnp.zeros(point.shape[:2], point.dtype)
    total, arrived = fori_loop(0, _STEPS, step, (zero, zero > 0))
    at = point + total[..., None] * unit
    value = octree(pools, shape, at)[0]
    steep = jax.vjp(lambda x: octree(still, shape, x)[0], lax.stop_gradient(at))[1]
    rate = dot(steep(jnp.ones_like(value))[0], along)
    dist = total - safe.divide(value - lax.stop_gradient(value), rate)
    enters = shape_hit(GeomType.BOX, point, direction, model.geom_size[geoms][None]) >= 0
    normal = octree_slope(still, shape, lax.stop_gradient(at))[1]
    return FieldHit(where(arrived & enters, dist, -1), normal)
