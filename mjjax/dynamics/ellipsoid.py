"""Forces of a medium on a moving ellipsoid, in the ellipsoid's own axes.

Rows of `geom_fluid`: whether the model is used, the coefficients of blunt, slender and angular drag
and of Kutta and Magnus lift, and virtual mass (3) and inertia (3) per density of the medium.
Velocities and wrenches (n, 6) are (angular, linear) and (torque, force). Derivatives are exact, and
zero at rest where a formula has none.
"""

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.core.constants import MINVAL
from mjjax.core.enums import GeomType
from mjjax.math import safe
from mjjax.math.linalg import dot
from mjjax.math.namespace import Array, namespace
from mjjax.math.quat import cross


def semiaxes(kind: np.ndarray, size: Array) -> Array:
    """Semi-axes (n, 3) of the ellipsoids that stand for geoms of some types and sizes [m]."""
    xp = namespace(size)
    radius, half = size[:, :1], size[:, 1:2]
    none = 0 * half
    around = xp.concatenate([radius, radius, half], axis=1)
    table = {
        GeomType.SPHERE: radius + 0 * size,
        GeomType.CAPSULE: around + xp.concatenate([none, none, radius], axis=1),
        GeomType.CYLINDER: around,
    }
    for type_, axes in table.items():
        mine = kind == type_
        if mine.any():
            size = xp.where(mine[:, None], axes, size)
    return size


def ellipsoid_wrench(
    velocity: Array, axes: Array, prm: Array, density: Array, viscosity: Array
) -> Array:
    """Wrenches (n, 6) on ellipsoids that move through a medium [N m, N].

    Args:
        velocity: (n, 6) relative to the medium [rad/s, m/s].
        axes: (n, 3) semi-axes [m].
        prm: (n, 12) rows of `geom_fluid`.
        density: of the medium [kg/m^3].
        viscosity: of the medium [kg/(m s)].
    """
    xp = namespace(velocity)
    ang, lin = velocity[:, :3], velocity[:, 3:]
    blunt, slender, angular, kutta, magnus = (prm[:, k : k + 1] for k in range(1, 6))
    speed = safe.norm(lin, keepdims=True)
    area, lean = _projection(lin, axes, speed)
    diameter = 2 / 3 * xp.sum(axes, axis=1, keepdims=True)
    low, high = xp.min(axes, axis=1, keepdims=True), xp.max(axes, axis=1, keepdims=True)
    middle = xp.sum(axes, axis=1, keepdims=True) - low - high

    momentum, spin = density * prm[:, 6:9] * lin, density * prm[:, 9:] * ang
    force = cross(momentum, ang)
    torque = cross(momentum, lin) + cross(spin, ang)

    volume = 4 / 3 * xp.pi * xp.prod(axes, axis=1, keepdims=True)
    force = force + magnus * density * volume * cross(ang, lin)
    normal = _sides(axes) ** 2 * lin
    force = force + kutta * density * lean * area * cross(cross(normal, lin), lin)

    largest = xp.pi * high * middle
    shape = area * blunt + slender * (largest - area)
    drag = viscosity * 3 * xp.pi * diameter + density * speed * shape
    moment = _moments(axes)
    most = 8 / 15 * xp.pi * middle * high**4
    turning = ang * (angular * moment + slender * (most - moment))
    swirl = viscosity * xp.pi * diameter**3 + density * safe.norm(turning, keepdims=True)
    return prm[:, :1] * xp.concatenate([torque - swirl * ang, force - drag * lin], axis=1)


def ellipsoid_derivative(
    velocity: Array, axes: Array, prm: Array, density: Array, viscosity: Array
) -> Array:
    """Derivative (n, 6, 6) of `ellipsoid_wrench` with respect to the velocity."""
    unit = jnp.eye(6, dtype=velocity.dtype)[:, None] + 0 * velocity
    slopes = jax.vmap(
        lambda u: jax.jvp(
            lambda v: ellipsoid_wrench(v, axes, prm, density, viscosity), (velocity,), (u,)
        )[1]
    )
    return jnp.moveaxis(slopes(unit), 0, 2)


def _sides(axes: Array) -> Array:
    """Products (n, 3) of the other two semi-axes."""
    return namespace(axes).stack(
        [axes[:, 1] * axes[:, 2], axes[:, 2] * axes[:, 0], axes[:, 0] * axes[:, 1]], axis=1
    )


def _projection(lin: Array, axes: Array, speed: Array) -> tuple[Array, Array]:
    """Area (n, 1) of the shadow along the velocity, and how the surface leans to it."""
    xp = namespace(lin)
    sides = _sides(axes)
    shadow = sides * lin
    first = dot(shadow, shadow)[:, None]
    second = dot(sides * shadow, sides * shadow)[:, None]
    area = xp.pi * safe.sqrt(second / xp.maximum(MINVAL, first))
    return area, first / xp.maximum(MINVAL, speed * second)


def _moments(axes: Array) -> Array:
    """Largest second moments (n, 3) of the cross-sections about each axis."""
    xp = namespace(axes)
    x, y, z = axes[:, 0], axes[:, 1], axes[:, 2]
    wide = xp.stack([xp.maximum(y, z), xp.maximum(z, x), xp.maximum(x, y)], axis=1)
    return 8 / 15 * xp.pi * axes * wide**4
