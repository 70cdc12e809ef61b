"""Solids and SDF geoms against SDF geoms: finds points deep in both by descent from many starts.

A is the signed distance from geom 2, which is an SDF, and B is the signed distance from geom 1. The
descents start from the points of a Halton sequence in the common part of both boxes. They minimize
A + B + |max(A, B)|, and in one last step max(A, B), whose minimum is half of the depth, at a point
with A = B. As in MuJoCo, the descents do not run until they converge, and points that come to the
same place are joined only if they are equal up to rounding.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.collision.fields.field import distance, octree, octree_slope, slope
from mjjax.collision.shape.contact_set import NO_CONTACT, ContactSet, tolerance
from mjjax.collision.shape.shapes import Pools, Shape
from mjjax.core.constants import MAXCONPAIR
from mjjax.core.enums import GeomType
from mjjax.math import safe
from mjjax.xla.linalg import dot, matmul3, matvec3
from mjjax.xla.loops import fori_loop, while_loop
from mjjax.xla.namespace import Array, where

_LARGER = 1.1  # the root of an octree is larger than the mesh by this factor
_DECREASE = 0.1  # a step has to lower the objective by this part of the gradient's prediction
_SHORTEST = 1e-4  # length at which the search for a step ends
_BASES = (2, 3, 5)


def halton(index: np.ndarray, base: int) -> np.ndarray:
    """Elements of the Halton sequence: the digits of the index, mirrored at the radix point."""
    value, weight, left = np.zeros(len(index)), 1 / base, index
    while left.any():
        value += weight * (left % base)
        left, weight = left // base, weight / base
    return value


class _Both(NamedTuple):
    """N pairs in the frames of their second geoms, as arrays that broadcast with (N, P).

    Attributes:
        pools: pools with octrees.
        one, two: shapes; their poses are not used.
        turn: (N, 1, 3, 3) rotation from the frame of geom 2 to the frame of geom 1.
        offset: (N, 1, 3) translation from the frame of geom 2 to the frame of geom 1.
    """

    pools: Pools
    one: Shape
    two: Shape
    turn: Array
    offset: Array

    def distances(self, x: Array) -> tuple[Array, Array]:
        """A and B (N, P) at points (N, P, 3) in the frames of geoms 2."""
        y = matvec3(self.turn, x) + self.offset
        return octree(self.pools, self.two, x)[0], distance(self.pools, self.one, y)

    def slopes(self, x: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """A and its gradient, B and its gradient; the gradients are those of MuJoCo."""
        b, gradient = slope(self.pools, self.one, matvec3(self.turn, x) + self.offset)
        back = matvec3(self.turn.mT, gradient)
        return octree_slope(self.pools, self.two, x), (b, back)


def sdf_pair(
    pools: Pools, one: Shape, two: Shape, margin: Array, settings: Any
) -> tuple[ContactSet, Array]:
    """Contacts (N, 50) of solids or SDF geoms with SDF geoms; the certificates are empty.

    Args:
        pools: octrees.
        one: solids, or SDF geoms.
        two: SDF geoms.
        margin: (N,) not used, as in MuJoCo.
        settings: settings with `sdf_initpoints` and `sdf_iterations`.
    """
    del margin
    back = one.mat.mT
    turn = matmul3(back, two.mat)
    offset = matvec3(back, two.pos - one.pos)
    pair = _Both(pools, _wide(one), _wide(two), turn[:, None], offset[:, None])
    x, meet = _starts(pools, one, two, turn, offset, settings.sdf_initpoints)
    end = _descend(pair, x, settings.sdf_iterations)
    exists = (end.value <= 0) & meet[:, None]
    exists &= ~known(end.x, exists, tolerance(jnp.max(two.size, axis=-1))[:, None])
    return listed(two, end.x, end.value, end.outward, exists)


def _wide(shape: Shape) -> Shape:
    """The shapes with an axis for points in all arrays except the poses."""
    field = None if shape.field is None else shape.field[:, None]
    size, kind, asset = (x[:, None] for x in (shape.size, shape.kind, shape.asset))
    return shape._replace(size=size, kind=kind, asset=asset, field=field)


def _bounds(pools: Pools, shape: Shape) -> tuple[Array, Array]:
    """Centres and half sizes (N, 3) of the boxes of shapes in their frames."""
    root = jnp.asarray(pools.fields.root)[jnp.maximum(shape.asset, 0)]
    box = pools.cell_box[root if shape.field is None else root + shape.field]
    radius, length = shape.size[:, :1], shape.size[:, 1:2]
    kind = shape.kind[:, None]
    tube = jnp.concatenate([radius, radius, length], axis=1)
    half = shape.size
    for one, value in (
        (GeomType.SPHERE, jnp.broadcast_to(radius, half.shape)),
        (GeomType.CAPSULE, tube + radius * np.array([[0, 0, 1]], radius.dtype)),
        (GeomType.CYLINDER, tube),
        (GeomType.SDF, box[:, 3:] / _LARGER),
    ):
        half = where(kind == int(one), value, half)
    return where(kind == int(GeomType.SDF), box[:, :3], 0), half


def _starts(
    pools: Pools, one: Shape, two: Shape, turn: Array, offset: Array, count: int
) -> tuple[Array, Array]:
    """Points (N, count, 3) in the frames of geoms 2, and whether (N,) the boxes overlap.

    Both boxes lie along the axes of geom 1. The box of geom 2 encloses its own, rotated box.
    """
    centre, half = _bounds(pools, one)
    middle, reach = _bounds(pools, two)
    middle = matvec3(turn, middle) + offset
    reach = matvec3(jnp.abs(turn), reach)
    low = jnp.maximum(centre - half, middle - reach)
    high = jnp.minimum(centre + half, middle + reach)
    index = np.arange(count)
    part = np.stack([halton(index, base) for base in _BASES], axis=1).astype(low.dtype)
    x = low[:, None] + (high - low)[:, None] * part[None]
    back = turn.mT
    return matvec3(back[:, None], x - offset[:, None]), jnp.all(high >= low, axis=1)


class _DescentWalk(NamedTuple):
    """State of N P descents: points, values there, whether they go on, and normals.

    The normals belong to the points at the beginning of the last step.
    """

    x: Array
    value: Array
    going: Array
    outward: Array


def _objective(a: Array, b: Array, common: Array) -> Array:
    """The function to minimize: A + B + |max(A, B)| if `common`, otherwise max(A, B)."""
    most = jnp.maximum(a, b)
    return where(common, a + b + jnp.abs(most), most)


def _descend(pair: _Both, x: Array, iterations: int) -> _DescentWalk:
    """Runs descents from points (N, P, 3) and returns their ends.

    A step is halved until the objective falls by a tenth of what the gradient predicts. A descent
    ends with the first step that does not lower the objective. After `iterations` steps with the
    common objective there is one step with the other one. The last iteration finds the normals.
    """

    def step(k: Array, walk: _DescentWalk) -> _DescentWalk:
        common = k < iterations
        (a, one), (b, two) = pair.slopes(walk.x)
        deeper = where((a > b)[..., None], one, two)
        sign = where(jnp.maximum(a, b) > 0, 1, -1)[..., None]
        gradient = where(common, one + two + sign * deeper, deeper)
        before = _objective(a, b, common)
        going = (walk.going | (k == iterations)) & (k <= iterations)
        x, after = _line(pair, walk.x, gradient, before, going, common)
        return _DescentWalk(
            x,
            where(going, after, walk.value),
            going & (before >= after),
            safe.normalize(safe.normalize(one)[0] - safe.normalize(two)[0])[0],
        )

    begin = _DescentWalk(
        x, jnp.zeros_like(x[..., 0]), jnp.ones(x.shape[:2], bool), jnp.zeros_like(x)
    )
    return fori_loop(0, iterations + 2, step, begin)


def _line(
    pair: _Both, start: Array, gradient: Array, before: Array, going: Array, common: Array
) -> tuple[Array, Array]:
    """Points after one step of the descents that are `going`, and the objective there."""
    square = dot(gradient, gradient)

    def shorten(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        length, x, value, searching = state
        length = 0.5 * length
        new = start - length * gradient
        found = _objective(*pair.distances(new), common)
        x = where(searching[..., None], new, x)
        value = where(searching, found, value)
        much = found - before > -_DECREASE * length * square
        return length, x, value, searching & much & (length > _SHORTEST)

    state = (jnp.asarray(2.0, gradient.dtype), start, before, going)
    _, x, value, _ = while_loop(lambda s: jnp.any(s[3]), shorten, state)
    return x, value


def known(x: Array, exists: Array, near: Array) -> Array:
    """Whether points (N, P, 3) are at the same place as an earlier point that exists.

    Args:
        x: points.
        exists: (N, P) which of them exist.
        near: (N, 1) distance up to which two places count as the same.
    """
    gap = x[:, :, None] - x[:, None]
    same = dot(gap, gap) < (near * near)[..., None]
    earlier = np.tril(np.ones(same.shape[1:], bool), -1)[None]
    return jnp.any(same & earlier & exists[:, None], axis=2)


def listed(
    two: Shape, x: Array, value: Array, outward: Array, exists: Array
) -> tuple[ContactSet, Array]:
    """Contacts (N, 50) at the first points (N, P, 3) that exist, in the frames of geoms 2.

    Args:
        two: SDF geoms.
        x: points.
        value: (N, P) distances.
        outward: (N, P, 3) directions out of geoms 2.
        exists: (N, P) which of them are contacts.
    """
    turn = two.mat[:, None]
    normal = -matvec3(turn, outward)
    pos = matvec3(turn, x) + two.pos[:, None] - 0.5 * value[..., None] * normal
    dist = where(exists, value, NO_CONTACT)
    touch = ContactSet(dist, pos, normal, jnp.zeros_like(pos))
    count = x.shape[1]
    if count > MAXCONPAIR:
        order = jnp.argsort(~exists, axis=1, stable=True)[:, :MAXCONPAIR]
        row = np.arange(len(x))[:, None]
        touch = jax.tree.map(lambda t: t[row, order], touch)
    else:
        rest = [(0, 0), (0, MAXCONPAIR - count)]
        filled = touch.dist, *touch[1:]
        touch = ContactSet(
            jnp.pad(filled[0], rest, constant_values=NO_CONTACT),
            *(jnp.pad(t, [*rest, (0, 0)]) for t in filled[1:]),
        )
    return touch, jnp.zeros((len(x), MAXCONPAIR, 0), jnp.int32)


def sdf_motion(
    pools: Pools,
    one: Shape,
    two: Shape,
    margin: Array,
    contact: ContactSet,
    certificate: Array,
) -> ContactSet:
    """A function of the shapes that has the derivative of one contact; its value is not used.

    The distance is the mean of A and B at the contact's point, where A = B. The point moves half
    the way with each geom, and then along the normal until A and B are equal again. The gradients
    of the fields turn with their geoms.
    """
    del margin, certificate
    middle = contact.pos + 0.5 * contact.dist * contact.normal
    local = [lax.stop_gradient(matvec3(s.mat.mT, middle - s.pos)) for s in (one, two)]
    at = [matvec3(s.mat, x) + s.pos for s, x in zip((one, two), local, strict=True)]
    point = 0.5 * (at[0] + at[1])
    gap, out, rate = [], [], []
    for shape, x in zip((one, two), local, strict=True):
        gap.append(distance(pools, shape, matvec3(shape.mat.mT, point - shape.pos)))
        outward = lax.stop_gradient(slope(pools, shape, x)[1])
        out.append(matvec3(shape.mat, safe.normalize(outward)[0]))
        steep = jax.grad(lambda y, s=shape: distance(pools, s, y))(x)
        rate.append(dot(matvec3(shape.mat, lax.stop_gradient(steep)), contact.normal))
    normal = safe.normalize(out[0] - out[1])[0]
    along = safe.divide(gap[1] - gap[0], lax.stop_gradient(rate[0] - rate[1]))
    dist = 0.5 * (gap[0] + gap[1])
    pos = point + along * contact.normal - 0.5 * dist * normal
    return ContactSet(dist, pos, normal, jnp.zeros_like(pos))
