"""Indexing by static lists, in the forms that XLA runs fast and differentiates cheaply."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.math.linalg import matmul, row_sum
from mjjax.math.namespace import Array, namespace

SMALL = (
    96  # up to this many entries a product with a 0/1 matrix is faster than XLA's gather (measured)
)
_SHORT = 4  # rows up to which sums are written out
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
        rows = x.reshape(run.count, run.each)
        total = row_sum(rows)[:, 0] if run.each <= _SHORT else jnp.sum(rows, axis=1)
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
