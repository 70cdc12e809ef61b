"""States of loops in few arrays.

A loop carries every array of its state separately, and takes the states of some worlds array by
array. Here, arrays of one shape are joined to one array: real numbers with each other, and integers
with truth values. In the line search alone this saves 6 of 473 operations of a humanoid's step
(benchmarks/NOTES.md, Loops over worlds and groups).
"""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from mjjax.xla.linalg import stack, unstack
from mjjax.xla.loops import while_loop
from mjjax.xla.namespace import Array

Tree = Any
T = TypeVar("T")


def pack(tree: Tree) -> list[Array]:
    """The arrays of a tree; arrays of one shape and kind are joined, at the place of the first."""
    groups: dict[Any, list[Array]] = {}
    for x in map(jnp.asarray, jax.tree.leaves(tree)):
        groups.setdefault(_group(x), []).append(x)
    return [g[0] if len(g) == 1 else stack(_same_kind(g)) for g in groups.values()]


def unpack(packed: list[Array], like: T) -> T:
    """The tree from which `pack` made these arrays; it has the shapes and types of `like`."""
    leaves, tree = jax.tree.flatten(like)
    groups: dict[Any, list[int]] = {}
    for k, x in enumerate(leaves):
        groups.setdefault(_group(x), []).append(k)
    for whole, places in zip(packed, groups.values(), strict=True):
        parts = (whole,) if len(places) == 1 else unstack(whole)
        for k, part in zip(places, parts, strict=True):
            leaves[k] = part if part.dtype == leaves[k].dtype else part != 0
    return tree.unflatten(leaves)


def _group(x: Any) -> Any:
    """The key of arrays that are packed together: shape and type; truth values join integers."""
    return x.shape, jnp.int32 if x.dtype == bool else x.dtype


def _same_kind(arrays: list[Array]) -> list[Array]:
    if all(x.dtype == bool for x in arrays):
        return arrays
    return [x.astype(jnp.int32) if x.dtype == bool else x for x in arrays]


def shapes_of(tree: T) -> T:
    """Shapes and types of a tree, for `unpack`."""
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(jnp.shape(x), jnp.result_type(x)), tree)


def carry(running: Callable[[T], Array], body: Callable[[T], T], state: T) -> T:
    """Repeats `body` while `running` is true, as `jax.lax.while_loop`, with a packed state."""
    like = shapes_of(state)
    end = while_loop(
        lambda x: running(unpack(x, like)), lambda x: pack(body(unpack(x, like))), pack(state)
    )
    return unpack(end, like)
