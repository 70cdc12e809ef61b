"""Which axis comes first, how components are joined, and how many columns there are."""

from collections.abc import Sequence

from mjjax.xla.linalg import unstack
from mjjax.xla.namespace import Array, namespace
from mjjax.xla.place import VECTOR

ARRAYS_JOINED = 8  # up to so many arrays, XLA computes them in the kernel that joins them


def components_first(x: Array) -> Array:
    """(n, k) as (k, n)."""
    return namespace(x).swapaxes(x, 0, 1)


def components_last(x: Array) -> Array:
    """(k, n) as (n, k), as `components_first`."""
    if x.shape[0] > ARRAYS_JOINED:
        return namespace(x).swapaxes(x, 0, 1)
    return namespace(x).stack(unstack(x), axis=-1)


def matrix_first(m: Sequence[Array]) -> Array:
    """Nine entries of a matrix by rows, arrays (n,), as (9, n).

    The rows are joined one by one, because XLA computes a join of more than eight arrays in a
    kernel of its own (benchmarks/NOTES.md, Kinematics).
    """
    xp, n = namespace(*m), m[0].shape[0]
    rows = [xp.concatenate([x.reshape(1, 1, n) for x in m[k : k + 3]], 1) for k in (0, 3, 6)]
    return xp.concatenate(rows).reshape(9, n)


def matrix_last(m: Sequence[Array]) -> Array:
    """Nine entries of a matrix by rows, arrays (n,), as (n, 9)."""
    xp = namespace(*m)
    rows = [xp.stack(m[k : k + 3], axis=-1) for k in (0, 3, 6)]
    return xp.stack(rows, axis=1).reshape(-1, 9)


def whole_vectors(x: Array) -> Array:
    """A matrix (m, n) with columns of zeros added, up to a whole number of vectors.

    Products with it use vectors to the end of their rows (benchmarks/NOTES.md, Layout).
    """
    return namespace(x).pad(x, [(0, 0), (0, -x.shape[1] % VECTOR)])
