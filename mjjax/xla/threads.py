"""Gives XLA's CPU backend enough threads that a program never waits for itself.

It gives no more than that, because idle threads cost time (benchmarks/NOTES.md, Threads and
devices).
"""

import os
import re
import sys
import warnings
from importlib import metadata

# Up to this version, a batched LAPACK kernel (Cholesky, LU, triangular solve) hands its matrices to
# the thread pool that it runs on, and waits for them. If as many such kernels run at once as the
# pool has threads, they wait for ever.
LAST_BLOCKING = (0, 11)
# This is more than the number of such kernels that run at once in a step on one device, see
# `mjjax.dynamics.by_tree`. Idle threads look for work in the queues of all others: with twice as
# many threads, an ant is a tenth slower.
PER_DEVICE = 4
FEWEST = 8


def ensure_threads(devices: int = 1) -> None:
    """Gives XLA's pool more threads than LAPACK kernels run at once, whatever NPROC says.

    XLA reads the variable when its CPU backend starts, with JAX's first array. After that it is too
    late, and on few cores this function then gives a `RuntimeWarning`.

    XLA's threads already share the work. If cores are busy, further threads of OpenBLAS (scipy's,
    which JAX calls) wait for each other: a Cholesky factorization for 180 dofs then takes 0.3 s
    instead of 0.2 ms (measured). So OpenBLAS gets none, unless OPENBLAS_NUM_THREADS asks for them.

    Args:
        devices: number of CPU devices that will share the pool, if it is more than XLA_FLAGS or the
            configuration of JAX ask for.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    version = metadata.version("jax")  # JAX itself takes a second to import
    if tuple(map(int, version.split(".")[:2])) > LAST_BLOCKING:
        return
    cores = os.cpu_count() or 1
    given = int(os.environ.get("NPROC") or 0)
    enough = max(FEWEST, PER_DEVICE * max(cores, devices, *_devices_asked_for()))
    if not _cpu_backend_runs():
        os.environ["NPROC"] = str(max(given, enough))
    elif (given or cores) < FEWEST and sys.modules["jax"].default_backend() == "cpu":
        warnings.warn(
            f"JAX {version} was in use before mjjax was imported, with {given or cores} "
            "threads: a batched simulation may wait for ever. Import mjjax before the first "
            f"jax.numpy call or jax.devices(), or set NPROC={FEWEST} in the environment.",
            RuntimeWarning,
            stacklevel=3,
        )


def _cpu_backend_runs() -> bool:
    if "jax" not in sys.modules:
        return False
    from jax._src import xla_bridge

    return xla_bridge.backends_are_initialized()


def _devices_asked_for() -> tuple[int, int]:
    """Number of CPU devices by XLA_FLAGS and by the configuration of JAX; 0 if they say nothing."""
    flag = "--xla_force_host_platform_device_count="
    counts = re.findall(rf"{flag}(\d+)", os.environ.get("XLA_FLAGS", ""))
    jax = sys.modules.get("jax")
    return int(counts[-1]) if counts else 0, jax.config.jax_num_cpu_devices if jax else 0
