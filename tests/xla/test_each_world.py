"""A function of one world, in one kernel for one world after the other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mjjax.xla.each_world import each_world
from mjjax.xla.loops import while_loop

X = np.random.default_rng(0).normal(size=(2, 3, 4))


def iterated(x: jax.Array, rate: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A vector (4,) that grows until it is long enough, and the number of rounds."""

    def grow(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        return state[0] * (1 + rate), state[1] + 1

    def short(state: tuple[jax.Array, jax.Array]) -> jax.Array:
        return (jnp.sum(state[0] ** 2) < 50) & (state[1] < 100)

    return while_loop(short, grow, (x, jnp.int32(0)))


def run(x: jax.Array, rate: jax.Array) -> tuple[jax.Array, jax.Array]:
    return each_world(iterated, x, rate)


def compared(found: tuple[jax.Array, jax.Array], expected: tuple[jax.Array, jax.Array]) -> None:
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.newest
@pytest.mark.parametrize("platform", ["cpu", "tpu"])
def test_worlds_of_any_vmaps(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One world, a batch, nested batches and arguments that worlds share have the plain results."""
    rate, rates = jnp.asarray(0.3), jnp.asarray([0.1, 0.2, 0.5])
    x = jnp.asarray(X)
    expected = [[iterated(x[i, j], r) for j, r in enumerate(rates)] for i in range(2)]
    monkeypatch.setattr(jax, "default_backend", lambda: platform)
    compared(jax.jit(run)(x[0, 0], rate), iterated(x[0, 0], rate))
    batch = jax.jit(jax.vmap(run))(x[0], rates)
    compared(batch, jax.tree.map(lambda *y: jnp.stack(y), *expected[0]))
    nested = jax.jit(jax.vmap(jax.vmap(run), in_axes=(0, None)))(x, rates)
    rows = [jax.tree.map(lambda *y: jnp.stack(y), *row) for row in expected]
    compared(nested, jax.tree.map(lambda *y: jnp.stack(y), *rows))
    shared = jax.jit(jax.vmap(run, in_axes=(0, None)))(x[:, 0], rate)
    alone = [iterated(x[i, 0], rate) for i in range(2)]
    compared(shared, jax.tree.map(lambda *y: jnp.stack(y), *alone))
    assert jax.vmap(run, in_axes=(0, None))(x[:0, 0], rate)[0].shape == (0, 4)
