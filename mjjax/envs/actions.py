"""Actions as people give them: lists, NumPy's, JAX's and other libraries' arrays."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array


def real_array(x: Any, what: str) -> Array:
    """Numbers as a JAX array of the default precision.

    Arrays of other libraries come by DLPack, so that those of the same device are not copied.

    Args:
        x: a JAX or NumPy array, an array of a library that speaks DLPack, a list or a number.
        what: what it is, for the message.

    Raises:
        ValueError: these are no real numbers.
    """
    if hasattr(x, "__dlpack__") and not isinstance(x, jax.Array | np.ndarray | np.generic):
        found = jnp.from_dlpack(x)
    else:
        try:
            found = jnp.asarray(x)
        except (TypeError, ValueError):
            raise ValueError(f"{what} must be real numbers, not {x!r:.60}") from None
    if not any(jnp.issubdtype(found.dtype, kind) for kind in (jnp.floating, jnp.integer, bool)):
        raise ValueError(f"{what} must be real numbers, not of type {found.dtype}")
    return found.astype(jnp.zeros(()).dtype)


def check_shape(x: Array, shape: tuple[int, ...], what: str, of_batch: str = "") -> None:
    """Refuses an array of another shape.

    Args:
        x: array.
        shape: shape wanted.
        what: what it is, for the message.
        of_batch: what to do with a batch of what is wanted.

    Raises:
        ValueError: the sentence says the shape given and the shape wanted.
    """
    if x.shape == shape:
        return
    batch = x.ndim > len(shape) and x.shape[x.ndim - len(shape) :] == shape
    hint = f": {of_batch}" if batch and of_batch else ""
    raise ValueError(f"{what} must have shape {shape}, got {x.shape}{hint}")
