"""Products at full precision and Cholesky algebra for numpy and JAX arrays.

Every product of the engine goes through here, so that no accelerator rounds it to a shorter
format (TF32, bfloat16): the precision is part of the physics, not a global setting.
"""

import functools
import math
import operator
from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_batching import custom_vmap

from mjjax.math.namespace import A, Array, namespace


def einsum(spec: str, *operands: Array) -> Array:
    """`einsum` at `Precision.HIGHEST`."""
    if namespace(*operands) is np:
        # mixed types would be converted element by element
        return np.einsum(spec, *(a.astype(float) if a.dtype == bool else a for a in operands))
    return jnp.einsum(spec, *_same_type(operands), precision=lax.Precision.HIGHEST)


def matmul(a: Array, b: Array) -> Array:
    """Matrix product at `Precision.HIGHEST`."""
    if namespace(a, b) is np:
        return np.matmul(a, b)
    return jnp.matmul(*_same_type((a, b)), precision=lax.Precision.HIGHEST)


# The next five are written out: as batched products or as sums over a short axis XLA runs them
# one element at a time, up to twenty times slower (measured on CPU).


def dot(a: Array, b: Array) -> Array:
    """Inner products (...,) along a short last axis."""
    return total(a[..., k] * b[..., k] for k in range(a.shape[-1]))


def matvec3(mat: Array, v: Array) -> Array:
    """Products (..., 3) of 3 x 3 matrices with vectors."""
    return total(mat[..., :, k] * v[..., k : k + 1] for k in range(3))


def matvec3_t(mat: Array, v: Array) -> Array:
    """Products (..., 3) of the transposes of 3 x 3 matrices with vectors."""
    return total(mat[..., k, :] * v[..., k : k + 1] for k in range(3))


def matmul3(a: Array, b: Array) -> Array:
    """Products (..., 3, 3) of 3 x 3 matrices."""
    return total(a[..., :, k : k + 1] * b[..., k : k + 1, :] for k in range(3))


def matmul3_t(a: Array, b: Array) -> Array:
    """Products (..., 3, 3) of 3 x 3 matrices with the transposes of others."""
    return total(a[..., :, k : k + 1] * b[..., None, :, k] for k in range(3))


def total(terms: Iterable[Array]) -> Array:
    """Sum of a few arrays, term by term."""
    return functools.reduce(operator.add, terms)


def stack(parts: Iterable[Array]) -> Array:
    """Arrays of one shape along a new first axis, with the batch of a `vmap` in front of it.

    `jnp.stack` leaves the batch behind that axis, and all that follows is transposed.
    """
    rows = [x.reshape((1, *x.shape)) for x in parts]
    return namespace(*rows).concatenate(rows)


def split_rows(x: Array) -> Sequence[Array]:
    """Rows (1, ...) of an array, whose derivative is joined again, not padded and added."""
    return lax.split(x, [1] * x.shape[0])


def largest(x: A, axis: int = -1) -> A:
    """Maximum along an axis that is not empty; its derivative is that of one of the largest.

    JAX's own derivative of `max` compares the entries with a maximum computed once more, which
    XLA may round otherwise: then none is equal and the derivative is not a number.
    """
    xp = namespace(x)
    if x.shape[axis] <= _SHORT:
        return functools.reduce(xp.maximum, xp.moveaxis(x, axis, 0))
    index = xp.expand_dims(xp.argmax(x, axis=axis), axis)
    return xp.squeeze(xp.take_along_axis(x, index, axis=axis), axis)


def smallest(x: A, axis: int = -1) -> A:
    """Minimum along an axis, as `largest`."""
    return cast(A, -largest(-x, axis))


_SHORT = 4  # up to which pairs are compared one after the other


def cholesky(a: Array) -> Array:
    """Lower factor L of a symmetric positive definite matrix, a = L L'; NaN if it is not."""
    if namespace(a) is np:
        return np.linalg.cholesky(a)
    # LAPACK's order of entries is the transpose's: it needs no copy
    return lax.linalg.cholesky(jnp.asarray(a).T, symmetrize_input=False)


def cho_solve(factor: Array, b: Array) -> Array:
    """Solution x of L L' x = b for one right-hand side `b` (n,) or several (n, k)."""
    if namespace(factor, b) is np:
        return np.linalg.solve(factor.T, np.linalg.solve(factor, b))
    return jax.scipy.linalg.cho_solve((factor, True), b)


def solve_definite(a: Array, b: Array) -> Array:
    """Solution x of a x = b (n,) for a symmetric positive definite matrix, by Cholesky's factor.

    The derivative is another solution with the same factor, not that of the factorization.
    """
    if namespace(a, b) is np:
        return cho_solve(cholesky(a), b)
    factor = cholesky(lax.stop_gradient(a))
    return lax.custom_linear_solve(
        lambda x: matmul(a, x), b, lambda _, b: cho_solve(factor, b), symmetric=True
    )


@jax.custom_jvp
def solve(a: Array, b: Array) -> Array:
    """Solution x of a x = b (n,) for any regular matrix, by LU factors.

    The derivative is another solution.
    """
    return _eliminate(a, b[:, None])[:, 0]


def _eliminate(a: Array, b: Array) -> Array:
    """Solutions (n, k) of a x = b for the columns of `b` (n, k)."""
    # with b as further columns, elimination leaves U and L^-1 P b: no loop over the row exchanges
    n = a.shape[0]
    eliminated, *_ = lax.linalg.lu(jnp.concatenate([a, b], axis=1))
    return triangular_solve(eliminated[:, :n], eliminated[:, n:])


@solve.defjvp
def _solve_jvp(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    (a, b), (da, db) = primals, tangents
    x = solve(a, b)
    return x, jnp.linalg.solve(a, db - matmul(da, x))


@jax.custom_jvp
def solve_symmetric(a: Array, b: Array) -> Array:
    """Solution x of a x = b (n,) for a symmetric regular matrix, which hardly ever is indefinite.

    By Cholesky's factor, which is four times faster than LU (measured, 27 x 27 on CPU); if that
    fails, for one of a batch, by LU. The derivative is another solution.
    """
    return _symmetric(a, b)


@solve_symmetric.defjvp
def _solve_symmetric_jvp(
    primals: tuple[Array, Array], tangents: tuple[Array, Array]
) -> tuple[Array, Array]:
    (a, b), (da, db) = primals, tangents
    x = solve_symmetric(a, b)
    return x, lax.custom_linear_solve(
        lambda x: matmul(a, x), db - matmul(da, x), lambda _, b: _symmetric(a, b), symmetric=True
    )


def _symmetric(a: Array, b: Array) -> Array:
    return _systems(a[None], b[None, :, None])[0, :, 0]


@custom_vmap
def _systems(a: Array, b: Array) -> Array:
    """Solutions (m, n, k) of m systems with k right-hand sides each."""
    x = jax.vmap(lambda a, b: cho_solve(cholesky(a), b))(a, b)
    good = jnp.isfinite(x).all(axis=(1, 2), keepdims=True)
    return lax.cond(good.all(), lambda: x, lambda: jnp.where(good, x, jax.vmap(_eliminate)(a, b)))


@_systems.def_vmap
def _systems_rule(size: int, in_batched: list[bool], a: Array, b: Array) -> tuple[Array, bool]:
    # in one branch for all worlds, which a vmap of `cond` would not be
    if not in_batched[0]:
        m, n, k = b.shape[1:]
        x = _systems(a, jnp.moveaxis(b, 0, 2).reshape(m, n, size * k))
        return jnp.moveaxis(x.reshape(m, n, size, k), 2, 0), True
    if not in_batched[1]:
        b = jnp.broadcast_to(b, (size, *b.shape))
    x = _systems(a.reshape(-1, *a.shape[2:]), b.reshape(-1, *b.shape[2:]))
    return x.reshape(b.shape), True


def triangular_solve(upper: Array, b: Array) -> Array:
    """Solution x of U x = b for an upper triangular matrix."""
    if namespace(upper, b) is np:
        return np.linalg.solve(upper, b)
    return jax.scipy.linalg.solve_triangular(upper, b, lower=False)


SMALL = (
    96  # up to this many entries a product with a 0/1 matrix is faster than XLA's gather (measured)
)
_FEW = 3  # runs of indices up to which slices are joined
WIDEST = 40_960  # entries up to which a product with whole rows is no slower (measured)


def gather(x: Array, index: np.ndarray) -> Array:
    """`x[index]` along the first axis for a static `index`, in the fastest form.

    XLA's gather handles one element at a time, and its derivative is a scatter. Few runs of indices
    become slices, also in equal steps, as from one of equal trees to the next, and with each row
    repeated; small tables become a product with a constant 0/1 matrix.
    """
    index = np.asarray(index)
    if namespace(x) is np or not index.size:
        return x[index]
    n, flat = x.shape[0], index.ravel()
    shape = (*index.shape, *x.shape[1:])
    if runs := _runs(flat):
        return _take(x, runs, 0).reshape(shape)
    if n > SMALL or not jnp.issubdtype(x.dtype, jnp.floating):
        return x[index]
    table = np.eye(n)[flat]
    if is_small(table, x):
        return mix_rows(table, x).reshape(shape)
    return matmul(jnp.asarray(table, x.dtype), x.reshape(n, -1)).reshape(shape)


class _Run(NamedTuple):
    """Indices from `first` on, `count` of them in equal steps, each of them `each` times."""

    first: int
    step: int
    count: int
    each: int

    @property
    def end(self) -> int:
        """One more than the last index."""
        return self.first + self.step * (self.count - 1) + 1


def _runs(index: np.ndarray) -> list[_Run]:
    """The runs that indices are made of, none if these are more than a few."""
    runs: list[_Run] = []
    while len(index) and len(runs) < _FEW:
        each = int(_leading(index == index[0]))
        groups = index[: len(index) // each * each].reshape(-1, each)
        whole = groups[: _leading((groups == groups[:, :1]).all(axis=1)), 0]
        step = int(whole[1] - whole[0]) if len(whole) > 1 else 0
        count = 1 + int(_leading(np.diff(whole) == step)) if step > 0 else 1
        runs.append(_Run(int(index[0]), max(step, 1), count, each))
        index = index[count * each :]
    return [] if len(index) else runs


def _leading(flags: np.ndarray) -> int:
    """How many of the first flags are set."""
    return len(flags) if flags.all() else int(np.argmin(flags))


def _take(x: Array, runs: list[_Run], axis: int) -> Array:
    """What stands at runs of indices along an axis."""
    parts = []
    for run in runs:
        part = lax.slice_in_dim(x, run.first, run.end, run.step, axis)
        if run.each > 1:
            shape = (*part.shape[:axis], run.count * run.each, *part.shape[axis + 1 :])
            each = (*part.shape[: axis + 1], run.each, *part.shape[axis + 1 :])
            part = jnp.broadcast_to(jnp.expand_dims(part, axis + 1), each).reshape(shape)
        parts.append(part)
    return parts[0] if len(parts) == 1 else jnp.concatenate(parts, axis)


def is_small(table: np.ndarray, x: Array) -> bool:
    """Whether `mix_rows` is no slower than a product from the left."""
    wide = table.size * math.prod(x.shape[1:]) ** 2
    return 0 < wide <= WIDEST and namespace(x) is not np


def mix_rows(table: np.ndarray, x: Array) -> Array:
    """Product (m, ...) of a static matrix (m, n) with the rows of `x` (n, ...), from the right.

    The matrix is as many times wider as a row has entries, but the batch of a `vmap` stays in
    front: no transposes.
    """
    wide = np.kron(table.T, np.eye(math.prod(x.shape[1:])))
    return matmul(x.ravel(), jnp.asarray(wide, x.dtype)).reshape(len(table), *x.shape[1:])


def gather_columns(x: Array, index: np.ndarray) -> Array:
    """`x[:, index]` of a component-first array (k, n) for a static `index`; see `gather`."""
    index = np.asarray(index)
    n = x.shape[1]
    if namespace(x) is np or not len(index):
        return x[:, index]
    if runs := _runs(index):
        return _take(x, runs, 1)
    if n > SMALL:
        return x[:, index]
    return matmul(x, jnp.asarray(np.eye(n)[:, index], x.dtype))


def gather_tables(indices: Sequence[np.ndarray], x: Array) -> Array:
    """Equally long indices into the columns of `x` (k, n), in the form `gather_traced` takes."""
    n = x.shape[1]
    if n > SMALL:
        return jnp.asarray(np.stack(indices), jnp.int32)
    return jnp.asarray(np.eye(n)[:, np.stack(indices)].swapaxes(0, 1), x.dtype)


def gather_traced(x: Array, selector: Array) -> Array:
    """`gather_columns` for one of `gather_tables`, which may be traced, as in a loop over them."""
    return x[:, selector] if selector.ndim == 1 else matmul(x, selector)


def scatter_sum(x: Array, index: np.ndarray, size: int) -> Array:
    """Transpose of `gather` for a vector: entry i is the sum of `x` (m,) where `index` is i."""
    if not len(index):
        return jnp.zeros(size, x.dtype)
    runs = _runs(index)
    if len(runs) == 1:
        (run,) = runs
        total = jnp.sum(x.reshape(run.count, run.each), axis=1)
        return lax.pad(total, jnp.zeros((), x.dtype), [(run.first, size - run.end, run.step - 1)])
    if len(index) <= 2 * SMALL:
        return matmul(x, jnp.asarray(np.eye(size)[index], x.dtype))
    most = np.bincount(index).max()
    table = np.full((size, most), len(index))
    filled = np.zeros(size, int)
    for row, i in enumerate(index):
        table[i, filled[i]] = row
        filled[i] += 1
    return jnp.sum(jnp.append(x, 0)[table], axis=-1)


def _same_type(operands: tuple[Array, ...]) -> list[Array]:
    """Static 0/1 masks (numpy booleans) take the type of the traced operand beside them."""
    dtype = jnp.result_type(*(a for a in operands if isinstance(a, jax.Array)))
    return [a if isinstance(a, jax.Array) else jnp.asarray(a, dtype) for a in operands]
