"""Roots, norms, quotients and inverse trigonometry whose derivatives stay finite at zero.

Each function guards the argument of the singular operation itself (the "double where"), so that
neither branch produces a NaN or infinity in forward or reverse mode. At the singular point the
derivative is zero. All functions accept numpy and JAX arrays and return the same kind.
"""

from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.core.constants import MAXVAL
from mjjax.xla.linalg import dot
from mjjax.xla.namespace import A, Array, namespace, where

TINY = 1e-30  # square of the length below which a vector has no direction, as in MuJoCo


def is_bad(x: Array) -> Array:
    """Whether an entry is not a number or beyond 1e10."""
    xp = namespace(x)
    return xp.any(~(xp.abs(x) <= MAXVAL))  # a maximum may lose a NaN on its way


def sqrt(x: A) -> A:
    """Square root of `max(x, 0)`; derivative 0 where `x <= 0`. NaN stays NaN."""
    xp = namespace(x)
    if xp is np:
        return xp.sqrt(xp.maximum(x, 0))
    positive = ~(x <= 0)
    return where(positive, xp.sqrt(where(positive, x, 1)), 0)


def rsqrt(x: Array) -> Array:
    """1 / sqrt(x) for `x > 0`, in one operation."""
    return 1 / np.sqrt(x) if namespace(x) is np else _rsqrt(jnp.asarray(x))


@jax.custom_jvp
def _rsqrt(x: Array) -> Array:
    return lax.rsqrt(x)


@_rsqrt.defjvp
def _rsqrt_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    # Factors are multiplied one by one: in float32 the third power would overflow long before the
    # derivative does.
    root = _rsqrt(*primals)
    return root, -0.5 * root * (root * (root * tangents[0]))


_SHORT = 6  # entries up to which a sum of squares is written out, see `linalg.dot`


def norm(x: A, keepdims: bool = False) -> A:
    """Euclidean norm along the last axis; derivative 0 at the zero vector."""
    square = _square(x)
    return cast(A, sqrt(square[..., None] if keepdims else square))


def _square(x: Array) -> Array:
    return dot(x, x) if 0 < x.shape[-1] <= _SHORT else namespace(x).sum(x * x, axis=-1)


def divide(a: Array | float, b: Array, otherwise: float = 0.0) -> Array:
    """Quotient `a / b`, `otherwise` (a constant) where `b == 0`."""
    nonzero = b != 0
    return where(nonzero, a / where(nonzero, b, 1), otherwise)


def normalize(x: A) -> tuple[A, A]:
    """Unit vector and length (..., 1); the zero vector gives (1, 0, ...), as in MuJoCo."""
    square = cast(A, _square(x)[..., None])
    tiny = square < TINY
    scale = rsqrt(where(tiny, 1, square))
    first = np.eye(1, x.shape[-1], dtype=x.dtype).reshape((1,) * (x.ndim - 1) + (-1,))
    return where(tiny, first, x * scale), sqrt(square)


def arctan2(y: Array, x: Array) -> Array:
    """Angle of the point (x, y); 0 with derivative 0 at the origin."""
    xp = namespace(x)
    origin = (x == 0) & (y == 0)
    return where(origin, 0, xp.arctan2(y, where(origin, 1, x)))


def arccos(x: Array) -> Array:
    """Arc cosine of `clip(x, -1, 1)`; derivative 0 outside (-1, 1)."""
    xp = namespace(x)
    inside = abs(x) < 1
    edge = where(x > 0, 0.0, xp.pi)
    return where(inside, xp.arccos(where(inside, x, 0)), edge)


def power(x: Array, p: Array) -> Array:
    """`x ** p` for `x >= 0`, `p > 0`; 0 with derivative 0 where `x <= 0`."""
    positive = x > 0
    return where(positive, where(positive, x, 1) ** p, 0)
