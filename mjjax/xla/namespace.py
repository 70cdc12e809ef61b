"""One kernel for two array libraries.

The derived constants of a model (masses at qpos0, inverse weights, ...) come from the same kernels
as the simulation. When a model is loaded, the kernels run on numpy arrays, and nothing is compiled.
On the device, JAX traces the same code. A kernel asks `namespace(...)` for the library of its
arguments.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Array = jax.Array | np.ndarray
# Numpy arguments give numpy results. The compiler of models relies on this.
A = TypeVar("A", bound=Array)
T = TypeVar("T")


def namespace(*arrays: Array) -> Any:
    """`jax.numpy` if any argument is a JAX array or tracer, otherwise `numpy`."""
    for a in arrays:
        # The exact type is tested first: it is the common case at load, and `isinstance` is slow.
        if type(a) is not np.ndarray and isinstance(a, jax.Array):
            return jnp
    return np


def where(condition: Any, x: Any, y: Any) -> Any:
    """`x` where the condition holds, elsewhere `y`, as `where` of either library.

    JAX's own `where` adds a function to every program, which must be traced, lowered and inlined.
    This `where` adds one operation (benchmarks/NOTES.md, Compiling).
    """
    if namespace(condition, x, y) is np:
        return np.where(condition, x, y)
    if all(getattr(a, "weak_type", not hasattr(a, "dtype")) for a in (x, y)):
        # Both are numbers of Python, which leave the type of the result open.
        return jnp.where(condition, x, y)  # noqa: TID251
    dtype = jnp.result_type(x, y)
    shape = np.broadcast_shapes(*map(np.shape, (condition, x, y)))
    if 0 in shape:  # there is nothing to choose, so the result need not depend on the condition
        return _spread(x, shape, dtype)
    if np.ndim(condition):
        condition = _spread(condition, shape, np.dtype(bool))
    return lax.select(condition, _spread(x, shape, dtype), _spread(y, shape, dtype))


def held(x: A) -> A:
    """`x` as a constant, without derivative."""
    return cast(A, x if namespace(x) is np else lax.stop_gradient(x))


def rows(table: A, index: Array) -> A:
    """Rows of a table (m, ...), one for each of many indices (n, ...).

    NumPy's result has the rows along its fastest axis in memory. NumPy runs along the fastest axis
    of its operands, and so over many rows at a time instead of few columns.
    """
    if namespace(table, index) is np:
        turned = np.asarray(table).T
        if turned.flags.c_contiguous:
            return cast(A, np.take(turned, index.T, axis=-1).T)
        # `take` would copy the whole table to bring it into this order.
        return cast(A, np.ascontiguousarray(np.take(table, index, axis=0).T).T)
    return cast(A, jnp.asarray(table)[index])


def columns(*parts: Array) -> Array:
    """Arrays (n,) as the columns of one (n, k), in memory as the result of `rows`."""
    if namespace(*parts) is np:
        return np.stack(parts).T
    return jnp.stack(parts, axis=1)


def on_some(function: Callable[..., T], counts: Array, *arrays: Array) -> T:
    """A function of arrays (n, ...) that is needed only in some of the rows.

    NumPy computes these rows and leaves zeros in all others. JAX computes all rows.

    Args:
        function: gives a tree of arrays (n, ...).
        counts: (n,) whether a row is needed.
        arrays: its arguments.
    """
    if namespace(counts, *arrays) is not np or counts.all():
        return function(*arrays)
    index = np.flatnonzero(counts)
    found = function(*(rows(x, index) for x in arrays))

    def spread(x: np.ndarray) -> np.ndarray:
        whole = np.zeros((*x.shape[:0:-1], len(counts)), x.dtype).T
        whole[index] = x
        return whole

    return jax.tree.map(spread, found)


def _spread(x: Any, shape: tuple[int, ...], dtype: np.dtype) -> jax.Array:
    """`x`, broadcast to a shape and converted to a type."""
    if not isinstance(x, jax.Array):
        x = np.asarray(x, dtype)
    elif x.dtype != dtype:
        x = lax.convert_element_type(x, dtype)
    if isinstance(x, jax.Array) and x.shape == shape:
        return x
    return lax.broadcast_in_dim(x, shape, tuple(range(len(shape) - x.ndim, len(shape))))
