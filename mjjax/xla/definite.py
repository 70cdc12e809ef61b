"""Systems with symmetric positive definite matrices.

A factor reads only the upper triangle of its matrix. This suffices for solvers, and for functions
with a derivative rule of their own. JAX's derivative of a factor needs the whole matrix. On a GPU,
a special kernel factors the matrices of all worlds (benchmarks/NOTES.md, On a GPU).
"""

import functools
import importlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_batching import custom_vmap

from mjjax.xla.all_worlds import also_for_no_worlds
from mjjax.xla.linalg import cho_factor, cho_solve, eliminate, matmul
from mjjax.xla.loops import cond
from mjjax.xla.namespace import Array, namespace, where

# The kernel is faster than cuSOLVER for at most so many rows and at least so many matrices
# (measured on an H100).
LARGEST, MANY = 64, 4096


def factor(a: Array) -> Array:
    """Lower factor L of a = L L', for `solve`; entries above its diagonal have no meaning.

    The function reads only the upper triangle of the matrix. The factor is NaN if the matrix is not
    positive definite.
    """
    return _factors(a[None])[0] if _in_lanes(a) else cho_factor(a)


def solve(factor: Array, b: Array) -> Array:
    """Solution x of L L' x = b for one right-hand side `b` (n,) or several (n, k).

    The only derivative is the one by `b`.
    """
    if not _in_lanes(factor):
        return cho_solve(factor, b)
    lower = jnp.tril(factor)
    return lax.custom_linear_solve(
        lambda x: matmul(lower, matmul(lower.T, x)),
        b,
        lambda _, b: _solutions(factor[None], b.reshape(1, len(b), -1))[0].reshape(b.shape),
        symmetric=True,
    )


def solve_definite(a: Array, b: Array) -> Array:
    """Solution x of a x = b (n,) for a symmetric positive definite matrix, by Cholesky's `factor`.

    The derivative is another solution with the same factor, not the derivative of the
    factorization. It multiplies by the whole matrix.
    """
    if namespace(a, b) is np:
        return cho_solve(cho_factor(a), b)
    fixed = factor(lax.stop_gradient(a))
    return lax.custom_linear_solve(
        lambda x: matmul(a, x), b, lambda _, b: solve(fixed, b), symmetric=True
    )


def solve_symmetric(a: Array, b: Array) -> Array:
    """Solution x of a x = b (n,) for a symmetric regular matrix that is hardly ever indefinite.

    It uses Cholesky's factor, which is four times faster than LU (measured, 27 x 27 on CPU). If
    this fails for any matrix of a batch, LU solves the systems (benchmarks/NOTES.md, Factors). The
    derivative is another solution.
    """
    fixed = lax.stop_gradient(a)
    return lax.custom_linear_solve(
        lambda x: matmul(a, x), b, lambda _, b: _symmetric(fixed, b), symmetric=True
    )


def _symmetric(a: Array, b: Array) -> Array:
    return _systems(a[None], b[None, :, None])[0, :, 0]


def _for_all_worlds(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """A function of matrices (m, n, n) and right-hand sides (m, n, k), batched by enlarging m or k.

    So a batch is one call, which can make a decision for all worlds or use a kernel for many.
    """
    batched = custom_vmap(function)

    @batched.def_vmap
    @also_for_no_worlds
    def rule(size: int, in_batched: list[bool], a: Array, b: Array) -> tuple[Array, bool]:
        if not in_batched[0]:
            m, n, k = b.shape[1:]
            x = batched(a, jnp.moveaxis(b, 0, 2).reshape(m, n, size * k))
            return jnp.moveaxis(x.reshape(m, n, size, k), 2, 0), True
        if not in_batched[1]:
            b = jnp.broadcast_to(b, (size, *b.shape))
        joined = (x.reshape(x.shape[0] * x.shape[1], *x.shape[2:]) for x in (a, b))
        return batched(*joined).reshape(b.shape), True

    return batched


@_for_all_worlds
def _systems(a: Array, b: Array) -> Array:
    """Solutions (m, n, k) of symmetric systems."""
    factors = jax.vmap(factor)(a)
    # The last pivot is NaN if any pivot is.
    good = jnp.isfinite(factors[:, -1:, -1:]).all(axis=(1, 2), keepdims=True)
    x = jax.vmap(solve)(factors, b)
    # All worlds take the same branch. A vmap of `cond` would compute both branches.
    return cond(good.all(), lambda: x, lambda: where(good, x, jax.vmap(eliminate)(a, b)))


@custom_vmap
def _factors(a: Array) -> Array:
    """Factors (m, n, n)."""
    generic = jax.vmap(cho_factor)
    if len(a) < MANY:
        return generic(a)
    return lax.platform_dependent(a, cuda=_lanes().factors, default=generic)


@_factors.def_vmap
@also_for_no_worlds
def _(size: int, in_batched: list[bool], a: Array) -> tuple[Array, bool]:
    return _factors(a.reshape(-1, *a.shape[2:])).reshape(a.shape), True


@_for_all_worlds
def _solutions(factors: Array, b: Array) -> Array:
    """Solutions (m, n, k) with factors (m, n, n)."""
    generic = jax.vmap(cho_solve)
    if len(b) < MANY or b.shape[2] > 1:
        return generic(factors, b)
    return lax.platform_dependent(factors, b, cuda=_lanes().solutions, default=generic)


def _in_lanes(a: Array) -> bool:
    """Whether matrices (..., n, n) may be on a GPU and a kernel for them exists."""
    if namespace(a) is np or jax.default_backend() != "gpu" or _lanes() is None:
        return False
    return a.dtype == jnp.float32 and 1 < a.shape[-1] <= LARGEST


@functools.cache
def _lanes() -> Any:
    """The module of kernels, if this JAX can compile them; a later JAX may lack Triton."""
    try:
        return importlib.import_module("mjjax.xla.cholesky_in_lanes")  # Pallas takes half a second
    except ImportError:
        return None
