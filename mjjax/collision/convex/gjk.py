"""Gilbert, Johnson and Keerthi's algorithm, along MuJoCo's path.

MuJoCo's results are not converged: the step at which the iteration stops changes normals in the
third digit. So start, updates, fallback and stopping rules are those of MuJoCo. The iteration is in
one of three modes. It searches for the nearest point, or it decides whether the origin is inside
(if a tetrahedron is found and no distance is needed), or it is done. Every trip of the loop
computes one corner of the Minkowski difference.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.convex.convex_shape import ShapePair
from mjjax.collision.convex.simplex import FAR, nearest
from mjjax.collision.convex.support import Corner, Support
from mjjax.collision.shape.vectors import Vec, choose, combine, cross, dot, norm, put, row, rows_of
from mjjax.core.constants import MINVAL
from mjjax.xla.kernel_code import subroutine
from mjjax.xla.loops import cond, while_loop
from mjjax.xla.namespace import where

SEARCH, DECIDE, DONE = np.arange(3, dtype=np.int32)
# What a new corner means: nothing yet, the search has converged, the shapes are apart, a
# tetrahedron is found; in the decision, the origin is outside of it, or there is a new one.
GO_ON, CONVERGED, APART, ENTER, OUTSIDE, KEPT = np.arange(6, dtype=np.int32)
OPPOSITE_FACES = ((2, 1, 3), (0, 2, 3), (1, 0, 3), (0, 1, 2))  # its faces, k opposite to corner k


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
    """State of the iteration, and its result.

    Attributes:
        mode: `SEARCH`, `DECIDE` or `DONE`.
        core: whether spheres and capsules are still treated as points and segments.
        fallback: whether a tetrahedron leads to `DECIDE`.
        x: (3,) nearest point so far.
        length: its distance at the beginning of the trip, and finally the result, which is `FAR` if
            the shapes are apart.
        direction: (3,) direction of the next support point.
        simplex: 4 corners.
        count: number of corners in use.
        saved: the simplex before `DECIDE`.
        place: place of the next corner in the simplex.
        weight: (4,) barycentric coordinates of x.
        trip: iterations.
        hint: (2,) label of the last corner, at which searches over meshes begin.
    """

    mode: jax.Array
    core: jax.Array
    fallback: jax.Array
    x: jax.Array
    length: jax.Array
    direction: jax.Array
    simplex: Corner
    count: jax.Array
    saved: Corner
    place: jax.Array
    weight: jax.Array
    trip: jax.Array
    hint: jax.Array

    def witnesses(self) -> tuple[Vec, Vec]:
        """Nearest points of both shapes."""
        weight = [self.weight[k] for k in range(4)]
        one, two = (combine(weight, rows_of(x)) for x in (self.simplex.one, self.simplex.two))
        return one, two


class _Rules(NamedTuple):
    """What the iteration is about.

    Attributes:
        start: (3,) difference of the centres, where it begins.
        cutoff: distance of interest [m].
        core_cutoff: the same between points and segments.
        gap: bound of the duality gap at which the iteration stops [m^2].
        rounding: rounding error of a point [m].
        overlap: distance up to which shapes count as overlapping [m].
        iterations: the most.
    """

    start: jax.Array
    cutoff: jax.Array
    core_cutoff: jax.Array
    gap: jax.Array
    rounding: jax.Array
    overlap: jax.Array
    iterations: jax.Array

    def limit(self, s: GjkSearch) -> jax.Array:
        """The distance of interest of what is treated now."""
        return where(s.core, self.core_cutoff, self.cutoff)


def gjk(
    support: Support, pair: ShapePair, cutoff: jax.Array, tolerance: jax.Array, iterations: int
) -> GjkSearch:
    """Distance of a pair; if `cutoff` is zero, only whether the shapes overlap.

    Spheres and capsules are first treated as points and segments. If these overlap with the other
    shape, the pair is treated once more with the full shapes.

    Args:
        support: the support functions.
        pair: the shapes.
        cutoff: distance of interest [m]; a further pair gets `FAR`.
        tolerance: `ccd_tolerance` [m].
        iterations: `ccd_iterations`.
    """
    one, two = pair.one, pair.two
    start = (one.centre() - two.centre()).joined()
    discrete, rounding = one.polyhedral & two.polyhedral, pair.rounding()
    rules = _Rules(
        start,
        cutoff,
        cutoff + one.radius() + two.radius(),
        where(discrete, 0, tolerance * tolerance * 0.5),
        rounding,
        jnp.maximum(tolerance, rounding),
        jnp.int32(iterations),
    )
    empty, zero = Corner.empty(4, start.dtype), jnp.int32(0)
    has_core = one.has_core | two.has_core
    far = jnp.full((), FAR, start.dtype)
    weight = jnp.zeros(4, start.dtype).at[0].set(1)
    state = GjkSearch(
        mode=jnp.int32(SEARCH),
        core=has_core,
        fallback=~has_core,
        x=start,
        length=far,
        direction=start,
        simplex=empty,
        count=zero,
        saved=empty,
        place=zero,
        weight=weight,
        trip=zero,
        hint=jnp.full(2, -1, jnp.int32),
    )

    def body(s: GjkSearch) -> GjkSearch:
        new = support.of_pair(pair, Vec.of(s.direction), s.hint, s.core)
        return _finish_core(rules, _step(rules, s, new))

    return while_loop(lambda s: s.mode != DONE, body, _begin(rules, state))


def _begin(rules: _Rules, s: GjkSearch) -> GjkSearch:
    """Begins at the centres."""
    zero = jnp.int32(0)
    weight = jnp.zeros_like(s.weight).at[0].set(1)
    s = s._replace(x=rules.start, count=zero, place=zero, trip=zero, weight=weight)
    return _aim(rules, s._replace(fallback=rules.limit(s) <= 0))


def _aim(rules: _Rules, s: GjkSearch) -> GjkSearch:
    """Directs the search towards the origin; it is done within the tolerance of it."""
    near = where(s.count > 0, rules.overlap, jnp.maximum(rules.rounding, MINVAL))
    at_origin, length, direction = _towards_origin(s.x, near)
    return s._replace(mode=where(at_origin, DONE, s.mode), length=length, direction=direction)


@subroutine
def _towards_origin(x: jax.Array, near: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    square = dot(Vec.of(x), Vec.of(x))
    length = jnp.sqrt(square)
    return square < near * near, length, -(x / where(square > 0, length, 1))


def _step(rules: _Rules, s: GjkSearch, new: Corner) -> GjkSearch:
    """One iteration, given the new corner."""
    verdict = _judged(rules, s, new)
    far = (verdict == APART) | (verdict == OUTSIDE)
    further = (s.mode == SEARCH) & (verdict == GO_ON)
    s = s._replace(
        hint=new.label,
        simplex=put(s.simplex, s.place, new),
        count=where((verdict == CONVERGED) & (s.trip == 0), 1, s.count),
        mode=where(far | (verdict == CONVERGED), DONE, s.mode),
        length=where(far, FAR, s.length),
    )

    def decide(s: GjkSearch) -> tuple[GjkSearch, jax.Array]:
        return _decide(rules, s, verdict == ENTER)

    asked = (verdict == ENTER) | (verdict == KEPT)
    s, undecided = cond(asked, decide, lambda s: (s, asked), s)
    return cond(further | undecided, lambda s: _descend(rules, s), lambda s: s, s)


@subroutine
def _judged(rules: _Rules, s: GjkSearch, new: Corner) -> jax.Array:
    """What the new corner means."""
    x, point, limit = Vec.of(s.x), Vec.of(new.point), rules.limit(s)
    along = dot(x, point)
    gap = jnp.maximum(rules.gap, rules.rounding * s.length)
    far = where(limit > 0, along * along / dot(x, x) >= limit * limit, True)
    found = where((s.count == 3) & s.fallback, ENTER, GO_ON)
    found = where((along > 0) & far, APART, found)
    found = where(dot(x, x - point) < gap, CONVERGED, found)
    outside = dot(Vec.of(s.direction), point) < 0
    found = where(s.mode == DECIDE, where(outside, OUTSIDE, KEPT), found)
    return found.astype(jnp.int32)


def _decide(rules: _Rules, s: GjkSearch, first: jax.Array) -> tuple[GjkSearch, jax.Array]:
    """Whether the origin is inside of the tetrahedron, or where to look next; whether this fails.

    Args:
        rules: what the iteration is about.
        s: the state, with a new tetrahedron.
        first: whether it is the first tetrahedron.
    """
    a, b = (s.place + 1) % 4, (s.place + 2) % 4
    # a later corner exchanges the two that follow
    corners = s.simplex
    swapped = put(put(corners, a, row(corners, b)), b, row(corners, a))
    s = s._replace(
        saved=choose(first, corners, s.saved),
        simplex=choose(first, corners, swapped),
        trip=s.trip + where(first, 0, 1),
    )
    least, face, direction, degenerate = _nearest_face(s.simplex.point)
    undecided = degenerate | (s.trip >= rules.iterations)
    inside = ~undecided & (least > 0)
    s = s._replace(
        mode=where(inside, DONE, where(undecided, SEARCH, DECIDE)),
        length=where(inside, 0, s.length),
        count=where(inside, 4, s.count),
        direction=where(undecided | inside, s.direction, direction),
        place=where(undecided | inside, s.place, face),
        simplex=choose(undecided, s.saved, s.simplex),
        fallback=s.fallback & ~undecided,
    )
    return s, undecided


@subroutine
def _nearest_face(points: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """The face of a tetrahedron (4, 3) with the least distance from the origin, negative outside.

    Returns:
        The distance; the face and its normal (3,); whether the origin lies in the plane of a face.
    """
    corners = rows_of(points)
    normals, dist = zip(
        *(_plane(*(corners[i] for i in ids)) for ids in OPPOSITE_FACES), strict=True
    )
    i = where(dist[0] < dist[1], 0, 1)
    j = where(dist[2] < dist[3], 2, 3)
    low, high = where(i == 0, dist[0], dist[1]), where(j == 2, dist[2], dist[3])
    face = where(low < high, i, j).astype(jnp.int32)
    normal = row(jnp.stack([n.joined() for n in normals]), face)
    in_plane = (dist[0] == 0) | (dist[1] == 0) | (dist[2] == 0) | (dist[3] == 0)
    return where(low < high, low, high), face, normal, in_plane


@subroutine
def _plane(a: Vec, b: Vec, c: Vec) -> tuple[Vec, jax.Array]:
    """Normal of the face of a tetrahedron and its distance, negative if the origin is outside."""
    normal = cross(c - a, b - a)
    square = dot(normal, normal)
    proper = (square > MINVAL * MINVAL) & (square < FAR * FAR)
    normal = normal / jnp.sqrt(where(proper, square, 1))
    return normal, where(proper, dot(normal, a), FAR)


def _descend(rules: _Rules, s: GjkSearch) -> GjkSearch:
    """The nearest point of the simplex, which loses the corners that do not bear it."""
    weight = nearest(s.simplex.point, s.count + 1)
    order, count = _bearing(weight)
    x, length = _combined(weight, s.simplex.point)
    length = where(count == 4, 0, length)  # inside: what is left of x is rounding
    stalled = jnp.all(jnp.abs(x - s.x) < MINVAL)
    stuck = (rules.rounding > 0) & (length > s.length) & (count > 0) & (s.trip > 0)
    ended = stalled | (count == 4) | (count == 0) | (s.trip + 1 >= rules.iterations)

    def moved(s: GjkSearch) -> GjkSearch:
        corners = jax.tree.map(lambda v: v[order], s.simplex)
        some = np.arange(4, dtype=np.int32) < count
        s = s._replace(
            simplex=corners,
            weight=where(some, weight[order], 0),
            count=count,
            place=count,
            x=where(stalled, s.x, x),
            trip=s.trip + 1,
        )
        end = s._replace(mode=jnp.int32(DONE), length=where(count == 0, FAR, length))
        return choose(ended, end, _aim(rules, s))

    return cond(stuck, lambda s: s._replace(mode=jnp.int32(DONE)), moved, s)


@subroutine
def _combined(weight: jax.Array, points: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A point (3,) by barycentric coordinates (4,) in a simplex (4, 3), and its distance."""
    x = combine([weight[k] for k in range(4)], rows_of(points))
    return x.joined(), norm(x)


@subroutine
def _bearing(weight: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Places (4,) of the coordinates (4,) that are not zero, in their order, and their number."""
    count, order = jnp.int32(0), jnp.zeros(4, jnp.int32)
    for k in range(4):
        bears = weight[k] != 0
        order = where((np.arange(4, dtype=np.int32) == count) & bears, k, order)
        count = count + bears.astype(jnp.int32)
    return order, count


def _finish_core(rules: _Rules, s: GjkSearch) -> GjkSearch:
    """Points and segments that overlap become spheres and capsules, and the search begins anew."""
    again = s.core & (s.mode == DONE) & (s.length <= rules.overlap)

    def anew(s: GjkSearch) -> GjkSearch:
        return _begin(rules, s._replace(core=~again, mode=jnp.int32(SEARCH)))

    return cond(again, anew, lambda s: s, s)
