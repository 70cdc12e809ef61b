"""Vectors as three separate components, each an array whose last axis runs over the items.

Compilers vectorize along the last axis, so the items come last. If a formula joined the components
of a vector in the middle, or took them apart again, the vector would be computed three times. So
formulas work with `Vec`, and vectors are joined only to be stored. The axes of a joined array are
the components, then the rows of a table if there are any, then the items.
To pick one of a few rows, an integer is compared with the number of each row, because a gather
costs more.
"""

import dataclasses
import functools
import operator
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.core.constants import MINVAL
from mjjax.xla.loops import cond
from mjjax.xla.namespace import where


def over_rows(function: Callable, *arrays) -> jax.Array:
    """Calls a function of arrays (..., N); some of them may have fewer axes before the items."""
    axes = max(np.ndim(x) for x in arrays)
    return function(
        *(x if np.ndim(x) in (0, axes) else x[(None,) * (axes - x.ndim)] for x in arrays)
    )


_times = functools.partial(over_rows, operator.mul)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Vec:
    """Vectors: three arrays of the same shape (..., N)."""

    x: jax.Array
    y: jax.Array
    z: jax.Array

    @classmethod
    def of(cls, array: jax.Array) -> "Vec":
        """The vectors of an array (3, ..., N)."""
        return cls(array[0], array[1], array[2])

    def joined(self) -> jax.Array:
        """The vectors as an array (3, ..., N)."""
        return jnp.stack(list(self))

    def __iter__(self):
        return iter((self.x, self.y, self.z))

    def __getitem__(self, index) -> "Vec":
        """The same index into every component."""
        return Vec(self.x[index], self.y[index], self.z[index])

    def _each(self, function: Callable, other) -> "Vec":
        return Vec(*(over_rows(function, x, y) for x, y in zip(self, other, strict=True)))

    def __add__(self, other: "Vec") -> "Vec":
        return self._each(operator.add, other)

    def __sub__(self, other: "Vec") -> "Vec":
        return self._each(operator.sub, other)

    def __neg__(self) -> "Vec":
        return Vec(-self.x, -self.y, -self.z)

    def __mul__(self, scale) -> "Vec":
        """The vectors times one number for each item."""
        return self._each(operator.mul, [scale] * 3)

    def __truediv__(self, scale) -> "Vec":
        return self._each(operator.truediv, [scale] * 3)


def when_any(on: jax.Array, function: Callable, *operands):
    """Returns `function(*operands)`, or zeros if no item (N,) is on.

    Operands and results are computed once. Other values, unless they are costly (a quotient, a
    root), are computed anew in every formula that uses them, and rounded differently there. So a
    decision, or a value on which one depends, has to pass through this function before it is used
    twice. Otherwise one component of a vector might be taken from another corner than the rest. All
    of this holds as long as the compiler does not know whether any item is on.
    """
    shapes = jax.eval_shape(function, *operands)

    def nothing(*_):
        return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)

    return cond(jnp.any(on), function, nothing, *operands)


Rotation = tuple[Vec, Vec, Vec]  # the rows of rotation matrices


def dot(a: Vec, b: Vec) -> jax.Array:
    """Inner products."""
    return _times(a.x, b.x) + _times(a.y, b.y) + _times(a.z, b.z)


def norm(a: Vec) -> jax.Array:
    """Lengths."""
    return jnp.sqrt(dot(a, a))


def cross(a: Vec, b: Vec) -> Vec:
    """Cross products."""
    (x, y, z), (u, v, w) = a, b
    return Vec(
        _times(y, w) - _times(z, v), _times(z, u) - _times(x, w), _times(x, v) - _times(y, u)
    )


def det(a: Vec, b: Vec, c: Vec) -> jax.Array:
    """Determinants of the matrices with columns a, b, c."""
    return dot(a, cross(b, c))


def normalize(a: Vec) -> Vec:
    """Unit vectors; a vector shorter than `MINVAL` gives the x axis, as in MuJoCo."""
    length = norm(a)
    proper = length >= MINVAL
    unit = a / where(proper, length, 1)
    none = jnp.zeros_like(length)
    return keep(proper, unit, Vec(none + 1, none, none))


def combine(weight: Sequence[jax.Array], points: Sequence[Vec]) -> Vec:
    """Weighted sum of vectors."""
    return functools.reduce(operator.add, [p * w for w, p in zip(weight, points, strict=True)])


def turn(mat: Rotation, a: Vec) -> Vec:
    """Products of rotations with vectors."""
    return Vec(*(dot(row, a) for row in mat))


def turn_back(mat: Rotation, a: Vec) -> Vec:
    """Products of transposed rotations with vectors."""
    return combine(list(a), mat)


def pick(table: Sequence, row: jax.Array):
    """Entry `row` (N,) of a short list for each item."""

    def chosen(*rows: jax.Array) -> jax.Array:
        found = rows[0]
        for k in range(1, len(rows)):
            found = over_rows(where, row == k, rows[k], found)
        return found

    return jax.tree.map(chosen, *table)


def put(table, row: jax.Array, value):
    """Short tables (..., k, N) with `value` (..., N) written to row `row` (N,) of each item."""

    def written(old: jax.Array, new: jax.Array) -> jax.Array:
        rows = np.arange(old.shape[-2], dtype=np.int32)[:, None]
        return over_rows(where, rows == row[None], new[..., None, :], old)

    return jax.tree.map(written, table, value)


def put_row(table, row: jax.Array, value):
    """Tables (..., k, N) with `value` (..., N) written to the same row () of all items."""

    def written(old: jax.Array, new: jax.Array) -> jax.Array:
        return lax.dynamic_update_index_in_dim(old, new[..., None, :], row, old.ndim - 2)

    return jax.tree.map(written, table, value)


def look_up(table, row: jax.Array):
    """Rows `row` (N,) or (m, N) of tables (..., k, N) for each item: (..., N) or (..., m, N)."""
    rows = jnp.atleast_2d(row)

    def found(x: jax.Array) -> jax.Array:
        index = rows.reshape((1,) * (x.ndim - 2) + rows.shape)
        value = jnp.take_along_axis(x, index, axis=-2, mode="clip")
        return value if row.ndim > 1 else value[..., 0, :]

    return jax.tree.map(found, table)


def repeat(x: jax.Array, times: int) -> jax.Array:
    """Repeats both sides (..., 2 N) of pairs: first all copies of the first sides."""
    one, two = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([one] * times + [two] * times, axis=-1)


def keep(on: jax.Array, new, old):
    """`new` in the items (N,) that are on, `old` in the others."""
    return jax.tree.map(lambda a, b: over_rows(where, on, a, b), new, old)
