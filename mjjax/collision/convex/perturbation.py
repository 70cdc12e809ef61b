"""Finds further contacts of a pair by turning both geoms a little about the first contact."""

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.convex.support import Sides
from mjjax.collision.shape.contact_set import ContactSet, make_frame
from mjjax.collision.shape.lanes import Vec, cross, dot, norm
from mjjax.collision.shape.shapes import Shape
from mjjax.core.enums import GeomType
from mjjax.math import quat
from mjjax.xla.linalg import matmul3, matvec3
from mjjax.xla.namespace import Array, where

TURN_ANGLE = 1e-3  # [rad]
DISTINCT = 1e-3  # of the smaller bounding sphere: contacts nearer to each other are one
SMALL_TURNS = ((1, -1), (1, 1), (2, -1), (2, 1))  # axis of the contact frame and sign of the angle


def perturbed(sides: Sides, pos: Vec, normal: Vec, trip: jax.Array) -> Sides:
    """Both geoms turned about a point in opposite directions; unchanged if `trip` is 0.

    Args:
        sides: the shapes.
        pos: (N,) first contact [m].
        normal: (N,) its normal.
        trip: place in `SMALL_TURNS`, counted from 1.
    """
    across = normal.joined().T
    frame = make_frame(across, jnp.zeros_like(across))
    axis, angle = _turn(frame, trip)
    axis = Vec.of(axis.T)
    axis, pos = _twice(axis, -axis), _twice(pos, pos)
    columns = [rotated(axis, angle, Vec(*(getattr(row, k) for row in sides.mat))) for k in "xyz"]
    x, y, z = (Vec(*(getattr(column, k) for column in columns)) for k in "xyz")
    return sides.moved(pos + rotated(axis, angle, sides.pos - pos), (x, y, z))


def turned_about(shape: Shape, first: ContactSet, trip: jax.Array, side: int) -> Shape:
    """One shape of an unbatched pair as `perturbed` turns it; `side` 1 for the first, -1."""
    axis, angle = _turn(make_frame(first.normal, jnp.zeros_like(first.normal)), trip)
    half = 0.5 * side * angle
    turn = quat.to_mat(jnp.concatenate([jnp.cos(half)[None], jnp.sin(half) * axis]))
    pos = first.pos + matvec3(turn, shape.pos - first.pos)
    return shape._replace(pos=pos, mat=matmul3(turn, shape.mat))


def _turn(frame: Array, trip: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Axis (..., 3) and angle () [rad] of one of `SMALL_TURNS`, from 1, about contact frames."""
    table = jnp.asarray(((0, 0), *SMALL_TURNS), jnp.int32)[trip]
    axis = where(table[0] == 1, frame[..., 1, :], frame[..., 2, :])
    return jnp.asarray(axis), TURN_ANGLE * table[1].astype(frame.dtype)


def _twice(one: Vec, two: Vec) -> Vec:
    return jax.tree.map(lambda a, b: jnp.concatenate([a, b]), one, two)


def rotated(axis: Vec, angle: jax.Array, v: Vec) -> Vec:
    """Vectors (L,) turned about unit axes by an angle [rad] (Rodrigues)."""
    along = axis * dot(axis, v)
    return v + cross(axis, v) * jnp.sin(angle) + (along - v) * (2 * jnp.sin(0.5 * angle) ** 2)


def allowed(kind: jax.Array) -> jax.Array:
    """Whether shapes of a kind get further contacts."""
    return (kind != GeomType.SPHERE) & (kind != GeomType.ELLIPSOID)


def bounding_radius(sides: Sides) -> jax.Array:
    """Radius (L,) of the bounding spheres of capsules, cylinders, boxes and meshes [m]."""
    x, y, _ = sides.size
    capsule = sides.kind == GeomType.CAPSULE
    cylinder = sides.kind == GeomType.CYLINDER
    radius = where(cylinder, jnp.sqrt(x * x + y * y), norm(sides.size))
    return where(capsule, x + y, radius)


def distinct(points: Vec, count: jax.Array, new: Vec, radius: jax.Array) -> jax.Array:
    """Whether `new` (N,) is far from the first `count` (N,) of `points` (m, N)."""
    used = np.arange(len(points.x), dtype=np.int32)[:, None] < count[None]
    return ~jnp.any(used & (norm(points - new) <= DISTINCT * radius[None]), axis=0)
