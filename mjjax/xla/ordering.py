"""Controls how XLA computes: only once, in a given order, or in another form on each platform."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.xla.namespace import Array, namespace
from mjjax.xla.place import in_kernel


def computed_once(*arrays: Array) -> Any:
    """The same arrays, each computed in one place; a single array comes back without a tuple.

    Otherwise XLA computes cheap arrays anew in every kernel that reads them. In impedances this
    saves six of 280 kernels of a step, in velocities of contact rows 1.6 % of a step on a GPU
    (benchmarks/NOTES.md, Ordering; On a GPU). NumPy's arrays stay as they are.
    """
    if namespace(*arrays) is not np:
        arrays = lax.optimization_barrier(arrays)
    first, *others = arrays
    return arrays if others else first


def in_turn(x: Array, done: Array) -> Array:
    """`x` (...,), but not before `done` (...,) is computed.

    The result is `x` plus zeros that XLA does not recognize as zeros. Without this order some
    programs would never end: each kernel of LAPACK may block one of few threads, see
    `mjjax.xla.threads`.
    """
    return x + (done > jnp.inf).astype(x.dtype)


def by_place(*arguments: Any, kernel: Callable, elsewhere: Callable) -> Any:
    """Applies `kernel` to the arguments in one kernel of a processor, and `elsewhere` elsewhere.

    This lets rows of a kernel skip empty contact slots (benchmarks/NOTES.md, Loops over worlds and
    groups).
    """
    return kernel(*arguments) if in_kernel() else elsewhere(*arguments)


def by_platform(
    *arguments: Any, kernel: Callable, processor: Callable, accelerator: Callable
) -> Any:
    """Applies `kernel` to the arguments in one kernel of a processor, else the platform's function.

    In the curvature of contacts this saves 4 % of a step on a GPU (benchmarks/NOTES.md, On a GPU).
    """

    def elsewhere(*arguments: Any) -> Any:
        return lax.platform_dependent(*arguments, cpu=processor, default=accelerator)

    return by_place(*arguments, kernel=kernel, elsewhere=elsewhere)
