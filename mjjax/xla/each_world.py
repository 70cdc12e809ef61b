"""A function of one world that a processor runs for one world after the other, in one kernel."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from mjjax.xla.item_by_item import item_by_item, one_kernel
from mjjax.xla.namespace import Array
from mjjax.xla.place import on_processor
from mjjax.xla.worlds import Leaf, over_worlds


def each_world(function: Callable[..., Any], *operands: Any) -> Any:
    """`function(*operands)` of one world, in one kernel on a processor, within any `vmap`s.

    Each world takes its own branches and as many rounds of its loops as it needs. On an accelerator
    the function is part of the program around it.

    Args:
        function: of trees of arrays; see `item_by_item` for what it may do. It is not
            differentiated.
        operands: its arguments.
    """
    if not on_processor():
        return function(*operands)
    leaves, tree = jax.tree.flatten(operands)

    def all_worlds(worlds: int, leaves: list[Leaf]) -> Any:
        def one(own: list[Array], shared: list[Array]) -> Any:
            parts = iter(own), iter(shared)
            return function(*tree.unflatten([next(parts[leaf.shared]) for leaf in leaves]))

        shared = [leaf.value[0] for leaf in leaves if leaf.shared]
        own = [leaf.all() for leaf in leaves if not leaf.shared]
        if own:
            return item_by_item(one, jnp.ones(worlds, bool), own, shared)
        return jax.tree.map(lambda x: x[None], one_kernel(one)(own, shared))

    return over_worlds(all_worlds, leaves)
