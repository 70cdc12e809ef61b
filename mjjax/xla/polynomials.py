"""Polynomials of few components as one product with their coefficients.

Written out, such polynomials are many sums of components. As one product, products of quaternions
compile in a tenth less time. Polynomials that depend on the model alone need one program less for
each component; XLA would otherwise take these out of the loop over steps piece by piece
(benchmarks/NOTES.md, Kinematics; Products and sums).
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from mjjax.xla.linalg import matmul, unstack
from mjjax.xla.namespace import Array

Parts = tuple[Array, ...]


@functools.cache
def _bilinear_form(function: Callable[[Parts, Parts], Parts], m: int, n: int) -> np.ndarray:
    """Coefficients (k, m n) of the products of two components in k bilinear functions."""
    entries = function(unstack(np.eye(m)[:, None], -1), unstack(np.eye(n)[None], -1))
    return np.stack(np.broadcast_arrays(*entries)).reshape(-1, m * n)


@functools.cache
def _quadratic_form(function: Callable[[Parts], Parts], n: int) -> np.ndarray:
    """Coefficients (k, n n) of the products of two components in k quadratic functions."""

    def entries(x: np.ndarray) -> np.ndarray:
        return np.stack(function(unstack(x, -1)))

    unit = np.eye(n)
    single = entries(unit)
    both = entries(unit[:, None] + unit)
    return ((both - single[:, :, None] - single[:, None]) / 2).reshape(-1, n * n)


def bilinear(function: Callable[[Parts, Parts], Parts], a: Array, b: Array) -> Any:
    """A bilinear function of components (..., m) and (..., n): (..., k)."""
    m, n = a.shape[-1], b.shape[-1]
    pairs = a[..., :, None] * b[..., None, :]
    form = _bilinear_form(function, m, n).T.astype(pairs.dtype)
    return matmul(pairs.reshape(*pairs.shape[:-2], m * n), form)


def constant_bilinear(function: Callable[[Parts, Parts], Parts], a: Array, b: Array) -> Array:
    """`bilinear` (k, n) of rows (n, ...) that depend on the model alone."""
    pairs = (a[:, :, None] * b[:, None]).reshape(-1, a.shape[1] * b.shape[1])
    return matmul(_bilinear_form(function, a.shape[1], b.shape[1]).astype(a.dtype), pairs.T)


def constant_quadratic(function: Callable[[Parts], Parts], x: Array) -> Array:
    """A quadratic function (k, n) of rows (n, ...) that depend on the model alone."""
    pairs = (x[:, :, None] * x[:, None]).reshape(-1, x.shape[1] ** 2)
    return matmul(_quadratic_form(function, x.shape[1]).astype(x.dtype), pairs.T)
