"""Vectors with the items last: (..., 3, N), so that every component is one contiguous run.

XLA vectorizes over the last axis. With the components there it would handle three numbers at a
time. Integers pick one of few rows by comparing with each of them: a gather costs more.
"""

import functools
import operator
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.core.constants import MINVAL


def dot(a: jax.Array, b: jax.Array) -> jax.Array:
    """Inner products (..., N) of vectors (..., 3, N)."""
    return a[..., 0, :] * b[..., 0, :] + a[..., 1, :] * b[..., 1, :] + a[..., 2, :] * b[..., 2, :]


def norm(a: jax.Array) -> jax.Array:
    """Lengths (..., N) of vectors (..., 3, N)."""
    return jnp.sqrt(dot(a, a))


def cross(a: jax.Array, b: jax.Array) -> jax.Array:
    """Cross products of vectors (..., 3, N)."""
    x, y, z = (a[..., i, :] for i in range(3))
    u, v, w = (b[..., i, :] for i in range(3))
    return jnp.stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=-2)


def det(a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
    """Determinants (..., N) of the matrices with columns a, b, c."""
    return dot(a, cross(b, c))


def normalize(a: jax.Array) -> jax.Array:
    """Unit vectors; the x axis where the length is below `MINVAL`, as in MuJoCo."""
    length = norm(a)[..., None, :]
    proper = length >= MINVAL
    axis = jnp.asarray([[1], [0], [0]], a.dtype)
    return jnp.where(proper, a / jnp.where(proper, length, 1), axis)


def combine(weight: Sequence[jax.Array], points: Sequence[jax.Array]) -> jax.Array:
    """Sum of vectors (..., 3, N) with weights (..., N)."""
    terms = [w[..., None, :] * p for w, p in zip(weight, points, strict=True)]
    return functools.reduce(operator.add, terms)


def turn(mat: jax.Array, a: jax.Array) -> jax.Array:
    """Products of rotations (3, 3, N) with vectors (3, N)."""
    return mat[:, 0] * a[None, 0] + mat[:, 1] * a[None, 1] + mat[:, 2] * a[None, 2]


def turn_back(mat: jax.Array, a: jax.Array) -> jax.Array:
    """Products of transposed rotations (3, 3, N) with vectors (3, N)."""
    return mat[0] * a[:1] + mat[1] * a[1:2] + mat[2] * a[2:3]


def pick(table: jax.Array, row: jax.Array) -> jax.Array:
    """Row `row` (N,) of a short table (k, ..., N) for each item: (..., N)."""
    found = table[0]
    for k in range(1, table.shape[0]):
        found = jnp.where(row == k, table[k], found)
    return found


def put(table: jax.Array, row: jax.Array, value: jax.Array) -> jax.Array:
    """Short table (k, ..., N) with `value` (..., N) in row `row` (N,) of each item."""
    rows = np.arange(table.shape[0], dtype=np.int32)[:, None]
    chosen = rows == row[None]
    chosen = chosen.reshape(len(table), *(1,) * (table.ndim - 2), -1)
    return jnp.where(chosen, value[None], table)


def look_up(table: jax.Array, row: jax.Array) -> jax.Array:
    """Rows `row` (..., N) of a long table (k, N) for each item: (..., N)."""
    flat = row.reshape(-1, row.shape[-1])
    return jnp.take_along_axis(table, flat, axis=0, mode="clip").reshape(row.shape)


def rows_of(table: jax.Array, rows: jax.Array) -> jax.Array:
    """Rows `rows` (m, N) of a table (k, ..., N) for each item: (m, ..., N)."""
    rows = rows.reshape(len(rows), *(1,) * (table.ndim - 2), -1)
    return jnp.take_along_axis(table, rows, axis=0, mode="clip")


def keep(on: jax.Array, new: jax.Array, old: jax.Array) -> jax.Array:
    """`new` in the items (N,) that are on, `old` in the others."""
    return jnp.where(on.reshape((1,) * (new.ndim - 1) + (-1,)), new, old)
