"""Contacts of convex shapes: `mjc_Convex` on batches of pairs of any kinds."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.convex.clipping import POLYGON_POINTS, Clipped, clip
from mjjax.collision.convex.corners import Corners
from mjjax.collision.convex.each_pair import each_pair
from mjjax.collision.convex.epa import Depth, epa
from mjjax.collision.convex.gjk import Nearest, Settings, gjk, witnesses
from mjjax.collision.convex.perturbation import (
    SMALL_TURNS,
    allowed,
    bounding_radius,
    distinct,
    perturbed,
)
from mjjax.collision.convex.polish import FeatureTouch, polish
from mjjax.collision.convex.portal import portal
from mjjax.collision.convex.simplex import FAR
from mjjax.collision.convex.support import Sides, sides_of
from mjjax.collision.shape.contact_set import ContactSet, filled
from mjjax.collision.shape.lanes import Vec, keep, normalize, put
from mjjax.collision.shape.shapes import Pools, Shape
from mjjax.core.enums import GeomType
from mjjax.xla.loops import cond, while_loop
from mjjax.xla.namespace import where


def convex(
    pools: Pools, one: Shape, two: Shape, margin: jax.Array, settings: Settings
) -> tuple[ContactSet, jax.Array]:
    """Contacts of N pairs of convex shapes.

    Each shape is inflated by half the margin. If the shapes then overlap, there is a contact. Its
    distance is the margin minus the depth, and its position the middle of the deepest points.
    With `multiccd` there are five slots. Boxes and meshes without margin get up to four contacts if
    a face lies flat on a face or an edge. Other pairs get up to four more contacts by turning both
    shapes a little, unless one is a sphere or an ellipsoid. Without `native` all pairs are turned
    in this way, and depths are measured to a portal (see `portal.py`). The derivative is still that
    of the surfaces which touch along the normal.

    Args:
        pools: vertices of the meshes; with `multiccd` also their faces.
        one: geoms 1, the lower type first.
        two: geoms 2.
        margin: (N,) margins [m].
        settings: options.

    Returns:
        Contacts (N, m, ...), and certificates (N, m, 6): the features that touch, as up to three
        vertices of geom 1, then of geom 2. A vertex is an id within the hull, or a corner of the
        box (1, 2 and 4 are added for positive x, y and z), or -1 if there is none or the shape is
        smooth. With `multiccd` they are (N, m, 7); the last entry is the place in `SMALL_TURNS`,
        counted from 1, of the turn that found the contact.
    """
    sides = sides_of(pools, one, two, 0.5 * margin)
    if settings.multiccd:
        several = _several(pools, sides, margin, settings)
    else:
        touch, _ = signed_distance(pools, sides, jnp.zeros_like(margin), settings)
        several = jax.tree.map(lambda x: x[..., None, :], _contact(touch))
    place = np.arange(len(several.dist), dtype=np.int32)[:, None]
    exists = (place < several.count[:1]) if settings.multiccd else several.dist < 0
    pos = one.pos[:, None] + _items_first(several.pos)
    normal = _items_first(several.normal)
    dist = filled(exists, margin[None] + several.dist).T
    certificate = several.label.T
    return ContactSet(dist, pos, normal, jnp.zeros_like(pos)), certificate


def convex_distance(
    pools: Pools, one: Shape, two: Shape, limit: jax.Array, settings: Settings
) -> tuple[ContactSet, jax.Array]:
    """Signed distances of N pairs of convex shapes up to a limit, in the form of `convex`.

    Args:
        pools: vertices of the meshes.
        one: geoms 1, in the order of the caller: exchanging the geoms may change the last digits.
        two: geoms 2.
        limit: (N,) distances of interest [m]; pairs further apart get no contact.
        settings: options.
    """
    sides = sides_of(pools, one, two, jnp.zeros_like(limit))
    touch, _ = signed_distance(pools, sides, limit, settings)
    pos = one.pos + _items_first((touch.one + touch.two) * 0.5)
    dist = filled(touch.dist < FAR, touch.dist)
    contacts = ContactSet(dist, pos, _items_first(touch.normal), jnp.zeros_like(pos))
    certificate = touch.label.reshape(6, -1).T
    return jax.tree.map(lambda x: x[:, None], (contacts, certificate))


def _items_first(v: Vec) -> jax.Array:
    """Vectors (..., N) as an array (N, ..., 3)."""
    return jnp.stack([x.T for x in v], axis=-1)


class _Contacts(NamedTuple):
    """Contacts (m, N): signed distance, position, normal, labels (6 or 7, m, N), number."""

    dist: jax.Array
    pos: Vec
    normal: Vec
    label: jax.Array
    count: jax.Array


def _contact(t: FeatureTouch) -> _Contacts:
    exists = (t.dist < 0).astype(jnp.int32)
    label = t.label.reshape(6, -1)
    return _Contacts(t.dist, (t.one + t.two) * 0.5, t.normal, label, exists)


def _several(pools: Pools, sides: Sides, margin: jax.Array, settings: Settings) -> _Contacts:
    """Up to five contacts; in every row of `count` their number."""
    n = margin.shape[0]
    hard = (sides.kind == GeomType.BOX) | (sides.kind == GeomType.MESH)
    flat = hard[:n] & hard[n:] & (margin == 0) & settings.native
    soft = allowed(sides.kind)
    soft = soft[:n] & soft[n:] & ~flat
    radius = bounding_radius(sides)
    radius = jnp.minimum(radius[:n], radius[n:])

    def body(state: tuple[jax.Array, _Contacts]) -> tuple[jax.Array, _Contacts]:
        trip, s = state
        first = trip == 0
        moved = perturbed(sides, s.pos[0], s.normal[0], trip)
        on = first | (soft & (s.count[0] > 0))
        touch, clipped = signed_distance(
            pools, moved, jnp.zeros_like(margin), settings, on, flat & first
        )
        new = _contact(touch)
        turn = jnp.broadcast_to(trip, (1, n))
        new = new._replace(label=jnp.concatenate([new.label, turn]))
        fresh = (new.dist < 0) & (first | distinct(s.pos, s.count[0], new.pos, radius))
        new = new._replace(dist=where(first, new.dist, s.dist[0]))
        row = where(on & fresh, s.count[0], len(s.dist))
        count = s.count[0] + (on & fresh).astype(jnp.int32)
        s = put(s, row, new)
        s = keep(first, _with_clipped(s, clipped), s)
        count = where(first & (clipped.count > 0), clipped.count, count)
        return trip + 1, s._replace(count=jnp.broadcast_to(count, s.count.shape))

    def unfinished(state: tuple[jax.Array, _Contacts]) -> jax.Array:
        trip, s = state
        more = jnp.any(soft & (s.count[0] > 0)) & (trip <= len(SMALL_TURNS))
        return (trip == 0) | more

    slots = 1 + len(SMALL_TURNS)
    none = jnp.zeros((slots, n), margin.dtype)
    label = jnp.full((7, slots, n), -1, jnp.int32)
    vectors = Vec(none, none, none)
    empty = _Contacts(none, vectors, vectors, label, label[0] + 1)
    return while_loop(unfinished, body, (jnp.int32(0), empty))[1]


def _with_clipped(s: _Contacts, c: Clipped) -> _Contacts:
    """Contacts with those of the clipping in the first four slots, where there are any."""
    on = c.count > 0
    pos = c.two - c.step[None] * 0.5
    new = s._replace(pos=pos, normal=-normalize(c.step)[None])
    new = new._replace(dist=s.dist[:1], label=s.label[:, :1], count=s.count[:1])

    def rows(old: jax.Array, new: jax.Array) -> jax.Array:
        first = keep(on, new, old[..., :POLYGON_POINTS, :])
        return jnp.concatenate([first, old[..., POLYGON_POINTS:, :]], axis=-2)

    return jax.tree.map(rows, s, new)


def signed_distance(
    pools: Pools,
    sides: Sides,
    cutoff: jax.Array,
    settings: Settings,
    on: jax.Array | None = None,
    flat: jax.Array | None = None,
) -> tuple[FeatureTouch, Clipped]:
    """Distances of N pairs, negative in penetration (`mjc_ccd`).

    Without `native` only penetration is found (`ccdMPRPenetration`).

    Args:
        pools: the pools.
        sides: the shapes.
        cutoff: (N,) distances of interest [m]: zero if only penetration is.
        settings: options.
        on: (N,) pairs to do; if `None`, all.
        flat: (N,) pairs whose faces are clipped; if `None`, none.

    Returns:
        Distances and points, and the contacts from clipping, which have no slots without `flat`.
    """
    tolerance = jnp.broadcast_to(settings.tolerance, cutoff.shape)
    settings = settings._replace(tolerance=tolerance)
    on = cutoff >= 0 if on is None else on
    on = on if settings.used is None else on & settings.used
    alone = functools.partial(_alone, settings)
    if not settings.native:
        touch = each_pair(alone(_penetration), on, pools, sides, tolerance)
        return touch, _unclipped(touch, flat)
    search = each_pair(alone(_nearest), on, pools, sides, tolerance, cutoff)
    overlap = search.length <= jnp.maximum(settings.tolerance, sides.rounding())
    touch = _apart(sides, search)
    deep = on & overlap & ~search.core & (search.count > 1)
    touch = touch._replace(dist=where(overlap, 0, touch.dist))
    touch = touch._replace(dist=where(touch.dist > cutoff, FAR, touch.dist))
    hint = search.hint.reshape(2, -1)
    lying = deep if flat is None else flat
    depth = alone(functools.partial(_depth, flat is not None))
    found = each_pair(
        depth, deep, pools, sides, tolerance, search.corners, search.count, hint, lying
    )
    touch, clipped = keep(deep, found, (touch, _unclipped(touch, flat)))
    if touch.dist.dtype == np.float32:
        touched = on & (touch.dist < FAR)
        exact = each_pair(polish, touched, pools, sides, touch)
        touch = keep(touched, exact, touch)
    return touch, clipped


def _alone(settings: Settings, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one pair with the pair's own tolerance (1,) in its settings."""

    def run(pools: Pools, sides: Sides, tolerance: jax.Array, *lanes: Any) -> Any:
        return function(settings._replace(tolerance=tolerance), pools, sides, *lanes)

    return run


def _penetration(settings: Settings, pools: Pools, sides: Sides) -> FeatureTouch:
    on = jnp.ones(1, bool)
    return portal(pools, sides, settings.tolerance, settings.iterations, on)


def _nearest(settings: Settings, pools: Pools, sides: Sides, cutoff: jax.Array) -> Nearest:
    s = gjk(pools, sides, cutoff, settings, jnp.ones(1, bool))
    return Nearest(s.length, s.core, s.count, s.corners, s.x, s.weight, s.hint[:, None])


def _depth(
    clipping: bool,
    settings: Settings,
    pools: Pools,
    sides: Sides,
    corners: Corners,
    count: jax.Array,
    hint: jax.Array,
    flat: jax.Array,
) -> tuple[FeatureTouch, Clipped]:
    """Depth of a pair that overlaps, and the points of its faces that lie on each other."""
    found = epa(pools, sides, corners, count, hint[:, 0], settings)
    touch = _of_depth(found)
    clipped = _unclipped(touch, flat if clipping else None)
    if clipping:
        lying = flat & found.found
        clipped = cond(lying[0], lambda: clip(pools, sides, found), lambda: clipped)
        clipped = clipped._replace(count=where(lying, clipped.count, 0))
    return touch, clipped


def _apart(sides: Sides, s: Nearest) -> FeatureTouch:
    """What the search for the nearest points found, with the radii of points and segments."""
    n = s.count.shape[0]
    extra = where(jnp.concatenate([s.core, s.core]), sides.radius(), 0)
    one, two = witnesses(s)
    normal = -normalize(Vec.of(s.x))
    dist = where(s.length < FAR, s.length - extra[:n] - extra[n:], FAR)
    counts = np.arange(3, dtype=np.int32)[:, None] < s.count[None]
    label = where(counts, s.corners.label[:, :3], -1)
    one, two = one + normal * extra[:n], two - normal * extra[n:]
    return FeatureTouch(dist, one, two, normal, label, s.weight[:3])


def _unclipped(touch: FeatureTouch, flat: jax.Array | None) -> Clipped:
    """Of N pairs no points, in as many slots as are needed if there are `flat` ones."""
    n = touch.dist.shape[0]
    none = jnp.zeros((0 if flat is None else POLYGON_POINTS, n), touch.dist.dtype)
    return Clipped(jnp.zeros(n, jnp.int32), Vec(none, none, none), touch.one)


def _of_depth(d: Depth) -> FeatureTouch:
    dist = where(d.found, -d.depth, 0)
    return FeatureTouch(dist, d.one, d.two, normalize(d.normal), d.corners.label, d.weight)
