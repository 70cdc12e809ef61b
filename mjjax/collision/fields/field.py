"""Signed distance fields of shapes of any kind, and the gradients along which MuJoCo descends.

The distance of a point from a mesh is interpolated trilinearly in the leaf of the octree that
contains the point. Outside the octree's box it is the distance at the nearest point of the box plus
the length of the way to this point.
"""

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.fields.sdf import DISTANCE
from mjjax.collision.shape.shapes import Pools, Shape
from mjjax.core.enums import GeomType
from mjjax.math import safe
from mjjax.xla.namespace import Array, where

_STEP = 1e-8  # step of MuJoCo's finite differences [m]
_WITHIN = 1e-6  # depth of nearest points below the surface of the octree's box [m]
FIELD_SOLIDS = [kind for kind in DISTANCE if kind != GeomType.PLANE]


def octree(pools: Pools, shape: Shape, p: Array) -> tuple[Array, Array]:
    """Distances of points (..., 3) in the frames of meshes, and scales of MuJoCo's gradients.

    Args:
        pools: pools with octrees.
        shape: meshes; their `asset` and `field` have the shape of the distances or broadcast to it.
        p: points.

    Returns:
        Distances (...) with their exact derivatives, and factors (..., 3), which are the widths of
        the leaf, or exactly 1 outside the octree's box.
    """
    tables, mesh = pools.fields, jnp.maximum(jnp.asarray(shape.asset), 0)
    offset = 0 if shape.field is None else shape.field
    box = pools.cell_box[jnp.asarray(tables.root)[mesh] + offset]
    centre, half = box[..., :3], box[..., 3:]
    away = p - centre
    beyond = jnp.abs(away) - half
    outside = jnp.any(beyond > 0, axis=-1)
    over = outside[..., None] & (beyond >= 0)
    back = where(away > 0, beyond + _WITHIN, -(beyond + _WITHIN))
    near = p - where(over, back, 0)
    side = tables.side
    place = jnp.floor((near - (centre - half)) / (2 * half) * side)
    x, y, z = jnp.moveaxis(jnp.clip(place, 0, side - 1).astype(jnp.int32), -1, 0)
    entry = jnp.asarray(tables.grid_adr)[mesh] + (x * side + y) * side + z
    row = jnp.asarray(tables.grid)[entry] + offset
    leaf = pools.cell_box[row]
    low, high = leaf[..., :3] - leaf[..., 3:], leaf[..., :3] + leaf[..., 3:]
    value = pools.cell_value[row]
    for axis in (2, 1, 0):  # x varies fastest
        t = ((near - low) / (high - low))[..., axis, None]
        n = value.shape[-1] // 2
        value = (1 - t) * value[..., :n] + t * value[..., n:]
    gap = safe.norm(where(over, beyond, 0))
    scale = where(outside[..., None], 1, high - low)
    return value[..., 0] + gap, scale


def octree_slope(pools: Pools, shape: Shape, p: Array) -> tuple[Array, Array]:
    """Distances of points (..., 3) in the frames of meshes, and MuJoCo's gradients (..., 3).

    Within the octree the gradients are per width of the leaf. Outside it MuJoCo takes finite
    differences. In single precision rounding would destroy them, so the exact gradient is returned.
    """
    value, pull, scale = jax.vjp(lambda x: octree(pools, shape, x), p, has_aux=True)
    gradient = pull(jnp.ones_like(value))[0] * scale
    if p.dtype != np.float64:
        return value, gradient
    each = shape._replace(
        asset=jnp.asarray(shape.asset)[..., None],
        field=None if shape.field is None else shape.field[..., None],
    )
    steps = _STEP * np.eye(3).reshape(*[1] * (p.ndim - 1), 3, 3)
    ahead = octree(pools, each, p[..., None, :] + steps)[0]
    return value, where(scale == 1, (ahead - value[..., None]) / _STEP, gradient)


def solid(shape: Shape, p: Array, otherwise: Array) -> Array:
    """Distances of points (..., 3) in the frames of solids; other kinds give `otherwise` (...)."""
    value = otherwise
    for kind in FIELD_SOLIDS:
        mine = shape.kind == int(kind)
        size = where(mine[..., None], shape.size, 1)
        found = DISTANCE[kind](p, jnp.broadcast_to(size, p.shape))
        value = where(mine, found, value)
    return value


def distance(pools: Pools, shape: Shape, p: Array) -> Array:
    """Distances of points (..., 3) in the frames of shapes, whose arrays broadcast with them."""
    return solid(shape, p, octree(pools, shape, p)[0])


def slope(pools: Pools, shape: Shape, p: Array) -> tuple[Array, Array]:
    """Distances of points (..., 3), and the gradients (..., 3) that MuJoCo uses for them.

    The gradients of solids are exact, with two exceptions. For an ellipsoid they have unit length.
    Within a box they turn gradually from the ray out of the centre to the normals of the faces.
    """
    value, gradient = octree_slope(pools, shape, p)
    kind = shape.kind[..., None]
    value, pull = jax.vjp(lambda x: solid(shape, x, value), p)
    gradient = where(kind == int(GeomType.SDF), gradient, pull(jnp.ones_like(value))[0])
    ellipsoid = kind == int(GeomType.ELLIPSOID)
    gradient = where(ellipsoid, safe.normalize(gradient)[0], gradient)
    depth = shape.size - jnp.abs(p)
    within = jnp.all(depth > 0, axis=-1, keepdims=True) & (kind == int(GeomType.BOX))
    ray = safe.normalize(where(within, shape.size / where(within, depth, 1), 0))[0]
    return value, where(within, where(p < 0, -ray, ray), gradient)
