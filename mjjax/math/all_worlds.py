"""Reductions over the worlds of the surrounding `vmap`s, for decisions that a batch makes once."""

import jax.numpy as jnp
from jax.custom_batching import custom_vmap

from mjjax.math.namespace import Array


@custom_vmap
def largest_of_worlds(x: Array) -> Array:
    """The largest value, or for truth values whether any is true; the same in every world."""
    return x


@largest_of_worlds.def_vmap
def _(size: int, in_batched: list[bool], x: Array) -> tuple[Array, bool]:
    return largest_of_worlds(jnp.max(x, axis=0) if in_batched[0] else x), False
