"""Poses as MJCF writes them: the five ways to give an orientation, and their composition."""

from collections.abc import Callable, Sequence

import numpy as np

from mjjax.math import quat as q
from mjjax.math.tracked import real_array, settled, together
from mjjax.mjcf.element import Element
from mjjax.xla.namespace import A, namespace, where

EPS = 1e-14  # lengths below this are zero to MuJoCo's compiler
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
_AXES = {"x": 0, "y": 1, "z": 2}


def normalize(v: A) -> A:
    """Rows scaled to unit length; rows that are zero, unit or not a number stay as they are."""
    xp = namespace(v)
    square = xp.sum(v * v, axis=-1, keepdims=True)
    norm = xp.sqrt(square)
    zero = (square < EPS) | xp.isnan(norm)
    scaled = v / where(zero, 1.0, norm)
    return where(xp.abs(norm - 1) <= EPS, settled(scaled, v), scaled)


def _unit(v: np.ndarray, what: str) -> np.ndarray:
    """Rows scaled to unit length; ValueError if one is zero."""
    if not np.all(np.sum(v * v, axis=-1) >= EPS):
        raise ValueError(f"{what} has zero length")
    return normalize(v)


def mul(a: A, b: A) -> A:
    """Product of unit quaternions, normalized."""
    return normalize(q.mul(a, b))


def matrix(quat: A) -> A:
    """Rotation matrices (..., 3, 3) of quaternions, with the rounding of MuJoCo's compiler.

    The rounding matters if principal moments coincide, because it decides which axes are found.
    """
    stack = namespace(quat).stack
    w, x, y, z = (quat[..., i] for i in range(4))
    ww, xx, yy, zz = w * w, x * x, y * y, z * z
    rows = (
        (ww + xx - yy - zz, 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), ww - xx + yy - zz, 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), ww - xx - yy + zz),
    )
    return stack([stack(row, axis=-1) for row in rows], axis=-2)


def compose(
    pos: np.ndarray, quat: np.ndarray, child_pos: np.ndarray, child_quat: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Pose of a child in the coordinates of its frame's parent: x = p + R(q) x_child."""
    return pos + q.rotate(quat, child_pos), mul(quat, child_quat)


def invert(pos: np.ndarray, quat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The inverse pose."""
    back = q.conj(quat)
    return -q.rotate(back, pos), back


def from_z(z: np.ndarray) -> np.ndarray:
    """Smallest rotation that takes the z axis to the unit vectors `z` (n, 3).

    For the direction -z there is no smallest rotation. Then it is half a turn about x, and its
    derivative is that of the smallest rotation from there.
    """
    axis = np.stack([-z[:, 1], z[:, 0], np.zeros_like(z[:, 0])], axis=-1)
    square = np.sum(axis * axis, axis=-1)
    parallel = square < EPS
    sine = np.sqrt(np.where(parallel, 0, square))
    axis = np.where(parallel[:, None], [1.0, 0.0, 0.0], axis / np.where(parallel, 1, sine)[:, None])
    turn = q.from_axis_angle(axis, np.arctan2(sine, z[:, 2]))
    return np.where(parallel[:, None], settled(_from_near_z(z), turn), turn)


def _from_near_z(z: np.ndarray) -> np.ndarray:
    """`from_z` of vectors near the z axis, or near its opposite, where the formulas are smooth."""
    x, y, along, zero = z[:, 0], z[:, 1], 1 + np.abs(z[:, 2]), np.zeros_like(z[:, 0])
    near = np.stack([along, -y, x, zero], axis=-1)
    opposite = np.stack([-y, along, zero, x], axis=-1)
    return normalize(np.where(z[:, 2:] > 0, near, opposite))


def from_axes(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Quaternions of right-handed frames (n, 3) each; the largest component is positive."""
    xx, yy, zz = x[:, 0], y[:, 1], z[:, 2]
    # Row i has four times component i times each component.
    products = np.stack(
        [
            np.stack([1 + xx + yy + zz, y[:, 2] - z[:, 1], z[:, 0] - x[:, 2], x[:, 1] - y[:, 0]]),
            np.stack([y[:, 2] - z[:, 1], 1 + xx - yy - zz, y[:, 0] + x[:, 1], z[:, 0] + x[:, 2]]),
            np.stack([z[:, 0] - x[:, 2], y[:, 0] + x[:, 1], 1 - xx + yy - zz, z[:, 1] + y[:, 2]]),
            np.stack([x[:, 1] - y[:, 0], z[:, 0] + x[:, 2], z[:, 1] + y[:, 2], 1 - xx - yy + zz]),
        ]
    )
    pick = np.select([xx + yy + zz > 0, (xx > yy) & (xx > zz), yy > zz], [0, 1, 2], 3)
    i = np.arange(len(x))
    rows = products[pick, :, i]
    largest = 0.5 * np.sqrt(rows[i, pick])
    quats = 0.25 * rows / largest[:, None]
    quats, largest = together(quats, largest)
    quats[i, pick] = largest
    return normalize(quats)


def _axisangle(v: np.ndarray, unit: float, sequence: str) -> np.ndarray:
    return q.from_axis_angle(_unit(v[:, :3], "the axis"), v[:, 3] / unit * np.pi)


def _xyaxes(v: np.ndarray, unit: float, sequence: str) -> np.ndarray:
    x = _unit(v[:, :3], "the x axis")
    y = v[:, 3:] - x * np.sum(x * v[:, 3:], axis=-1, keepdims=True)
    y = _unit(y, "the y axis orthogonal to the x axis")
    _unit(q.cross(x, y), "the z axis")
    return from_axes(x, y, q.cross(x, y))


def _zaxis(v: np.ndarray, unit: float, sequence: str) -> np.ndarray:
    return from_z(_unit(v, "the z axis"))


def _euler(v: np.ndarray, unit: float, sequence: str) -> np.ndarray:
    """Rotations about the axes of `sequence`: lower case moves with the frame, upper is fixed."""
    result = np.tile(IDENTITY, (len(v), 1))
    for angle, letter in zip(v.T / unit * np.pi, sequence, strict=True):
        if letter.lower() not in _AXES:
            raise ValueError(f"eulerseq {sequence!r} has a letter other than x, y, z, X, Y, Z")
        axis = np.eye(3)[_AXES[letter.lower()]]
        turn = q.from_axis_angle(np.tile(axis, (len(v), 1)), angle)
        result = mul(result, turn) if letter.islower() else mul(turn, result)
    return result


_FORMS: dict[str, Callable[[np.ndarray, float, str], np.ndarray]] = {
    "axisangle": _axisangle,
    "xyaxes": _xyaxes,
    "zaxis": _zaxis,
    "euler": _euler,
}


def orientations(elements: Sequence[Element], degree: bool, sequence: str) -> np.ndarray:
    """Unit quaternions (n, 4) of elements, whichever way they are written.

    Args:
        elements: with values ``quat`` and ``alt``.
        degree: angles are in degrees.
        sequence: the compiler's eulerseq.

    Raises:
        MjcfError: an axis has no length, or the euler sequence is bad.
    """
    quats = normalize(real_array([e.values["quat"] for e in elements]).reshape(-1, 4))
    unit = 180.0 if degree else np.pi  # half a turn in the units of the file
    for form, convert in _FORMS.items():
        rows = [i for i, e in enumerate(elements) if e.values["alt"] and e.values["alt"][0] == form]
        if not rows:
            continue
        given = real_array([elements[i].values["alt"][1] for i in rows])
        quats, given = together(quats, given)
        try:
            quats[rows] = convert(given, unit, sequence)
        except ValueError:
            for i, row in zip(rows, given, strict=True):  # find the one to name
                try:
                    convert(row[None], unit, sequence)
                except ValueError as error:
                    raise elements[i].origin.error(f"{form}: {error}") from None
            raise
    return quats
