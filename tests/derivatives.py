"""Derivatives against central differences: both modes, in many points and directions at once."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tests.oracle_tools import quick

STEP = 1e-5
SMALL = 1e-2  # part of the largest derivative below which entries count as this part


def directions(like: Any, seed: int) -> Any:
    """A random direction of the same structure."""
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
    """Program for batches of (x, v, u): value, J v, and J' u; made once per function."""

    def one(x: Any, v: Any, u: Any) -> tuple[Any, Any, Any]:
        y, dy = jax.jvp(function, (x,), (v,))
        return y, dy, jax.vjp(function, x)[1](u)[0]

    # one after the other: made in two thirds of the time of a batch's program
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
    """What is wrong with the derivatives of `function` at a batch of points, by output name.

    Forward mode is compared with differences, each entry by itself (`_error`), reverse mode with
    forward mode by (u, J v) = (J' u, v). The best of several step sizes counts: small ones drown
    in rounding, large ones in curvature, the derivative in neither. Entries below `floor` times
    the largest count relative to that.
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
    """Per batch element the largest relative difference of an entry.

    Relative to the entry, or to `floor` times max(1, largest entry) if that is more: differences
    of values of size one by a step of 1e-5 carry rounding errors of 1e-11, whatever the derivative.
    """
    flat, other = (np.asarray(a).reshape(len(a), -1) for a in (mine, theirs))
    largest = np.maximum(1, np.abs(other).max(axis=-1, initial=0, keepdims=True))
    scale = np.maximum(np.abs(other), floor * largest)
    return (np.abs(flat - other) / scale).max(axis=-1, initial=0)
