"""Loops over many worlds that each stop on their own."""

import functools

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

from mjjax.xla.grouped_loop import WORLDS_IN_GROUPS, WORLDS_IN_QUARTERS, _shrinking, grouped_loop

State = tuple[jax.Array, jax.Array]


def halved(divisor: jax.Array, s: State) -> State:
    return s[0] / divisor, s[1] + 1


def above_one(s: State) -> jax.Array:
    return s[0] > 1


loop = grouped_loop(halved, above_one)


def halve(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The rest of a number, and how often it was halved."""
    return loop(jnp.full_like(x, 2), (x, jnp.zeros(x.shape, int)))


@pytest.mark.feature("A073", "D10")
@pytest.mark.parametrize("size", [1, WORLDS_IN_GROUPS - 1, WORLDS_IN_GROUPS, 200, 1000])
def test_each_world_stops_on_its_own(size: int) -> None:
    """Each world is iterated as if alone, for any number of worlds and in nested batches."""
    start = 2.0 ** np.random.default_rng(0).integers(-2, 12, size) * 0.9
    count = np.maximum(0, np.ceil(np.log2(start)))
    x, n = jax.jit(jax.vmap(halve))(start)
    np.testing.assert_array_equal(n, count)
    np.testing.assert_array_equal(x, start / 2**count)
    twice = jax.vmap(jax.vmap(halve))
    np.testing.assert_array_equal(jax.jit(twice)(np.stack([start] * 2))[1], [count] * 2)


@pytest.mark.feature("D10")
def test_accelerators_iterate_all_worlds_at_once() -> None:
    """Processors iterate groups one after the other; a GPU has a loop for each quarter."""
    run = jax.jit(jax.vmap(halve))

    def loops(platform: str, size: int) -> int:
        x = jax.ShapeDtypeStruct((size,), jnp.float32)
        program = jax.export.export(run, platforms=[platform])(x).mlir_module()
        return program.count("stablehlo.while")

    assert loops("cpu", WORLDS_IN_QUARTERS) == 2
    assert [
        loops("cuda", size)
        for size in (WORLDS_IN_QUARTERS - 1, WORLDS_IN_QUARTERS, 4 * WORLDS_IN_QUARTERS)
    ] == [1, 2, 3]


@pytest.mark.feature("A073", "D10")
@pytest.mark.parametrize(
    "size", [WORLDS_IN_QUARTERS - 1, WORLDS_IN_QUARTERS, 5 * WORLDS_IN_QUARTERS + 3]
)
def test_the_last_quarter_goes_on_alone(size: int) -> None:
    """The loop for GPUs, run on the CPU, iterates each world as if alone."""
    start = 2.0 ** np.random.default_rng(1).integers(-2, 12, size) * 0.9
    count = np.maximum(0, np.ceil(np.log2(start)))
    state = jnp.asarray(start), jnp.zeros(size, int)
    x, n = jax.jit(functools.partial(_shrinking, halved, above_one))(jnp.full(size, 2.0), state)
    np.testing.assert_array_equal(n, count)
    np.testing.assert_array_equal(x, start / 2**count)
