"""Points of the Minkowski difference of two shapes, the vertices of simplices and polytopes."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp

from mjjax.collision.shape.lanes import Vec


class Corners(NamedTuple):
    """Points of the Minkowski difference, and the points of both geoms that give them.

    Attributes:
        ends: (3, 2, k, N) points of geom 1 and of geom 2.
        label: (2, k, N) vertices of the geoms at these points; see `support`.
    """

    ends: jax.Array
    label: jax.Array

    @classmethod
    def of(cls, point: Vec, label: jax.Array) -> "Corners":
        """One corner, without a row, from the support points (2 N,) of both sides."""
        return cls(point.joined().reshape(3, 2, -1), label.reshape(2, -1))

    @property
    def one(self) -> Vec:
        """(k, N) points of geom 1."""
        return Vec.of(self.ends[:, 0])

    @property
    def two(self) -> Vec:
        """(k, N) points of geom 2."""
        return Vec.of(self.ends[:, 1])

    @property
    def point(self) -> Vec:
        """(k, N) points of the difference, `one - two`."""
        return self.one - self.two

    def points(self, count: int) -> list[Vec]:
        """The first points of the difference, each (N,)."""
        return [self.one[k] - self.two[k] for k in range(count)]


def faces_of(simplex: Corners, faces: Sequence[Sequence[int]]) -> list[Vec]:
    """The three corners (4, N) of faces with given vertices."""
    p = simplex.points(4)
    return [jax.tree.map(lambda *x: jnp.stack(x), *(p[f[i]] for f in faces)) for i in range(3)]
