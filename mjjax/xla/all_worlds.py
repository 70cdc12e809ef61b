"""Reductions over the worlds of the surrounding `vmap`s, for decisions that a batch makes once."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap

from mjjax.xla.namespace import Array

Rule = Callable[..., tuple[Any, Any]]


def also_for_no_worlds(rule: Rule) -> Rule:
    """Makes a batching rule that is also right for a batch without worlds.

    For such a batch, the rule runs on one world of zeros and its results are dropped. The compiler
    then drops their computation too.
    """

    @functools.wraps(rule)
    def guarded(size: int, in_batched: Any, *values: Any) -> tuple[Any, Any]:
        if size:
            return rule(size, in_batched, *values)
        one = jax.tree.map(
            lambda x, batched: jnp.zeros((1, *x.shape[1:]), x.dtype) if batched else x,
            values,
            tuple(in_batched),
        )
        found, batched = rule(1, in_batched, *one)
        return jax.tree.map(lambda x, out: x[:0] if out else x, found, batched), batched

    return guarded


@custom_vmap
def largest_of_worlds(x: Array) -> Array:
    """The largest value of all worlds, or for truth values whether any is true, in every world."""
    return x


@largest_of_worlds.def_vmap
@also_for_no_worlds
def _(size: int, in_batched: list[bool], x: Array) -> tuple[Array, bool]:
    return largest_of_worlds(jnp.max(x, axis=0) if in_batched[0] else x), False
