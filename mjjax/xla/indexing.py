"""Indexing by static lists, in the forms that XLA runs fast and differentiates cheaply.

XLA's gather handles one element at a time, and its derivative is a scatter. Static indices become
slices if they form few runs, and products with 0/1 matrices if tables are small
(benchmarks/NOTES.md, Indexing). A product spreads an infinity or a NaN of one row to all picked
rows; see `gather_parameters`.

Long lists of indices, as over equal trees, are cut into `Segment`s. In repetition r of a segment,
each window has the `width` rows from `start + r stride` on. The windows side by side are a table,
and `columns` picks rows of this table. With a stride of 0, every repetition has the same rows.
"""

import math
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.xla.linalg import matmul, row_sum
from mjjax.xla.namespace import Array, namespace
from mjjax.xla.place import in_kernel
from mjjax.xla.segments import MOST_SLICES, Segment, segments_of, slices_of

# Up to so many rows of a table, a product with a 0/1 matrix is faster than XLA's gather (measured).
SMALL_PRODUCT = 96
_SHORT = 4  # up to so many rows, sums are written out
WIDEST = 40_960  # up to so many entries, a product with whole rows is no slower (measured)


def gather(x: Array, index: np.ndarray) -> Array:
    """`x[index]` along the first axis for a static `index` of any shape, in the fastest form.

    The function takes the first of these forms that applies: a few slices (also in equal steps, or
    of one row many times); for integers XLA's gather; for a small table a product with a 0/1 matrix
    from the right, which keeps the batch of a `vmap` in front; a slice or a product for each
    segment; for up to `SMALL_PRODUCT` rows a product from the left; otherwise XLA's gather.
    """
    index = np.asarray(index)
    if namespace(x) is np or not index.size:
        return x[index]
    n, flat = x.shape[0], index.ravel()
    shape = (*index.shape, *x.shape[1:])
    if slices_of(flat) <= MOST_SLICES:
        return _take(x, flat, 0).reshape(shape)
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return x[index]
    table = np.eye(n)[flat] if n <= SMALL_PRODUCT else None
    if table is not None and _is_small(table, x):
        return _mix_rows(table, x).reshape(shape)
    if _in_blocks(flat, math.prod(x.shape[1:])):
        return _take(x, flat, 0).reshape(shape)
    if table is None:
        return x[index]
    return matmul(jnp.asarray(table, x.dtype), x.reshape(n, -1)).reshape(shape)


def gather_parameters(x: Array, index: np.ndarray) -> Array:
    """`gather` of values that may be infinite, such as the range of a joint without bounds.

    The largest number stands for infinity. Zero times the largest number is zero, so a product that
    picks other rows leaves these as they are.
    """
    return gather(_finite(x), index)


def _finite(x: Array) -> Array:
    most = float(np.finfo(x.dtype).max)
    return namespace(x).clip(x, -most, most)


def gather_rows(arrays: Sequence[Array], index: Array) -> list[Array]:
    """`x[index]` of arrays (n,) or (n, k) of parameters, as rows of one table.

    This is one operation instead of one per array (benchmarks/NOTES.md, Indexing). `index` may be
    traced. `gather_parameters` explains how infinities are handled.
    """
    xp = namespace(*arrays)
    columns = [x[:, None] if x.ndim == 1 else x for x in arrays]
    table = _finite(xp.concatenate(columns, axis=1))
    rows = gather(table, index) if isinstance(index, np.ndarray) else table[index]
    parts = xp.split(rows, np.cumsum([x.shape[1] for x in columns])[:-1], axis=1)
    return [p[:, 0] if x.ndim == 1 else p for p, x in zip(parts, arrays, strict=True)]


def _in_blocks(index: np.ndarray, entries: int) -> bool:
    """Whether indices form few segments that are small products, for rows of `entries` entries."""
    segments = segments_of(index)
    return bool(segments) and all(
        slices_of(s.columns) <= MOST_SLICES or _wide(s.width * len(s.columns), entries) <= WIDEST
        for s in segments
    )


def _take(x: Array, index: np.ndarray, axis: int) -> Array:
    """The entries at indices along an axis, taken by segments."""
    parts = [_take_segment(x, segment, axis) for segment in segments_of(index)]
    return parts[0] if len(parts) == 1 else jnp.concatenate(parts, axis)


def _take_segment(x: Array, segment: Segment, axis: int) -> Array:
    """The entries at the indices of a segment along an axis."""
    columns, count = segment.columns, segment.count
    shape = (*x.shape[:axis], count * len(columns), *x.shape[axis + 1 :])
    if len(columns) == 1:
        (window,) = segment.windows
        first, step = window.start, max(window.stride, 1)
        last = first + (step * (count - 1) if window.stride else 0)
        part = lax.slice_in_dim(x, first, last + 1, step, axis)
        return part if window.stride or count == 1 else jnp.broadcast_to(part, shape)
    blocks = _blocks(x, segment, axis)
    if slices_of(columns) <= MOST_SLICES:
        return _take(blocks, columns, axis + 1).reshape(shape)
    table = np.eye(segment.width)[columns]
    if axis:
        return matmul(blocks, jnp.asarray(table.T, x.dtype)).reshape(shape)
    return _mix_rows(table, blocks, 1).reshape(shape)


def _blocks(x: Array, segment: Segment, axis: int) -> Array:
    """The columns of a segment's blocks: `axis` becomes two of `count` and `width` entries."""
    parts = []
    for window in segment.windows:
        count = segment.count if window.stride else 1
        end = window.start + count * window.width
        part = lax.slice_in_dim(x, window.start, min(end, x.shape[axis]), axis=axis)
        if (missing := end - x.shape[axis]) > 0:
            # The last block may reach beyond the end of the table, so it is padded.
            edges = [(0, missing if k == axis else 0, 0) for k in range(x.ndim)]
            part = lax.pad(part, jnp.zeros((), x.dtype), edges)
        shape = (*x.shape[:axis], count, window.width, *x.shape[axis + 1 :])
        whole = (*x.shape[:axis], segment.count, window.width, *x.shape[axis + 1 :])
        parts.append(jnp.broadcast_to(part.reshape(shape), whole))
    return parts[0] if len(parts) == 1 else jnp.concatenate(parts, axis + 1)


def _is_small(table: np.ndarray, x: Array) -> bool:
    """Whether `_mix_rows` is no slower than a product from the left."""
    wide = _wide(table.size, math.prod(x.shape[1:]))
    return 0 < wide <= WIDEST and namespace(x) is not np


def _wide(size: int, entries: int) -> int:
    """Number of entries of the matrix in `_mix_rows`, from those of the table and of a row."""
    return size * entries**2


def _mix_rows(table: np.ndarray, x: Array, axis: int = 0) -> Array:
    """Product (m, ...) of a static matrix (m, n) with the rows of `x` (n, ...), from the right.

    It is x.reshape(-1) kron(table', I). The matrix is wider, but the batch of a `vmap` stays in
    front without transposes. The first `axis` axes stay in front too.
    """
    front, entries = x.shape[:axis], x.shape[axis + 1 :]
    wide = jnp.asarray(np.kron(table.T, np.eye(math.prod(entries))), x.dtype)
    return matmul(x.reshape(*front, -1), wide).reshape(*front, len(table), *entries)


def gather_columns(x: Array, index: np.ndarray) -> Array:
    """`x[:, index]` of a component-first array (k, n) for a static `index`; see `gather`."""
    index = np.asarray(index)
    n = x.shape[1]
    if namespace(x) is np or not len(index):
        return x[:, index]
    if slices_of(index) <= MOST_SLICES or (n > SMALL_PRODUCT and _in_blocks(index, 1)):
        return _take(x, index, 1)
    if n > SMALL_PRODUCT:
        return x[:, index]
    return matmul(x, jnp.asarray(np.eye(n)[:, index], x.dtype))


def gather_tables(indices: Sequence[np.ndarray], x: Array) -> Array:
    """Equally long indices into the columns of `x` (k, n), in the form for `gather_traced`."""
    n = x.shape[1]
    if n > SMALL_PRODUCT:
        return jnp.asarray(np.stack(indices), jnp.int32)
    return jnp.asarray(np.eye(n)[:, np.stack(indices)].swapaxes(0, 1), x.dtype)


def gather_traced(x: Array, selector: Array) -> Array:
    """`gather_columns` for one of `gather_tables`, which may be traced, as in a loop over them."""
    return x[:, selector] if selector.ndim == 1 else matmul(x, selector)


def scatter_sum(x: Array, index: np.ndarray, size: int) -> Array:
    """Transpose of `gather` for a vector: entry i is the sum of `x` (m,) where `index` is i."""
    if not len(index):
        return jnp.zeros(size, x.dtype)
    segments = segments_of(index)
    if len(segments) == 1 and len(segments[0].windows) == 1:
        return _sum_segment(x, segments[0], size)
    if len(index) <= 2 * SMALL_PRODUCT:
        return matmul(x, jnp.asarray(index[:, None] == np.arange(size), x.dtype))
    most = np.bincount(index).max()
    table = np.full((size, most), len(index))  # empty places pick a zero after the last entry
    filled = np.zeros(size, int)
    for row, i in enumerate(index):
        table[i, filled[i]] = row
        filled[i] += 1
    return jnp.sum(jnp.append(x, 0)[table], axis=-1)


def sum_by_index(x: Array, index: Array, size: int) -> Array:
    """Sums (..., size) of numbers (..., n) with the same traced index (n,); others are dropped."""
    if in_kernel():
        return matmul(x, (index[:, None] == np.arange(size, dtype=np.int32)[None]).astype(x.dtype))
    return jnp.zeros((*x.shape[:-1], size), x.dtype).at[..., index].add(x, mode="drop")


def _sum_segment(x: Array, segment: Segment, size: int) -> Array:
    """`scatter_sum` along a segment of one window."""
    (window,), columns, count = segment.windows, segment.columns, segment.count
    rows, step = x.reshape(count, -1), window.stride
    if not step:  # all repetitions add to one window: they are one long repetition
        rows, columns, count, step = x[None], np.tile(columns, count), 1, window.width
    # each repetition adds to one entry, `step` apart, or to all `step` entries of its window
    first = window.start
    if (columns == columns[0]).all():
        first += columns[0]
        total = row_sum(rows) if len(columns) <= _SHORT else jnp.sum(rows, axis=1)
        total, between = total.ravel(), step - 1
    else:
        total, between = matmul(rows, jnp.asarray(np.eye(step)[columns], x.dtype)).ravel(), 0
    # This is negative if the last window reaches beyond the end of the axis; that part is cut off.
    behind = size - first - len(total) - between * (len(total) - 1)
    return lax.pad(total, jnp.zeros((), x.dtype), [(int(first), int(behind), int(between))])
