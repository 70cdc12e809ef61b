"""Subroutines and short loops of kernels with much code."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from mjjax.xla.item_by_item import item_by_item
from mjjax.xla.kernel_code import few_rounds, subroutine


@subroutine
def product(a: jax.Array, b: jax.Array) -> jax.Array:
    return a * b - b


@subroutine
def twice(a: jax.Array) -> jax.Array:
    """A subroutine that calls another one."""
    return product(a, a) + product(a, 2 * a)


@pytest.mark.newest
def test_subroutines_are_computed_once() -> None:
    """In a kernel, what several results use is one call, not a copy of its operations for each."""
    x = jnp.linspace(0.1, 1, 5)

    def item(x: jax.Array) -> tuple[jax.Array, ...]:
        found = lax.while_loop(lambda s: s < 9, lambda s: s + 1 + twice(s), x)
        one = product(found, x)
        return one + x, one * x, one - found

    run = jax.jit(lambda x: item_by_item(item, x > 0, x)).lower(x).compile()
    text = run.as_text()
    assert text is not None
    assert text.count(" multiply(") == 5  # as many as are written: no result has its own copy
    expected = jax.vmap(item)(x)
    np.testing.assert_allclose(run(x), jnp.stack(expected), rtol=1e-6)


@pytest.mark.newest
@pytest.mark.parametrize("platform", ["cpu", "tpu"])
def test_few_rounds_are_a_loop_only_on_a_processor(
    platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result is that of a loop; the program of an accelerator has none."""
    monkeypatch.setattr(jax, "default_backend", lambda: platform)

    def total(x: jax.Array) -> jax.Array:
        return few_rounds(3, lambda k, s: s * x[k] + 1, jnp.float32(0))

    x = jnp.asarray([2.0, 3.0, 5.0], jnp.float32)
    text = str(jax.make_jaxpr(total)(x))
    assert ("while" in text or "scan" in text) == (platform == "cpu")
    assert total(x) == (1 * 3 + 1) * 5 + 1
