"""Settings of the whole suite: float64, strict JAX, and memory given back after each module."""

import os
from collections.abc import Iterator

import jax
import pytest

import mjjax  # noqa: F401  before the first array, as a user would: it sees to XLA's threads

# Read when scipy.linalg is loaded, by the first Cholesky: beside other programs its threads wait
# for each other, at 180 dofs for 0.3 s instead of 0.2 ms (measured).
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_enable_compilation_cache", False)


@pytest.fixture(autouse=True, scope="module")
def _give_back_memory() -> Iterator[None]:
    yield
    jax.clear_caches()
