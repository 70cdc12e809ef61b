"""Finds further contacts of a pair by turning both geoms a little about the first contact."""

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.convex.convex_shape import ConvexShape, ShapePair
from mjjax.collision.shape.contact_set import ContactSet, make_frame
from mjjax.collision.shape.shapes import Shape
from mjjax.collision.shape.vectors import Vec, cross, dot, norm
from mjjax.core.enums import GeomType
from mjjax.math import quat
from mjjax.xla.kernel_code import subroutine
from mjjax.xla.linalg import matmul3, matvec3
from mjjax.xla.namespace import Array, where

TURN_ANGLE = 1e-3  # [rad]
DISTINCT = 1e-3  # of the smaller bounding sphere: contacts nearer to each other are one
SMALL_TURNS = ((1, -1), (1, 1), (2, -1), (2, 1))  # axis of the contact frame and sign of the angle


def perturbed(pair: ShapePair, pos: jax.Array, normal: jax.Array, trip: jax.Array) -> ShapePair:
    """Both geoms turned about a point in opposite directions; unchanged if `trip` is 0.

    Args:
        pair: the shapes.
        pos: (3,) first contact [m].
        normal: (3,) its normal.
        trip: place in `SMALL_TURNS`, counted from 1.
    """
    axis, angle = _turn(make_frame(normal, jnp.zeros_like(normal)), trip)
    return ShapePair.of(_moved(pair.one, axis, angle, pos), _moved(pair.two, -axis, angle, pos))


@subroutine
def _moved(shape: ConvexShape, axis: jax.Array, angle: jax.Array, pos: jax.Array) -> ConvexShape:
    """A shape turned about an axis (3,) through a point (3,) by an angle [rad]."""
    around, centre = Vec.of(axis), Vec.of(pos)
    columns = rotated(around, angle, Vec(*(shape.mat[k] for k in range(3))))
    place = centre + rotated(around, angle, Vec.of(shape.pos) - centre)
    return shape._replace(pos=place.joined(), mat=jnp.stack(list(columns)))


def turned_about(shape: Shape, first: ContactSet, trip: jax.Array, side: int) -> Shape:
    """One shape of an unbatched pair as `perturbed` turns it; `side` 1 for the first, -1."""
    axis, angle = _turn(make_frame(first.normal, jnp.zeros_like(first.normal)), trip)
    half = 0.5 * side * angle
    turn = quat.to_mat(jnp.concatenate([jnp.cos(half)[None], jnp.sin(half) * axis]))
    pos = first.pos + matvec3(turn, shape.pos - first.pos)
    return shape._replace(pos=pos, mat=matmul3(turn, shape.mat))


def _turn(frame: Array, trip: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Axis (3,) and angle [rad] of one of `SMALL_TURNS`, from 1, about a contact frame."""
    table = jnp.asarray(((0, 0), *SMALL_TURNS), jnp.int32)[trip]
    axis = where(table[0] == 1, frame[1], frame[2])
    return jnp.asarray(axis), TURN_ANGLE * table[1].astype(frame.dtype)


def rotated(axis: Vec, angle: jax.Array, v: Vec) -> Vec:
    """Vectors turned about a unit axis by an angle [rad] (Rodrigues)."""
    along = axis * dot(axis, v)
    return v + cross(axis, v) * jnp.sin(angle) + (along - v) * (2 * jnp.sin(0.5 * angle) ** 2)


def allowed(kind: jax.Array) -> jax.Array:
    """Whether shapes of a kind get further contacts."""
    return (kind != GeomType.SPHERE) & (kind != GeomType.ELLIPSOID)


def bounding_radius(shape: ConvexShape) -> jax.Array:
    """Radius of the bounding sphere of a capsule, cylinder, box or mesh [m]."""
    size = Vec.of(shape.size)
    capsule = shape.kind == GeomType.CAPSULE
    cylinder = shape.kind == GeomType.CYLINDER
    radius = where(cylinder, jnp.sqrt(size.x * size.x + size.y * size.y), norm(size))
    return where(capsule, size.x + size.y, radius)


def distinct(points: jax.Array, count: jax.Array, new: jax.Array, radius: jax.Array) -> jax.Array:
    """Whether `new` (3,) is far from the first `count` of `points` (m, 3)."""
    used = np.arange(len(points), dtype=np.int32) < count
    return ~jnp.any(used & (norm(Vec.of(points - new[None])) <= DISTINCT * radius))
