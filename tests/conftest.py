"""Settings of the whole suite: float64, strict JAX, and memory given back after each module."""

import os
from collections.abc import Iterator

import jax
import pytest

# XLA's batched LAPACK kernels wait for threads of the pool that they run on: where as many of them
# meet as the pool has threads (two cores, say), they wait for ever. More threads than kernels help.
os.environ.setdefault("NPROC", "16")
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_enable_compilation_cache", False)


@pytest.fixture(autouse=True, scope="module")
def _give_back_memory() -> Iterator[None]:
    yield
    jax.clear_caches()
