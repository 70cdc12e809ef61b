"""Principal axes of inertia matrices."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.math import quat as q
from mjjax.math.tracked import both
from mjjax.mjcf.orientation import IDENTITY, matrix, mul, normalize
from mjjax.xla.linalg import matmul3
from mjjax.xla.loops import while_loop
from mjjax.xla.namespace import A, namespace, where

_EIG_EPS = 1e-12
_EIG_ITERATIONS = 500
_QUARTER = 0.707106781186548  # sqrt(1/2) to the digits that MuJoCo has
# The two axes that the largest off-diagonal entry couples, by the axis of the rotation.
_FIRST, _SECOND = np.array([1, 0, 0]), np.array([2, 2, 1])


def product(a: A, b: A) -> A:
    """Products of 3x3 matrices (n, 3, 3), summed from left to right.

    If eigenvalues coincide, rounding decides which axes are found. A fixed order of sums keeps
    these axes the same.
    """
    terms: list[Any] = [a[:, :, k : k + 1] * b[:, k : k + 1, :] for k in range(3)]
    return terms[0] + terms[1] + terms[2]


def principal_axes(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues in decreasing order and the rotation to the eigenvectors.

    Jacobi rotations, always at the largest off-diagonal entry, are accumulated in a quaternion. So
    sign and order of the axes are those of MuJoCo, even if they are not unique.

    The derivative is that of M = R diag(I) R'. It is exact if the eigenvalues differ. Axes of equal
    eigenvalues have no derivative; it is taken as zero, and a change of M that couples such axes is
    lost.

    Args:
        matrices: symmetric (n, 3, 3).

    Returns:
        Eigenvalues (n, 3) and quaternions (n, 4) of the eigenframe.
    """
    return both(_of_numbers, _of_arrays, matrices)


def _of_numbers(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    quats = np.tile(IDENTITY, (len(matrices), 1))
    for _ in range(_EIG_ITERATIONS):
        diag, turned, moving = _sweep(matrices, quats)
        if not moving.any():
            break
        quats = turned
    values, turns = _sorted_axes(diag, quats)
    infinite = ~np.isfinite(matrices).all(axis=(1, 2))
    values[infinite], turns[infinite] = np.nan, np.nan
    return values, turns


@jax.custom_jvp
def _of_arrays(matrices: jax.Array) -> tuple[jax.Array, jax.Array]:
    """`_of_numbers` for traced arrays."""

    def step(carry: tuple) -> tuple:
        count, quats, _ = carry
        _, turned, moving = _sweep(matrices, quats)
        return count + 1, turned, jnp.any(moving)

    def going(carry: tuple) -> jax.Array:
        count, _, moving = carry
        return moving & (count < _EIG_ITERATIONS)

    quats = jnp.broadcast_to(jnp.asarray(IDENTITY, matrices.dtype), (len(matrices), 4))
    _, quats, _ = while_loop(going, step, (0, quats, True))
    return _sorted_axes(_sweep(matrices, quats)[0], quats)


@_of_arrays.defjvp
def _derivative(
    primals: tuple[jax.Array], tangents: tuple[jax.Array]
) -> tuple[tuple[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]:
    """With B = R' dM R: dI = diag B, and R turns about its axis k by B_ij / (I_i - I_j).

    Eigenvalues count as equal if they differ by less than the root of the rounding error.
    """
    values, quats = _of_arrays(*primals)
    frame = q.to_mat(quats)
    change = matmul3(matmul3(jnp.swapaxes(frame, 1, 2), tangents[0]), frame)
    gap = values[:, [1, 2, 0]] - values[:, [2, 0, 1]]
    scale = jnp.finfo(values.dtype).eps ** 0.5 * jnp.max(jnp.abs(values), axis=1, keepdims=True)
    equal = jnp.abs(gap) <= scale
    coupling = change[:, [2, 0, 1], [1, 2, 0]]
    angle = where(equal, 0, coupling / where(equal, 1, gap))
    turn = jnp.concatenate([jnp.zeros_like(angle[:, :1]), 0.5 * angle], axis=1)
    return (values, quats), (jnp.diagonal(change, axis1=1, axis2=2), q.mul(quats, turn))


def _sweep(matrices: A, quats: A) -> tuple[A, A, A]:
    """Diagonals (n, 3) in the frames (n, 4), the frames turned once, and which of them moved."""
    frame = matrix(quats)
    swapped = namespace(frame).swapaxes(frame, 1, 2)
    turned = product(product(swapped, matrices), frame)
    turn, moving = _jacobi(turned)
    xp = namespace(turned)
    new = where(moving[:, None], mul(quats, turn), quats)
    return xp.diagonal(turned, axis1=1, axis2=2), new, moving


def _jacobi(d: A) -> tuple[A, A]:
    """Rotation (n, 4) that clears the largest off-diagonal entry, and whether there is one."""
    xp, rows = namespace(d), np.arange(len(d))
    d01, d02, d12 = xp.abs(d[:, 0, 1]), xp.abs(d[:, 0, 2]), xp.abs(d[:, 1, 2])
    axis = where((d01 > d02) & (d01 > d12), 2, where(d02 > d12, 1, 0))
    i, j = xp.asarray(_FIRST)[axis], xp.asarray(_SECOND)[axis]
    off = d[rows, i, j]
    large = xp.abs(off) >= _EIG_EPS
    tau = (d[rows, j, j] - d[rows, i, i]) / (2 * where(large, off, 1))
    t = where(tau >= 0, 1.0, -1.0) / (xp.abs(tau) + xp.sqrt(1 + tau * tau))
    cosine = 1 / xp.sqrt(1 + t * t)
    half = xp.sqrt(xp.maximum(0, 0.5 - 0.5 * cosine))
    sign = where(tau >= 0, -1.0, 1.0) * where(axis == 1, -1.0, 1.0)
    vector = where(axis[:, None] == np.arange(3)[None], (sign * half)[:, None], 0)
    turn = xp.concatenate([xp.sqrt(1 - half * half)[:, None], vector], axis=1)
    # In single precision, 1 - 1e-12 is 1.
    return normalize(turn), large & (1 - cosine >= _EIG_EPS)


def _sorted_axes(diag: A, quats: A) -> tuple[A, A]:
    """Quarter turns that bring the eigenvalues into decreasing order."""
    xp = namespace(diag)
    for lead in (0, 1, 0):
        swap = (diag[:, lead] + _EIG_EPS < diag[:, lead + 1])[:, None]
        turn = np.zeros((1, 4), quats.dtype)
        turn[0, [0, (lead + 2) % 3 + 1]] = _QUARTER
        quats = where(swap, mul(quats, xp.asarray(turn)), quats)
        order = np.arange(3)
        order[[lead, lead + 1]] = lead + 1, lead
        diag = where(swap, diag[:, order], diag)
    return diag, quats
