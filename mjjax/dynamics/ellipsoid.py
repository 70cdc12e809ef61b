"""Forces of a medium on a moving ellipsoid, in the ellipsoid's own axes.

A row of `geom_fluid` says whether the model is used. It also has the coefficients of blunt, slender
and angular drag, those of Kutta and Magnus lift, and virtual mass (3) and inertia (3) per density
of the medium. Velocities (n, 6) are (angular, linear), wrenches (n, 6) are (torque, force).
Derivatives are exact. At rest they are zero if the formula has no derivative there.
"""

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.core.constants import MINVAL
from mjjax.math import safe
from mjjax.math.quat import cross
from mjjax.xla.linalg import dot, largest, smallest
from mjjax.xla.loops import varying
from mjjax.xla.namespace import Array, namespace


def ellipsoid_wrench(
    velocity: Array, axes: Array, prm: Array, density: Array, viscosity: Array
) -> Array:
    """Wrenches (n, 6) on ellipsoids that move through a medium [N m, N].

    Args:
        velocity: (n, 6) velocity relative to the medium [rad/s, m/s].
        axes: (n, 3) semi-axes [m].
        prm: (n, 12) rows of `geom_fluid`.
        density: density of the medium [kg/m^3].
        viscosity: viscosity of the medium [kg/(m s)].
    """
    return prm[:, :1] * (
        _steady(velocity, axes, prm, density, viscosity)
        + _padded(_projected_force(velocity[:, 3:], axes, prm, density), 1)
    )


def ellipsoid_derivative(
    velocity: Array, axes: Array, prm: Array, density: Array, viscosity: Array
) -> Array:
    """Derivative (n, 6, 6) of `ellipsoid_wrench` with respect to the velocity.

    As in MuJoCo, the derivative of a slow or small ellipsoid is not exact, because divisors have a
    lower bound. The first number of `prm` only says whether the model is used; its size is ignored.
    """
    eye = jnp.eye(6, dtype=velocity.dtype)[:, None]
    unit = varying(jnp.broadcast_to(eye, (6, *velocity.shape)))  # over devices, as velocities do
    slopes = jax.vmap(
        lambda u: jax.jvp(lambda v: _steady(v, axes, prm, density, viscosity), (velocity,), (u,))[1]
    )
    block = _projected_slope(velocity[:, 3:], axes, prm, density)
    used = (prm[:, :1, None] != 0).astype(velocity.dtype)
    return used * (jnp.moveaxis(slopes(unit), 0, 2) + _padded(block, 1, 2))


def _padded(x: Array, *along: int) -> Array:
    """Puts three zeros in front of the linear components along some axes."""
    return namespace(x).pad(x, [(3 if k in along else 0, 0) for k in range(x.ndim)])


def _steady(velocity: Array, axes: Array, prm: Array, density: Array, viscosity: Array) -> Array:
    """Wrenches (n, 6) that do not depend on the shadow: added mass, Magnus lift, spinning drag,
    viscous resistance.
    """
    xp = namespace(velocity)
    ang, lin = velocity[:, :3], velocity[:, 3:]
    slender, angular, magnus = (prm[:, k : k + 1] for k in (2, 3, 5))
    momentum, spin = density * prm[:, 6:9] * lin, density * prm[:, 9:] * ang
    torque = cross(momentum, lin) + cross(spin, ang)
    volume = 4 / 3 * xp.pi * xp.prod(axes, axis=1, keepdims=True)
    force = cross(momentum, ang) + magnus * density * volume * cross(ang, lin)

    high, middle = _largest(axes)
    moment = _moments(axes)
    most = 8 / 15 * xp.pi * middle * high**4
    turning = ang * (angular * moment + slender * (most - moment))
    diameter = 2 / 3 * xp.sum(axes, axis=1, keepdims=True)
    swirl = viscosity * xp.pi * diameter**3 + density * safe.norm(turning, keepdims=True)
    resistance = viscosity * 3 * xp.pi * diameter
    return xp.concatenate([torque - swirl * ang, force - resistance * lin], axis=1)


def _projected_force(lin: Array, axes: Array, prm: Array, density: Array) -> Array:
    """Lift and drag (n, 3) that depend on the shadow along the velocity [N].

    Lift acts along (n x v) x v, where n is the scaled normal of the surface. Drag acts against v.
    """
    xp = namespace(lin)
    blunt, slender, kutta = (prm[:, k : k + 1] for k in (1, 2, 4))
    first, second, speed = _shadow(lin, axes)
    area = xp.pi * safe.sqrt(second / xp.maximum(MINVAL, first))
    lean = first / xp.maximum(MINVAL, speed * second)
    normal = _sides(axes) ** 2 * lin
    lift = kutta * density * lean * area * cross(cross(normal, lin), lin)
    high, middle = _largest(axes)
    shape = blunt * area + slender * (xp.pi * high * middle - area)
    return lift - density * speed * shape * lin


def _projected_slope(lin: Array, axes: Array, prm: Array, density: Array) -> Array:
    """Derivative (n, 3, 3) of `_projected_force`.

    Let a be the squared products of the other semi-axes, p = sum a v^2 and q = sum a^2 v^2. The
    lift along axis i is -G v_i c_i with G ~ sqrt(p / (q |v|^2)) and c_i = a_i |v|^2 - p. The area
    of the shadow is pi sqrt(q / p).
    """
    xp = namespace(lin)
    blunt, slender, kutta = (prm[:, k : k + 1] for k in (1, 2, 4))
    first, second, speed = _shadow(lin, axes)
    a, square = _sides(axes) ** 2, speed * speed
    unit = np.eye(3, dtype=lin.dtype)[None]

    root = xp.maximum(MINVAL, safe.sqrt(second * first * square))
    scale = kutta * density * xp.pi / root
    bend = a - first / xp.maximum(MINVAL, square) - a * a * (first / xp.maximum(MINVAL, second))
    lean = a * square - first
    change = 2 * (a[:, :, None] - a[:, None, :]) * lin[:, None, :] * lin[:, :, None]
    lift = lean[:, :, None] * unit + change
    lift = lift * first[:, :, None] + (lin * lean)[:, :, None] * (lin * bend)[:, None, :]

    area = xp.pi * safe.sqrt(second / xp.maximum(MINVAL, first))
    root = xp.maximum(MINVAL, safe.sqrt(first**3 * second))
    widening = xp.pi / root * a * lin * (a * first - second)
    high, middle = _largest(axes)
    shape = density * (blunt * area + slender * (xp.pi * high * middle - area))
    along = density * speed * (blunt - slender) * widening
    along = along + shape * lin / xp.maximum(MINVAL, speed)
    drag = (shape * speed)[:, :, None] * unit + lin[:, :, None] * along[:, None, :]
    return -scale[:, :, None] * lift - drag


def _shadow(lin: Array, axes: Array) -> tuple[Array, Array, Array]:
    """Sums (n, 1) of a v^2 and a^2 v^2 as in `_projected_slope`, and the speed |v|."""
    sides = _sides(axes)
    one, two = sides * lin, sides * sides * lin
    return dot(one, one)[:, None], dot(two, two)[:, None], safe.norm(lin, keepdims=True)


def _largest(axes: Array) -> tuple[Array, Array]:
    """Longest and middle semi-axes (n, 1)."""
    xp = namespace(axes)
    low, high = smallest(axes)[:, None], largest(axes)[:, None]
    return high, xp.sum(axes, axis=1, keepdims=True) - low - high


def _sides(axes: Array) -> Array:
    """Products (n, 3) of the other two semi-axes."""
    return namespace(axes).stack(
        [axes[:, 1] * axes[:, 2], axes[:, 2] * axes[:, 0], axes[:, 0] * axes[:, 1]], axis=1
    )


def _moments(axes: Array) -> Array:
    """Largest second moments (n, 3) of the cross-sections about each axis."""
    xp = namespace(axes)
    x, y, z = axes[:, 0], axes[:, 1], axes[:, 2]
    wide = xp.stack([xp.maximum(y, z), xp.maximum(z, x), xp.maximum(x, y)], axis=1)
    return 8 / 15 * xp.pi * axes * wide**4
