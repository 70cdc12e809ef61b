"""Vectors as three scalars, for functions of one pair of shapes.

In a kernel of one pair scalars are registers of the processor. An array of three numbers is memory,
which loops read and write, and its inner products and cross products are several loops each. So
formulas work with `Vec`. Arrays are for what is stored, and for rows that an integer picks.
"""

import dataclasses
import functools
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from mjjax.core.constants import MINVAL
from mjjax.xla.namespace import where

Scalar = Any  # an array () or a number


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Vec:
    """A vector, or several: then each component is an array of the same shape."""

    x: Any
    y: Any
    z: Any

    @classmethod
    def of(cls, array: Any) -> "Vec":
        """The vectors of an array (..., 3)."""
        return cls(*(lax.index_in_dim(array, k, -1, keepdims=False) for k in range(3)))

    def joined(self) -> jax.Array:
        """The vectors as an array (..., 3)."""
        return jnp.stack(list(self), axis=-1)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.x, self.y, self.z))

    def __add__(self, other: "Vec") -> "Vec":
        return Vec(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: "Vec") -> "Vec":
        return Vec(self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self) -> "Vec":
        return Vec(-self.x, -self.y, -self.z)

    def __mul__(self, scale: Scalar) -> "Vec":
        return Vec(self.x * scale, self.y * scale, self.z * scale)

    def __truediv__(self, scale: Scalar) -> "Vec":
        return Vec(self.x / scale, self.y / scale, self.z / scale)

    def times(self, other: "Vec") -> "Vec":
        """Products of the components."""
        return Vec(self.x * other.x, self.y * other.y, self.z * other.z)


def dot(a: Vec, b: Vec) -> jax.Array:
    """Inner product."""
    return a.x * b.x + a.y * b.y + a.z * b.z


def norm(a: Vec) -> jax.Array:
    """Length."""
    return jnp.sqrt(dot(a, a))


def cross(a: Vec, b: Vec) -> Vec:
    """Cross product."""
    return Vec(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)


def det(a: Vec, b: Vec, c: Vec) -> jax.Array:
    """Determinant of the matrix with columns a, b, c."""
    return dot(a, cross(b, c))


def normalize(a: Vec) -> Vec:
    """Unit vector; of a vector shorter than `MINVAL` the x axis, as in MuJoCo."""
    length = norm(a)
    proper = length >= MINVAL
    unit = a / where(proper, length, 1)
    return Vec(where(proper, unit.x, 1), where(proper, unit.y, 0), where(proper, unit.z, 0))


def combine(weights: Sequence[Scalar], points: Sequence[Vec]) -> Vec:
    """Weighted sum of vectors."""
    return functools.reduce(operator.add, [p * w for w, p in zip(weights, points, strict=True)])


def turn(mat: jax.Array, a: Vec) -> Vec:
    """Product of a rotation (3, 3) with a vector."""
    x, y, z = rows_of(mat)
    return Vec(dot(x, a), dot(y, a), dot(z, a))


def turn_back(mat: jax.Array, a: Vec) -> Vec:
    """Product of a transposed rotation (3, 3) with a vector."""
    return combine(list(a), rows_of(mat))


def rows_of(table: jax.Array) -> list[Vec]:
    """The rows of an array (k, 3)."""
    return [Vec.of(row(table, k)) for k in range(table.shape[0])]


def row(tree: Any, k: Scalar) -> Any:
    """Row `k` of arrays (n, ...), which has to be there."""
    if isinstance(k, int):
        return jax.tree.map(lambda x: lax.index_in_dim(x, k, keepdims=False), tree)
    picked = functools.partial(
        lax.dynamic_index_in_dim, keepdims=False, allow_negative_indices=False
    )
    return jax.tree.map(lambda x: picked(x, k), tree)


def take(tree: Any, ids: jax.Array) -> Any:
    """Rows `ids` (m,) of arrays (n, ...), which have to be there."""
    return jax.tree.map(
        lambda x: x.at[ids].get(mode="promise_in_bounds", wrap_negative_indices=False), tree
    )


def put(tree: Any, k: Scalar, value: Any) -> Any:
    """Arrays (n, ...) with `value` (...) in row `k`."""
    written = functools.partial(
        lax.dynamic_update_index_in_dim, axis=0, allow_negative_indices=False
    )
    return jax.tree.map(lambda x, v: written(x, v, k), tree, value)


def choose(condition: jax.Array, new: Any, old: Any) -> Any:
    """The one tree or the other."""
    return jax.tree.map(lambda a, b: where(condition, a, b), new, old)
