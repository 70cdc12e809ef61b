"""Impedance, stiffness, damping and regularization of rows, from `solref` and `solimp`."""

import numpy as np

from mjjax.core.constants import MAXIMP, MINIMP, MINVAL, SOLREF
from mjjax.math import safe
from mjjax.xla.linalg import unstack
from mjjax.xla.namespace import Array, namespace, where
from mjjax.xla.ordering import computed_once


def impedance(solimp: Array, distance: Array) -> Array:
    """Constraint impedance (n,) in (0, 1) from `solimp` (n, 5) and `pos - margin` (n,).

    The impedance is a power sigmoid from d0 at zero distance to dmax at distance `width`. As in
    MuJoCo, it is (d0 + dmax) / 2 everywhere if d0 = dmax or the width vanishes. Its derivative by
    the distance is that of the formula. It is zero at distance 0 and beyond the width; at the width
    itself it lies between the derivatives of the two sides.
    """
    xp = namespace(solimp, distance)
    curve, distance = computed_once(_within(solimp).T, distance)
    d0, dmax, width, mid, power = unstack(curve)
    flat = (d0 == dmax) | (width <= MINVAL)
    x = xp.minimum(xp.abs(distance) / where(flat, 1, width), 1)
    # The curve is x^p / mid^(p-1) below the midpoint, and its mirror image above the midpoint.
    below = x <= mid
    half_width = where(below, mid, 1 - mid)
    half_curve = safe.power(where(below, x, 1 - x) / half_width, power) * half_width
    y = where(power == 1, x, where(below, half_curve, 1 - half_curve))
    return where(flat, 0.5 * (d0 + dmax), d0 + y * (dmax - d0))


def _within(solimp: Array) -> Array:
    """`solimp` (n, 5) within its bounds: d0, dmax, width, midpoint, power."""
    low = np.array([[MINIMP, MINIMP, 0, MINIMP, 1]], solimp.dtype)
    high = np.array([[MAXIMP, MAXIMP, np.inf, MAXIMP, np.inf]], solimp.dtype)
    return namespace(solimp).clip(solimp, low, high)


def stiffness_damping(
    solref: Array, solimp: Array, timestep: Array, refsafe: bool
) -> tuple[Array, Array]:
    """Stiffness K [1/s^2] and damping B [1/s] (n,) of the reference acceleration.

    In the standard format, ref0 > 0 is a time constant: K = 1 / (dmax timeconst dampratio)^2 and
    B = 2 / (dmax timeconst). With `refsafe`, timeconst is at least two time steps. In the direct
    format, ref0 <= 0: K = -ref0 / dmax^2 and B = -ref1 / dmax. If a reference mixes the formats,
    with one positive number and one that is not, the default replaces it, as in MuJoCo.
    """
    xp = namespace(solref)
    mixed = mixed_format(solref)
    ref0, ref1 = (where(mixed, SOLREF[k], solref[:, k]) for k in range(2))
    dmax = _within(solimp)[:, 1]
    standard = ref0 > 0
    safe0 = xp.maximum(ref0, 2 * timestep) if refsafe else ref0
    time = where(standard, safe0, 1)
    ratio = where(standard, ref1, 1)
    spring = 1 / xp.maximum(MINVAL, (dmax * time * ratio) ** 2)
    k = where(standard, spring, -ref0 / xp.maximum(MINVAL, dmax * dmax))
    b = where(standard, 2 / xp.maximum(MINVAL, dmax * time), -ref1 / xp.maximum(MINVAL, dmax))
    return k, b


def mixed_format(solref: Array) -> Array:
    """Whether references (n, 2) mix the standard format with the direct one."""
    return (solref[:, 0] > 0) != (solref[:, 1] > 0)


def softness(imp: Array) -> Array:
    """The ratio (1 - imp) / imp (n,) of the regularization R to `diagApprox`."""
    return (1 - imp) / imp


def regularization(soft: Array, diagApprox: Array) -> Array:
    """Regularization R (n,) = max(MINVAL, soft diagApprox), from the `softness`."""
    return namespace(soft).maximum(MINVAL, soft * diagApprox)
