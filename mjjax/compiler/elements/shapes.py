"""Volume and inertia of primitive geoms.

Each shape is one function of the sizes of all geoms of that type (n, 3). `SHAPE_KINDS` has an entry
for each of MuJoCo's types; a new shape needs one entry. Solids are rounded as in MuJoCo, because
rounding decides which axes are found if principal moments of a body coincide.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mjjax.core.enums import GeomType

_SHELL = 1e-6  # thickness of the shell of an ellipsoid [m]
_THOMSEN = 1.6075  # exponent of Thomsen's formula for the area of an ellipsoid


class Measure(NamedTuple):
    """Volume (or area) [m^3, m^2] and the diagonal inertia [kg m^2] as a function of the mass."""

    volume: np.ndarray
    inertia: Callable[[np.ndarray], np.ndarray]


def _scaled(volume: np.ndarray, inertia: np.ndarray) -> Measure:
    """The measure of a shape with this volume and this inertia of unit mass."""
    return Measure(volume, lambda mass: mass[:, None] * inertia)


def _diag(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    return np.stack([x, y, z], axis=-1)


def _parts(*parts: tuple[np.ndarray, np.ndarray]) -> Measure:
    """A body made of parts (volume, inertia of unit mass about the common centre)."""
    volume = np.sum(np.stack([v for v, _ in parts]), axis=0)
    moment = np.sum(np.stack([v[:, None] * i for v, i in parts]), axis=0)
    return _scaled(volume, moment / np.maximum(volume, 1e-300)[:, None])


def _ball(r: np.ndarray, factor: float) -> np.ndarray:
    return _diag(*(factor * r * r,) * 3)


def sphere(size: np.ndarray) -> Measure:
    """Solid sphere."""
    r = size[:, 0]
    return Measure(4 * np.pi * r * r * r / 3, lambda m: _diag(*(2 * m * r * r / 5,) * 3))


def sphere_shell(size: np.ndarray) -> Measure:
    """Hollow sphere."""
    r = size[:, 0]
    return _scaled(4 * np.pi * r**2, _ball(r, 2 / 3))


def _tube(r: np.ndarray, h: np.ndarray, radial: float) -> np.ndarray:
    """Cylinder of length h: mean squared radius is `radial` r^2 (1/2 solid, 1 hollow)."""
    across = radial * r * r / 2 + h * h / 12
    return _diag(across, across, radial * r * r)


def _split_ball(r: np.ndarray, half: np.ndarray, factor: float, centre: float) -> np.ndarray:
    """Ball cut in two at z = 0, with halves moved to +-half; a half has its mass at `centre` r."""
    shift = (half + centre * r) ** 2 - (centre * r) ** 2
    inertia = _ball(r, factor)
    return inertia + shift[:, None] * [1.0, 1.0, 0.0]


def capsule(size: np.ndarray) -> Measure:
    """Solid capsule: a cylinder and two half balls."""
    r, h = size[:, 0], 2 * size[:, 1]

    def inertia(mass: np.ndarray) -> np.ndarray:
        balls = mass * 4 * r / (4 * r + 3 * h)
        tube, ball = mass - balls, 2 * balls * r * r / 5
        across = tube * (3 * r * r + h * h) / 12 + (ball + balls * h * (3 * r + 2 * h) / 8)
        return _diag(across, across, tube * r * r / 2 + ball)

    return Measure(np.pi * (r * r * h + 4 * r * r * r / 3), inertia)


def capsule_shell(size: np.ndarray) -> Measure:
    """Hollow capsule."""
    r, half = size[:, 0], size[:, 1]
    return _parts(
        (4 * np.pi * r * half, _tube(r, 2 * half, 1)),
        (4 * np.pi * r**2, _split_ball(r, half, 2 / 3, 1 / 2)),
    )


def cylinder(size: np.ndarray) -> Measure:
    """Solid cylinder."""
    r, h = size[:, 0], 2 * size[:, 1]

    def inertia(mass: np.ndarray) -> np.ndarray:
        across = mass * (3 * r * r + h * h) / 12
        return _diag(across, across, mass * r * r / 2)

    return Measure(np.pi * r * r * h, inertia)


def cylinder_shell(size: np.ndarray) -> Measure:
    """Hollow cylinder with its two discs."""
    r, half = size[:, 0], size[:, 1]
    across = r * r / 4 + half * half
    return _parts(
        (4 * np.pi * r * half, _tube(r, 2 * half, 1)),
        (2 * np.pi * r**2, _diag(across, across, r * r / 2)),
    )


def _others(size: np.ndarray) -> np.ndarray:
    """For each axis, the sum of the squares of the other two sizes."""
    square = size * size
    return square[:, [1, 0, 0]] + square[:, [2, 2, 1]]


def ellipsoid(size: np.ndarray) -> Measure:
    """Solid ellipsoid."""
    x, y, z = (size[:, i] for i in range(3))
    return Measure(4 * np.pi * x * y * z / 3, lambda m: m[:, None] * _others(size) / 5)


def ellipsoid_shell(size: np.ndarray) -> Measure:
    """Hollow ellipsoid: area by Thomsen's formula, inertia of a thin layer of the solid one."""
    p = _THOMSEN
    pairs = size * np.roll(size, -1, axis=1)
    area = 4 * np.pi * np.mean(pairs**p, axis=1) ** (1 / p)
    inner, outer = ellipsoid(size), ellipsoid(size + _SHELL)
    layer = outer.inertia(outer.volume) - inner.inertia(inner.volume)
    return _scaled(area, layer / (outer.volume - inner.volume)[:, None])


def box(size: np.ndarray) -> Measure:
    """Solid box."""
    x, y, z = (size[:, i] for i in range(3))
    return Measure(8 * x * y * z, lambda m: like_box(m, size))


def like_box(mass: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Inertia (n, 3) of solid boxes of mass (n,) and half sizes (n, 3)."""
    return mass[:, None] * _others(half) / 3


def box_shell(size: np.ndarray) -> Measure:
    """Hollow box: three pairs of plates."""
    plates = []
    for axis in range(3):
        plate = size.copy()
        plate[:, axis] = 0
        moment = _others(plate) / 3
        moment = moment + (size[:, axis] ** 2)[:, None] * (np.arange(3) != axis)
        area = 8 * np.prod(np.delete(size, axis, axis=1), axis=1)
        plates.append((area, moment))
    return _parts(*plates)


def plane(size: np.ndarray) -> Measure:
    """A plane has no volume and no mass."""
    return _scaled(np.zeros(len(size)), np.zeros_like(size))


class ShapeKind(NamedTuple):
    """The properties of one geom type.

    Attributes:
        nsize: number of its sizes, which must be positive.
        solid, shell: its volume and inertia.
    """

    nsize: int
    solid: Callable[[np.ndarray], Measure]
    shell: Callable[[np.ndarray], Measure]


SHAPE_KINDS: dict[int, ShapeKind] = {
    GeomType.PLANE: ShapeKind(3, plane, plane),
    GeomType.SPHERE: ShapeKind(1, sphere, sphere_shell),
    GeomType.CAPSULE: ShapeKind(2, capsule, capsule_shell),
    GeomType.ELLIPSOID: ShapeKind(3, ellipsoid, ellipsoid_shell),
    GeomType.CYLINDER: ShapeKind(2, cylinder, cylinder_shell),
    GeomType.BOX: ShapeKind(3, box, box_shell),
}
