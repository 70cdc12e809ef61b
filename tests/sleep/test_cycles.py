"""Kernels on trees: components, cycles, waking; no model, nothing heavy."""

import numpy as np
import pytest

from mjjax.sleep.cycles import components, cycles, least_in_cycle, wake, wake_neighbours


@pytest.mark.parametrize("seed", range(5))
def test_components_are_those_of_a_search(seed: int) -> None:
    """The label of a tree is the smallest tree that is reachable by existing links."""
    rng = np.random.default_rng(seed)
    count, links = 12, rng.integers(-1, 12, (14, 2)).astype(np.int32)
    on = rng.random(14) < 0.7
    label = np.arange(count)
    for _ in range(count):
        for (a, b), there in zip(links, on, strict=True):
            if there and a >= 0 and b >= 0:
                label[label == max(label[a], label[b])] = min(label[a], label[b])
    assert np.array_equal(components(count, links, on), label)


@pytest.mark.feature("A149")
def test_cycles_go_around_in_order() -> None:
    """Each tree points to the next of its component, the last to the first, one alone to itself."""
    label = np.array([0, 1, 0, 1, 4, 0], np.int32)
    every = np.ones(6, bool)
    assert np.array_equal(cycles(label, every), [2, 3, 5, 1, 4, 0])
    # those that stay awake are not in it
    assert np.array_equal(np.asarray(cycles(label, label != 1))[label != 1], [2, 5, 4, 0])


def test_a_long_cycle_wakes_as_a_whole() -> None:
    """All of a cycle wake together, and nobody else."""
    n = 37
    asleep = np.roll(np.arange(n, dtype=np.int32), -1)
    asleep = np.append(asleep, np.array([n, -3], np.int32))
    assert np.array_equal(least_in_cycle(asleep, np.arange(n + 2)), [0] * n + [n, n + 1])
    woken = np.asarray(wake(asleep, np.arange(n + 2) == 20))
    assert np.array_equal(woken, [-11] * n + [n, -3])


@pytest.mark.feature("A156")
def test_the_woken_inherit_the_counter() -> None:
    """A cycle takes the counter of its first waker, a tree the smallest of its own wakers."""
    asleep = np.array([1, 0, -3, -8], np.int32)
    links, on = np.array([[0, 2], [1, 3], [-1, 2]], np.int32), np.ones(3, bool)
    assert np.array_equal(wake_neighbours(asleep, links, on), [-3, -8, -3, -8])
    asleep[2:] = -8, -3
    assert np.array_equal(wake_neighbours(asleep, links, on), [-8, -8, -8, -3])
    assert np.array_equal(wake_neighbours(asleep, links, ~on), asleep)
