"""Systems of linear equations: what is hardly ever indefinite, several with one matrix."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mjjax.math import linalg
from tests.derivatives import derivative_errors, directions
from tests.oracle_tools import quick

RNG = np.random.default_rng(0)
CLOSE: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-12}


def positive(n: int, seed: int) -> np.ndarray:
    a = np.random.default_rng(seed).normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


@pytest.mark.feature("C20")
def test_symmetric_systems() -> None:
    """One indefinite matrix in a batch is solved, too; derivatives in both modes, twice batched."""
    a = np.stack([positive(4, seed) for seed in range(3)])
    a[1] -= 6 * np.eye(4)
    assert np.linalg.eigvalsh(a[1])[0] < -0.1
    b = RNG.normal(size=(3, 4))
    x = jax.tree.map(jnp.asarray, (a, b))

    def solve(x: Any) -> Any:
        a, b = x
        return linalg.solve_symmetric(0.5 * (a + a.T), b)

    expected = np.linalg.solve(a, b[..., None])[..., 0]
    found = quick(jax.vmap(solve))(x)
    np.testing.assert_allclose(found, expected, **CLOSE)
    twice = jax.vmap(jax.vmap(solve))(jax.tree.map(lambda x: x[None], x))
    np.testing.assert_allclose(twice[0], expected, **CLOSE)
    assert not derivative_errors(solve, x, directions(x, 0))
    # several right-hand sides share a factor, in a batch and by themselves
    some = jnp.asarray(RNG.normal(size=(3, 5, 4)))
    columns = jax.vmap(linalg.solve_symmetric, in_axes=(None, 0))
    expected = np.linalg.solve(a[:, None], some[..., None])[..., 0]
    np.testing.assert_allclose(jax.vmap(columns)(x[0], some), expected, **CLOSE)
    np.testing.assert_allclose(columns(x[0][1], some[1]), expected[1], **CLOSE)
