"""Gilbert, Johnson and Keerthi's algorithm on batches, along MuJoCo's path.

MuJoCo's results are not converged: where the iteration stops decides normals in the third digit.
So the same start, updates, fallback and stopping rules are used. An item is in one of three modes:
searching for the nearest point, deciding on whether the origin is inside (after a tetrahedron is
found and no distance is needed), or done. Every trip of the loop takes one support point of every
item, and finished items are frozen.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.collision.convex.lanes import combine, cross, dot, keep, norm, pick, put, rows_of
from mjjax.collision.convex.simplex import FAR, nearest
from mjjax.collision.convex.support import Sides, support
from mjjax.collision.shapes import Pools
from mjjax.core.constants import MINVAL

SEARCH, DECIDE, DONE = 0, 1, 2


class Settings(NamedTuple):
    """Options of the convex collisions.

    Attributes:
        iterations: `ccd_iterations`, static.
        tolerance: `ccd_tolerance`, one for all or (N,) [m].
        multiccd: whether pairs get several contacts, static.
    """

    iterations: int
    tolerance: jax.Array
    multiccd: bool = False


class Corners(NamedTuple):
    """Points of the Minkowski difference with where they come from.

    Attributes:
        one: (k, 3, N) points of geom 1.
        two: (k, 3, N) points of geom 2; the point of the difference is `one - two`.
        label: (k, 2, N) their vertices, see `support`.
    """

    one: jax.Array
    two: jax.Array
    label: jax.Array

    @property
    def point(self) -> jax.Array:
        """(k, 3, N) points of the difference."""
        return self.one - self.two


class Search(NamedTuple):
    """State of the iteration of N items, and its result.

    Attributes:
        mode: (N,) `SEARCH`, `DECIDE` or `DONE`.
        core: (N,) whether spheres and capsules are points and segments still.
        fallback: (N,) whether a tetrahedron leads to `DECIDE`.
        x: (3, N) nearest point so far.
        length: (N,) its distance when the iteration began, at the end the result: `FAR` where the
            shapes are apart.
        direction: (3, N) where the next support point is sought.
        corners: the simplex, 4 of them.
        count: (N,) how many of them count.
        saved: the simplex before `DECIDE`.
        place: (N,) where the next support point goes.
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


def gjk(pools: Pools, sides: Sides, cutoff: jax.Array, settings: Settings, on: jax.Array) -> Search:
    """Distances of N pairs, or for zero `cutoff` only whether they overlap.

    Pairs with a sphere or capsule are first tried with its point or segment; where these overlap,
    once more with the full shapes.

    Args:
        pools: the pools.
        sides: shapes of both sides.
        cutoff: (N,) distances of interest [m]; further pairs get `FAR`.
        settings: options.
        on: (N,) pairs to do.
    """
    n = cutoff.shape[0]
    centre = sides.centre()
    start = centre[:, :n] - centre[:, n:]
    extra = sides.radius()
    has_core = sides.has_core[:n] | sides.has_core[n:]
    discrete = sides.polyhedral[:n] & sides.polyhedral[n:]
    square = settings.tolerance * settings.tolerance * 0.5
    rules = _Rules(
        start,
        cutoff,
        cutoff + extra[:n] + extra[n:],
        jnp.where(discrete, 0, square),
        sides.rounding(),
        settings,
    )

    none = jnp.zeros((4, 3, n), start.dtype)
    empty = Corners(none, none, jnp.full((4, 2, n), -1, jnp.int32))
    zero = jnp.zeros(n, jnp.int32)
    state = Search(
        jnp.where(on, SEARCH, DONE),
        has_core,
        ~has_core,
        start,
        jnp.full_like(start[0], FAR),
        start,
        empty,
        zero,
        empty,
        zero,
        jnp.zeros_like(none[:, 0]).at[0].set(1),
        zero,
        jnp.full(2 * n, -1, jnp.int32),
    )
    state = _restart(rules, state, jnp.ones_like(on))

    def body(s: Search) -> Search:
        return _step(rules, s, *_support(pools, sides, s))

    return lax.while_loop(lambda s: jnp.any(s.mode != DONE), body, state)


class _Rules(NamedTuple):
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

    def limit(self, s: Search) -> jax.Array:
        return jnp.where(s.core, self.core_cutoff, self.cutoff)


def _support(pools: Pools, sides: Sides, s: Search) -> tuple[Corners, jax.Array]:
    both = jnp.concatenate([s.direction, -s.direction], axis=1)
    on = s.mode != DONE
    point, label = support(
        pools, sides, both, s.hint, *(jnp.concatenate([x, x]) for x in (s.core, on))
    )
    n = on.shape[0]
    new = Corners(point[:, :n], point[:, n:], jnp.stack([label[:n], label[n:]]))
    return new, jnp.where(jnp.concatenate([on, on]), label, s.hint)


def _restart(rules: _Rules, s: Search, on: jax.Array) -> Search:
    """Begins at the centres."""
    x = keep(on, rules.start, s.x)
    zero = jnp.zeros_like(s.count)
    s = s._replace(
        x=x,
        count=jnp.where(on, zero, s.count),
        place=jnp.where(on, zero, s.place),
        trip=jnp.where(on, zero, s.trip),
        fallback=jnp.where(on, rules.limit(s) <= 0, s.fallback),
        weight=keep(on, jnp.zeros_like(s.weight).at[0].set(1), s.weight),
    )
    return _aim(rules, s, on & (s.mode != DONE))


def _aim(rules: _Rules, s: Search, on: jax.Array) -> Search:
    """Directs items that search towards the origin; those within the tolerance of it are done."""
    square = dot(s.x, s.x)
    near = jnp.where(s.count > 0, rules.overlap, jnp.maximum(rules.rounding, MINVAL))
    at_origin = on & (square < near * near)
    length = jnp.sqrt(square)
    direction = -(s.x / jnp.where(square > 0, length, 1)[None])
    return s._replace(
        mode=jnp.where(at_origin, DONE, s.mode),
        length=jnp.where(on, length, s.length),
        direction=keep(on, direction, s.direction),
    )


def _step(rules: _Rules, s: Search, new: Corners, hint: jax.Array) -> Search:
    """One iteration, given the support points."""
    searching, deciding = s.mode == SEARCH, s.mode == DECIDE
    corners = jax.tree.map(lambda table, row: put(table, s.place, row), s.corners, new)
    corners = jax.tree.map(lambda a, b: keep(s.mode != DONE, a, b), corners, s.corners)
    s = s._replace(corners=corners, hint=hint)
    point = new.point

    # the search: converged, or apart
    along = dot(s.x, point)
    gap = jnp.maximum(rules.gap, rules.rounding * s.length)
    converged = searching & (dot(s.x, s.x - point) < gap)
    count = jnp.where(converged & (s.trip == 0), 1, s.count)
    limit = rules.limit(s)
    far = jnp.where(limit > 0, along * along / dot(s.x, s.x) >= limit * limit, True)
    apart = searching & ~converged & (along > 0) & far
    enter = searching & ~converged & ~apart & (s.count == 3) & s.fallback

    # the decision: the origin is beyond the new point, or the vertices change places
    outside = deciding & (dot(s.direction, point) < 0)
    kept = deciding & ~outside
    a, b = (s.place + 1) % 4, (s.place + 2) % 4
    slots = np.arange(4, dtype=np.int32)[:, None]
    order = jnp.where(slots == a[None], b[None], jnp.where(slots == b[None], a[None], slots))
    order = jnp.where(kept[None], order, slots)
    s = s._replace(
        saved=jax.tree.map(lambda a, b: keep(enter, a, b), s.corners, s.saved),
        corners=jax.tree.map(lambda t: rows_of(t, order), s.corners),
        trip=s.trip + kept.astype(jnp.int32),
        count=count,
    )
    finished = converged | apart | outside
    s = s._replace(
        mode=jnp.where(finished, DONE, jnp.where(enter, DECIDE, s.mode)),
        length=jnp.where(apart | outside, FAR, s.length),
    )
    s, undecided = _decide(rules, s, enter | kept)
    s = _descend(rules, s, (searching & ~finished & ~enter) | undecided)
    return _finish_core(rules, s)


def _decide(rules: _Rules, s: Search, on: jax.Array) -> tuple[Search, jax.Array]:
    """Whether the origin is inside of the tetrahedra, or where to look next; which ones fail."""
    p = s.corners.point
    sides = [(2, 1, 3), (0, 2, 3), (1, 0, 3), (0, 1, 2)]
    a, b, c = (jnp.stack([p[side[i]] for side in sides]) for i in range(3))
    normal = cross(c - a, b - a)
    square = dot(normal, normal)
    proper = (square > MINVAL * MINVAL) & (square < FAR * FAR)
    normal = normal / jnp.sqrt(jnp.where(proper, square, 1))[:, None]
    dist = jnp.where(proper, dot(normal, a), FAR)

    i = jnp.where(dist[0] < dist[1], 0, 1)
    j = jnp.where(dist[2] < dist[3], 2, 3)
    low, high = jnp.where(i == 0, dist[0], dist[1]), jnp.where(j == 2, dist[2], dist[3])
    face = jnp.where(low < high, i, j)
    least = jnp.where(low < high, low, high)

    degenerate = jnp.any(dist == 0, axis=0)
    spent = s.trip >= rules.settings.iterations
    undecided = on & (degenerate | spent)
    inside = on & ~undecided & (least > 0)
    further = on & ~undecided & ~inside
    s = s._replace(
        mode=jnp.where(inside, DONE, jnp.where(undecided, SEARCH, s.mode)),
        length=jnp.where(inside, 0, s.length),
        count=jnp.where(inside, 4, s.count),
        direction=keep(further, pick(normal, face), s.direction),
        place=jnp.where(further, face, s.place),
        corners=jax.tree.map(lambda a, b: keep(undecided, a, b), s.saved, s.corners),
        fallback=s.fallback & ~undecided,
    )
    return s, undecided


def _descend(rules: _Rules, s: Search, on: jax.Array) -> Search:
    """The nearest point of the simplex, which loses the vertices that do not bear it."""
    weight = nearest(s.corners.point, s.count + 1)
    bears = weight != 0
    count = jnp.sum(bears, axis=0, dtype=jnp.int32)
    rank = jnp.cumsum(bears, axis=0, dtype=jnp.int32) - 1
    slots = np.arange(4, dtype=np.int32)[:, None]
    here = bears[None] & (rank[None] == slots[:, None])
    rows = jnp.sum(jnp.where(here, slots[None], 0), axis=1, dtype=jnp.int32)
    corners = jax.tree.map(lambda t: rows_of(t, rows), s.corners)
    weight = jnp.where(slots < count[None], rows_of(weight, rows), 0)
    x = combine(list(weight), list(corners.point))
    stalled = jnp.all(jnp.abs(x - s.x) < MINVAL, axis=0)
    stuck = (rules.rounding > 0) & (norm(x) > s.length) & (count > 0) & (s.trip > 0)
    on, ended_here = on & ~stuck, on & stuck
    ended = stalled | (count == 4) | (count == 0) | (s.trip + 1 >= rules.settings.iterations)
    s = s._replace(
        corners=jax.tree.map(lambda a, b: keep(on, a, b), corners, s.corners),
        weight=keep(on, weight, s.weight),
        count=jnp.where(on, count, s.count),
        place=jnp.where(on, count, s.place),
        x=keep(on & ~stalled, x, s.x),
        length=jnp.where(on & ended, jnp.where(count == 0, FAR, norm(x)), s.length),
        trip=s.trip + on.astype(jnp.int32),
        mode=jnp.where((on & ended) | ended_here, DONE, s.mode),
    )
    return _aim(rules, s, on & ~ended)


def _finish_core(rules: _Rules, s: Search) -> Search:
    """Points and segments that overlap become spheres and capsules, and the search begins anew."""
    again = s.core & (s.mode == DONE) & (s.length <= rules.overlap)
    s = s._replace(core=s.core & ~again, mode=jnp.where(again, SEARCH, s.mode))
    return _restart(rules, s, again)


def witnesses(s: Search) -> tuple[jax.Array, jax.Array]:
    """Nearest points (3, N) of both sides."""
    one, two = (combine(list(s.weight), list(table)) for table in (s.corners.one, s.corners.two))
    return one, two
