"""Coefficients of the ellipsoid fluid model: added mass and added inertia of a moving ellipsoid."""

import numpy as np

_EPS = 1e-14
# 15-point Kronrod rule on [0, 1], with the digits that MuJoCo uses, for the substitution
# l = x^3 / (1 - x)^2 that maps [0, 1) to [0, inf).
_WEIGHTS = np.array(
    [0.01146766, 0.03154605, 0.05239501, 0.07032663, 0.08450236, 0.09517529, 0.10221647]
)
_WEIGHTS = np.concatenate([_WEIGHTS, [0.10474107], _WEIGHTS[::-1]])
_L = np.array(
    [
        7.865151709349917e-08, 1.7347976913907274e-05, 0.0003548008144506193,
        0.002846636252924549, 0.014094260903596077, 0.053063261727396636,
        0.17041978741317773, 0.5, 1.4036301548686991, 3.9353484827022642,
        11.644841677041734, 39.53187807410903, 177.5711362220801,
        1429.4772912937397, 54087.416549217705,
    ]
)  # fmt: skip
_DL = np.array(
    [
        5.538677720489877e-05, 0.002080868285293228, 0.016514126520723166,
        0.07261900344370877, 0.23985243401862602, 0.6868318249020725,
        1.8551129519182894, 5.0, 14.060031152313941, 43.28941239611009,
        156.58546376397112, 747.9826085305024, 5827.4042950027115,
        116754.0197944512, 25482945.327264845,
    ]
)  # fmt: skip


def _kappa(d: np.ndarray) -> np.ndarray:
    """Integral of dx dy dz / sqrt((dx^2 + l)^3 (dy^2 + l) (dz^2 + l)) over l from 0 to infinity.

    Args:
        d: semi-axes (n, 3) [m]; the first one is the direction of motion.
    """
    inverse = 1 / (d * d)
    scale = (d[:, 0] ** 3 * d[:, 1] * d[:, 2]) ** 0.4  # makes l dimensionless
    terms = 1 + (scale[:, None] * _L)[:, None, :] * inverse[:, :, None]
    denominator = terms[:, 0] * np.sqrt(np.prod(terms, axis=1))
    return inverse[:, 0] * scale * np.sum(_DL * _WEIGHTS / denominator, axis=1)


def added_mass(d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Virtual mass and virtual inertia of ellipsoids per unit density of the fluid.

    Args:
        d: semi-axes (n, 3) [m].

    Returns:
        Virtual mass (n, 3) [m^3] and virtual inertia (n, 3) [m^5] along the axes.
    """
    volume = (4 / 3 * np.pi * np.prod(d, axis=1))[:, None]
    kappa = np.stack([_kappa(np.roll(d, -axis, axis=1)) for axis in range(3)], axis=1)
    mass = volume * kappa / np.maximum(_EPS, 2 - kappa)
    square, next_kappa = np.roll(d * d, -1, axis=1), np.roll(kappa, -1, axis=1)
    last_square, last_kappa = np.roll(d * d, -2, axis=1), np.roll(kappa, -2, axis=1)
    difference, change = square - last_square, last_kappa - next_kappa
    denominator = np.abs(2 * difference - (square + last_square) * change)
    factor = difference**2 * np.abs(change) / np.maximum(_EPS, denominator)
    return mass, volume * factor / 5
