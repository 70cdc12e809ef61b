"""The expanding-polytope algorithm on batches, along MuJoCo's path: depth, normal, witnesses.

Each trip of the loop takes the face nearest to the origin of every item, asks for the support
point in its direction and replaces the faces that see this point by faces from it to the horizon.
The horizon is walked edge by edge as MuJoCo does, so that faces of equal distance come in its
order. Slots of faces that are gone are used again.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.collision.convex.gjk import Corners, Settings
from mjjax.collision.convex.lanes import combine, dot, keep, look_up, rows_of
from mjjax.collision.convex.polytope import Faces, first_polytope, foot_of, pack, replaced, unpack
from mjjax.collision.convex.simplex import FAR, plane_weights
from mjjax.collision.convex.support import Sides, support
from mjjax.collision.shapes import Pools
from mjjax.core.constants import MINVAL
from mjjax.core.enums import GeomType

WORD = 32


class Depth(NamedTuple):
    """Penetration of N pairs.

    Attributes:
        found: (N,) whether there is a result.
        depth: (N,) penetration depth [m], positive.
        one: (3, N) deepest point of geom 1 [m].
        two: (3, N) deepest point of geom 2 [m].
        normal: (3, N) from geom 1 to geom 2, of length `depth`.
        corners: the three points of the Minkowski difference that span the face.
        weight: (3, N) their barycentric coordinates at the deepest points.
    """

    found: jax.Array
    depth: jax.Array
    one: jax.Array
    two: jax.Array
    normal: jax.Array
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
        best: the vertices (N,) of the face that is the result, packed.
        foot: (3, N) projection of the origin on it.
        hint: (2 N,) vertices at which searches over meshes ended.
    """

    going: jax.Array
    valid: jax.Array
    upper: jax.Array
    corners: Corners
    faces: Faces
    best: jax.Array
    foot: jax.Array
    hint: jax.Array


def epa(
    pools: Pools,
    sides: Sides,
    simplex: Corners,
    count: jax.Array,
    hint: jax.Array,
    settings: Settings,
) -> Depth:
    """Depths of pairs that overlap.

    Args:
        pools: the pools.
        sides: shapes of both sides of N pairs.
        simplex: the points (4) with which `gjk` ended.
        count: (N,) how many of them count; items with fewer than two have no result.
        hint: (2 N,) vertices at which `gjk` ended.
        settings: options.
    """
    n = count.shape[0]
    first, faces, number, valid = first_polytope(pools, sides, simplex, count, hint)
    corners = _grown(first, 5 + settings.iterations)
    faces = _grown(faces, 2 * (5 + settings.iterations) + WORD // 2)
    discrete = sides.polyhedral[:n] & sides.polyhedral[n:]
    dtype = faces.square.dtype
    rounding = sides.rounding()
    tolerance = jnp.where(discrete, MINVAL, settings.tolerance).astype(dtype)
    tolerance = jnp.maximum(tolerance, rounding)
    zero = jnp.zeros(n, jnp.int32)
    far = jnp.full(n, FAR, dtype)
    start = Expansion(valid, valid, far, corners, faces, zero, corners.one[0], hint)

    def body(state: tuple[jax.Array, Expansion]) -> tuple[jax.Array, Expansion]:
        trip, s = state
        return trip + 1, _expand(pools, sides, s, number + trip, tolerance, discrete, rounding)

    def unfinished(state: tuple[jax.Array, Expansion]) -> jax.Array:
        return (state[0] < settings.iterations) & jnp.any(state[1].going)

    _, end = lax.while_loop(unfinished, body, (jnp.int32(0), start))
    return _result(end)


def _grown(table, rows: int):
    def grow(x: jax.Array) -> jax.Array:
        return jnp.pad(x, [(0, rows - len(x))] + [(0, 0)] * (x.ndim - 1))

    return jax.tree.map(grow, table)


def _expand(
    pools: Pools,
    sides: Sides,
    s: Expansion,
    place: jax.Array,
    tolerance: jax.Array,
    discrete: jax.Array,
    rounding: jax.Array,
) -> Expansion:
    """One iteration; the new point goes to `place` (N,)."""
    faces = s.faces
    square = jnp.where(faces.alive & faces.open, faces.square, FAR)
    least = jnp.min(square, axis=0)
    slots = np.arange(len(square), dtype=np.int32)[:, None]
    face = jnp.min(jnp.where(square == least[None], slots, len(square) - 1), axis=0)
    proper = s.going & (least < FAR) & (least <= s.upper * s.upper)
    foot = rows_of(faces.foot, face[None])[0]
    s = s._replace(
        best=jnp.where(proper, look_up(faces.vertex, face[None])[0], s.best),
        foot=keep(proper, foot, s.foot),
    )
    going = proper & (least > 0)

    lower = jnp.sqrt(least)
    direction = foot / jnp.where(lower > MINVAL, lower, 1)[None]
    both = jnp.concatenate([direction, -direction], axis=1)
    twice = jnp.concatenate([going, going])
    point, label = support(pools, sides, both, s.hint, jnp.zeros_like(twice), twice)
    n = going.shape[0]
    new = Corners(point[:, :n], point[:, n:], jnp.stack([label[:n], label[n:]]))
    w = new.point
    bound = dot(foot, w) / lower
    upper = jnp.where(going, jnp.minimum(s.upper, bound), s.upper)
    rows = np.arange(len(s.corners.one), dtype=np.int32)[:, None]
    # MuJoCo does not number the corners of prisms: a repeated vertex of the other side ends it
    field = (sides.kind == GeomType.HFIELD).reshape(2, n)
    same = (s.corners.label == new.label[None]) | field[None]
    seen = jnp.all(same, axis=1) & (rows < place[None])
    going &= ~(upper - lower < tolerance) & ~(discrete & jnp.any(seen, axis=0))

    def written(table: jax.Array, row: jax.Array) -> jax.Array:
        on = (rows == place[None]) & going[None]
        return jnp.where(on.reshape(-1, *(1,) * (table.ndim - 2), n), row[None], table)

    corners = jax.tree.map(written, s.corners, new)
    s = s._replace(corners=corners, upper=upper, hint=jnp.where(twice, label, s.hint))
    above = MINVAL + rounding[None] * jnp.sqrt(faces.square)
    visible = dot(faces.foot, w[None]) - faces.square > above
    visible = going[None] & faces.alive & (visible | (slots == face[None]))
    faces, complete, enough = _attach(s, face, visible, place, going, least, upper)
    survives = jnp.any(faces.alive & faces.open, axis=0)
    return s._replace(
        faces=faces, going=going & complete & enough & survives, valid=s.valid & (~going | complete)
    )


class _Walk(NamedTuple):
    """A walk around the visible faces, along the edges of the horizon.

    Attributes:
        on: (N,) whether the walk goes on.
        at: (N,) visible face.
        edge: (N,) its edge that is looked at.
        start: (N,) face and edge at which the walk is complete, packed; -1 before the first.
        last: (N,) the face attached last, -1 before the first.
        first: (N,) the face attached first.
        count: (N,) number of faces attached.
        left: (N,) steps left before the walk is given up.
        sound: (N,) whether no face was degenerate.
        free: (W, N) bits of the slots that are free.
    """

    on: jax.Array
    at: jax.Array
    edge: jax.Array
    start: jax.Array
    last: jax.Array
    first: jax.Array
    count: jax.Array
    left: jax.Array
    sound: jax.Array
    free: jax.Array


def _attach(
    s: Expansion,
    face: jax.Array,
    visible: jax.Array,
    place: jax.Array,
    going: jax.Array,
    least: jax.Array,
    upper: jax.Array,
) -> tuple[Faces, jax.Array, jax.Array]:
    """Replaces the visible faces by faces from the new point to their horizon.

    Returns:
        The faces; whether the horizon is proper (N,); whether there was room (N,).
    """
    zero = jnp.zeros_like(face)
    slots = visible.shape[0]
    walk = _Walk(
        going,
        face,
        zero,
        zero - 1,
        zero - 1,
        zero,
        zero,
        zero + 3 * slots,
        jnp.ones_like(going),
        _bits(~s.faces.alive),
    )

    def body(state: tuple[_Walk, Faces]) -> tuple[_Walk, Faces]:
        return _step(s.corners, visible, place, least, upper, *state)

    walk, faces = lax.while_loop(lambda state: jnp.any(state[0].on), body, (walk, s.faces))
    # the first and the last of the new faces are neighbours
    lanes = np.arange(len(face), dtype=np.int32)
    closed = going & (walk.last >= 0)
    for at, edge, other in ((walk.first, 0, walk.last), (walk.last, 2, walk.first)):
        word = look_up(faces.across, jnp.maximum(at, 0)[None])[0]
        word = jnp.where(closed, replaced(word, zero + edge, jnp.maximum(other, 0)), word)
        faces = faces._replace(across=faces.across.at[jnp.maximum(at, 0), lanes].set(word))
    faces = faces._replace(alive=faces.alive & ~visible)
    enough = jnp.any(walk.free != 0, axis=0)
    complete = walk.sound & (walk.left > 0) & (walk.count >= 3)
    return faces, complete | ~enough, enough


def _step(
    corners: Corners,
    visible: jax.Array,
    place: jax.Array,
    least: jax.Array,
    upper: jax.Array,
    walk: _Walk,
    faces: Faces,
) -> tuple[_Walk, Faces]:
    """Looks across one edge: goes on to a visible face, or attaches a new one."""
    lanes = np.arange(len(place), dtype=np.int32)
    vertex = look_up(faces.vertex, walk.at[None])[0]
    beyond = unpack(look_up(faces.across, walk.at[None])[0], walk.edge)
    after = (walk.edge + 1) % 3
    a, b = unpack(vertex, walk.edge), unpack(vertex, after)
    other = look_up(faces.vertex, beyond[None])[0]
    entry = jnp.where(unpack(other, 0) == b, 0, jnp.where(unpack(other, 1) == b, 1, 2))
    inside = look_up(visible, beyond[None])[0]

    here = walk.at * 3 + walk.edge
    done = walk.on & (here == walk.start)
    cross_over = walk.on & inside
    attach = walk.on & ~inside & ~done

    slot, free = _pop(walk.free)
    slot = jnp.where(attach, slot, faces.alive.shape[0])  # writes beyond the end are dropped
    previous = jnp.maximum(walk.last, 0)

    def at(row: jax.Array) -> jax.Array:
        return (rows_of(corners.one, row[None]) - rows_of(corners.two, row[None]))[0]

    foot, square = foot_of(at(place), at(a), at(b))
    is_open = (square >= least) & (square <= upper * upper)
    across = faces.across.at[slot, lanes].set(pack(previous, beyond, 0 * beyond), mode="drop")
    word = replaced(look_up(across, beyond[None])[0], entry, slot)
    across = across.at[jnp.where(attach, beyond, len(across)), lanes].set(word, mode="drop")
    follows = attach & (walk.last >= 0)
    word = replaced(look_up(across, previous[None])[0], 0 * entry + 2, slot)
    across = across.at[jnp.where(follows, previous, len(across)), lanes].set(word, mode="drop")
    faces = Faces(
        faces.foot.at[slot, :, lanes].set(foot.T, mode="drop"),
        faces.square.at[slot, lanes].set(square, mode="drop"),
        faces.vertex.at[slot, lanes].set(pack(place, a, b), mode="drop"),
        across,
        faces.alive.at[slot, lanes].set(True, mode="drop"),
        faces.open.at[slot, lanes].set(is_open, mode="drop"),
    )
    walk = walk._replace(
        on=walk.on & ~done & (walk.left > 1) & jnp.any(free != 0, axis=0),
        at=jnp.where(cross_over, beyond, walk.at),
        edge=jnp.where(cross_over, (entry + 1) % 3, jnp.where(attach, after, walk.edge)),
        start=jnp.where(attach & (walk.start < 0), here, walk.start),
        last=jnp.where(attach, slot, walk.last),
        first=jnp.where(attach & (walk.last < 0), slot, walk.first),
        count=walk.count + attach.astype(jnp.int32),
        left=walk.left - 1,
        sound=walk.sound & ~(attach & (square == 0)),
        free=jnp.where(attach, free, walk.free),
    )
    return walk, faces


def _bits(flags: jax.Array) -> jax.Array:
    """Flags (S, N) as bits (W, N)."""
    words = -(-len(flags) // WORD)
    flags = jnp.pad(flags, [(0, words * WORD - len(flags)), (0, 0)])
    shift = np.arange(WORD, dtype=np.uint32)[None, :, None]
    bits = flags.reshape(words, WORD, -1).astype(jnp.uint32) << shift
    return jnp.sum(bits, axis=1, dtype=jnp.uint32)


def _pop(free: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The place (N,) of the lowest bit of (W, N), and the bits without it."""
    slot = jnp.zeros(free.shape[1], jnp.int32)
    found = slot > 0
    words = []
    for k, word in enumerate(free):
        lowest = word & (~word + np.uint32(1))
        here = ~found & (word != 0)
        place = lax.population_count(lowest - np.uint32(1)).astype(jnp.int32) + k * WORD
        slot = jnp.where(here, place, slot)
        words.append(jnp.where(here, word & ~lowest, word))
        found |= here
    return slot, jnp.stack(words)


def _result(s: Expansion) -> Depth:
    rows = jnp.stack([unpack(s.best, i) for i in range(3)])
    corners = jax.tree.map(lambda t: rows_of(t, rows), s.corners)
    area, parts = plane_weights(list(corners.point), s.foot)
    proper = s.valid & (area != 0)
    weight = [p / jnp.where(proper, area, 1) for p in parts]
    one, two = (combine(weight, list(table)) for table in (corners.one, corners.two))
    depth = jnp.sqrt(dot(s.foot, s.foot))
    return Depth(s.valid & (depth > 0), depth, one, two, s.foot, corners, jnp.stack(weight))
