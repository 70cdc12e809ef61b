"""Applies functions of one pair of convex shapes to many pairs."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from mjjax.collision.convex.support import Sides
from mjjax.collision.shape.shapes import Pools
from mjjax.xla.item_by_item import item_by_item
from mjjax.xla.namespace import Array


def each_pair(
    function: Callable[..., Any], on: jax.Array, pools: Pools, sides: Sides, *lanes: Any
) -> Any:
    """Applies `function(pools, sides, *lanes)` of one pair to those of N pairs that are on (N,).

    Args:
        function: of the sides of one pair and of arrays (..., 1); it returns such arrays.
        on: (N,) which pairs to do; the results of the others have no meaning.
        pools: the pools.
        sides: N pairs.
        lanes: trees of arrays (..., N).
    """
    n = on.shape[0]
    apart = jax.tree.map(lambda x: x.reshape(*x.shape[:-1], 2, n), sides)
    items = jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), (apart, lanes))

    def single(item: tuple[Sides, Any], floats: Sequence[Array]) -> Any:
        sides, lanes = item[0], jax.tree.map(lambda x: x[..., None], item[1])
        return function(pools.with_floats(floats), sides, *lanes)

    found = item_by_item(single, on, items, list(pools.floats))
    return jax.tree.map(lambda x: jnp.moveaxis(x[..., 0], 0, -1), found)
