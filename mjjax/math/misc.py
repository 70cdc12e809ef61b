"""Small functions of MuJoCo: spring-damper, pyramids, Halton's sequence."""

import jax.numpy as jnp
import numpy as np

from mjjax.core.constants import MINVAL
from mjjax.math import safe
from mjjax.xla.namespace import Array, where


def spring_damper(pos0: Array, vel0: Array, kp: Array, kv: Array, dt: Array) -> Array:
    """Position after `dt` [s] of x'' = -kp x - kv x', exactly (`mju_springDamper`).

    The arguments are scalars or arrays of the same shape. The motion may be over-, under- or
    critically damped (kv^2 = 4 kp). The derivative is exact, except with respect to kp and kv at
    critical damping, where it is that of the decay alone.
    """
    half, square = 0.5 * kv, 0.25 * kv * kv - kp
    decay = jnp.exp(-half * dt)
    root = safe.sqrt(jnp.abs(square))
    critical = root < MINVAL
    scale = 1 / where(critical, 1, root)
    slope = vel0 + half * pos0
    # Each of the two formulas gets valid arguments only where it is used, so that none overflows.
    over = where(square > 0, root, 0) * dt
    fast, slow = jnp.exp(-half * dt - over), jnp.exp(-half * dt + over)
    stiff = 0.5 * (slow + fast) * pos0 + 0.5 * (slow - fast) * slope * scale
    swing = where(square < 0, root, 0) * dt
    soft = decay * (jnp.cos(swing) * pos0 + jnp.sin(swing) * slope * scale)
    plain = decay * (pos0 + slope * dt)
    return where(critical, plain, where(square > 0, stiff, soft))


def encode_pyramid(force: Array, mu: Array) -> Array:
    """Forces (2 (dim - 1),) along the pyramid's edges with a given sum (`mju_encodePyramid`).

    Edges come in pairs along +-tangent i. Each pair has the normal part n / (dim - 1) and the
    tangential part f_i / mu_i, which is cut off at the normal part. The derivative is exact, except
    at the cut.

    Args:
        force: (dim,) normal and tangential forces.
        mu: (dim - 1,) friction coefficients.
    """
    if force.shape[0] == 1:
        return force
    share = force[0] / (force.shape[0] - 1)
    tangent = jnp.minimum(share, force[1:] / mu)
    return jnp.stack([0.5 * (share + tangent), 0.5 * (share - tangent)], axis=-1).reshape(-1)


def decode_pyramid(pyramid: Array, mu: Array) -> Array:
    """Normal and tangential forces (dim,) of a pyramid's edges (`mju_decodePyramid`).

    n is the sum of all edges, and f_i = mu_i (edge 2i - edge 2i+1). Both are linear in the edges,
    and f_i also in `mu`.

    Args:
        pyramid: (2 (dim - 1),) forces along the edges.
        mu: (dim - 1,) friction coefficients.
    """
    if mu.shape[0] == 0 or pyramid.shape[0] == 1:
        return pyramid
    pairs = pyramid.reshape(-1, 2)
    tangent = mu[: pairs.shape[0]] * (pairs[:, 0] - pairs[:, 1])
    return jnp.concatenate([jnp.sum(pyramid)[None], tangent])


def halton(index: int | np.ndarray, base: int) -> np.ndarray:
    """Halton's low-discrepancy sequence in [0, 1) (`mju_Halton`), in NumPy and without derivative.

    The result has the shape of `index`. Its digits are those of `index` in a prime `base`, mirrored
    about the radix point.
    """
    left = np.asarray(index)
    result, weight = np.zeros(left.shape), 1.0 / base
    while np.any(left > 0):
        result = result + weight * (left % base)
        left, weight = left // base, weight / base
    return result
