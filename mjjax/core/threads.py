"""Threads for XLA's CPU backend, enough that a program never waits for itself."""

import os
import warnings

import jax
from jax._src import xla_bridge

# Up to this version a batched LAPACK kernel (Cholesky, LU, triangular solve) hands its matrices to
# the thread pool that it runs on and waits for them: where as many of them meet as the pool has
# threads, they wait for ever.
LAST_BLOCKING = (0, 11)
FEWEST = 16


def ensure_threads() -> None:
    """Gives XLA's pool more threads than LAPACK kernels ever meet, unless NPROC says how many.

    XLA reads the variable when its CPU backend starts, with JAX's first array. On few cores and
    after that it is too late, which is a `RuntimeWarning`.

    The threads of XLA share the work already. Those that OpenBLAS (scipy's, which JAX calls) adds
    wait for each other where cores are busy: a Cholesky factorization for 180 dofs then takes 0.3 s
    instead of 0.2 ms (measured). So there are none, unless OPENBLAS_NUM_THREADS asks for them.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if jax.__version_info__[:2] > LAST_BLOCKING or "NPROC" in os.environ:
        return
    cores = os.cpu_count() or 1
    if not xla_bridge.backends_are_initialized():
        os.environ["NPROC"] = str(max(FEWEST, 8 * cores))
    elif cores < FEWEST and jax.default_backend() == "cpu":
        warnings.warn(
            f"JAX {jax.__version__} was in use before mjjax was imported, with {cores} threads: "
            "a batched simulation may wait for ever. Import mjjax before the first jax.numpy call "
            "or jax.devices(), or set NPROC=16 in the environment.",
            RuntimeWarning,
            stacklevel=3,
        )
