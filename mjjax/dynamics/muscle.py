"""Muscles: active and passive force-length curves, force-velocity curve, activation dynamics.

The nine parameters are range (2), force, scale, lmin, lmax, vmax, fpmax, fvmax. Lengths L are
scaled so that `range` maps to the actuator's length range; the optimal length is 1. Velocities V
are in units of vmax optimal lengths per second. All curves are splines with continuous slopes, so
derivatives are exact and finite everywhere. Parameters are (n, ...), results are (n,).
"""

from mjjax.core.constants import MINVAL
from mjjax.xla.namespace import Array, namespace, where


def muscle_gain(
    length: Array, velocity: Array, lengthrange: Array, acc0: Array, prm: Array
) -> Array:
    """Force per unit of activation (`mju_muscleGain`): -F0 FL(L) FV(V) [N]."""
    scaled, speed, _ = _scaled(length, velocity, lengthrange, prm)
    active = _peak_force(acc0, prm) * _force_length(scaled, prm)
    return -active * _force_velocity(speed, prm[:, 8])


def muscle_gain_slope(
    length: Array, velocity: Array, lengthrange: Array, acc0: Array, prm: Array
) -> Array:
    """Derivative of `muscle_gain` with respect to velocity [N s/m]."""
    scaled, speed, unit = _scaled(length, velocity, lengthrange, prm)
    active = _peak_force(acc0, prm) * _force_length(scaled, prm)
    return -active * _force_velocity_slope(speed, prm[:, 8]) / unit


def muscle_bias(length: Array, lengthrange: Array, acc0: Array, prm: Array) -> Array:
    """Passive force (`mju_muscleBias`) [N]: zero up to the optimal length, then a parabola, then
    a straight line from the middle between it and lmax.
    """
    xp = namespace(length, prm)
    scaled, _, _ = _scaled(length, 0 * length, lengthrange, prm)
    peak = _peak_force(acc0, prm) * prm[:, 7]
    middle = 0.5 * (1 + prm[:, 5])
    x = (scaled - 1) / xp.maximum(MINVAL, middle - 1)
    # Beyond the middle, x - 1/2 continues x^2 / 2 with the same slope.
    return -peak * where(scaled <= 1, 0, where(scaled <= middle, 0.5 * x * x, x - 0.5))


def muscle_rate(ctrl: Array, act: Array, prm: Array) -> Array:
    """Time derivative of the activation (`mju_muscleDynamics`) [1/s].

    The activation follows the control with one time constant upwards and another one downwards.
    `prm[:, 2]` is the width in which one time constant changes into the other.
    """
    xp = namespace(ctrl, act)
    excess = xp.clip(ctrl, 0, 1) - act
    slowness = 0.5 + 1.5 * xp.clip(act, 0, 1)
    rise, fall, width = prm[:, 0] * slowness, prm[:, 1] / slowness, prm[:, 2]
    hard = width < MINVAL
    mix = sigmoid(excess / where(hard, 1, width) + 0.5)
    tau = where(hard, where(excess > 0, rise, fall), fall + (rise - fall) * mix)
    return excess / xp.maximum(MINVAL, tau)


def sigmoid(x: Array) -> Array:
    """Smooth step from 0 at 0 to 1 at 1 (`mju_sigmoid`): 6 x^5 - 15 x^4 + 10 x^3."""
    x = namespace(x).clip(x, 0, 1)
    return x * x * x * (3 * x * (2 * x - 5) + 10)


def _peak_force(acc0: Array, prm: Array) -> Array:
    """F0: as given, or scaled by the acceleration from unit force if negative."""
    xp = namespace(acc0, prm)
    given, scale = prm[:, 2], prm[:, 3]
    return where(given < 0, scale / xp.maximum(MINVAL, acc0), given)


def _scaled(
    length: Array, velocity: Array, lengthrange: Array, prm: Array
) -> tuple[Array, Array, Array]:
    """L, V, and the velocity that corresponds to V = 1."""
    xp = namespace(length, prm)
    low, high, vmax = prm[:, 0], prm[:, 1], prm[:, 6]
    optimal = (lengthrange[:, 1] - lengthrange[:, 0]) / xp.maximum(MINVAL, high - low)
    scaled = low + (length - lengthrange[:, 0]) / xp.maximum(MINVAL, optimal)
    unit = xp.maximum(MINVAL, optimal * vmax)
    return scaled, velocity / unit, unit


def _force_length(scaled: Array, prm: Array) -> Array:
    """Bump of height 1 at L = 1 between lmin and lmax, of four parabolas."""
    xp = namespace(scaled, prm)
    lmin, lmax = prm[:, 4], prm[:, 5]
    rising = scaled <= 1
    end = where(rising, lmin, lmax)
    # On either side the bump goes from 0 at the end to 1 at the top. Two parabolas meet halfway.
    x = 2 * xp.clip((scaled - end) / (1 - end), 0, 1)
    return where(x <= 1, 0.5 * x * x, 1 - 0.5 * (2 - x) ** 2)


def _force_velocity(speed: Array, fvmax: Array) -> Array:
    """The curve from 0 at V = -1 over 1 at V = 0 to fvmax at V = fvmax - 1."""
    xp = namespace(speed, fvmax)
    top = fvmax - 1
    shortening = xp.clip(speed + 1, 0, 1) ** 2
    missing = xp.maximum(top - speed, 0)
    lengthening = fvmax - missing * missing / xp.maximum(MINVAL, top)
    return where(speed <= 0, shortening, lengthening)


def _force_velocity_slope(speed: Array, fvmax: Array) -> Array:
    xp = namespace(speed, fvmax)
    top = fvmax - 1
    shortening = 2 * xp.clip(speed + 1, 0, 1)
    lengthening = 2 * xp.maximum(top - speed, 0) / xp.maximum(MINVAL, top)
    return where(speed <= 0, shortening, lengthening)
