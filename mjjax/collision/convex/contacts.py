"""Contacts of convex shapes: `mjc_Convex` for pairs of any kinds."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.convex.clipping import POLYGON_POINTS, Clipped, clip
from mjjax.collision.convex.convex_shape import ShapePair, shape_pair
from mjjax.collision.convex.each_pair import each_pair
from mjjax.collision.convex.epa import Depth, epa
from mjjax.collision.convex.gjk import GjkSearch, Settings, gjk
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
from mjjax.collision.convex.support import Support
from mjjax.collision.shape.contact_set import NO_CONTACT, ContactSet, filled
from mjjax.collision.shape.shapes import Pools, Shape
from mjjax.collision.shape.vectors import Vec, choose, normalize, put
from mjjax.core.enums import GeomType
from mjjax.xla.kernel_code import subroutine
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

    def contacts(
        pools: Pools, one: Shape, two: Shape, margin: jax.Array, tolerance: jax.Array
    ) -> tuple[ContactSet, jax.Array]:
        pair = shape_pair(pools, one, two, 0.5 * margin)
        task = _Task(pools, Support(pools, settings.native), settings, tolerance)
        if settings.multiccd:
            count, several = _several(task, pair, margin)
        else:
            touch, _ = signed_distance(task, pair, jnp.zeros_like(margin))
            count, several = touch.dist < 0, jax.tree.map(lambda x: x[None], _contact(touch))
        exists = np.arange(len(several.dist), dtype=np.int32) < count.astype(jnp.int32)
        contacts = ContactSet(
            filled(exists, margin + several.dist),
            one.pos[None] + several.pos,
            several.normal,
            jnp.zeros_like(several.pos),
        )
        return contacts, several.label

    return _of_pairs(contacts, pools, one, two, margin, settings)


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

    def distance(
        pools: Pools, one: Shape, two: Shape, limit: jax.Array, tolerance: jax.Array
    ) -> tuple[ContactSet, jax.Array]:
        pair = shape_pair(pools, one, two, jnp.zeros_like(limit))
        task = _Task(pools, Support(pools, settings.native), settings, tolerance)
        touch, _ = signed_distance(task, pair, limit)
        found = _contact(touch)
        pos, dist = one.pos + found.pos, filled(touch.dist < FAR, touch.dist)
        contacts = ContactSet(dist, pos, found.normal, jnp.zeros_like(pos))
        return jax.tree.map(lambda x: x[None], (contacts, found.label))

    return _of_pairs(distance, pools, one, two, limit, settings)


def _of_pairs(
    function: Callable[..., tuple[ContactSet, jax.Array]],
    pools: Pools,
    one: Shape,
    two: Shape,
    length: jax.Array,
    settings: Settings,
) -> tuple[ContactSet, jax.Array]:
    """Contacts and certificates of N pairs by a function of one pair; none of unused pairs."""
    tolerance = jnp.broadcast_to(settings.tolerance, length.shape)
    used = length >= 0 if settings.used is None else settings.used
    contacts, certificate = each_pair(function, used, pools, one, two, length, tolerance)
    dist = where(used[:, None], contacts.dist, NO_CONTACT)
    return contacts._replace(dist=dist), certificate


class _Task(NamedTuple):
    """What the algorithms for a pair need besides the pair."""

    pools: Pools
    support: Support
    settings: Settings
    tolerance: jax.Array


class _Contacts(NamedTuple):
    """Contacts of a pair in m slots.

    Attributes:
        dist: (m,) signed distance [m].
        pos: (m, 3) position, relative to geom 1 [m].
        normal: (m, 3) normal.
        label: (m, 6 or 7) certificate.
    """

    dist: jax.Array
    pos: jax.Array
    normal: jax.Array
    label: jax.Array


def _contact(t: FeatureTouch) -> _Contacts:
    """The contact of a pair, without an axis for slots."""
    return _Contacts(
        t.dist, ((t.one + t.two) * 0.5).joined(), t.normal.joined(), t.label.T.reshape(6)
    )


def _several(task: _Task, pair: ShapePair, margin: jax.Array) -> tuple[jax.Array, _Contacts]:
    """The number of contacts, and up to five."""
    hard = (pair.both.kind == GeomType.BOX) | pair.both.is_mesh
    flat = jnp.all(hard) & (margin == 0) & task.settings.native
    soft = jnp.all(allowed(pair.both.kind)) & ~flat
    radius = jnp.minimum(bounding_radius(pair.one), bounding_radius(pair.two))
    slots = 1 + len(SMALL_TURNS)

    def turned(
        state: tuple[jax.Array, jax.Array, _Contacts],
    ) -> tuple[jax.Array, jax.Array, _Contacts]:
        trip, count, s = state
        first = trip == 0
        moved = perturbed(pair, s.pos[0], s.normal[0], trip)
        touch, clipped = signed_distance(task, moved, jnp.zeros_like(margin), flat & first)
        new = _contact(touch)
        fresh = (new.dist < 0) & (first | distinct(s.pos, count, new.pos, radius))
        label, dist = jnp.append(new.label, trip), where(first, new.dist, s.dist[0])
        s = put(s, where(fresh, count, slots - 1), new._replace(label=label, dist=dist))
        lies = first & (clipped.count > 0)
        count = where(lies, clipped.count, count + fresh.astype(jnp.int32))
        return trip + 1, count, choose(lies, _with_clipped(s, clipped), s)

    def unfinished(state: tuple[jax.Array, jax.Array, _Contacts]) -> jax.Array:
        trip, count, _ = state
        return (trip == 0) | (soft & (count > 0) & (trip < slots))

    none = jnp.zeros((slots, 3), margin.dtype)
    empty = _Contacts(none[:, 0], none, none, jnp.full((slots, 7), -1, jnp.int32))
    return while_loop(unfinished, turned, (jnp.int32(0), jnp.int32(0), empty))[1:]


def _with_clipped(s: _Contacts, c: Clipped) -> _Contacts:
    """The contacts of the clipping, in the first four slots; what they share is that of `s`."""
    normal = -normalize(c.step).joined()

    def shared(x: jax.Array) -> jax.Array:
        return jnp.broadcast_to(x[None], (len(s.dist), *x.shape))

    pos = s.pos.at[:POLYGON_POINTS].set(c.two - 0.5 * c.step.joined()[None])
    return _Contacts(shared(s.dist[0]), pos, shared(normal), shared(s.label[0]))


def signed_distance(
    task: _Task, pair: ShapePair, cutoff: jax.Array, flat: jax.Array | None = None
) -> tuple[FeatureTouch, Clipped]:
    """Distance of a pair, negative in penetration (`mjc_ccd`).

    Without `native` only penetration is found (`ccdMPRPenetration`).

    Args:
        task: what the algorithms need.
        pair: the shapes.
        cutoff: distance of interest [m]: zero if only penetration is.
        flat: whether faces are clipped; if `None`, not.

    Returns:
        Distance and points, and the contacts from clipping.
    """
    support, tolerance, iterations = task.support, task.tolerance, task.settings.iterations
    if not task.settings.native:
        touch = portal(support, pair, tolerance, iterations)
        return touch, _unclipped(touch)
    search = gjk(support, pair, cutoff, tolerance, iterations)
    touch = _apart(pair, search)
    overlap = search.length <= jnp.maximum(tolerance, pair.rounding())
    dist = where(overlap, 0, touch.dist)
    touch = touch._replace(dist=where(dist > cutoff, FAR, dist))
    deep = overlap & ~search.core & (search.count > 1)

    def penetrating() -> tuple[FeatureTouch, Clipped]:
        count = where(deep, search.count, 0)  # where both branches are computed, nothing is built
        found = epa(support, pair, search.simplex, count, search.hint, tolerance, iterations)
        touch = _of_depth(found)
        clipped = _unclipped(touch)
        if flat is not None:
            clipped = cond(
                flat & found.found, lambda: clip(task.pools, pair, found), lambda: clipped
            )
        return touch, clipped

    touch, clipped = cond(deep, penetrating, lambda: (touch, _unclipped(touch)))
    if touch.dist.dtype == np.float32:
        touch = polish(support, task.pools, pair, touch)
    return touch, clipped


@subroutine
def _apart(pair: ShapePair, s: GjkSearch) -> FeatureTouch:
    """What the search for the nearest points found, with the radii of points and segments."""
    extra = [where(s.core, shape.radius(), 0) for shape in (pair.one, pair.two)]
    one, two = s.witnesses()
    normal = -normalize(Vec.of(s.x))
    dist = where(s.length < FAR, s.length - extra[0] - extra[1], FAR)
    used = np.arange(3, dtype=np.int32)[:, None] < s.count
    label = where(used, s.simplex.label[:3], -1)
    one, two = one + normal * extra[0], two - normal * extra[1]
    return FeatureTouch(dist, one, two, normal, label, s.weight[:3])


def _unclipped(touch: FeatureTouch) -> Clipped:
    """No points."""
    points = jnp.zeros((POLYGON_POINTS, 3), touch.dist.dtype)
    return Clipped(jnp.int32(0), points, touch.one)


def _of_depth(d: Depth) -> FeatureTouch:
    dist = where(d.found, -d.depth, 0)
    return FeatureTouch(dist, d.one, d.two, normalize(d.normal), d.corners.label, d.weight)
