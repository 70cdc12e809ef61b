"""The space of actions or observations, with the attributes of gymnax's spaces."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array


class Box(NamedTuple):
    """Arrays of real numbers within bounds."""

    low: float
    high: float
    shape: tuple[int, ...]

    @property
    def dtype(self) -> jnp.dtype:
        """The default precision of JAX."""
        return jnp.zeros(()).dtype

    def sample(self, key: Array) -> Array:
        """A random member; in an unbounded space it has the standard normal distribution."""
        if np.isinf(self.low) or np.isinf(self.high):
            return jax.random.normal(key, self.shape)
        return jax.random.uniform(key, self.shape, minval=self.low, maxval=self.high)

    def contains(self, x: Array) -> Array:
        """Whether all numbers lie within the bounds."""
        return jnp.all((x >= self.low) & (x <= self.high))
