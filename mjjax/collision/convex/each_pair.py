"""Applies functions of one pair of convex shapes to many pairs."""

from collections.abc import Callable, Sequence
from typing import Any

import jax

from mjjax.collision.shape.shapes import Pools, Shape
from mjjax.xla.item_by_item import item_by_item
from mjjax.xla.namespace import Array


def each_pair(
    function: Callable[..., Any],
    on: jax.Array,
    pools: Pools,
    one: Shape,
    two: Shape,
    *others: jax.Array,
) -> Any:
    """Applies `function(pools, one, two, *others)` of one pair to those of N pairs that are on.

    Args:
        function: of two unbatched shapes and of scalars.
        on: (N,) which pairs to do; the results of the others have no meaning.
        pools: the pools.
        one: geoms 1.
        two: geoms 2.
        others: arrays (N,).
    """

    def single(item: tuple[Shape, Shape, Any], floats: Sequence[Array]) -> Any:
        one, two, others = item
        return function(pools.with_floats(floats), one, two, *others)

    items = one._replace(field=None), two._replace(field=None), others
    return item_by_item(single, on, items, list(pools.floats))
