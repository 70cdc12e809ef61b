"""Indexing by static lists gives numpy's results and derivatives, without moving a batch."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mjjax.xla import indexing, linalg
from mjjax.xla.segments import MOST_SLICES, segments_of, slices_of


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize(
    "index",
    [
        [0],
        [2, 2, 2],
        [1, 2, 3],
        [0, 2, 4],
        [4, 2, 0],
        [3, 0, 3],
        [[0, 1], [4, 1]],
        [[0, 2], [1, 3]],
        [1, 1, 2, 2, 3, 3],
        [2, 2, 4, 4, 0],
        [3, 4, 0, 1, 1],
    ],
)
@pytest.mark.parametrize("width", [5, 200])
def test_rows_is_indexing(index: list, width: int) -> None:
    """The fast forms of static indexing have the results and derivatives of plain indexing."""
    x, at = jnp.asarray(random(width, 2)), np.asarray(index)
    np.testing.assert_array_equal(indexing.gather(x, at), x[at])
    weight = jnp.asarray(random(*x[at].shape, seed=1))
    mine = jax.grad(lambda x: jnp.sum(weight * indexing.gather(x, at)))(x)
    np.testing.assert_allclose(mine, jax.grad(lambda x: jnp.sum(weight * x[at]))(x), atol=1e-14)


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("kind", [indexing.gather, indexing.gather_columns])
def test_any_static_index(kind: Callable) -> None:
    """Random lists of indices, sorted ones with their runs among them, are those of numpy."""
    rng, axis = np.random.default_rng(0), int(kind is indexing.gather_columns)
    for trial in range(300):
        n, m = rng.integers(1, 8, 2)
        at = rng.integers(0, n, m)
        at = np.repeat(np.sort(at), rng.integers(1, 4)) if trial % 2 else at
        x = rng.normal(size=(n, n))
        np.testing.assert_array_equal(kind(jnp.asarray(x), at), np.take(x, at, axis))


BLOCKS = {
    "equal trees": (260, [k * 26 + j for k in range(10) for j in (3, 9, 4, 20, 11)]),
    "with the world": (261, [0] + [1 + k * 26 + j for k in range(10) for j in (3, 9, 4, 20, 11)]),
    "two kinds": (
        270,
        [x for k in range(10) for x in (60 + 21 * k, 6 * k + 2, 6 * k, 64 + 21 * k)],
    ),
    "end inside": (255, [k * 26 + j for k in range(10) for j in (3, 9, 4, 20, 11)]),
    "each several times": (260, [k * 26 + j // 2 for k in range(10) for j in range(12)]),
    "a common row": (261, [x for k in range(10) for x in (0, 5 + 26 * k, 1 + 26 * k, 9 + 26 * k)]),
}


@pytest.mark.slow(but=6)
@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("kind", [indexing.gather, indexing.gather_columns])
def test_blocks_of_large_tables(kind: Callable, name: str) -> None:
    """Indices that repeat over equal trees are numpy's, without XLA's gather, derivatives too."""
    n, index = BLOCKS[name]
    at, axis = np.asarray(index), int(kind is indexing.gather_columns)
    x = jnp.asarray(random(*((2, n) if axis else (n, 2))))
    np.testing.assert_array_equal(kind(x, at), jnp.take(x, at, axis))
    weight = jnp.asarray(random(*kind(x, at).shape, seed=1))
    mine = jax.grad(lambda x: jnp.sum(weight * kind(x, at)))(x)
    theirs = jax.grad(lambda x: jnp.sum(weight * jnp.take(x, at, axis)))(x)
    np.testing.assert_allclose(mine, theirs, atol=1e-14)
    assert " gather" not in str(jax.make_jaxpr(lambda x: kind(x, at))(x))


@pytest.mark.parametrize("name", BLOCKS)
def test_sums_into_blocks(name: str) -> None:
    """Sums over indices that repeat over equal trees are those of numpy."""
    n, index = BLOCKS[name]
    x, expected = random(len(index)), np.zeros(n)
    np.add.at(expected, index, x)
    mine = indexing.scatter_sum(jnp.asarray(x), np.asarray(index), n)
    np.testing.assert_allclose(mine, expected, atol=1e-12)


def test_large_lists_without_blocks() -> None:
    """The search for blocks gives up early: it does not grow with the square of long lists."""
    at = np.random.default_rng(0).permutation(20_000)
    assert segments_of(at) == () and slices_of(at) == len(at)
    four = np.concatenate([k + np.arange(m) for k, m in ((0, 3), (9, 2), (5, 4), (20, 7))])
    assert slices_of(four[:9]) == MOST_SLICES and slices_of(four) > MOST_SLICES


def test_batches_stay_in_front() -> None:
    """Under `vmap`, stacking and indexing by runs or small tables move no axis."""

    def work(x: jax.Array) -> Any:
        pairs = indexing.gather(x, np.repeat([1, 2, 3], 2))
        mixed = indexing.gather(x, np.array([3, 0, 2, 1]))
        return linalg.stack([jnp.sum(pairs), jnp.sum(mixed)]) + linalg.stack([x[0, 0], x[1, 1]])

    text = str(jax.make_jaxpr(jax.vmap(work))(random(7, 4, 2)))
    assert "transpose" not in text and " gather" not in text


@pytest.mark.parametrize(
    "index",
    [[], [0, 1, 2], [3, 3, 0], [1, 1, 3, 3], [4], [2, 2, 2], list(range(5)) * 60],
)
def test_sum_rows_is_the_transpose(index: list) -> None:
    """Sums into rows: dense small case, runs and long repeated lists."""
    x, expected = random(len(index)), np.zeros(5)
    np.add.at(expected, np.asarray(index, int), x)
    mine = indexing.scatter_sum(jnp.asarray(x), np.asarray(index, int), 5)
    np.testing.assert_allclose(mine, expected, atol=1e-12)
