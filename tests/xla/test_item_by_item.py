"""Functions of single items: one kernel on a processor, side by side elsewhere, equal results."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from mjjax.xla.item_by_item import gathered_rows, item_by_item
from mjjax.xla.operations import operations

TABLE = np.arange(12, dtype=np.int32)[::-1].reshape(4, 3)


def search(item: dict, table: jax.Array, none: jax.Array) -> tuple[jax.Array, dict]:
    """A loop and a branch whose lengths and ways depend on the item; not every input matters."""
    del none
    x, k = item["x"], item["k"]

    def step(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        n, x = state
        return n + 1, jnp.sin(x) * table[n % 4] + x

    n, y = lax.while_loop(lambda s: (s[0] < k) & (jnp.max(s[1]) < 9), step, (jnp.int32(0), x))
    row = jnp.asarray(TABLE)[n % 4]
    return lax.cond(jnp.sum(y) > 3, lambda: y * 2, lambda: -y), {"row": row, "n": n}


def items(n: int, dtype: type) -> dict:
    rng = np.random.default_rng(0)
    return {
        "x": jnp.asarray(rng.normal(size=(n, 3)), dtype),
        "k": jnp.asarray(rng.integers(0, 30, n), jnp.int32),
        "unused": jnp.zeros((n, 2), dtype),
    }


def compared(found: tuple, alone: tuple, on: np.ndarray) -> None:
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(alone), strict=True):
        np.testing.assert_allclose(x[on], y[on], rtol=1e-5)


@pytest.mark.newest
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("platform", ["cpu", "tpu"])
def test_equals_the_function_of_each_item(
    dtype: type, platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each item that is on has its own result, whichever inputs are used, constant or empty."""
    given, on = items(9, dtype), np.arange(9) % 3 != 1
    table, empty = jnp.linspace(0, 1, 4, dtype=dtype), jnp.zeros((0, 3), dtype)
    alone = jax.vmap(search, in_axes=(0, None, None))(given, table, empty)
    monkeypatch.setattr(jax, "default_backend", lambda: platform)

    @jax.jit
    def traced(on: jax.Array, given: dict, table: jax.Array) -> tuple:
        return item_by_item(search, on, given, table, empty)

    compared(traced(on, given, table), alone, on)
    compared(jax.jit(lambda on: traced(on, given, table))(on), alone, on)
    nothing = traced(np.zeros(9, bool), given, table)
    assert jax.tree.map(jnp.shape, nothing) == jax.tree.map(jnp.shape, alone)


@pytest.mark.newest
def test_is_one_kernel_on_a_processor() -> None:
    """The JAX at hand compiles the loop over items, with all that is in it, as one kernel."""
    given, on = items(9, np.float32), np.ones(9, bool)
    table, empty = jnp.linspace(0, 1, 4, dtype=jnp.float32), jnp.zeros((0, 3), jnp.float32)
    run = jax.jit(lambda on, given: item_by_item(search, on, given, table, empty))
    text = run.lower(on, given).compile().as_text()
    assert text is not None
    entry = text[text.index("\nENTRY") :]
    assert 'xla_cpu_small_call="true"' in entry
    assert " while(" not in entry
    counts = operations(run.lower(on, given).compile())
    assert counts["loops"] == 0 and counts["fusions"] < 20


@pytest.mark.newest
@pytest.mark.parametrize("platform", ["cpu", "tpu"])
def test_rows_are_gathered_in_order(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are on come first, in their order."""
    monkeypatch.setattr(jax, "default_backend", lambda: platform)
    on = np.array([False, True, False, True, True])
    rows = {"a": np.arange(10.0).reshape(5, 2), "b": np.arange(5)}
    found, total = jax.jit(gathered_rows)(rows, on)
    assert total == 3
    np.testing.assert_array_equal(found["b"][:3], [1, 3, 4])
    np.testing.assert_array_equal(found["a"][:3], rows["a"][on])
