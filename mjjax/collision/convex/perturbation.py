"""Further contacts of a pair, found after turning both geoms a little about the first contact."""

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.contact_set import make_frame
from mjjax.collision.convex.lanes import cross, dot, norm
from mjjax.collision.convex.support import Sides
from mjjax.core.enums import GeomType

ANGLE = 1e-3  # [rad]
DISTINCT = 1e-3  # of the smaller bounding sphere: contacts nearer to each other are one
TURNS = ((1, -1), (1, 1), (2, -1), (2, 1))  # axis of the contact frame and sign of the angle


def perturbed(sides: Sides, pos: jax.Array, normal: jax.Array, trip: jax.Array) -> Sides:
    """Both geoms turned about a point in opposite directions; as they are where `trip` is 0.

    Args:
        sides: the shapes.
        pos: (3, N) first contact [m].
        normal: (3, N) its normal.
        trip: which of `TURNS`, from 1.
    """
    frame = make_frame(normal.T, jnp.zeros_like(normal).T)
    table = jnp.asarray(((0, 0), *TURNS), jnp.int32)[trip]
    axis = jnp.where(table[0] == 1, frame[:, 1], frame[:, 2]).T
    angle = ANGLE * table[1].astype(pos.dtype)
    axis = jnp.concatenate([axis, -axis], axis=1)
    pos = jnp.concatenate([pos, pos], axis=1)
    mat = jnp.stack([rotated(axis, angle, sides.mat[:, k]) for k in range(3)], axis=1)
    return sides._replace(mat=mat, pos=pos + rotated(axis, angle, sides.pos - pos))


def rotated(axis: jax.Array, angle: jax.Array, v: jax.Array) -> jax.Array:
    """Vectors (3, L) turned about unit axes (3, L) by an angle [rad] (Rodrigues)."""
    along = axis * dot(axis, v)[None]
    return v + jnp.sin(angle) * cross(axis, v) + 2 * jnp.sin(0.5 * angle) ** 2 * (along - v)


def allowed(kind: jax.Array) -> jax.Array:
    """Whether shapes of a kind get further contacts."""
    return (kind != GeomType.SPHERE) & (kind != GeomType.ELLIPSOID)


def bounding_radius(sides: Sides) -> jax.Array:
    """Radius (L,) of the bounding spheres of capsules, cylinders, boxes and meshes [m]."""
    x, y, _ = sides.size
    capsule = sides.kind == GeomType.CAPSULE
    cylinder = sides.kind == GeomType.CYLINDER
    radius = jnp.where(cylinder, jnp.sqrt(x * x + y * y), norm(sides.size))
    return jnp.where(capsule, x + y, radius)


def distinct(points: jax.Array, count: jax.Array, new: jax.Array, radius: jax.Array) -> jax.Array:
    """Whether `new` (3, N) is far from the first `count` (N,) of `points` (m, 3, N)."""
    used = np.arange(len(points), dtype=np.int32)[:, None] < count[None]
    return ~jnp.any(used & (norm(points - new[None]) <= DISTINCT * radius[None]), axis=0)
