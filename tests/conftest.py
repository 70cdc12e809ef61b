"""Settings of the whole suite: float64, strict JAX, and memory given back after each module."""

import gc
from collections.abc import Iterator

import jax
import pytest

import mjjax  # noqa: F401  before the first array, as a user would: it sees to XLA's threads

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_enable_compilation_cache", False)

# Tracing makes objects by the million, few of which are in cycles: looking for these all the time
# costs a tenth of the suite.
gc.freeze()
gc.set_threshold(200_000, 20, 100)


@pytest.fixture(autouse=True, scope="module")
def _give_back_memory() -> Iterator[None]:
    yield
    jax.clear_caches()
    gc.collect()
