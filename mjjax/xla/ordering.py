"""When XLA computes what: once, in turn, and in which form on which platform."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.xla.namespace import Array, namespace


def computed_once(*arrays: Array) -> Any:
    """The same arrays, each computed in one place; one array alone, not in a tuple.

    XLA computes what is cheap anew in everything that reads it. Buys six of 280 kernels of a step
    in impedances and 1.6 % of a step on a GPU in velocities of contact rows (benchmarks/NOTES.md,
    Ordering; On a GPU). NumPy's arrays stay as they are.
    """
    if namespace(*arrays) is not np:
        arrays = lax.optimization_barrier(arrays)
    first, *others = arrays
    return arrays if others else first


def in_turn(x: Array, done: Array) -> Array:
    """`x` (...,), but not before `done` (...,) is computed.

    It is `x` plus zeros of which XLA does not know that they are. Buys that programs end: each
    kernel of LAPACK may block one of few threads, see `mjjax.xla.threads`.
    """
    return x + (done > jnp.inf).astype(x.dtype)


def by_platform(*arguments: Any, processor: Callable, accelerator: Callable) -> Any:
    """A function of arguments that has another form on a processor than on an accelerator.

    Buys 4 % of a step on a GPU in the curvature of contacts (benchmarks/NOTES.md, On a GPU).
    """
    return lax.platform_dependent(*arguments, cpu=processor, default=accelerator)
