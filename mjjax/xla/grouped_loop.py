"""Iterating many worlds at once without waiting for the slowest.

A vmapped `while_loop` repeats the iteration of every world until the last world is done, although
most worlds need few iterations. Here, a processor iterates worlds in groups that stay in its cache.
Once few worlds of a group still run, they go back and join worlds of other groups. So the cost
follows the mean number of iterations, not the largest (benchmarks/NOTES.md, Loops over worlds and
groups). An accelerator iterates all worlds at once. Once few of many worlds still run, it iterates
these alone (On a GPU, there). The results do not depend on the groups. In one kernel of a processor
(`mjjax.xla.each_world`) a world has a loop of its own, and none of this is needed.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_batching import custom_vmap

from mjjax.xla.all_worlds import also_for_no_worlds
from mjjax.xla.loops import varying, while_loop
from mjjax.xla.namespace import Array, where
from mjjax.xla.packing import pack, shapes_of, unpack
from mjjax.xla.place import in_kernel
from mjjax.xla.program import program

Tree = Any
GROUPS, WORLDS_PER_GROUP = 8, 64  # a group is an eighth of the batch, and at most 64 worlds
# The size of a group is a multiple of this: worlds in an incomplete vector would be rounded
# differently.
WORLDS_PER_VECTOR = 16
RUNNING_PART = 2  # a group goes on while more than half of its worlds run (all measured)
WORLDS_IN_GROUPS = 64  # below this batch size groups cost more than they save
# On an accelerator the last quarter of a batch runs alone, if the batch has so many worlds.
QUARTER, WORLDS_IN_QUARTERS = 4, 4096


def grouped_loop(
    body: Callable[[Tree, Tree], Tree], running: Callable[[Tree], Array]
) -> Callable[[Tree, Tree], Tree]:
    """A loop `state = body(problem, state) while running(state)` with a batching rule of its own.

    Args:
        body: one iteration of one world; all arrays it depends on are in `problem` and `state`.
        running: whether one world goes on.

    Returns:
        A function that takes (problem, state) and returns the final state.
    """

    def traced(problem: Tree, state: Tree) -> Tree:
        if in_kernel():  # where every world has a loop of its own
            return while_loop(running, lambda s: body(problem, s), state)
        # before the iteration is traced, which has to fit every later state
        problem, state = varying((problem, state))
        like = shapes_of(state)
        one = program(partial(_packed_body, body, like), problem, pack(state))
        loop = _grouped(one, lambda s: running(unpack(s, like)))
        return unpack(loop(problem, pack(state)), like)

    return traced


def _packed_body(
    body: Callable[[Tree, Tree], Tree], like: Tree, problem: Tree, state: Tree
) -> Tree:
    """An iteration of a state in few arrays; see `mjjax.xla.packing`."""
    return pack(body(problem, unpack(state, like)))


def _grouped(
    body: Callable[[Tree, Tree], Tree], running: Callable[[Tree], Array]
) -> Callable[[Tree, Tree], Tree]:
    """`grouped_loop` of a traced program."""

    @custom_vmap
    def loop(problem: Tree, state: Tree) -> Tree:
        return while_loop(running, lambda s: body(problem, s), state)

    @loop.def_vmap
    @also_for_no_worlds
    def batched(size: int, in_batched: Tree, problem: Tree, state: Tree) -> tuple[Tree, Tree]:
        own, whole = _apart(problem, in_batched[0])
        state = _spread(size, in_batched[1], state)
        state = _iterate_all(lambda p, s: body(whole(p), s), running, size, own, state)
        return state, jax.tree.map(lambda _: True, state)

    return loop


def queued_loop(
    body: Callable[[Tree, Tree], Tree], running: Callable[[Tree], Array], items: int
) -> Callable[[Tree, Tree], Tree]:
    """`grouped_loop` for `items` problems in every world; the problems of all worlds form a queue.

    The cost follows the mean of all problems (benchmarks/NOTES.md, Islands and scenes of many
    trees).

    Args:
        body: one iteration of one problem.
        running: whether one problem goes on.
        items: number of problems of a world.

    Returns:
        A function that takes (problems, states) with a leading axis and returns the final states.
    """

    def traced(problem: Tree, state: Tree) -> Tree:
        problem, state = varying((problem, state))
        like = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), state)
        one = partial(_packed_body, body, like)
        loop = _queued(one, lambda s: running(unpack(s, like)), items)
        end = loop(problem, jax.vmap(pack)(state))
        return jax.vmap(lambda s: unpack(s, like))(end)

    return traced


def _queued(
    body: Callable[[Tree, Tree], Tree], running: Callable[[Tree], Array], items: int
) -> Callable[[Tree, Tree], Tree]:
    """`queued_loop` for states in few arrays."""

    @custom_vmap
    def loop(problem: Tree, state: Tree) -> Tree:
        return _iterate_all(body, running, items, problem, state)

    @loop.def_vmap
    @also_for_no_worlds
    def batched(size: int, in_batched: Tree, problem: Tree, state: Tree) -> tuple[Tree, Tree]:
        spread = _spread(size, tuple(in_batched), (problem, state))
        every = jax.tree.map(lambda x: x.reshape(size * items, *x.shape[2:]), spread)
        state = _iterate_all(body, running, size * items, *every)
        state = jax.tree.map(lambda x: x.reshape(size, items, *x.shape[1:]), state)
        return state, jax.tree.map(lambda _: True, state)

    return loop


def _spread(size: int, in_batched: Tree, tree: Tree) -> Tree:
    """The tree with an axis of worlds in every array."""

    def spread(x: Array, is_batched: bool) -> Array:
        return x if is_batched else jnp.broadcast_to(x[None], (size, *x.shape))

    return jax.tree.map(spread, tree, in_batched)


def _apart(problem: Tree, in_batched: Tree) -> tuple[list[Array], Callable[[list[Array]], Tree]]:
    """The arrays that differ between worlds, and a function from a world's own to its problem."""
    leaves, tree = jax.tree.flatten(problem)
    differs = tree.flatten_up_to(in_batched)

    def whole(own: list[Array]) -> Tree:
        each = iter(own)
        return tree.unflatten(
            [next(each) if d else x for x, d in zip(leaves, differs, strict=True)]
        )

    return [x for x, d in zip(leaves, differs, strict=True) if d], whole


def _iterate_all(body: Any, running: Any, size: int, problem: Tree, state: Tree) -> Tree:
    """Final states (size, ...) of `size` problems."""
    if size < WORLDS_IN_GROUPS:
        return _together(body, running, 0, problem, state)
    group = WORLDS_PER_VECTOR * -(-min(size // GROUPS, WORLDS_PER_GROUP) // WORLDS_PER_VECTOR)
    groups = partial(_in_groups, body, running, group)
    shrinking = partial(_shrinking, body, running)
    return lax.platform_dependent(problem, state, cpu=groups, default=shrinking)


def _shrinking(body: Any, running: Any, problem: Tree, state: Tree) -> Tree:
    """Iterates all worlds at once; if there are many, the last quarter alone, and so on."""
    size = jax.tree.leaves(state)[0].shape[0]
    if size < WORLDS_IN_QUARTERS:
        return _together(body, running, 0, problem, state)
    few = size // QUARTER
    state = _together(body, running, few, problem, state)
    rest = partial(_shrinking, body, running)
    return _some(rest, _running_first(running, state)[:few], problem, state)


def _together(body: Any, running: Any, few: Array | int, problem: Tree, state: Tree) -> Tree:
    """Iterates all worlds until at most `few` still run; finished ones keep their state."""

    def advance(state: Tree) -> Tree:
        going = jax.vmap(running)(state)
        new = jax.vmap(body)(problem, state)
        return jax.tree.map(lambda a, b: where(_like(going, a), a, b), new, state)

    def many(state: Tree) -> Array:
        return jnp.sum(jax.vmap(running)(state), dtype=jnp.int32) > few

    return while_loop(many, advance, state)


def _in_groups(body: Any, running: Any, group: int, problem: Tree, state: Tree) -> Tree:
    """Iterates worlds that still run, `group` of them at a time."""
    first = _running_first(running, state)

    def left(carry: tuple[Array, Tree]) -> Array:
        return carry[0][0] < len(first)

    def advance(carry: tuple[Array, Tree]) -> tuple[Array, Tree]:
        order, state = carry
        others = order[group] < len(first)
        few = where(others, group // RUNNING_PART, 0).astype(jnp.int32)
        iterate = partial(_together, body, running, few)
        state = _some(iterate, order[:group], problem, state)
        return _running_first(running, state), state

    return while_loop(left, advance, (first, state))[1]


def _running_first(running: Any, state: Tree) -> Array:
    """Indices (size,) of the worlds that still run, followed by `size` for every other world."""
    going = jax.vmap(running)(state)
    # Sorting is one operation; `nonzero` with a size would be fifteen.
    size = len(going)
    return jnp.sort(where(going, np.arange(size, dtype=np.int32), np.int32(size)))


def _some(iterate: Any, index: Array, problem: Tree, state: Tree) -> Tree:
    """Iterates the worlds of some indices; an index beyond the last world is left out."""

    def get(x: jax.Array) -> Array:
        return x.at[index].get(mode="clip", wrap_negative_indices=False)

    def put(x: jax.Array, y: Array) -> Array:
        return x.at[index].set(y, mode="drop", wrap_negative_indices=False)

    done = iterate(*jax.tree.map(get, (problem, state)))
    return jax.tree.map(put, state, done)


def _like(mask: Array, x: Array) -> Array:
    return mask.reshape(mask.shape + (1,) * (x.ndim - 1))
