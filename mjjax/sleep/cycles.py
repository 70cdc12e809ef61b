"""Sleeping trees as cycles of indices: kernels on arrays of trees.

Trees that fall asleep together form a cycle: `tree_asleep` (T,) of a sleeping tree is the next tree
of its cycle. For an awake tree it is negative. All values are integers, so nothing has a
derivative.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.model.sleep import FULLY_AWAKE
from mjjax.xla.loops import while_loop
from mjjax.xla.namespace import Array, where


def awake_trees(tree_asleep: Array) -> Array:
    """Which trees (T,) are awake."""
    return tree_asleep < 0


def least_in_cycle(tree_asleep: Array, value: Array) -> Array:
    """Smallest `value` (T,) among the trees of each cycle; an awake tree is alone."""
    count = len(tree_asleep)
    alone = jnp.arange(count, dtype=jnp.int32)
    after = where(awake_trees(tree_asleep), alone, tree_asleep)
    for _ in range(max(count - 1, 0).bit_length()):
        value = jnp.minimum(value, value[after])
        after = after[after]
    return value


def wake(tree_asleep: Array, trees: Array) -> Array:
    """`tree_asleep` after some `trees` (T,) and all trees that sleep with them are woken."""
    mine = least_in_cycle(tree_asleep, where(trees, 0, 1)) == 0
    return where(mine & ~awake_trees(tree_asleep), FULLY_AWAKE, tree_asleep)


def wake_neighbours(tree_asleep: Array, links: Array, on: Array) -> Array:
    """`tree_asleep` after awake trees have woken the sleeping trees that they are linked to.

    A cycle gets the counter of the tree that wakes it; if there are several links, the first link
    counts. A tree that is itself linked gets the smallest counter of its own links as well.

    Args:
        tree_asleep: (T,) state.
        links: (n, 2) trees, -1 for none.
        on: (n,) which links exist.
    """
    count, n = len(tree_asleep), len(on)
    one, two = links[:, 0], links[:, 1]
    first_awake, second_awake = (awake_trees(tree_asleep[jnp.maximum(x, 0)]) for x in (one, two))
    mixed = on & (one >= 0) & (two >= 0) & (first_awake != second_awake)
    waker, sleeper = (where(first_awake, a, b) for a, b in ((one, two), (two, one)))
    counter = where(mixed, tree_asleep[jnp.maximum(waker, 0)], 0)
    place = where(mixed, sleeper, count)
    number = np.arange(n, dtype=np.int32)
    first = jnp.full(count, n, jnp.int32).at[place].min(number, mode="drop")
    own = jnp.zeros(count, jnp.int32).at[place].min(counter, mode="drop")
    first = least_in_cycle(tree_asleep, first)
    inherited = jnp.append(counter, 0)[first]
    woken = (first < n) & ~awake_trees(tree_asleep)
    return where(woken, jnp.minimum(inherited, own), tree_asleep)


def components(count: int, links: Array, on: Array) -> Array:
    """The smallest tree (count,) to which each tree is connected.

    Args:
        count: number of trees.
        links: (n, 2) trees, -1 for none.
        on: (n,) which links exist.
    """
    start = jnp.arange(count, dtype=jnp.int32)
    if not len(on):
        return start
    there = on & (links[:, 0] >= 0) & (links[:, 1] >= 0)
    one, two = (where(there, x, 0) for x in (links[:, 0], links[:, 1]))

    def round_(state: tuple[Array, Array]) -> tuple[Array, Array]:
        label, _ = state
        a, b = label[one], label[two]
        low = jnp.minimum(a, b)
        new = jnp.asarray(label).at[a].min(low).at[b].min(low)
        new = new[new]
        return new, jnp.any(new != label)

    label, _ = while_loop(lambda state: state[1], round_, (start, jnp.bool_(True)))
    return label


def first_of_island(tree_island: Array) -> Array:
    """The first tree (T,) of each tree's island; a tree without an island (-1) is alone."""
    count = len(tree_island)
    number = jnp.arange(count, dtype=jnp.int32)
    place = where(tree_island < 0, count, tree_island)
    first = jnp.full(count, count, jnp.int32).at[place].min(number, mode="drop")
    return where(tree_island < 0, number, first[tree_island])


def cycles(label: Array, trees: Array) -> Array:
    """Next tree (T,) of the same component among some `trees` (T,), in order and cyclically."""
    count = len(label)
    number = jnp.arange(count, dtype=jnp.int32)
    key, order = lax.sort((where(trees, label, count + number), number), num_keys=2)
    same = jnp.append(key[1:] == key[:-1], False)
    following = where(same, jnp.append(order[1:], 0), key)
    return jnp.zeros(count, jnp.int32).at[order].set(following, unique_indices=True)
