"""Gilbert, Johnson and Keerthi's algorithm on batches, along MuJoCo's path.

MuJoCo's results are not converged: the step at which the iteration stops changes normals in the
third digit. So start, updates, fallback and stopping rules are those of MuJoCo. An item is in one
of three modes. It searches for the nearest point, or it decides whether the origin is inside (if a
tetrahedron is found and no distance is needed), or it is done. Every trip of the loop computes one
support point for every item; items that are done do not change.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.convex.corners import Corners, faces_of
from mjjax.collision.convex.simplex import FACES, FAR, nearest
from mjjax.collision.convex.support import Sides, both_ways, support
from mjjax.collision.shape.lanes import (
    Vec,
    combine,
    cross,
    dot,
    keep,
    look_up,
    norm,
    pick,
    put,
    when_any,
)
from mjjax.collision.shape.shapes import Pools
from mjjax.core.constants import MINVAL
from mjjax.xla.loops import cond, while_loop
from mjjax.xla.namespace import where

SEARCH, DECIDE, DONE = 0, 1, 2
# What a new support point means: nothing yet, the search has converged, the shapes are apart, a
# tetrahedron is found; in the decision, the origin is outside of it, or there is a new one.
GO_ON, CONVERGED, APART, ENTER, OUTSIDE, KEPT = range(6)
OPPOSITE_FACES = ((2, 1, 3), (0, 2, 3), (1, 0, 3), (0, 1, 2))  # its faces, k opposite to vertex k


class Settings(NamedTuple):
    """Options of the batched collisions.

    Attributes:
        iterations: `ccd_iterations`, static.
        tolerance: `ccd_tolerance`, one for all or (N,) [m].
        multiccd: whether pairs get several contacts, static.
        sdf_initpoints: number of starts of the descents into signed distance fields, static.
        sdf_iterations: number of steps of these descents, static.
        native: whether convex shapes are treated by this algorithm and the polytope, or by the
            portal; static.
        used: (N,) which pairs are to be done, or `None` for all.
    """

    iterations: int
    tolerance: jax.Array
    multiccd: bool = False
    sdf_initpoints: int = 40
    sdf_iterations: int = 10
    native: bool = True
    used: jax.Array | None = None


class GjkSearch(NamedTuple):
    """State of the iteration of N items, and its result.

    Attributes:
        mode: (N,) `SEARCH`, `DECIDE` or `DONE`.
        core: (N,) whether spheres and capsules are still treated as points and segments.
        fallback: (N,) whether a tetrahedron leads to `DECIDE`.
        x: (3, N) nearest point so far.
        length: (N,) its distance at the beginning of the trip, and finally the result, which is
            `FAR` if the shapes are apart.
        direction: (3, N) direction of the next support point.
        corners: the simplex, 4 of them.
        count: (N,) number of corners in use.
        saved: the simplex before `DECIDE`.
        place: (N,) place of the next support point in the simplex.
        weight: (4, N) barycentric coordinates of x.
        trip: (N,) iterations.
        hint: (2 N,) vertices at which searches over meshes ended.
    """

    mode: jax.Array
    core: jax.Array
    fallback: jax.Array
    x: jax.Array
    length: jax.Array
    direction: jax.Array
    corners: Corners
    count: jax.Array
    saved: Corners
    place: jax.Array
    weight: jax.Array
    trip: jax.Array
    hint: jax.Array


class Nearest(NamedTuple):
    """Result of the iteration of N items; the names are those of `GjkSearch`.

    `hint` is (2, N) here.
    """

    length: jax.Array
    core: jax.Array
    count: jax.Array
    corners: Corners
    x: jax.Array
    weight: jax.Array
    hint: jax.Array


def gjk(
    pools: Pools, sides: Sides, cutoff: jax.Array, settings: Settings, on: jax.Array
) -> GjkSearch:
    """Distances of N pairs; if `cutoff` is zero, only whether they overlap.

    Spheres and capsules are first treated as points and segments. If these overlap with the other
    shape, the pair is treated once more with the full shapes.

    Args:
        pools: the pools.
        sides: shapes of both sides.
        cutoff: (N,) distances of interest [m]; further pairs get `FAR`.
        settings: options.
        on: (N,) pairs to do.
    """
    n = cutoff.shape[0]
    centre = sides.centre()
    start = (centre[:n] - centre[n:]).joined()
    extra = sides.radius()
    has_core = sides.has_core[:n] | sides.has_core[n:]
    discrete = sides.polyhedral[:n] & sides.polyhedral[n:]
    square = settings.tolerance * settings.tolerance * 0.5
    rules = _GjkRules(
        start,
        cutoff,
        cutoff + extra[:n] + extra[n:],
        where(discrete, 0, square),
        sides.rounding(),
        settings,
    )

    empty = Corners(jnp.zeros((3, 2, 4, n), start.dtype), jnp.full((2, 4, n), -1, jnp.int32))
    zero = jnp.zeros(n, jnp.int32)
    state = GjkSearch(
        where(on, SEARCH, DONE),
        has_core,
        ~has_core,
        start,
        jnp.full_like(start[0], FAR),
        start,
        empty,
        zero,
        empty,
        zero,
        _at_centre(start[0]),
        zero,
        jnp.full(2 * n, -1, jnp.int32),
    )
    state = _restart(rules, state, jnp.ones_like(on))

    def body(s: GjkSearch) -> GjkSearch:
        return _step(rules, s, *_support(pools, sides, s))

    return while_loop(lambda s: jnp.any(s.mode != DONE), body, state)


class _GjkRules(NamedTuple):
    start: jax.Array
    cutoff: jax.Array
    core_cutoff: jax.Array
    gap: jax.Array  # bound of the duality gap at which the iteration stops
    rounding: jax.Array
    settings: Settings

    @property
    def overlap(self) -> jax.Array:
        """(N,) distance up to which shapes count as overlapping [m]."""
        return jnp.maximum(self.settings.tolerance, self.rounding)

    def limit(self, s: GjkSearch) -> jax.Array:
        return where(s.core, self.core_cutoff, self.cutoff)


def _support(pools: Pools, sides: Sides, s: GjkSearch) -> tuple[Corners, jax.Array]:
    on = s.mode != DONE
    twice = jnp.concatenate([s.core, s.core]), jnp.concatenate([on, on])

    def ask(direction: jax.Array, hint: jax.Array) -> tuple[Corners, jax.Array]:
        point, label = support(pools, sides, both_ways(Vec.of(direction)), hint, *twice)
        return Corners.of(point, label), where(twice[1], label, hint)

    return when_any(on, ask, s.direction, s.hint)


def _at_centre(like: jax.Array) -> jax.Array:
    return jnp.zeros((4, *like.shape), like.dtype).at[0].set(1)


def _restart(rules: _GjkRules, s: GjkSearch, on: jax.Array) -> GjkSearch:
    """Begins at the centres."""
    x = keep(on, rules.start, s.x)
    zero = jnp.zeros_like(s.count)
    s = s._replace(
        x=x,
        count=where(on, zero, s.count),
        place=where(on, zero, s.place),
        trip=where(on, zero, s.trip),
        fallback=where(on, rules.limit(s) <= 0, s.fallback),
        weight=keep(on, _at_centre(s.length), s.weight),
    )
    return _aim(rules, s, on & (s.mode != DONE))


def _aim(rules: _GjkRules, s: GjkSearch, on: jax.Array) -> GjkSearch:
    """Directs items that search towards the origin; those within the tolerance of it are done."""
    x = Vec.of(s.x)
    square = dot(x, x)
    near = where(s.count > 0, rules.overlap, jnp.maximum(rules.rounding, MINVAL))
    at_origin = on & (square < near * near)
    length = jnp.sqrt(square)
    direction = -(s.x / where(square > 0, length, 1)[None])
    return s._replace(
        mode=where(at_origin, DONE, s.mode),
        length=where(on, length, s.length),
        direction=keep(on, direction, s.direction),
    )


def _step(rules: _GjkRules, s: GjkSearch, new: Corners, hint: jax.Array) -> GjkSearch:
    """One iteration, given the support points."""
    on = s.mode != DONE
    verdict = when_any(on, functools.partial(_judged, rules), s, new)
    corners = put(s.corners, where(on, s.place, -1), new)
    kept, enter = verdict == KEPT, verdict == ENTER
    # in the decision, vertices change places
    a, b = (s.place + 1) % 4, (s.place + 2) % 4
    slots = np.arange(4, dtype=np.int32)[:, None]
    order = where(slots == a[None], b[None], where(slots == b[None], a[None], slots))
    order = where(kept[None], order, slots)
    finished = (verdict == CONVERGED) | (verdict == APART) | (verdict == OUTSIDE)
    far = (verdict == APART) | (verdict == OUTSIDE)
    further = (s.mode == SEARCH) & (verdict == GO_ON)
    s = s._replace(
        hint=hint,
        saved=keep(enter, corners, s.saved),
        corners=look_up(corners, order),
        trip=s.trip + kept.astype(jnp.int32),
        count=where((verdict == CONVERGED) & (s.trip == 0), 1, s.count),
        mode=where(finished, DONE, where(enter, DECIDE, s.mode)),
        length=where(far, FAR, s.length),
    )
    s, undecided = _where_any(enter | kept, functools.partial(_decide, rules), s)
    s, _ = _where_any(further | undecided, functools.partial(_descend, rules), s)
    return _finish_core(rules, s)


def _judged(rules: _GjkRules, s: GjkSearch, new: Corners) -> jax.Array:
    """What the new corners mean (N,)."""
    searching, deciding = s.mode == SEARCH, s.mode == DECIDE
    x, point = Vec.of(s.x), new.point
    along = dot(x, point)
    gap = jnp.maximum(rules.gap, rules.rounding * s.length)
    converged = searching & (dot(x, x - point) < gap)
    limit = rules.limit(s)
    far = where(limit > 0, along * along / dot(x, x) >= limit * limit, True)
    apart = searching & (along > 0) & far
    enter = searching & (s.count == 3) & s.fallback
    beyond = dot(Vec.of(s.direction), point) < 0
    search = where(converged, CONVERGED, where(apart, APART, where(enter, ENTER, GO_ON)))
    decision = where(beyond, OUTSIDE, KEPT)
    return where(deciding, decision, search).astype(jnp.int32)


def _where_any(
    on: jax.Array,
    function: Callable[[GjkSearch, jax.Array], tuple[GjkSearch, jax.Array]],
    s: GjkSearch,
) -> tuple[GjkSearch, jax.Array]:
    """What the function makes of the items (N,) that are on, if there are any."""
    return cond(jnp.any(on), function, lambda s, on: (s, on), s, on)


def _decide(rules: _GjkRules, s: GjkSearch, on: jax.Array) -> tuple[GjkSearch, jax.Array]:
    """Whether the origin is inside of the tetrahedra, or where to look next; which ones fail."""
    corners = faces_of(s.corners, OPPOSITE_FACES)
    normal, dist = when_any(on, _planes, corners)
    least, face, direction, degenerate = when_any(on, _nearest_face, normal, dist)
    spent = s.trip >= rules.settings.iterations
    undecided = on & (degenerate | spent)
    inside = on & ~undecided & (least > 0)
    further = on & ~undecided & ~inside
    s = s._replace(
        mode=where(inside, DONE, where(undecided, SEARCH, s.mode)),
        length=where(inside, 0, s.length),
        count=where(inside, 4, s.count),
        direction=keep(further, direction, s.direction),
        place=where(further, face, s.place),
        corners=keep(undecided, s.saved, s.corners),
        fallback=s.fallback & ~undecided,
    )
    return s, undecided


def _planes(corners: list[Vec]) -> tuple[Vec, jax.Array]:
    """Normals (4, N) of the faces of tetrahedra and their distances, negative if outside."""
    a, b, c = corners
    normal = cross(c - a, b - a)
    square = dot(normal, normal)
    proper = (square > MINVAL * MINVAL) & (square < FAR * FAR)
    normal = normal / jnp.sqrt(where(proper, square, 1))
    return normal, where(proper, dot(normal, a), FAR)


def _nearest_face(
    normal: Vec, dist: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Of tetrahedra the face with the least distance.

    Args:
        normal: (4, N) of the faces.
        dist: (4, N) of the faces.

    Returns:
        The distance (N,); the face (N,) and its normal (3, N); whether the origin lies in the plane
        of a face (N,).
    """
    i = where(dist[0] < dist[1], 0, 1)
    j = where(dist[2] < dist[3], 2, 3)
    low, high = where(i == 0, dist[0], dist[1]), where(j == 2, dist[2], dist[3])
    face = where(low < high, i, j)
    least = where(low < high, low, high)
    chosen = pick([normal[k] for k in range(4)], face).joined()
    return least, face.astype(jnp.int32), chosen, jnp.any(dist == 0, axis=0)


def _descend(rules: _GjkRules, s: GjkSearch, on: jax.Array) -> tuple[GjkSearch, jax.Array]:
    """The nearest point of the simplex, which loses the vertices that do not bear it."""
    weight = nearest(faces_of(s.corners, FACES), s.count + 1, on)
    rows, count = _packed([w != 0 for w in weight])
    x, length = when_any(on, _combined, weight, s.corners)
    length = where(count == 4, 0, length)  # inside: what is left of x is rounding
    bearing = np.arange(4, dtype=np.int32)[:, None] < count[None]
    weight = where(bearing, look_up(jnp.stack(weight), rows), 0)
    stalled = jnp.all(jnp.abs(x - s.x) < MINVAL, axis=0)
    stuck = (rules.rounding > 0) & (length > s.length) & (count > 0) & (s.trip > 0)
    on, ended_here = on & ~stuck, on & stuck
    ended = stalled | (count == 4) | (count == 0) | (s.trip + 1 >= rules.settings.iterations)
    s = s._replace(
        corners=keep(on, look_up(s.corners, rows), s.corners),
        weight=keep(on, weight, s.weight),
        count=where(on, count, s.count),
        place=where(on, count, s.place),
        x=keep(on & ~stalled, x, s.x),
        length=where(on & ended, where(count == 0, FAR, length), s.length),
        trip=s.trip + on.astype(jnp.int32),
        mode=where((on & ended) | ended_here, DONE, s.mode),
    )
    return _aim(rules, s, on & ~ended), on


def _combined(weight: list[jax.Array], corners: Corners) -> tuple[jax.Array, jax.Array]:
    """Points (3, N) of simplices by their barycentric coordinates, and their distances (N,)."""
    x = combine(weight, corners.points(4))
    return x.joined(), norm(x)


def _packed(on: list[jax.Array]) -> tuple[jax.Array, jax.Array]:
    """Places (k, N) of the entries that are on, in their order, and how many there are (N,)."""
    count = jnp.zeros_like(on[0], jnp.int32)
    rows = [count] * len(on)
    for k, here in enumerate(on):
        rows = [where(here & (count == j), k, row) for j, row in enumerate(rows)]
        count = count + here.astype(jnp.int32)
    return jnp.stack(rows), count


def _finish_core(rules: _GjkRules, s: GjkSearch) -> GjkSearch:
    """Points and segments that overlap become spheres and capsules, and the search begins anew."""
    again = s.core & (s.mode == DONE) & (s.length <= rules.overlap)
    s = s._replace(core=s.core & ~again, mode=where(again, SEARCH, s.mode))
    return _restart(rules, s, again)


def witnesses(s: Nearest) -> tuple[Vec, Vec]:
    """Nearest points (N,) of both sides."""
    weight = list(s.weight)
    one, two = (
        combine(weight, [side[k] for k in range(4)]) for side in (s.corners.one, s.corners.two)
    )
    return one, two
