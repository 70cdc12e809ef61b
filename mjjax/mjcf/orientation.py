"""Poses as MJCF writes them: the five ways to give an orientation, and their composition."""

from collections.abc import Callable, Sequence

import numpy as np

from mjjax.math import quat as q
from mjjax.mjcf.spec import Element

EPS = 1e-14  # lengths below this are zero to MuJoCo's compiler
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
_AXES = {"x": 0, "y": 1, "z": 2}


def normalize(v: np.ndarray) -> np.ndarray:
    """Rows scaled to unit length; rows that are zero, unit or not a number stay as they are."""
    square = np.sum(v * v, axis=-1, keepdims=True)
    norm = np.sqrt(square)
    keep = (square < EPS) | (np.abs(norm - 1) <= EPS) | np.isnan(norm)
    return v / np.where(keep, 1.0, norm)


def _unit(v: np.ndarray, what: str) -> np.ndarray:
    """Rows scaled to unit length; ValueError if one is zero."""
    if not np.all(np.sum(v * v, axis=-1) >= EPS):
        raise ValueError(f"{what} has zero length")
    return normalize(v)


def mul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Product of unit quaternions, normalized."""
    return normalize(q.mul(a, b))


def matrix(quat: np.ndarray) -> np.ndarray:
    """Rotation matrices (..., 3, 3) of quaternions, with the rounding of MuJoCo's compiler.

    Where principal moments coincide, rounding decides which axes are found.
    """
    w, x, y, z = (quat[..., i] for i in range(4))
    ww, xx, yy, zz = w * w, x * x, y * y, z * z
    rows = (
        (ww + xx - yy - zz, 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), ww - xx + yy - zz, 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), ww - xx - yy + zz),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


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
    """Smallest rotation that takes the z axis to the unit vectors `z` (n, 3)."""
    axis = np.stack([-z[:, 1], z[:, 0], np.zeros(len(z))], axis=-1)
    square = np.sum(axis * axis, axis=-1)
    parallel = square < EPS
    sine = np.sqrt(np.where(parallel, 0, square))
    axis = np.where(parallel[:, None], [1.0, 0.0, 0.0], axis / np.where(parallel, 1, sine)[:, None])
    return q.from_axis_angle(axis, np.arctan2(sine, z[:, 2]))


def from_axes(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Quaternions of right-handed frames (n, 3) each; the largest component is positive."""
    xx, yy, zz = x[:, 0], y[:, 1], z[:, 2]
    # row i: four times (component i) times each component
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
        MjcfError: an axis without length, a bad euler sequence.
    """
    quats = np.array([e.values["quat"] for e in elements], np.float64).reshape(-1, 4)
    quats = normalize(quats)
    unit = 180.0 if degree else np.pi  # half a turn in the units of the file
    for form, convert in _FORMS.items():
        rows = [i for i, e in enumerate(elements) if e.values["alt"] and e.values["alt"][0] == form]
        if not rows:
            continue
        numbers = np.array([elements[i].values["alt"][1] for i in rows], np.float64)
        try:
            quats[rows] = convert(numbers, unit, sequence)
        except ValueError:
            for i, row in zip(rows, numbers, strict=True):  # find the one to name
                try:
                    convert(row[None], unit, sequence)
                except ValueError as error:
                    raise elements[i].origin.error(f"{form}: {error}") from None
            raise
    return quats
