"""Products at full precision and Cholesky algebra for numpy and JAX arrays.

Every product of the engine goes through this module, so that no accelerator rounds it to a shorter
format (TF32, bfloat16). The precision is part of the physics, not a global setting.
"""

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.xla import kernel_algebra
from mjjax.xla.namespace import A, Array, namespace
from mjjax.xla.place import in_kernel


def einsum(spec: str, *operands: Array) -> Array:
    """`einsum` at `Precision.HIGHEST`."""
    if namespace(*operands) is np:
        # Mixed types would be converted element by element, so masks are converted first.
        return np.einsum(spec, *(a.astype(float) if a.dtype == bool else a for a in operands))
    return jnp.einsum(spec, *_same_type(operands), precision=lax.Precision.HIGHEST)


def matmul(a: Array, b: Array) -> Array:
    """Matrix product at `Precision.HIGHEST`."""
    if namespace(a, b) is np:
        return np.matmul(a, b)
    a, b = _same_type((a, b))
    if in_kernel() and a.ndim > 1 and b.ndim > 1:
        return kernel_algebra.matmul(a, b)
    return jnp.matmul(a, b, precision=lax.Precision.HIGHEST)


def matmul_as_sums(a: Array, b: Array) -> Array:
    """Product (m, n) of small matrices (m, k) and (k, n), without a library for products.

    Functions for `mjjax.xla.item_by_item` use it, because one kernel cannot call a library.
    """
    return jnp.sum(a[:, :, None] * b[None], axis=1)


# The next seven functions are written out. As batched products, or as sums over a short axis, XLA
# would run them one element at a time, up to twenty times slower (measured on CPU).


def dot(a: Array, b: Array) -> Array:
    """Inner products (...,) along a short last axis."""
    return row_sum(a * b)[..., 0]


def row_sum(x: Array) -> Array:
    """Sums (..., 1) along a short last axis."""
    return total(slabs(x, -1))


def matvec3(mat: Array, v: Array) -> Array:
    """Products (..., 3) of 3 x 3 matrices with vectors."""
    return total(m[..., 0] * x for m, x in zip(slabs(mat, -1), slabs(v, -1), strict=True))


def matvec3_t(mat: Array, v: Array) -> Array:
    """Products (..., 3) of the transposes of 3 x 3 matrices with vectors."""
    return total(m[..., 0, :] * x for m, x in zip(slabs(mat, -2), slabs(v, -1), strict=True))


def matmul3(a: Array, b: Array) -> Array:
    """Products (..., 3, 3) of 3 x 3 matrices."""
    return total(x * y for x, y in zip(slabs(a, -1), slabs(b, -2), strict=True))


def matmul3_t(a: Array, b: Array) -> Array:
    """Products (..., 3, 3) of 3 x 3 matrices with the transposes of others."""
    columns = (y[..., None, :, 0] for y in slabs(b, -1))
    return total(x * y for x, y in zip(slabs(a, -1), columns, strict=True))


def mul_blocks(blocks: Array, x: Array) -> Array:
    """Products (n, k, m) of small matrices (n, k, k) with (n, k, m)."""
    return total(b * row for b, row in zip(slabs(blocks, 2), slabs(x, 1), strict=True))


def slabs(x: Array, axis: int) -> Sequence[Array]:
    """The entries along a short axis, one by one; the axis keeps its place, with one entry.

    They are slices, but their transpose is one concatenation instead of a sum of padded arrays
    (benchmarks/NOTES.md, Products and sums).
    """
    if namespace(x) is np:
        before = (slice(None),) * (axis % x.ndim)
        return [x[(*before, slice(k, k + 1))] for k in range(x.shape[axis])]
    return lax.split(x, (1,) * x.shape[axis], axis % x.ndim)


def total(terms: Iterable[Array]) -> Array:
    """Sum of a few arrays, term by term."""
    return functools.reduce(operator.add, terms)


def stack(parts: Iterable[Array]) -> Array:
    """Arrays of one shape along a new first axis, with the batch of a `vmap` in front of it.

    `jnp.stack` would leave the batch behind that axis, and all later code would be transposed
    (benchmarks/NOTES.md, Products and sums).
    """
    rows = [x.reshape((1, *x.shape)) for x in parts]
    return namespace(*rows).concatenate(rows)


def unstack(x: Array, axis: int = 0) -> tuple[Array, ...]:
    """The entries along a short axis."""
    parts = slabs(x, axis)
    if namespace(x) is np:
        place = (slice(None),) * (axis % x.ndim) + (0,)
        return tuple(part[place] for part in parts)
    # Indexing by zero would take six times as long to trace.
    return tuple(lax.squeeze(part, (axis % x.ndim,)) for part in parts)


def mix_columns(mask: np.ndarray, x: Array) -> Array:
    """Sums (k, m) of the columns of `x` (k, n) that each row of a static mask (m, n) takes."""
    if namespace(x) is np:
        return np.matmul(x, mask.T.astype(x.dtype))
    if not mask.size or mask.shape[0] > _SHORT or mask.shape[1] > _SHORT:
        return matmul(x, jnp.asarray(mask.T, x.dtype))
    # A product of so few numbers costs more than a sum of terms, which XLA computes in the code
    # that reads them.
    columns, none = slabs(x, 1), jnp.zeros_like(x[:, :1])
    rows = [
        total(columns[i] for i in range(len(columns)) if row[i]) if row.any() else none
        for row in mask
    ]
    return jnp.concatenate(rows, axis=1)


def by_entry(function: Callable[..., Array], *arrays: Array) -> Array:
    """An elementwise function of arrays of one shape, computed on one axis of all entries.

    Without its fusion emitters, XLA uses no vectors for rows of less than about thirty entries
    (benchmarks/NOTES.md, Products and sums).
    """
    return function(*(x.reshape(-1) for x in arrays)).reshape(arrays[0].shape)


def largest(x: A, axis: int = -1) -> A:
    """Maximum along an axis that is not empty; its derivative is that of one largest entry.

    JAX's own derivative of `max` compares the entries with a maximum that is computed once more.
    XLA may round this differently. Then no entry is equal to it and the derivative is NaN.
    """
    xp = namespace(x)
    if x.shape[axis] <= _SHORT:
        return functools.reduce(xp.maximum, xp.moveaxis(x, axis, 0))
    index = xp.expand_dims(xp.argmax(x, axis=axis), axis)
    return xp.squeeze(xp.take_along_axis(x, index, axis=axis), axis)


def smallest(x: A, axis: int = -1) -> A:
    """Minimum along an axis, as `largest`."""
    return cast(A, -largest(-x, axis))


_SHORT = 4  # up to so many entries, pairs are compared one after the other


def cholesky(a: Array) -> Array:
    """Lower factor L of a symmetric positive definite matrix, a = L L'; NaN if it is not."""
    if namespace(a) is np:
        return np.linalg.cholesky(a)
    return jnp.tril(cho_factor(a))


def cho_factor(a: Array) -> Array:
    """`cholesky` for `cho_solve`; it reads the upper triangle of `a`, and L's has no meaning.

    That saves a mask, and the order of entries saves a copy (benchmarks/NOTES.md, Factors).
    """
    if namespace(a) is np:
        return np.linalg.cholesky(a.T)
    if in_kernel():
        return kernel_algebra.cho_factor(a)
    # LAPACK stores entries in the order of the transpose, so this needs no copy.
    return lax.linalg.cholesky_p.bind(jnp.asarray(a).T)


def cho_solve(factor: Array, b: Array) -> Array:
    """Solution x of L L' x = b for one right-hand side `b` (n,) or several (n, k)."""
    if namespace(factor, b) is np:
        return np.linalg.solve(factor.T, np.linalg.solve(factor, b))
    if in_kernel():
        return kernel_algebra.cho_solve(factor, b)
    solve = functools.partial(lax.linalg.triangular_solve, factor, left_side=True, lower=True)
    columns = b if b.ndim == 2 else b[:, None]
    return solve(solve(columns), transpose_a=True).reshape(b.shape)


def solve(a: Array, b: Array) -> Array:
    """Solution x of a x = b (n,) for any regular matrix, by LU factors.

    The derivative is another solution.
    """
    fixed = lax.stop_gradient(a)
    return lax.custom_linear_solve(
        lambda x: matmul(a, x),
        b,
        lambda _, b: eliminate(fixed, b[:, None])[:, 0],
        lambda _, b: eliminate(fixed.T, b[:, None])[:, 0],
    )


def eliminate(a: Array, b: Array) -> Array:
    """Solutions (n, k) of a x = b for the columns of `b` (n, k), without derivatives."""
    # With b as further columns, elimination leaves U and L^-1 P b, without a loop over the row
    # exchanges.
    n = a.shape[0]
    eliminated, *_ = lax.linalg.lu(jnp.concatenate([a, b], axis=1))
    return triangular_solve(eliminated[:, :n], eliminated[:, n:])


def triangular_solve(upper: Array, b: Array) -> Array:
    """Solution x of U x = b for an upper triangular matrix."""
    if namespace(upper, b) is np:
        return np.linalg.solve(upper, b)
    return jax.scipy.linalg.solve_triangular(upper, b, lower=False)


def _same_type(operands: tuple[Array, ...]) -> list[Array]:
    """The operands, where 0/1 masks (numpy booleans) get the type of the traced operand."""
    dtype = jnp.result_type(*(a for a in operands if isinstance(a, jax.Array)))
    return [a if isinstance(a, jax.Array) else jnp.asarray(a, dtype) for a in operands]
