"""Functions of all worlds at once: they see one list of worlds, whatever `vmap`s surround them.

A plain `vmap` of a loop over chunks would run the loops of all worlds side by side, each with its
own chunks. Instead the batching rule adds the new axis to the list of worlds, and the function
treats this list itself. A leaf that the axis does not batch stays as it is, and the worlds of this
axis share it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap

from mjjax.xla.all_worlds import also_for_no_worlds
from mjjax.xla.namespace import Array

Tree = Any
_ONE = (1,)


class Leaf(NamedTuple):
    """An array of the worlds, (rows, ...): one row for all worlds, for each, or for each group.

    Attributes:
        value: (rows, ...) the values of each group of worlds.
        sizes: sizes of the axes of worlds, the outermost first.
        member: for each axis, whether the rows differ along it.
    """

    value: Array
    sizes: tuple[int, ...]
    member: tuple[bool, ...]

    @property
    def shared(self) -> bool:
        """Whether all worlds have the same value."""
        return not any(self.member)

    def row(self, world: Array) -> Array:
        """Row of each world, for worlds in any shape."""
        row, stride, inner = jnp.zeros_like(world), 1, 1
        for size, member in zip(self.sizes[::-1], self.member[::-1], strict=True):
            if member:
                row = row + (world // inner % size) * stride
                stride *= size
            inner *= size
        return row

    def at(self, world: Array, index: Array) -> Array:
        """`value[world, index]`, both of one shape."""
        if self.shared:
            return self.value[0][index]
        return self.value[self.row(world), index]

    def of(self, world: Array) -> Array:
        """`value[world]`; a shared leaf gives its single row, which broadcasts."""
        return self.value if self.shared else self.value[self.row(world)]

    def all(self) -> Array:
        """`value` with one row per world, or a single row for all worlds."""
        if self.shared or all(self.member):
            return self.value
        return self.value[self.row(np.arange(int(np.prod(self.sizes)), dtype=np.int32))]


def over_worlds(function: Callable[[int, Tree], Tree], tree: Tree) -> Tree:
    """Calls `function(W, leaves)` once for all worlds of the surrounding `vmap`s.

    Args:
        function: takes the number of worlds and a tree of `Leaf`; all its results have the worlds
            as leading axis. It depends on no other traced array, and is not differentiated.
        tree: arrays of one world, without derivatives.

    Returns:
        What the function returns for one world.
    """
    leaves, structure = jax.tree.flatten(tree)
    whole = _call(function, structure, (), [()] * len(leaves))
    return whole(*(jax.lax.stop_gradient(jnp.asarray(x)) for x in leaves))


def _call(function: Any, structure: Any, sizes: tuple, members: list[tuple]) -> Callable:
    """The function for axes of worlds (`sizes`), of which each leaf is batched over some."""

    @custom_vmap
    def call(*values: Array) -> Tree:
        leaves = [
            Leaf(x if any(member) else x[None], sizes or _ONE, member or (False,))
            for x, member in zip(values, members, strict=True)
        ]
        found = function(int(np.prod(sizes)), jax.tree.unflatten(structure, leaves))
        return found if sizes else jax.tree.map(lambda x: x[0], found)

    @call.def_vmap
    @also_for_no_worlds
    def batched(size: int, in_batched: Any, *values: Array) -> tuple[Tree, Tree]:
        more = [(new, *old) for new, old in zip(in_batched, members, strict=True)]
        merged = [
            x.reshape(size * x.shape[1], *x.shape[2:]) if new and any(old) else x
            for x, new, old in zip(values, in_batched, members, strict=True)
        ]
        found = _call(function, structure, (size, *sizes), more)(*merged)
        if sizes:
            found = jax.tree.map(lambda x: x.reshape(size, *_inner(x, size)), found)
        return found, jax.tree.map(lambda _: True, found)

    return call


def _inner(x: Array, size: int) -> tuple[int, ...]:
    return (x.shape[0] // size, *x.shape[1:])
