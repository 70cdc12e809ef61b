"""One kernel for two array libraries.

The derived constants of a model (masses at qpos0, inverse weights, ...) come from the same kernels
as the simulation. At load they run on numpy arrays, where nothing is compiled; on the device the
same code is traced by JAX. A kernel asks `namespace(...)` for the library of its arguments.
"""

from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

Array = jax.Array | np.ndarray
# numpy arguments give numpy results, which the compiler of models relies on
A = TypeVar("A", bound=Array)


def namespace(*arrays: Array) -> Any:
    """`jax.numpy` if any argument is a JAX array or tracer, otherwise `numpy`."""
    for a in arrays:
        # the exact type first: it is the common case at load, and the other test is slow
        if type(a) is not np.ndarray and isinstance(a, jax.Array):
            return jnp
    return np
