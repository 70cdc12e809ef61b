"""Products and factors as loops, in one kernel of a processor."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mjjax.xla import linalg
from mjjax.xla.indexing import sum_by_index
from mjjax.xla.item_by_item import one_kernel

RNG = np.random.default_rng(0)


def in_one_kernel(function: Callable[..., Any], *arrays: Any) -> Any:
    return jax.jit(lambda *arrays: one_kernel(function)(*arrays))(*arrays)


@pytest.mark.newest
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 5, 9, 30])
def test_systems(n: int, dtype: type) -> None:
    """Factors, of upper triangles alone, and solutions with them are LAPACK's."""
    rows = RNG.normal(size=(2 * n, n))
    matrix, b = (rows.T @ rows + np.eye(n)).astype(dtype), RNG.normal(size=n).astype(dtype)

    def both(a: jax.Array, b: jax.Array) -> Any:
        factor = linalg.cho_factor(a)
        return jnp.tril(factor), linalg.cho_solve(factor, b)

    factor, x = in_one_kernel(both, np.triu(matrix), b)
    close: dict[str, Any] = {"rtol": 2e-4, "atol": 2e-4} if dtype == np.float32 else {"rtol": 1e-10}
    np.testing.assert_allclose(factor, np.linalg.cholesky(np.float64(matrix)), **close)
    np.testing.assert_allclose(x, np.linalg.solve(np.float64(matrix), np.float64(b)), **close)


def test_an_indefinite_matrix_has_no_factor() -> None:
    """The factor of a matrix that is not positive definite is NaN, as LAPACK's."""
    factor = in_one_kernel(linalg.cho_factor, -np.eye(3))
    assert np.isnan(factor[-1, -1])


@pytest.mark.newest
@pytest.mark.parametrize(
    ("a", "b"),
    [((4,), (4, 5)), ((3, 4), (4,)), ((2, 3), (3, 2)), ((3, 3, 3), (3, 2)), ((9, 40), (40, 12)),
     ((2, 5, 8), (8, 8)), ((3, 0), (0, 2)), ((0, 9), (9, 9))],
    ids=str,
)  # fmt: skip
def test_products(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    """Products of all sizes are those of NumPy, also those that XLA would give to a library."""
    one, two = RNG.normal(size=a), RNG.normal(size=b)
    np.testing.assert_allclose(in_one_kernel(linalg.matmul, one, two), one @ two, rtol=1e-12)


def test_sums_by_index() -> None:
    """Numbers are added by a traced index, and dropped beyond the last one."""
    x, index = RNG.normal(size=(3, 5)), np.array([2, 0, 3, 2, 1], np.int32)
    expected = np.stack([x[:, 1], x[:, 4], x[:, 0] + x[:, 3]], axis=1)
    for run in (in_one_kernel, lambda f, *arrays: f(*map(jnp.asarray, arrays))):
        found = run(lambda x, index: sum_by_index(x, index, 3), x, index)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
