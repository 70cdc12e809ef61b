"""Products and factors of matrices as loops, for code in one kernel, which cannot call a library.

A product with a vector stays one operation: XLA writes it out, with vectors of the processor.
"""

import math

import jax.numpy as jnp
from jax import lax

from mjjax.xla.loops import fori_loop, scan
from mjjax.xla.namespace import Array, where
from mjjax.xla.place import VECTOR

_WRITTEN_OUT = 8  # XLA calls no library for products of matrices with less rows and columns


def matmul(a: Array, b: Array) -> Array:
    """Product (..., m, n) of matrices (..., m, k) and (k, n), row by row."""
    rows = a.reshape(math.prod(a.shape[:-1]), a.shape[-1])  # XLA counts them so, too
    if max(*rows.shape, b.shape[1]) < _WRITTEN_OUT:
        return _product(a, b)
    rows = scan(lambda none, row: (none, _product(row, b)), (), rows)[1]
    return rows.reshape(*a.shape[:-1], b.shape[1])


def cho_factor(a: Array) -> Array:
    """As `mjjax.xla.linalg.cho_factor`.

    Column j of the factor is row j of the matrix, less its part by the columns before, over the
    root of its diagonal. In 27 rows this takes 2.7 us, LAPACK 4.3 us.
    """
    n = len(a)
    rows = jnp.pad(a, [(0, 0), (0, -n % VECTOR)])

    def column(j: Array, found: Array) -> Array:
        left = rows[j] - _product(found[:, j], found)
        return lax.dynamic_update_index_in_dim(found, left / jnp.sqrt(left[j]), j, 0)

    return fori_loop(0, n, column, jnp.zeros_like(rows))[:, :n].T


def cho_solve(factor: Array, b: Array) -> Array:
    """As `mjjax.xla.linalg.cho_solve`, for one right-hand side (n,)."""
    columns, n = factor.T, len(b)
    row = jnp.arange(n)

    def forward(k: Array, left: Array) -> Array:
        solved = left[k] / columns[k, k]
        return where(row > k, left - columns[k] * solved, where(row == k, solved, left))

    def backward(k: Array, x: Array) -> Array:
        k = n - 1 - k
        later = where(row > k, columns[k] * x, 0)
        return where(row == k, (x[k] - jnp.sum(later)) / columns[k, k], x)

    return fori_loop(0, n, backward, fori_loop(0, n, forward, b))


def _product(a: Array, b: Array) -> Array:
    return jnp.matmul(a, b, precision=lax.Precision.HIGHEST)
