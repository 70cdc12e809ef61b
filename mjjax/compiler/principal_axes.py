"""Principal axes of inertia matrices."""

import numpy as np

from mjjax.mjcf.orientation import IDENTITY, matrix, mul, normalize

_EIG_EPS = 1e-12
_EIG_ITERATIONS = 500
_QUARTER = 0.707106781186548  # sqrt(1/2) to the digits that MuJoCo has


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products of 3x3 matrices (n, 3, 3), summed from left to right.

    Where eigenvalues coincide, rounding decides which axes are found: a fixed order keeps them.
    """
    terms = [a[:, :, k : k + 1] * b[:, k : k + 1, :] for k in range(3)]
    return terms[0] + terms[1] + terms[2]


def principal_axes(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues in decreasing order and the rotation to the eigenvectors.

    Jacobi rotations are accumulated in a quaternion, always at the largest off-diagonal entry,
    so that sign and order of the axes are those of MuJoCo also where they are not unique.

    Args:
        matrices: symmetric (n, 3, 3).

    Returns:
        eigenvalues (n, 3) and quaternions (n, 4) of the eigenframe.
    """
    n = len(matrices)
    quats = np.tile(IDENTITY, (n, 1))
    diag = np.empty((n, 3))
    active = np.arange(n)
    for _ in range(_EIG_ITERATIONS):
        frame = matrix(quats[active])
        d = product(product(np.swapaxes(frame, 1, 2), matrices[active]), frame)
        diag[active] = np.diagonal(d, axis1=1, axis2=2)
        turn, moving = _jacobi(d)
        active, turn = active[moving], turn[moving]
        if not len(active):
            break
        quats[active] = mul(quats[active], turn)
    values, turns = _sorted_axes(diag, quats)
    infinite = ~np.isfinite(matrices).all(axis=(1, 2))
    values[infinite], turns[infinite] = np.nan, np.nan
    return values, turns


def _jacobi(d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotation (n, 4) that clears the largest off-diagonal entry; False where there is none."""
    rows = np.arange(len(d))
    d01, d02, d12 = np.abs(d[:, 0, 1]), np.abs(d[:, 0, 2]), np.abs(d[:, 1, 2])
    axis = np.where((d01 > d02) & (d01 > d12), 2, np.where(d02 > d12, 1, 0))
    i, j = np.array([1, 0, 0])[axis], np.array([2, 2, 1])[axis]
    off = d[rows, i, j]
    large = np.abs(off) >= _EIG_EPS
    tau = (d[rows, j, j] - d[rows, i, i]) / (2 * np.where(large, off, 1))
    t = np.where(tau >= 0, 1.0, -1.0) / (np.abs(tau) + np.sqrt(1 + tau * tau))
    cosine = 1 / np.sqrt(1 + t * t)
    half = np.sqrt(np.maximum(0, 0.5 - 0.5 * cosine))
    sign = np.where(tau >= 0, -1.0, 1.0) * np.where(axis == 1, -1.0, 1.0)
    turn = np.zeros((len(d), 4))
    turn[rows, axis + 1] = sign * half
    turn[:, 0] = np.sqrt(1 - half * half)
    return normalize(turn), large & (cosine <= 1 - _EIG_EPS)


def _sorted_axes(diag: np.ndarray, quats: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quarter turns that bring the eigenvalues into decreasing order."""
    for lead in (0, 1, 0):
        swap = diag[:, lead] + _EIG_EPS < diag[:, lead + 1]
        turn = np.zeros(4)
        turn[[0, (lead + 2) % 3 + 1]] = _QUARTER
        quats = np.where(swap[:, None], mul(quats, turn[None]), quats)
        ordered = diag.copy()
        ordered[:, [lead, lead + 1]] = diag[:, [lead + 1, lead]]
        diag = np.where(swap[:, None], ordered, diag)
    return diag, quats
