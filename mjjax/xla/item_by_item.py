"""One function for many items: on a processor item by item, elsewhere side by side.

XLA makes a kernel of every few operations, and a processor spends most of the time of a small
kernel on starting it. A search with branches and loops, such as that for the nearest points of two
shapes, has hundreds of them, and for many items side by side every branch is computed for all. Here
the whole loop over the items is one kernel, in which each item takes its own branches and as many
rounds as it needs (benchmarks/NOTES.md, Collision: convex).
"""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental.xla_metadata import set_xla_metadata

from mjjax.xla.loops import State, varying, while_loop
from mjjax.xla.namespace import Array, where
from mjjax.xla.place import inside_kernel, on_processor
from mjjax.xla.program import program

MOST_SUMMED = 4096  # XLA calls a library for sums of so many numbers


def item_by_item(function: Callable[..., Any], on: Array, items: Any, *shared: Any) -> Any:
    """Applies `function(item, *shared)` to those of n items that are on.

    Args:
        function: of one item. It reads no other traced arrays, does not sort, writes to one place
            of an array at a time, and sums no array of `MOST_SUMMED` numbers. Products of matrices
            and factors are those of `mjjax.xla.linalg`.
        on: (n,) which items are needed.
        items: tree of arrays (n, ...).
        shared: trees of arrays that are the same for all items.

    Returns:
        Its results (n, ...); those of items that are not on have no meaning.
    """
    items, shared = varying((items, shared))
    first = jax.tree.map(lambda x: x[0], items)
    with inside_kernel() if on_processor() else nullcontext():
        one = program(function, first, *shared)
    results = jax.eval_shape(one, first, *shared)

    def in_turn(on: Array, items: Any, *shared: Any) -> Any:
        n = len(on)

        def put(k: Array, found: Any) -> Any:
            new = one(_row(items, k), *shared)
            return jax.tree.map(
                lambda x, y: lax.dynamic_update_index_in_dim(x, y, k, 0), found, new
            )

        empty = jax.tree.map(lambda x: jnp.zeros((n, *x.shape), x.dtype), results)
        return for_those(on, put, empty)

    def side_by_side(on: Array, items: Any, *shared: Any) -> Any:
        del on
        return jax.vmap(one, in_axes=(0, *[None] * len(shared)))(items, *shared)

    run = one_kernel(in_turn) if on_processor() else side_by_side
    return run(on, items, *shared)


def gathered_rows(rows: Any, on: Array) -> tuple[Any, Array]:
    """The rows that are on, at the beginning of arrays of the same size, and their number.

    Args:
        rows: tree of arrays (n, ...).
        on: (n,) which rows are wanted; they stay in their order.
    """

    def in_turn(rows: Any, on: Array) -> tuple[Any, Array]:
        def put(k: Array, state: tuple[Any, Array]) -> tuple[Any, Array]:
            found, fill = state
            found = jax.tree.map(
                lambda x, y: lax.dynamic_update_index_in_dim(x, y, fill, 0), found, _row(rows, k)
            )
            return found, fill + 1

        return for_those(on, put, (jax.tree.map(jnp.zeros_like, rows), jnp.int32(0)))

    def side_by_side(rows: Any, on: Array) -> tuple[Any, Array]:
        upto = jnp.cumsum(on, dtype=jnp.int32)
        target = where(on, upto - 1, len(on))
        place = jnp.arange(len(on), dtype=jnp.int32)
        source = jnp.zeros_like(place).at[target].set(place, mode="drop", unique_indices=True)
        return jax.tree.map(lambda x: x[source], rows), upto[-1]

    run = one_kernel(in_turn) if on_processor() else side_by_side
    return run(rows, on)


def for_those(on: Array, body: Callable[[Array, State], State], start: State) -> State:
    """A loop over the places (n,) that are on, in turn: `body(place, state)` is the next state."""
    if not len(on):
        return start

    def step(state: tuple[Array, State]) -> tuple[Array, State]:
        k, inner = state
        return _next(on, k + 1), body(k, inner)

    return while_loop(lambda s: s[0] < len(on), step, (_next(on, jnp.int32(0)), start))[1]


def _next(on: Array, k: Array) -> Array:
    """The first place from `k` on that is on (n,), or n."""

    def off(k: Array) -> Array:
        return (k < len(on)) & ~_row(on, jnp.minimum(k, len(on) - 1))

    return while_loop(off, lambda k: k + 1, k)


def _row(tree: Any, k: Array) -> Any:
    return jax.tree.map(lambda x: lax.dynamic_index_in_dim(x, k, keepdims=False), tree)


def one_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as one kernel of a processor, loops and branches included.

    XLA compiles a call with the attribute `xla_cpu_small_call` in this way; it gives this attribute
    itself to loops that touch few bytes. Two things make its compiler fail. The code must not
    contain further calls with the attribute: so it is traced before the attribute is set. And it
    must use all of its arguments: so it returns an entry of each, too, and barriers on both sides
    keep XLA from finding out that an argument is a constant or that such a result is not needed.
    """

    def call(*operands: Any) -> Any:
        leaves, tree = jax.tree.flatten(varying(operands))

        def code(*leaves: Array) -> Any:
            return function(*tree.unflatten(leaves)), [x.ravel()[:1] for x in leaves]

        with inside_kernel():
            traced = program(code, *leaves)
        leaves = lax.optimization_barrier(leaves)
        with set_xla_metadata(xla_cpu_small_call="true", inlineable="false"):
            results = jax.jit(traced)(*leaves)
        return lax.optimization_barrier(results)[0]

    return call
