"""Threads for XLA's CPU backend, enough that a program never waits for itself.

And no more: idle ones cost time (benchmarks/NOTES.md, Threads and devices).
"""

import os
import re
import warnings

import jax
from jax._src import xla_bridge

# Up to this version a batched LAPACK kernel (Cholesky, LU, triangular solve) hands its matrices to
# the thread pool that it runs on and waits for them: where as many of them meet as the pool has
# threads, they wait for ever.
LAST_BLOCKING = (0, 11)
# More than meet in a step on one device, see `mjjax.dynamics.by_tree`. Idle threads look for work
# in the queues of all: twice as many cost an ant a tenth of its speed.
PER_DEVICE = 4
FEWEST = 8


def ensure_threads(devices: int = 1) -> None:
    """Gives XLA's pool more threads than LAPACK kernels ever meet, whatever NPROC says.

    XLA reads the variable when its CPU backend starts, with JAX's first array. On few cores and
    after that it is too late, which is a `RuntimeWarning`.

    The threads of XLA share the work already. Those that OpenBLAS (scipy's, which JAX calls) adds
    wait for each other where cores are busy: a Cholesky factorization for 180 dofs then takes 0.3 s
    instead of 0.2 ms (measured). So there are none, unless OPENBLAS_NUM_THREADS asks for them.

    Args:
        devices: CPU devices that there will be, all of which share the pool; at least as many as
            XLA_FLAGS or the configuration of JAX ask for.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if jax.__version_info__[:2] > LAST_BLOCKING:
        return
    cores = os.cpu_count() or 1
    given = int(os.environ.get("NPROC") or 0)
    enough = max(FEWEST, PER_DEVICE * max(cores, devices, *_devices_asked_for()))
    if not xla_bridge.backends_are_initialized():
        os.environ["NPROC"] = str(max(given, enough))
    elif (given or cores) < FEWEST and jax.default_backend() == "cpu":
        warnings.warn(
            f"JAX {jax.__version__} was in use before mjjax was imported, with {given or cores} "
            "threads: a batched simulation may wait for ever. Import mjjax before the first "
            f"jax.numpy call or jax.devices(), or set NPROC={FEWEST} in the environment.",
            RuntimeWarning,
            stacklevel=3,
        )


def _devices_asked_for() -> tuple[int, int]:
    """CPU devices by XLA_FLAGS and by the configuration of JAX, 0 for none."""
    flag = "--xla_force_host_platform_device_count="
    counts = re.findall(rf"{flag}(\d+)", os.environ.get("XLA_FLAGS", ""))
    return int(counts[-1]) if counts else 0, jax.config.jax_num_cpu_devices  # pyright: ignore
