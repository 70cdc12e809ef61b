"""The expanding-polytope algorithm, along MuJoCo's path: depth, normal, witnesses.

Each trip of the loop takes the face that is nearest to the origin, finds the support point in its
direction, and replaces the faces that see this point by faces from it to the horizon. The horizon
is walked edge by edge, as in MuJoCo, so that faces of equal distance come in MuJoCo's order. Slots
of removed faces are used again.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.convex.convex_shape import ShapePair
from mjjax.collision.convex.polytope import Faces, first_polytope, foot_of
from mjjax.collision.convex.simplex import FAR, plane_weights
from mjjax.collision.convex.support import Corner, Support
from mjjax.collision.shape.vectors import Vec, combine, dot, put, row, rows_of
from mjjax.core.constants import MINVAL
from mjjax.core.enums import GeomType
from mjjax.xla.kernel_code import subroutine
from mjjax.xla.loops import cond, while_loop
from mjjax.xla.namespace import where

FIRST = 5  # points of the first polytope
SPARE = 16  # slots beyond two for each point, so that new faces need not wait for those of old ones


class Depth(NamedTuple):
    """Penetration of a pair.

    Attributes:
        found: whether there is a result.
        depth: penetration depth [m], positive.
        one: deepest point of geom 1 [m].
        two: deepest point of geom 2 [m].
        normal: vector from geom 1 to geom 2, of length `depth`.
        corners: the three points of the Minkowski difference that span the face.
        weight: (3,) their barycentric coordinates at the deepest points.
    """

    found: jax.Array
    depth: jax.Array
    one: Vec
    two: Vec
    normal: Vec
    corners: Corner
    weight: jax.Array


class Expansion(NamedTuple):
    """State of the polytope.

    Attributes:
        going: whether it grows.
        valid: whether it has a result.
        upper: bound of the depth [m].
        corners: the points, V of them.
        faces: the faces.
        best: (3,) the corners of the face that is the result.
        foot: projection of the origin on this face.
        hint: (2,) label of the last corner, at which searches over meshes begin.
        place: where the next point goes.
    """

    going: jax.Array
    valid: jax.Array
    upper: jax.Array
    corners: Corner
    faces: Faces
    best: jax.Array
    foot: Vec
    hint: jax.Array
    place: jax.Array


class _Rules(NamedTuple):
    """When it stops: bounds of the depth this close [m], repeated corners; rounding error [m]."""

    tolerance: jax.Array
    discrete: jax.Array
    rounding: jax.Array


def epa(
    support: Support,
    pair: ShapePair,
    simplex: Corner,
    count: jax.Array,
    hint: jax.Array,
    tolerance: jax.Array,
    iterations: int,
) -> Depth:
    """Depth of a pair that overlaps.

    Args:
        support: the support functions.
        pair: the shapes.
        simplex: the 4 points with which `gjk` ended.
        count: number of points in use; with fewer than two there is no result.
        hint: (2,) vertices at which `gjk` ended.
        tolerance: `ccd_tolerance` [m].
        iterations: `ccd_iterations`.
    """
    first, faces, valid = first_polytope(support, pair, simplex, count, hint)
    most = FIRST + iterations
    rounding, discrete = pair.rounding(), pair.one.polyhedral & pair.two.polyhedral
    rules = _Rules(jnp.maximum(where(discrete, MINVAL, tolerance), rounding), discrete, rounding)
    start = Expansion(
        going=valid,
        valid=valid,
        upper=jnp.full_like(rounding, FAR),
        corners=jax.tree.map(lambda x: _grown(x, most), first),
        faces=_with_room(faces, 2 * most + SPARE),
        best=jnp.zeros(3, jnp.int32),
        foot=Vec.of(first.one[0]),
        hint=hint,
        place=jnp.int32(FIRST),
    )

    def body(s: Expansion) -> Expansion:
        return _grow(rules, *_expand(rules, support, pair, s))

    return _result(while_loop(lambda s: s.going & (s.place < most), body, start))


def _grown(x: jax.Array, rows: int) -> jax.Array:
    return jnp.pad(x, [(0, rows - len(x))] + [(0, 0)] * (x.ndim - 1))


def _with_room(faces: Faces, slots: int) -> Faces:
    """The first polytope in more slots, of which the last stays empty."""
    return Faces(
        _grown(faces.origin, 3 * slots),
        _grown(faces.twin, 3 * slots),
        jax.tree.map(lambda x: _grown(x, slots), faces.foot),
        jnp.pad(faces.square, (0, slots - len(faces.square)), constant_values=FAR),
        jnp.pad(faces.used, (0, slots - len(faces.used))).at[-1].set(True),
    )


def _expand(
    rules: _Rules, support: Support, pair: ShapePair, s: Expansion
) -> tuple[Expansion, jax.Array, jax.Array]:
    """The next point, if there is one; the nearest face, and its squared distance."""
    face = jnp.argmin(s.faces.square).astype(jnp.int32)
    least, foot = row(s.faces.square, face), row(s.faces.foot, face)
    improves = (least < FAR) & (least <= s.upper * s.upper)
    lower = jnp.sqrt(least)
    s = s._replace(
        best=where(improves, s.faces.corners_of(face), s.best),
        foot=jax.tree.map(lambda new, old: where(improves, new, old), foot, s.foot),
    )

    def ask() -> Corner:
        return support.of_pair(pair, foot / where(lower > MINVAL, lower, 1), s.hint)

    going = improves & (least > 0)
    new = cond(going, ask, lambda: row(s.corners, 0))
    upper = jnp.minimum(s.upper, _bound(foot, new.point, lower))
    seen = rules.discrete & _seen(pair, s, new)
    s = s._replace(
        going=going & ~(upper - lower < rules.tolerance) & ~seen,
        upper=where(going, upper, s.upper),
        corners=put(s.corners, s.place, new),
        hint=new.label,
    )
    return s, face, least


@subroutine
def _bound(foot: Vec, point: jax.Array, lower: jax.Array) -> jax.Array:
    return dot(foot, Vec.of(point)) / lower


def _seen(pair: ShapePair, s: Expansion, new: Corner) -> jax.Array:
    """Whether the polytope has the new point: the same vertices of both shapes.

    MuJoCo does not number the corners of prisms: a repeated vertex of the other side counts.
    """
    fields = pair.both.kind == GeomType.HFIELD
    same = (s.corners.label == new.label[None]) | fields[None]
    rows = np.arange(len(same), dtype=np.int32)
    return jnp.any(same[:, 0] & same[:, 1] & (rows < s.place))


def _grow(rules: _Rules, s: Expansion, face: jax.Array, least: jax.Array) -> Expansion:
    """Replaces the faces that see the new point by faces from it to their horizon.

    The walk begins at the nearest face. Behind an edge is a visible face, and the walk goes on
    along its next edge, or one that is not, and the edge is of the horizon.

    Args:
        rules: when it stops.
        s: the polytope, with the new point in the row `place`.
        face: the nearest face.
        least: its squared distance.
    """
    slots = np.arange(len(s.faces.square), dtype=np.int32)
    visible = _visible(rules, s.faces.foot, row(s.corners.point, s.place)) | (slots == face)
    faces = s.faces._replace(
        square=where(visible, FAR, s.faces.square),
        foot=jax.tree.map(lambda x: where(visible, 0, x), s.faces.foot),
    )
    edge, last = 3 * face, jnp.int32(len(slots) - 1)
    steps = where(s.going, 3 * len(slots), 0)
    start = _Walk(edge, edge, jnp.int32(0), last, last, jnp.asarray(True), steps, faces)
    bounds = least, s.upper * s.upper
    end = while_loop(
        lambda w: ~w.closed & (w.steps > 0), lambda w: _walk(s, visible, bounds, w), start
    )
    # the last new face is next to the first one
    twin = put(end.faces.twin, 3 * end.earliest, 3 * end.latest + 2)
    twin = put(twin, 3 * end.latest + 2, 3 * end.earliest)
    enough = len(slots) - jnp.sum(s.faces.used, dtype=jnp.int32) > end.count
    complete = (end.sound & end.closed & (end.count >= 3)) | ~enough
    survives = jnp.any(end.faces.square < FAR)
    return s._replace(
        faces=end.faces._replace(twin=twin, used=end.faces.used & ~visible),
        going=s.going & complete & enough & survives,
        valid=s.valid & (~s.going | complete),
        place=s.place + 1,
    )


@subroutine
def _visible(rules: _Rules, foot: Vec, point: jax.Array) -> jax.Array:
    """Which faces (S,) have the new point above their planes."""
    square = dot(foot, foot)
    height = dot(foot, Vec.of(point)) - square - MINVAL  # times the distance of the plane
    height = where(height > 0, height * height - square * rules.rounding**2, height)
    return height > 0


class _Walk(NamedTuple):
    """A walk along the horizon, which attaches a new face to each of its edges.

    Attributes:
        at: half-edge of a visible face that is looked at.
        first: the first such half-edge at the horizon.
        count: number of edges of the horizon.
        earliest: slot of the first new face.
        latest: slot of the last one.
        sound: whether all new faces have planes.
        steps: how many are left before the walk is given up.
        faces: the faces; of the removed ones the edges are still there.
    """

    at: jax.Array
    first: jax.Array
    count: jax.Array
    earliest: jax.Array
    latest: jax.Array
    sound: jax.Array
    steps: jax.Array
    faces: Faces

    @property
    def closed(self) -> jax.Array:
        """Whether it came to the first edge of the horizon again."""
        return (self.count > 0) & (self.at == self.first)


def _walk(s: Expansion, visible: jax.Array, bounds: tuple[jax.Array, jax.Array], w: _Walk) -> _Walk:
    """One step; `bounds` are those of the squared distances of faces that may be the nearest.

    A new face leads from the new point to the edge of the horizon, along it, and back. Where there
    is none, the last slot is written, which no face has.
    """
    faces, last, zero = w.faces, len(visible) - 1, jnp.zeros_like(bounds[0])
    beyond = row(faces.twin, w.at)
    inside = row(visible, beyond // 3)
    a, b = row(faces.origin, w.at), row(faces.origin, _next(w.at))

    def nothing() -> tuple[jax.Array, Vec, jax.Array]:
        return jnp.int32(last), Vec(zero, zero, zero), zero

    def attached() -> tuple[jax.Array, Vec, jax.Array]:
        slots = np.arange(last + 1, dtype=np.int32)
        slot = jnp.min(where(faces.used, last, slots))
        return slot, *foot_of(*(Vec.of(row(s.corners.point, k)) for k in (s.place, a, b)))

    slot, foot, square = cond(inside, nothing, attached)
    is_open = ~inside & (square >= bounds[0]) & (square <= bounds[1])
    before = where(inside, last, w.latest)
    twin = put(faces.twin, 3 * slot, 3 * before + 2)
    twin = put(twin, 3 * before + 2, 3 * slot)
    twin = put(twin, 3 * slot + 1, beyond)
    twin = put(twin, where(inside, 3 * last + 1, beyond), 3 * slot + 1)
    origin = put(put(put(faces.origin, 3 * slot, s.place), 3 * slot + 1, a), 3 * slot + 2, b)
    faces = Faces(
        origin,
        twin,
        put(faces.foot, slot, foot),
        put(faces.square, slot, where(is_open, square, FAR)),
        put(faces.used, slot, jnp.asarray(True)),
    )
    begins = ~inside & (w.count == 0)
    return _Walk(
        at=_next(where(inside, beyond, w.at)),
        first=where(begins, w.at, w.first),
        count=w.count + where(inside, 0, 1),
        earliest=where(begins, slot, w.earliest),
        latest=where(inside, w.latest, slot),
        sound=w.sound & (inside | (square != 0)),
        steps=w.steps - 1,
        faces=faces,
    )


def _next(edge: jax.Array) -> jax.Array:
    """The half-edge after one in its face."""
    return where(edge % 3 == 2, edge - 2, edge + 1)


def _result(s: Expansion) -> Depth:
    corners = jax.tree.map(lambda x: x[s.best], s.corners)
    area, parts = plane_weights(corners.point, s.foot)
    proper = s.valid & (area != 0)
    weight = [p / where(proper, area, 1) for p in parts]
    one, two = (combine(weight, rows_of(x)) for x in (corners.one, corners.two))
    depth = jnp.sqrt(dot(s.foot, s.foot))
    return Depth(s.valid & (depth > 0), depth, one, two, s.foot, corners, jnp.stack(weight))
