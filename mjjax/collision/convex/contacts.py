"""Contacts of convex shapes: `mjc_Convex` on batches of pairs of any kinds."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from mjjax.collision.contact_set import ContactSet, filled
from mjjax.collision.convex.epa import Depth, epa
from mjjax.collision.convex.gjk import Corners, Search, Settings, gjk, witnesses
from mjjax.collision.convex.lanes import normalize
from mjjax.collision.convex.simplex import FAR
from mjjax.collision.convex.support import Sides, sides_of
from mjjax.collision.shapes import Pools, Shape

DEEP_CHUNK = 32  # pairs whose polytopes are expanded together


class Touch(NamedTuple):
    """Signed distances of N pairs of shapes.

    Attributes:
        dist: (N,) distance [m], negative in penetration, `FAR` where it is not known.
        one: (3, N) nearest or deepest point of geom 1, relative to geom 1 [m].
        two: (3, N) that of geom 2, relative to geom 1 [m].
        normal: (3, N) unit vector from geom 1 to geom 2.
        label: (3, 2, N) vertices of both sides that the points lie between.
    """

    dist: jax.Array
    one: jax.Array
    two: jax.Array
    normal: jax.Array
    label: jax.Array


def convex(
    pools: Pools, one: Shape, two: Shape, margin: jax.Array, settings: Settings
) -> tuple[ContactSet, jax.Array]:
    """Contacts of N pairs of convex shapes.

    The shapes are inflated by half the margin each; where they then overlap there is a contact.
    Its distance is the margin less the depth, its position the middle between the deepest points.

    Args:
        pools: vertices of the meshes.
        one: geoms 1, the lower type first.
        two: geoms 2.
        margin: (N,) margins [m].
        settings: options.

    Returns:
        Contacts (N, m, ...); the features that touch (N, m, 6): up to three vertices of geom 1,
        then of geom 2, by id within the hull or as corner of the box (x, y, z positive: 1 + 2 + 4);
        -1 where there is none or the shape is smooth.
    """
    sides = sides_of(pools, one, two, 0.5 * margin)
    touch = signed_distance(pools, sides, jnp.zeros_like(margin), settings)
    exists = touch.dist < 0
    pos = one.pos + (0.5 * (touch.one + touch.two)).T
    normal = touch.normal.T
    dist = filled(exists, margin + touch.dist)
    contacts = ContactSet(dist, pos, normal, jnp.zeros_like(pos))
    certificate = jnp.moveaxis(touch.label, -1, 0).swapaxes(1, 2).reshape(-1, 6)
    return jax.tree.map(lambda x: x[:, None], (contacts, certificate))


def separation(
    pools: Pools, one: Shape, two: Shape, limit: jax.Array, settings: Settings
) -> tuple[ContactSet, jax.Array]:
    """Signed distances of N pairs of convex shapes up to a limit, in the form of `convex`.

    Args:
        pools: vertices of the meshes.
        one: geoms 1.
        two: geoms 2.
        limit: (N,) distances of interest [m]; of further pairs nothing is found.
        settings: options.
    """
    sides = sides_of(pools, one, two, jnp.zeros_like(limit))
    touch = signed_distance(pools, sides, limit, settings)
    pos = one.pos + (0.5 * (touch.one + touch.two)).T
    dist = filled(touch.dist < FAR, touch.dist)
    contacts = ContactSet(dist, pos, touch.normal.T, jnp.zeros_like(pos))
    certificate = jnp.moveaxis(touch.label, -1, 0).swapaxes(1, 2).reshape(-1, 6)
    return jax.tree.map(lambda x: x[:, None], (contacts, certificate))


def signed_distance(pools: Pools, sides: Sides, cutoff: jax.Array, settings: Settings) -> Touch:
    """Distances of N pairs, negative in penetration (`mjc_ccd`).

    Args:
        pools: the pools.
        sides: the shapes.
        cutoff: (N,) distances of interest [m]: zero if only penetration is.
        settings: options.
    """
    search = gjk(pools, sides, cutoff, settings, cutoff >= 0)
    overlap = search.length <= settings.tolerance
    touch = _apart(sides, search)
    deep = overlap & ~search.core & (search.count > 1)
    touch = touch._replace(dist=jnp.where(overlap, 0, touch.dist))
    touch = touch._replace(dist=jnp.where(touch.dist > cutoff, FAR, touch.dist))
    return _expand_deep(pools, sides, search, deep, touch, settings)


def _apart(sides: Sides, s: Search) -> Touch:
    """What the search for the nearest points found, with the radii of points and segments."""
    n = s.count.shape[0]
    extra = jnp.where(sides.round, sides.size[0] + sides.inflate, 0)
    extra = jnp.where(jnp.concatenate([s.core, s.core]), extra, 0)
    one, two = witnesses(s)
    normal = -normalize(s.x)
    dist = jnp.where(s.length < FAR, s.length - extra[:n] - extra[n:], FAR)
    counts = jnp.arange(3)[:, None, None] < s.count
    label = jnp.where(counts, s.corners.label[:3], -1)
    return Touch(dist, one + extra[:n] * normal, two - extra[n:] * normal, normal, label)


def _expand_deep(
    pools: Pools, sides: Sides, search: Search, deep: jax.Array, touch: Touch, settings: Settings
) -> Touch:
    """Puts depths in the items that are deep, a chunk of them at a time."""
    n = deep.shape[0]
    size = min(n, DEEP_CHUNK)
    order = jnp.argsort(~deep, stable=True).astype(jnp.int32)
    order = jnp.pad(order, (0, size), constant_values=n)
    total = jnp.sum(deep, dtype=jnp.int32)

    def chunk(state: tuple[jax.Array, Touch]) -> tuple[jax.Array, Touch]:
        start, touch = state
        place = lax.dynamic_slice(order, (start,), (size,))
        used = start + jnp.arange(size, dtype=jnp.int32) < total
        index = jnp.minimum(place, n - 1)
        simplex: Corners = jax.tree.map(lambda x: x[..., index], search.corners)
        count = jnp.where(used, search.count[index], 0)
        hint = search.hint[jnp.concatenate([index, index + n])]
        own = settings._replace(tolerance=settings.tolerance[index])
        found = _of_depth(epa(pools, sides.take(index), simplex, count, hint, own))
        place = jnp.where(used, place, n)
        touch = jax.tree.map(lambda t, x: t.at[..., place].set(x, mode="drop"), touch, found)
        return start + size, touch

    return lax.while_loop(lambda s: s[0] < total, chunk, (jnp.int32(0), touch))[1]


def _of_depth(d: Depth) -> Touch:
    dist = jnp.where(d.found, -d.depth, FAR)
    return Touch(dist, d.one, d.two, normalize(d.normal), d.corners.label)
