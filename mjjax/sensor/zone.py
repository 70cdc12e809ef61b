"""Sites as zones: whether points are inside, and whether lines pass through."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from mjjax.collision.rays.ray_shapes import shape_hit
from mjjax.core.enums import GeomType
from mjjax.math.spatial import mat3
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.xla.linalg import dot, matvec3
from mjjax.xla.namespace import Array


def _capsule(p: Array, size: Array) -> Array:
    height = jnp.maximum(jnp.abs(p[..., 2]) - size[..., 1], 0)
    return dot(p[..., :2], p[..., :2]) + height * height < size[..., 0] ** 2


def _cylinder(p: Array, size: Array) -> Array:
    within = dot(p[..., :2], p[..., :2]) < size[..., 0] ** 2
    return within & (jnp.abs(p[..., 2]) < size[..., 1])


# Shape -> whether points (..., 3) in its frame are strictly inside.
INSIDE: dict[GeomType, Callable[[Array, Array], Array]] = {
    GeomType.SPHERE: lambda p, size: dot(p, p) < size[..., 0] ** 2,
    GeomType.CAPSULE: _capsule,
    GeomType.ELLIPSOID: lambda p, size: dot(p / size, p / size) < 1,
    GeomType.CYLINDER: _cylinder,
    GeomType.BOX: lambda p, size: jnp.all(jnp.abs(p) < size, axis=-1),
}


def inside_sites(model: Model, data: Data, site: np.ndarray, points: Array) -> Array:
    """Whether points (n or 1, m, 3), world, are strictly inside sites (n,): (n, m)."""
    turn = jnp.swapaxes(mat3(data.site_xmat[site]), 1, 2)[:, None]
    local = matvec3(turn, points - data.site_xpos[site][:, None])
    return _by_shape(model, site, lambda kind, size: INSIDE[kind](local, size))


def sites_ahead(
    model: Model, data: Data, site: np.ndarray, points: Array, directions: Array
) -> Array:
    """Whether half lines (n, m, 3), world, meet sites (n,) or begin inside them: (n, m)."""
    turn = jnp.swapaxes(mat3(data.site_xmat[site]), 1, 2)[:, None]
    start = matvec3(turn, points - data.site_xpos[site][:, None])
    along = matvec3(turn, directions)
    return _by_shape(model, site, lambda kind, size: shape_hit(kind, start, along, size) >= 0)


def _by_shape(model: Model, site: np.ndarray, test: Callable[[GeomType, Array], Array]) -> Array:
    """A test (n, m) that depends on the shapes and sizes of sites."""
    shape = model.structure.site_type[site]
    size = model.site_size[site][:, None]
    found = [(kind, test(GeomType(kind), size)) for kind in np.unique(shape)]
    total = jnp.zeros_like(found[0][1])
    for kind, hits in found:
        total = total | (hits & (shape == kind)[:, None])
    return total
