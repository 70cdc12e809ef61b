"""Loops over many worlds that each stop on their own."""

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

from mjjax.solver.grouped_loop import SMALLEST, grouped_loop

loop = grouped_loop(lambda divisor, s: (s[0] / divisor, s[1] + 1), lambda s: s[0] > 1)


def halve(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """What is left of a number, and how often it was halved."""
    return loop(jnp.full_like(x, 2), (x, jnp.zeros(x.shape, int)))


@pytest.mark.feature("A073", "D10")
@pytest.mark.parametrize("size", [1, SMALLEST - 1, SMALLEST, 200, 1000])
def test_each_world_stops_on_its_own(size: int) -> None:
    """However many worlds there are, and in a batch of batches, each is iterated as if alone."""
    start = 2.0 ** np.random.default_rng(0).integers(-2, 12, size) * 0.9
    count = np.maximum(0, np.ceil(np.log2(start)))
    x, n = jax.jit(jax.vmap(halve))(start)
    np.testing.assert_array_equal(n, count)
    np.testing.assert_array_equal(x, start / 2**count)
    twice = jax.vmap(jax.vmap(halve))
    np.testing.assert_array_equal(jax.jit(twice)(np.stack([start] * 2))[1], [count] * 2)


@pytest.mark.feature("D10")
def test_accelerators_iterate_all_worlds_at_once() -> None:
    """Groups, one after the other, are for processors: a program for a GPU is one loop."""
    run = jax.jit(jax.vmap(halve))
    x = jax.ShapeDtypeStruct((1024,), jnp.float32)
    loops = {
        platform: jax.export.export(run, platforms=[platform])(x)
        .mlir_module()
        .count("stablehlo.while")
        for platform in ("cpu", "cuda")
    }
    assert loops == {"cpu": 2, "cuda": 1}
