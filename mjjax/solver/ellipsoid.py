"""Quadratic programs in an ellipsoid: the friction of one contact under a fixed normal force.

    minimise over x:  x' A x / 2 + b' x   with   |(x_1 / d_1, x_2 / d_2, ...)| <= r

In the coordinates y = x / d the ellipsoid is a ball, and the minimiser is y = -(A + la I)^-1 b
with la = 0 inside and la > 0 such that |y| = r on the boundary. There are at most five unknowns, so
the factors are written out entry by entry. Small entries then keep their digits although the axes
differ by powers of ten, as those of sliding and rolling do.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from mjjax.core.constants import MINVAL
from mjjax.math import safe
from mjjax.xla.loops import while_loop
from mjjax.xla.namespace import Array, where

ITERATIONS = 20
CLOSE = 1e-10  # the search ends when the excess of |y|^2 over r^2 or the step of la is below this
SINGULAR = 1e-10  # determinant or pivot below which a matrix is taken as singular


class Ball(NamedTuple):
    """A in the coordinates y = x / d (m, m), and the axes d (m,), 0 where x stays 0."""

    A: Array
    axes: Array


def ball(A: Array, axes: Array) -> Ball:
    """The problem in its coordinates y; a singular problem gets no unknowns.

    As in C, the determinant decides for up to three unknowns and the pivots decide for five.

    Args:
        A: (m, m) symmetric positive semidefinite.
        axes: (m,) d, zero for unknowns that do not exist.
    """
    used = axes > 0
    scaled = A * axes[:, None] * axes[None] + jnp.diag(1 - used.astype(A.dtype))
    pivots = jnp.stack(_factor(scaled, jnp.zeros((), A.dtype))[1])
    least = where(jnp.sum(used) > 3, jnp.min(pivots), jnp.prod(pivots))
    regular = (least >= SINGULAR) & jnp.all(pivots > 0)
    eye = jnp.eye(len(axes), dtype=A.dtype)
    return Ball(where(regular, scaled, eye), where(regular, axes, 0))


def minimise(problem: Ball, b: Array, r: Array) -> Array:
    """The minimiser x (m,) (`mju_QCQP`).

    Derivatives are exact with respect to all arguments; at the boundary they are one-sided.

    Args:
        problem: the matrix and the axes.
        b: (m,).
        r: radius.
    """
    y, _ = _in_ball(problem.A, b * problem.axes, r)
    return y * problem.axes


@jax.custom_jvp
def _in_ball(A: Array, b: Array, r: Array) -> tuple[Array, Array]:
    """Minimiser (m,) in the ball of radius `r` and its multiplier."""
    size = b.shape[0]
    zero = jnp.zeros_like(r)

    def advance(state: tuple[Array, ...]) -> tuple[Array, ...]:
        _, la, _, k = state
        factor = _factor(A, la)
        y = -_solve(factor, b)
        excess = jnp.sum(y * y) - r * r
        slope = 2 * jnp.sum(y * _solve(factor, y))
        change = excess / where(slope > 0, slope, 1)
        going = (excess >= CLOSE) & (change >= CLOSE)
        return y, where(going, la + change, la), going, k + 1

    start = (jnp.zeros((size,), b.dtype), zero, jnp.bool_(True), jnp.int32(0))
    y, la, *_ = while_loop(lambda s: s[2] & (s[3] < ITERATIONS), advance, start)
    # A search that did not finish ends outside the ball, so its end is scaled onto the sphere.
    onto = safe.sqrt(r * r / jnp.maximum(MINVAL, jnp.sum(y * y)))
    return y * where(la > 0, onto, 1), la


@_in_ball.defjvp
def _in_ball_jvp(
    primals: tuple[Array, Array, Array], tangents: tuple[Array, Array, Array]
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """The derivative follows from (A + la) y = -b, and on the boundary from y' y = r^2."""
    (A, b, r), (dA, db, dr) = primals, tangents
    y, la = _in_ball(A, b, r)
    factor = _factor(A, la)
    load = _solve(factor, db + jnp.sum(dA * y[None], axis=1))
    by_la = _solve(factor, y)
    needed = -safe.divide(jnp.sum(y * load) + r * dr, jnp.sum(y * by_la))
    dla = where(la > 0, needed, 0)
    return (y, la), (-load - dla * by_la, dla)


Factor = tuple[list[list[Array]], list[Array]]


def _factor(A: Array, la: Array) -> Factor:
    """Unit lower factor (rows) and pivots of A + la I."""
    size = A.shape[0]
    lower: list[list[Array]] = []
    pivots: list[Array] = []
    for i in range(size):
        row: list[Array] = []
        for j in range(i):
            rest = A[i, j] - sum(row[k] * lower[j][k] * pivots[k] for k in range(j))
            row.append(rest / pivots[j])
        pivots.append(A[i, i] + la - sum(row[k] * row[k] * pivots[k] for k in range(i)))
        lower.append(row)
    return lower, pivots


def _solve(factor: Factor, b: Array) -> Array:
    lower, pivots = factor
    x: list[Array] = []
    for i, row in enumerate(lower):
        x.append(b[i] - sum(c * y for c, y in zip(row, x, strict=True)))
    x = [y / p for y, p in zip(x, pivots, strict=True)]
    for i in reversed(range(len(x))):
        for j in range(i):
            x[j] = x[j] - lower[i][j] * x[i]
    return jnp.stack(x)
