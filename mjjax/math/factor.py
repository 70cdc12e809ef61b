"""Factorizations: Cholesky with updates, band-dense matrices, symmetric 3 x 3 matrices.

A band-dense matrix of size n is symmetric. Each of its first n - ndense rows has `nband` entries up
to the diagonal, which is included. The last `ndense` rows are full. The matrix is stored as a
vector: first the band row by row (n - ndense, nband), then the dense rows (ndense, n).
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from mjjax.core.constants import MINVAL
from mjjax.math import quat, safe
from mjjax.xla.linalg import cho_solve, cholesky, matmul, smallest
from mjjax.xla.loops import fori_loop
from mjjax.xla.namespace import Array, where


def chol_update(factor: Array, x: Array, plus: bool = True) -> Array:
    """Lower factor of L L' + x x', or of L L' - x x' (`mju_cholUpdate`).

    The update takes O(n^2) operations. The derivative is exact if the new matrix is positive
    definite. Otherwise the square of a diagonal entry is set to 1e-15, as in MuJoCo, and has
    derivative zero.

    Args:
        factor: (n, n) lower factor L.
        x: (n,) vector.
        plus: whether to add x x'; if not, it is subtracted.
    """
    n = factor.shape[0]
    sign = 1.0 if plus else -1.0

    def column(k: Array, carry: tuple[Any, Array]) -> tuple[Any, Array]:
        lower, x = carry
        old = lower[k, k]
        square = old * old + sign * x[k] * x[k]
        new = safe.sqrt(jnp.maximum(square, MINVAL))
        c, s = new / old, x[k] / old
        below = jnp.arange(n) > k
        updated = (lower[:, k] + sign * s * x) / c
        entries = where(below, updated, where(jnp.arange(n) == k, new, 0))
        return lower.at[:, k].set(entries), where(below, c * x - s * entries, x)

    start: tuple[Any, Array] = (jnp.tril(factor), x)
    return fori_loop(0, n, column, start)[0]


class Band(NamedTuple):
    """Shape of a band-dense matrix.

    Attributes:
        ntotal: size of the matrix.
        nband: entries of a band row, up to the diagonal.
        ndense: number of dense rows at the end.
    """

    ntotal: int
    nband: int
    ndense: int

    def index(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Place in storage, row and column of every entry within the lower triangle."""
        n, top = self.ntotal, self.ntotal - self.ndense
        row, k = np.indices((top, self.nband)).reshape(2, -1)
        column = row - self.nband + 1 + k
        place = np.arange(row.size)
        drow, dcolumn = np.indices((self.ndense, n)).reshape(2, -1)
        row, column = np.append(row, drow + top), np.append(column, dcolumn)
        place = np.append(place, np.arange(drow.size) + place.size)
        inside = (column >= 0) & (column <= row)
        return place[inside], row[inside], column[inside]

    @property
    def size(self) -> int:
        """Length of the storage."""
        return (self.ntotal - self.ndense) * self.nband + self.ndense * self.ntotal


def band_to_dense(mat: Array, band: Band, symmetric: bool = True) -> Array:
    """The full matrix (n, n), with its upper triangle if `symmetric` (`mju_band2Dense`).

    The function is linear in `mat` (band.size,), and so is its derivative.
    """
    place, row, column = band.index()
    dense = jnp.zeros((band.ntotal, band.ntotal), mat.dtype).at[row, column].set(mat[place])
    return dense + jnp.tril(dense, -1).T if symmetric else dense


def dense_to_band(mat: Array, band: Band) -> Array:
    """Storage (band.size,) of a full matrix (n, n): its lower triangle (`mju_dense2Band`).

    Entries outside the shape, and their derivatives, are dropped.
    """
    place, row, column = band.index()
    return jnp.zeros(band.size, mat.dtype).at[place].set(mat[row, column])


def band_mul_mat_vec(mat: Array, v: Array, band: Band, symmetric: bool = True) -> Array:
    """Products A v with vectors (nvec, n), or one (n,) (`mju_bandMulMatVec`).

    Unless `symmetric` is set, only the lower triangle of A counts. The derivative is exact in both
    arguments.
    """
    return matmul(v, band_to_dense(mat, band, symmetric).T)


def band_diag(i: int, band: Band) -> int:
    """Index of a diagonal entry in storage (`mju_bandDiag`)."""
    top = band.ntotal - band.ndense
    if i < top:
        return i * band.nband + band.nband - 1
    return top * band.nband + (i - top) * band.ntotal + i


def chol_factor_band(
    mat: Array, band: Band, diagadd: Array | float = 0.0, diagmul: Array | float = 0.0
) -> tuple[Array, Array]:
    """Factor in the same storage, and its smallest squared diagonal entry (`mju_cholFactorBand`).

    L L' = A + diag(diagadd + diagmul A_ii). If this matrix is not positive definite, the second
    result is 0 and the factor is NaN. Otherwise the derivative is exact.
    """
    dense = band_to_dense(mat, band)
    diagonal = jnp.diagonal(dense)
    factor = cholesky(dense + jnp.diag(diagadd + diagmul * diagonal))
    least = smallest(jnp.diagonal(factor)) ** 2
    return dense_to_band(factor, band), where(least >= MINVAL, least, 0)


def chol_solve_band(factor: Array, v: Array, band: Band) -> Array:
    """Solution x (n,) of L L' x = v for a factor in band-dense storage (`mju_cholSolveBand`).

    The derivative is exact in both arguments.
    """
    return cho_solve(band_to_dense(factor, band, symmetric=False), v)


def eig3(mat: Array) -> tuple[Array, Array, Array]:
    """Eigenvalues (3,), eigenvectors (3, 3) in columns and their quaternion (4,) (`mju_eig3`).

    A = V diag(values) V', with the values in decreasing order and V right-handed. The derivative of
    the values is exact. The derivative of the vectors has the factors 1 / (difference of values),
    so it is not finite if two values coincide.

    Args:
        mat: (3, 3) symmetric matrix.
    """
    values, vectors = jnp.linalg.eigh(mat, symmetrize_input=False)
    values, vectors = values[::-1], vectors[:, ::-1]
    vectors = vectors * where(jnp.linalg.det(vectors) < 0, -1, 1).astype(mat.dtype)
    return values, vectors, quat.from_mat(vectors)
