"""Cholesky's factors of many small matrices on a GPU, where each lane of a warp has its own matrix.

cuSOLVER and cuBLAS give every matrix a block of threads, most of which wait for the next column. In
lanes, 32 matrices wait together. This takes a quarter of the time for 32,768 matrices of 27 rows,
and half for 8,192 (benchmarks/NOTES.md, On a GPU). Matrices lie along the last axis, so that lanes
read neighbours.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from mjjax.xla.namespace import Array, where

# Matrices per warp, warps of a program, and columns that are read at a time (measured).
LANES, WARPS, AHEAD = 32, 4, 4

Ref = Any  # Pallas has no public type for it


def factors(a: Array, interpret: bool = False) -> Array:
    """Lower factors (m, n, n) of symmetric positive definite matrices (m, n, n).

    The function reads the upper triangles of the matrices. The upper triangles of the factors have
    no meaning. The factor of a matrix that is not positive definite is NaN.
    """
    a = a.transpose(2, 1, 0)
    return _call(_factor, interpret, a.shape, a).transpose(2, 0, 1)


def solutions(factors: Array, b: Array, interpret: bool = False) -> Array:
    """Solutions x (m, n, 1) of L L' x = b (m, n, 1) with factors L (m, n, n)."""
    b = b[..., 0].T
    # This transpose of the factors undoes the one in `factors`.
    return _call(_solve, interpret, b.shape, factors.transpose(1, 2, 0), b).T[..., None]


def _call(
    kernel: Callable[..., None], interpret: bool, shape: tuple[int, ...], *arrays: Array
) -> jax.Array:
    """Runs a kernel on the matrices of each program; the output has the given shape."""
    return pl.pallas_call(
        functools.partial(kernel, interpret),
        out_shape=jax.ShapeDtypeStruct(shape, arrays[0].dtype),
        grid=(-(-shape[-1] // LANES),),
        compiler_params=triton.CompilerParams(num_warps=WARPS, num_stages=1),
        interpret=interpret,
        name=kernel.__name__.strip("_"),
    )(*arrays)


class _Tile:
    """Rows and matrices of a program: the part of an array (n, ..., m) that it reads at a time.

    Attributes:
        row, matrix: (R, LANES) indices; some of them are beyond the last row or matrix.
    """

    def __init__(self, ref: Ref):
        self.n, self.m = ref.shape[0], ref.shape[-1]
        shape = (1 << (self.n - 1).bit_length(), LANES)
        self.row = lax.broadcasted_iota(jnp.int32, shape, 0)
        self.matrix = pl.program_id(0) * LANES + lax.broadcasted_iota(jnp.int32, shape, 1)

    def below(self, i: Any) -> jax.Array:
        """Mask of the rows from row `i` on that exist."""
        return (self.row >= i) & (self.row < self.n) & (self.matrix < self.m)

    def load(self, ref: Ref, mask: jax.Array, *column: Any) -> jax.Array:
        """Entries (R, LANES) of a column of the matrices; zero where the mask is not set."""
        return triton.load(ref.at[self.row, *column, self.matrix], mask=mask, other=0)

    def store(self, ref: Ref, values: jax.Array, mask: jax.Array, *column: Any) -> None:
        """Puts entries (R, LANES) where the mask is set."""
        triton.store(ref.at[self.row, *column, self.matrix], values, mask=mask)

    def at(self, i: Any, values: jax.Array) -> jax.Array:
        """Entries (1, LANES) of row `i`."""
        return jnp.sum(where(self.row == i, values, 0), axis=0)[None]


def _factor(interpret: bool, a: Ref, factor: Ref) -> None:
    n, m = a.shape[1:]
    tile = _Tile(a)
    matrix = pl.program_id(0) * LANES + lax.broadcasted_iota(jnp.int32, (LANES,), 0)

    def column(j: jax.Array, _: None) -> None:
        below = tile.below(j)

        def subtract(block: jax.Array, left: jax.Array) -> jax.Array:
            for k in (block * AHEAD + i for i in range(AHEAD)):
                own = triton.load(factor.at[j, k, matrix], mask=(matrix < m) & (k < j), other=0)
                left = left - tile.load(factor, below & (k < j), k) * own[None]
            return left

        left = tile.load(a, below, j)
        left = lax.fori_loop(0, (j + AHEAD - 1) // AHEAD, subtract, left)
        tile.store(factor, left * lax.rsqrt(tile.at(j, left)), below, j)
        if not interpret:
            triton.debug_barrier()  # the next column reads entries that other threads stored

    lax.fori_loop(0, n, column, None)


def _solve(interpret: bool, factor: Ref, b: Ref, x: Ref) -> None:
    n = b.shape[0]
    tile = _Tile(b)

    def forward(k: jax.Array, left: jax.Array) -> jax.Array:
        entries = tile.load(factor, tile.below(k), k)
        y = tile.at(k, left) / tile.at(k, entries)
        return where(tile.row == k, y, left - entries * y)

    def backward(i: jax.Array, left: jax.Array) -> jax.Array:
        k = n - 1 - i
        entries = tile.load(factor, tile.below(k), k)
        others = jnp.sum(where(tile.row > k, entries * left, 0), axis=0)[None]
        value = (tile.at(k, left) - others) / tile.at(k, entries)
        return where(tile.row == k, value, left)

    left = lax.fori_loop(0, n, forward, tile.load(b, tile.below(0)))
    tile.store(x, lax.fori_loop(0, n, backward, left), tile.below(0))
