"""Distances between geoms: the smallest of what the narrow phase finds, up to a limit."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.contact_set import NO_CONTACT
from mjjax.collision.table import COLLIDERS, NEVER_COLLIDE
from mjjax.core.enums import GeomType
from mjjax.core.errors import Origin
from mjjax.math.linalg import gather
from mjjax.math.namespace import Array
from mjjax.math.spatial import mat3
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure

Types = tuple[GeomType, GeomType]


class Separation(NamedTuple):
    """How far surfaces are from each other.

    Attributes:
        dist: (...,) signed distance [m], the limit if further.
        start, end: (..., 3) nearest points of the first and the second, world [m]; zero if further.
    """

    dist: Array
    start: Array
    end: Array


def types_of(s: Structure, pair: tuple[int, int]) -> tuple[Types, bool]:
    """Types of two geoms, the lower first, and whether that swaps them."""
    a, b = (GeomType(s.geom_type[g]) for g in pair)
    return ((b, a), True) if b < a else ((a, b), False)


def candidates(
    model: Model, data: Data, types: Types, geoms: np.ndarray, swap: np.ndarray, limit: Array
) -> Array:
    """Distances and nearest points (n, slots, 7) of pairs of geoms of two types.

    Args:
        model: model.
        data: data with the poses of the geoms.
        types: types of geoms, the lower first.
        geoms: (n, 2) pairs in that order.
        swap: (n,) whether the points are to be in the other order.
        limit: (n,) distances beyond which nothing is sought.
    """
    mat = mat3(data.geom_xmat)
    sides = [
        (gather(data.geom_xpos, g), gather(mat, g), gather(model.geom_size, g)) for g in geoms.T
    ]
    touch = jax.vmap(COLLIDERS[types].function)(*sides[0], *sides[1], limit)
    half = 0.5 * touch.dist[..., None] * touch.normal
    ends = [touch.pos - half, touch.pos + half]
    other = swap[:, None, None]
    ends = [jnp.where(other, ends[1 - k], ends[k]) for k in range(2)]
    return jnp.concatenate([touch.dist[..., None], *ends], axis=-1)


def closest(table: Array, limit: Array) -> Separation:
    """The nearest of `candidates` (n, k, 7), within limits (n,)."""
    first = jnp.argmin(table[:, :, 0], axis=1)
    best = jnp.take_along_axis(table, first[:, None, None], axis=1)[:, 0]
    met = (best[:, 0] < NO_CONTACT) & (best[:, 0] <= limit)
    points = jnp.where(met[:, None], best[:, 1:], 0)
    return Separation(jnp.where(met, best[:, 0], limit), points[:, :3], points[:, 3:])


def geom_distance(
    model: Model, data: Data, geom1: int, geom2: int, distmax: Array | float
) -> tuple[Array, Array]:
    """Signed distance of two geoms and the segment (6,) between them (`mj_geomDistance`).

    The distance is `distmax` and the segment zero if they are further apart. The derivative is
    exact for the features that are nearest.

    Args:
        model: model.
        data: data with `geom_xpos` and `geom_xmat`.
        geom1: geom from which the segment starts; static.
        geom2: geom at which it ends; static.
        distmax: largest distance of interest [m].

    Raises:
        UnsupportedFeature: distances of these types are not computed.
    """
    types, swap = types_of(model.structure, (geom1, geom2))
    limit = jnp.broadcast_to(jnp.asarray(distmax, data.geom_xpos.dtype), (1,))
    if types in NEVER_COLLIDE:
        return limit[0], jnp.zeros(6, limit.dtype)
    if types not in COLLIDERS:
        origin = model.structure.origins.get(("geom", geom1), Origin("geom"))
        raise origin.unsupported(unsupported(types))
    geoms = np.array([[geom1, geom2][:: -1 if swap else 1]])
    found = closest(candidates(model, data, types, geoms, np.array([swap]), limit), limit)
    return found.dist[0], jnp.concatenate([found.start[0], found.end[0]])


def unsupported(types: Types) -> str:
    """What to say of a pair of types without a distance."""
    return f"distances of {types[0].name.lower()} and {types[1].name.lower()} are not simulated yet"
