"""Numbers as bits."""

import jax.numpy as jnp
from jax import lax

from mjjax.xla.namespace import Array


def any_bit(x: Array) -> Array:
    """Whether any bit of each number is set; this is true for -0.0, although it equals zero."""
    x = lax.stop_gradient(x)
    return lax.bitcast_convert_type(x, jnp.dtype(f"uint{8 * x.dtype.itemsize}")) != 0
