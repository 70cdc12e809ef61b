"""Compares derivatives, in both modes, with central differences at many points at once."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tests.oracle_tools import quick

STEP = 1e-5
SMALL = 1e-2  # entries below this part of the largest one are compared relative to this part


def directions(like: Any, seed: int) -> Any:
    """A random direction with the structure of `like`."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda x: jnp.asarray(rng.normal(size=x.shape), x.dtype), like)


def moved(x: Any, v: Any, h: float) -> Any:
    """`x + h v` for pytrees."""
    return jax.tree.map(lambda a, b: a + h * b, x, v)


def difference(function: Callable[[Any], Any], x: Any, v: Any, h: float = STEP) -> Any:
    """Derivative of `function` at `x` along `v` from four values, exact to fourth order."""
    a, b, c, d = (function(moved(x, v, k * h)) for k in (1, -1, 2, -2))
    return jax.tree.map(lambda a, b, c, d: (8 * (a - b) - (c - d)) / (12 * h), a, b, c, d)


@functools.lru_cache(maxsize=2)
def both_modes(function: Callable[[Any], Any]) -> Callable:
    """Program that gives value, J v and J' u for batches of (x, v, u); made once per function."""

    def one(x: Any, v: Any, u: Any) -> tuple[Any, Any, Any]:
        y, dy = jax.jvp(function, (x,), (v,))
        return y, dy, jax.vjp(function, x)[1](u)[0]

    # Points are done one after the other: this compiles in two thirds of the time of a batch.
    return quick(lambda *at: jax.lax.map(lambda each: one(*each), at))


def inner(a: Any, b: Any) -> np.ndarray:
    """Inner product of two batches of pytrees, per batch element."""
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    products = [
        np.sum((np.asarray(x) * np.asarray(y)).reshape(len(x), -1), axis=-1) for x, y in pairs
    ]
    return np.sum(products, axis=0)


def derivative_errors(
    function: Callable[[Any], Any],
    x: Any,
    v: Any,
    tolerance: float | np.ndarray = 1e-6,
    steps: tuple[float, ...] = (STEP,),
    floor: float = SMALL,
) -> dict[str, Any]:
    """Errors of the derivatives of `function` at a batch of points, by output name.

    Forward mode is compared with differences, entry by entry (`_error`). Reverse mode is compared
    with forward mode by (u, J v) = (J' u, v). The best of several step sizes counts: small steps
    have errors by rounding and large steps by curvature, but an exact derivative has neither.
    Entries below `floor` times the largest entry are compared relative to that product.
    """
    program = both_modes(function)
    u = directions(jax.eval_shape(jax.vmap(function), x), 7)
    _, dy, pulled = program(x, v, u)
    expected = [difference(lambda x: program(x, v, u)[0], x, v, h) for h in steps]
    bad = {}
    paths = jax.tree_util.tree_leaves_with_path(dy)
    for (path, mine), *theirs in zip(paths, *map(jax.tree.leaves, expected), strict=True):
        error = np.min([_error(mine, other, floor) for other in theirs], axis=0)
        if not (error <= tolerance).all():
            bad[jax.tree_util.keystr(path)] = error
    forward, reverse = inner(u, dy), inner(pulled, v)
    if not np.allclose(forward, reverse, rtol=1e-9, atol=1e-9):
        bad["reverse"] = (forward, reverse)
    return bad


def _error(mine: Any, theirs: Any, floor: float) -> np.ndarray:
    """Largest relative difference of an entry, per batch element.

    It is relative to the entry, or to `floor` times max(1, largest entry) if that is more. This is
    because differences of values of size one, with a step of 1e-5, have rounding errors of 1e-11
    for any derivative.
    """
    flat, other = (np.asarray(a).reshape(len(a), -1) for a in (mine, theirs))
    largest = np.maximum(1, np.abs(other).max(axis=-1, initial=0, keepdims=True))
    scale = np.maximum(np.abs(other), floor * largest)
    return (np.abs(flat - other) / scale).max(axis=-1, initial=0)
