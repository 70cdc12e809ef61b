"""The expanding-polytope algorithm, along MuJoCo's path: depth, normal, witnesses.

N is 1 here (see `each_pair`): faces are written to the same places of the table for all items.

Each trip of the loop takes every item's face that is nearest to the origin, finds the support point
in its direction, and replaces the faces that see this point by faces from it to the horizon. The
horizon is walked edge by edge, as in MuJoCo, so that faces of equal distance come in MuJoCo's
order. Slots of removed faces are used again.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.collision.convex.bits import ALL, WORD, bits_of, nth, without
from mjjax.collision.convex.corners import Corners
from mjjax.collision.convex.gjk import Settings
from mjjax.collision.convex.polytope import SLOTS, Faces, first_polytope, foot_of, pack, unpack
from mjjax.collision.convex.simplex import FAR, plane_weights
from mjjax.collision.convex.support import Sides, both_ways, support
from mjjax.collision.shape.lanes import Vec, combine, dot, keep, look_up, put_row, when_any
from mjjax.collision.shape.shapes import Pools
from mjjax.core.constants import MINVAL
from mjjax.core.enums import GeomType
from mjjax.xla.loops import while_loop
from mjjax.xla.namespace import where

FIRST = 5  # points of the first polytope


class Depth(NamedTuple):
    """Penetration of N pairs.

    Attributes:
        found: (N,) whether there is a result.
        depth: (N,) penetration depth [m], positive.
        one: (N,) deepest point of geom 1 [m].
        two: (N,) deepest point of geom 2 [m].
        normal: (N,) vector from geom 1 to geom 2, of length `depth`.
        corners: the three points of the Minkowski difference that span the face.
        weight: (3, N) their barycentric coordinates at the deepest points.
    """

    found: jax.Array
    depth: jax.Array
    one: Vec
    two: Vec
    normal: Vec
    corners: Corners
    weight: jax.Array


class Expansion(NamedTuple):
    """State of N polytopes.

    Attributes:
        going: (N,) whether the item is not done.
        valid: (N,) whether it has a result.
        upper: (N,) bound of the depth.
        corners: the points, V of them.
        faces: the faces.
        free: (W, N) bits of the slots that are free.
        best: the vertices (N,) of the face that is the result, packed.
        foot: (3, N) projection of the origin on this face.
        hint: (2 N,) vertices at which searches over meshes ended.
    """

    going: jax.Array
    valid: jax.Array
    upper: jax.Array
    corners: Corners
    faces: Faces
    free: jax.Array
    best: jax.Array
    foot: jax.Array
    hint: jax.Array


class _Rules(NamedTuple):
    """When items stop: bounds of the depth this close [m], repeated vertices, rounding [m]."""

    tolerance: jax.Array
    discrete: jax.Array
    rounding: jax.Array


def epa(
    pools: Pools,
    sides: Sides,
    simplex: Corners,
    count: jax.Array,
    hint: jax.Array,
    settings: Settings,
) -> Depth:
    """Depth of a pair that overlaps; N is 1.

    Args:
        pools: the pools.
        sides: shapes of both sides of N pairs.
        simplex: the points (4) with which `gjk` ended.
        count: (N,) number of points in use; items with fewer than two have no result.
        hint: (2 N,) vertices at which `gjk` ended.
        settings: options.
    """
    n = count.shape[0]
    first, faces, valid = first_polytope(pools, sides, simplex, count, hint)
    corners = jax.tree.map(lambda x: _grown(x, FIRST + settings.iterations), first)
    words = -(-(2 * (FIRST + settings.iterations) + WORD // 2) // WORD)
    faces = _with_room(faces, WORD * words)
    discrete = sides.polyhedral[:n] & sides.polyhedral[n:]
    dtype = faces.plane.dtype
    rounding = sides.rounding()
    tolerance = where(discrete, MINVAL, settings.tolerance).astype(dtype)
    rules = _Rules(jnp.maximum(tolerance, rounding), discrete, rounding)
    start = Expansion(
        valid,
        valid,
        jnp.full(n, FAR, dtype),
        corners,
        faces,
        bits_of(jnp.any(faces.plane[1:] != 0, axis=0)) ^ np.uint32(ALL),
        jnp.zeros(n, jnp.int32),
        corners.ends[:, 0, 0],
        hint,
    )

    def body(state: tuple[jax.Array, Expansion]) -> tuple[jax.Array, Expansion]:
        trip, s = state
        return trip + 1, _expand(pools, sides, s, trip + FIRST, rules)

    def unfinished(state: tuple[jax.Array, Expansion]) -> jax.Array:
        return (state[0] < settings.iterations) & jnp.any(state[1].going)

    _, end = while_loop(unfinished, body, (jnp.int32(0), start))
    return _result(end)


def _grown(x: jax.Array, rows: int) -> jax.Array:
    return jnp.pad(x, [(0, 0)] * (x.ndim - 2) + [(0, rows - x.shape[-2]), (0, 0)])


def _with_room(faces: Faces, slots: int) -> Faces:
    """The first polytope in more slots."""
    edge, face = faces.across // SLOTS, faces.across % SLOTS
    room = Faces(*(_grown(x, slots) for x in faces._replace(across=edge * slots + face)))
    far = room.plane.at[0, SLOTS:].set(FAR)
    return room._replace(plane=far)


def _expand(pools: Pools, sides: Sides, s: Expansion, place: jax.Array, rules: _Rules) -> Expansion:
    """One iteration; the new point goes to `place`."""
    square = s.faces.plane[0]
    least = jnp.min(square, axis=0)
    slots = np.arange(len(square), dtype=np.int32)[:, None]
    face = jnp.min(where(square == least[None], slots, len(square) - 1), axis=0)
    proper = when_any(s.going, _may_improve, s.going, least, s.upper)
    foot = look_up(s.faces.plane, face)[1:]
    s = s._replace(
        best=where(proper, look_up(s.faces.vertex, face), s.best),
        foot=keep(proper, foot, s.foot),
    )
    going = proper & (least > 0)
    lower = jnp.sqrt(least)

    def ask(foot: jax.Array, lower: jax.Array, going: jax.Array) -> tuple[Corners, jax.Array]:
        direction = foot / where(lower > MINVAL, lower, 1)[None]
        twice = jnp.concatenate([going, going])
        both = both_ways(Vec.of(direction))
        point, label = support(pools, sides, both, s.hint, jnp.zeros_like(twice), twice)
        return Corners.of(point, label), where(twice, label, s.hint)

    new, hint = when_any(going, ask, foot, lower, going)
    rest = sides, s, new, place, least, foot
    going, upper = when_any(going, functools.partial(_bounded, rules), going, *rest)
    corners = put_row(s.corners, place, new)
    s = s._replace(corners=corners, upper=upper, hint=hint)
    return _grow(s, face, new.point, place, going, least, rules)


def _may_improve(going: jax.Array, least: jax.Array, upper: jax.Array) -> jax.Array:
    """Whether the nearest face (N,) may bound the depth."""
    return going & (least < FAR) & (least <= upper * upper)


def _bounded(
    rules: _Rules,
    going: jax.Array,
    sides: Sides,
    s: Expansion,
    new: Corners,
    place: jax.Array,
    least: jax.Array,
    foot: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """Whether items (N,) go on after their new points, and the upper bounds of their depths."""
    lower = jnp.sqrt(least)
    bound = dot(Vec.of(foot), new.point) / lower
    upper = where(going, jnp.minimum(s.upper, bound), s.upper)
    seen = rules.discrete & _seen(sides, s, new, place)
    return going & ~(upper - lower < rules.tolerance) & ~seen, upper


def _seen(sides: Sides, s: Expansion, new: Corners, place: jax.Array) -> jax.Array:
    """Whether (N,) the polytope has the new point: the same vertices of both sides.

    MuJoCo does not number the corners of prisms: a repeated vertex of the other side counts.
    """
    field = (sides.kind == GeomType.HFIELD).reshape(2, 1, -1)
    rows = np.arange(s.corners.label.shape[1], dtype=np.int32)[:, None]
    same = (s.corners.label == new.label[:, None]) | field
    return jnp.any(same[0] & same[1] & (rows < place), axis=0)


def _grow(
    s: Expansion,
    face: jax.Array,
    w: Vec,
    place: jax.Array,
    going: jax.Array,
    least: jax.Array,
    rules: _Rules,
) -> Expansion:
    """Replaces the faces that see the new point by faces from it to their horizon.

    Args:
        s: the polytopes.
        face: (N,) the nearest faces.
        w: (N,) the new points, in row `place` of the corners.
        place: their row.
        going: (N,) which polytopes to do.
        least: (N,) squared distance of the nearest faces.
        rules: when items stop.
    """
    above = when_any(going, functools.partial(_above, rules), s.faces.foot, w)
    slots = np.arange(len(above), dtype=np.int32)[:, None]
    visible = going[None] & ((above > 0) | (slots == face[None]))
    walk = _walk(s.faces, face, visible, going)
    some = _Some(walk, place, least, s.upper * s.upper)

    def body(state: tuple[jax.Array, jax.Array, Faces]) -> tuple[jax.Array, jax.Array, Faces]:
        k, sound, faces = state
        faces, proper = _attach(s.corners, s.free, faces, some, k)
        return k + 1, sound & proper, faces

    def left(state: tuple[jax.Array, jax.Array, Faces]) -> jax.Array:
        return jnp.any(going & (state[0] < walk.count))

    gone = jnp.asarray([FAR, 0, 0, 0], least.dtype)[:, None, None]
    faces = s.faces._replace(plane=where(visible[None], gone, s.faces.plane))
    start = jnp.int32(0), jnp.ones_like(going), faces
    _, sound, faces = while_loop(left, body, start)
    room = jnp.sum(lax.population_count(s.free), axis=0).astype(jnp.int32)
    enough = room > walk.count
    complete = (sound & walk.closed & (walk.count >= 3)) | ~enough
    survives = jnp.any(faces.plane[0] < FAR, axis=0)
    return s._replace(
        faces=faces,
        free=without(s.free, walk.count) | when_any(going, bits_of, visible),
        going=going & complete & enough & survives,
        valid=s.valid & (~going | complete),
    )


def _above(rules: _Rules, foot: Vec, w: Vec) -> jax.Array:
    """Positive (S, N) for the faces whose planes are below the new point.

    A number, since what makes truth values of so much has no vectors.
    """
    square = dot(foot, foot)
    height = dot(foot, w) - square - MINVAL  # times the distance of the plane
    return where(height > 0, height * height - square * rules.rounding[None] ** 2, height)


class _HorizonWalk(NamedTuple):
    """A walk around the visible faces, along the edges of the horizon.

    Attributes:
        on: (N,) whether the walk goes on.
        at: (N,) number in `Faces.across` of the edge of a visible face that is looked at.
        horizon: (H, N) such numbers of the edges of the horizon, in the order of the walk.
        count: (N,) how many there are.
        closed: (N,) whether the walk came to its first edge of the horizon again.
        left: steps left before the walk is given up.
    """

    on: jax.Array
    at: jax.Array
    horizon: jax.Array
    count: jax.Array
    closed: jax.Array
    left: jax.Array


def _walk(faces: Faces, face: jax.Array, visible: jax.Array, going: jax.Array) -> _HorizonWalk:
    """The horizon of the visible faces, from the first edge of `face` (N,) on.

    Behind an edge is a visible face, and the walk goes on along its next edge, or one that is not,
    and the edge is of the horizon.
    """
    slots, lanes = visible.shape
    most = slots // 2
    rows = np.arange(most, dtype=np.int32)[:, None]
    across = faces.across.reshape(3 * slots, lanes)

    def body(w: _HorizonWalk) -> _HorizonWalk:
        beyond = look_up(across, w.at)
        inside = look_up(visible, beyond % slots)
        closed = w.on & (w.count > 0) & (w.horizon[0] == w.at)
        found = w.on & ~inside & ~closed & (w.count < most)
        after = where(inside, beyond, w.at) + slots
        after = where(after >= 3 * slots, after - 3 * slots, after)
        return _HorizonWalk(
            w.on & ~closed & (inside | found),
            where(w.on, after, w.at),
            where(found[None] & (rows == w.count[None]), w.at[None], w.horizon),
            w.count + found.astype(jnp.int32),
            w.closed | closed,
            w.left - 1,
        )

    zero = jnp.zeros_like(face)
    horizon = jnp.zeros((most, lanes), jnp.int32)
    start = _HorizonWalk(going, face, horizon, zero, zero > 0, jnp.int32(3 * slots))
    return while_loop(lambda w: jnp.any(w.on) & (w.left > 0), body, start)


class _Some(NamedTuple):
    """What new faces need: the horizon, the row of the new point, bounds of squared distances."""

    walk: _HorizonWalk
    place: jax.Array
    least: jax.Array
    most: jax.Array


def _attach(
    corners: Corners, free: jax.Array, faces: Faces, some: _Some, first: jax.Array
) -> tuple[Faces, jax.Array]:
    """Attaches a face to an edge of the horizon, and whether it is proper (N,).

    The k-th face takes the k-th free slot; its edges lead from the new point along the edge of the
    horizon and back, next to the faces before and after it.
    """
    slots, lanes = faces.vertex.shape
    count = some.walk.count[None]
    k = first + np.arange(-1, 2, dtype=np.int32)[:, None]
    slot = nth(free, where(k < 0, count - 1, where(k == count, 0, k)))
    before, slot, after = slot[:1], slot[1:2], slot[2:]
    k = jnp.broadcast_to(k[1:2], slot.shape)
    on = (k < count) & (slot < slots)

    edge = look_up(some.walk.horizon, k)
    beyond = look_up(faces.across.reshape(3 * slots, lanes), edge)
    word, side = look_up(faces.vertex, edge % slots), edge // slots
    a, b = unpack(word, side), unpack(word, where(side == 2, 0, side + 1))

    def at(row: jax.Array) -> Vec:
        ends = Vec.of(look_up(corners.ends, row))
        return ends[0] - ends[1]

    def feet(a: jax.Array, b: jax.Array) -> tuple[Vec, jax.Array]:
        return foot_of(at(jnp.full_like(a, some.place)), at(a), at(b))

    foot, square = when_any(on, feet, a, b)
    is_open = (square >= some.least[None]) & (square <= some.most[None])
    key = where(is_open, square, FAR)
    numbers = jnp.stack(
        [before + 2 * slots, beyond, after, slot + slots, pack(jnp.full_like(a, some.place), a, b)]
    )
    rows = jnp.stack([slot, slot + slots, slot + 2 * slots, beyond, slot + 3 * slots])
    numbered = jnp.concatenate([faces.across, faces.vertex[None]])
    numbered = _written(numbered, rows, numbers, on)
    planes = jnp.stack([slot + i * slots for i in range(4)])
    plane = _written(faces.plane, planes, jnp.stack([key, *foot]), on)
    faces = Faces(plane, numbered[:3], numbered[3])
    return faces, jnp.all(~on | (square != 0), axis=0)


def _written(table: jax.Array, rows: jax.Array, values: jax.Array, on: jax.Array) -> jax.Array:
    """Values (m, 1, N) written to rows of a table (j, S, N), counted through, where `on` (1, N)."""
    flat = table.reshape(-1, table.shape[-1])
    for row, value in zip(rows, values, strict=True):
        flat = put_row(flat, row[0, 0], where(on, value, look_up(flat, row))[0])
    return flat.reshape(table.shape)


def _result(s: Expansion) -> Depth:
    rows = jnp.stack([unpack(s.best, i) for i in range(3)])
    corners = look_up(s.corners, rows)
    foot = Vec.of(s.foot)
    area, parts = plane_weights(corners.points(3), foot)
    proper = s.valid & (area != 0)
    weight = [p / where(proper, area, 1) for p in parts]
    one, two = (combine(weight, [side[k] for k in range(3)]) for side in (corners.one, corners.two))
    depth = jnp.sqrt(dot(foot, foot))
    return Depth(s.valid & (depth > 0), depth, one, two, foot, corners, jnp.stack(weight))
