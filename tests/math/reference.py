"""Calls functions of MuJoCo's math library, and our kernels on both kinds of arrays."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from tests.oracle_tools import quick

CLOSE: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-12}


def filled(shape: int | tuple[int, ...], function: Callable, *args) -> np.ndarray:
    """Result of one of MuJoCo's functions that writes into its first argument."""
    function(out := np.zeros(shape), *args)
    return out


def both_ways(function: Callable, *args) -> list[np.ndarray]:
    """A kernel's results on numpy and on JAX arrays."""
    return [np.asarray(function(*args)), np.asarray(quick(function)(*map(jnp.asarray, args)))]
