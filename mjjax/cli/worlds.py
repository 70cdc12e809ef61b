"""Many worlds at once, on all cores."""

import contextlib
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import mjjax

JITTER = 0.01  # standard deviation of the start: m or rad, and m/s or rad/s


class Watch(NamedTuple):
    """The largest counts seen in any world at any step."""

    ncon: jax.Array
    nefc: jax.Array


def use_all_cores() -> None:
    """Makes one JAX CPU device per core; call before JAX is first used.

    XLA runs small batched matrix products on about one core, whatever the batch; a batch spread
    over devices runs on all of them.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    more_threads()
    with contextlib.suppress(RuntimeError):  # JAX is in use already and keeps its devices
        jax.config.update("jax_num_cpu_devices", cores or 1)


def more_threads() -> None:
    """Gives XLA's pool more threads than cores; call before JAX is first used.

    XLA's batched LAPACK kernels (Cholesky, triangular solve) wait for threads of the pool that
    they run on. Where as many of them meet as the pool has threads, they wait for ever.
    """
    os.environ.setdefault("NPROC", str(8 * (os.cpu_count() or 1)))


class Spread:
    """Worlds split over devices: each runs its own worlds and never waits for another.

    Args:
        devices: how many; must divide the number of worlds.
    """

    def __init__(self, devices: int):
        self.mesh = Mesh(np.asarray(jax.devices()[:devices]), ("worlds",))
        self.worlds = NamedSharding(self.mesh, P("worlds"))

    def place(self, model: Any, batch: Any) -> tuple[Any, Any]:
        """The model on every device, and of the batch of worlds each its part."""
        everywhere = NamedSharding(self.mesh, P())
        return jax.device_put(model, everywhere), jax.device_put(batch, self.worlds)

    def jit(self, f: Callable[..., Any]) -> Any:
        """`jax.jit` of `f(model, batch, *rest)`, run by each device on its part of the batch.

        All results of `f` must have the worlds as leading dimension.
        """

        def spread(model: Any, batch: Any, *rest: Any) -> Any:
            specs = (P(), P("worlds"), *[P()] * len(rest))
            # Loops run a number of rounds that differs between devices: not to be checked.
            inner = jax.shard_map(
                f, mesh=self.mesh, in_specs=specs, out_specs=P("worlds"), check_vma=False
            )
            return inner(model, batch, *rest)

        # Named, because arrays without elements would come back as if they were everywhere.
        return jax.jit(spread, out_shardings=self.worlds)


def start(model: mjjax.Model, worlds: int, seed: int) -> mjjax.Data:
    """A batch of worlds near the reference configuration, each a little different."""

    def one(key: jax.Array) -> mjjax.Data:
        data = mjjax.make_data(model)
        kq, kv = jax.random.split(key)
        dq = JITTER * jax.random.normal(kq, data.qvel.shape, data.qvel.dtype)
        qvel = JITTER * jax.random.normal(kv, data.qvel.shape, data.qvel.dtype)
        qpos = mjjax.integrate_pos(model, data.qpos, dq, jnp.ones((), dq.dtype))
        return data.replace(qpos=qpos, qvel=qvel)

    return jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(seed), worlds))


def advance(model: mjjax.Model, batch: mjjax.Data, nstep: jax.Array) -> tuple[mjjax.Data, Watch]:
    """`nstep` steps of every world; `nstep` is traced, so that any number runs the same program."""

    def body(_: jax.Array, carry: tuple[mjjax.Data, Watch]) -> tuple[mjjax.Data, Watch]:
        batch, seen = carry
        batch = jax.vmap(mjjax.step, in_axes=(None, 0))(model, batch)
        return batch, Watch(jnp.maximum(seen.ncon, batch.ncon), jnp.maximum(seen.nefc, batch.nefc))

    nothing = Watch(jnp.zeros_like(batch.ncon), jnp.zeros_like(batch.nefc))
    return jax.lax.fori_loop(0, nstep, body, (batch, nothing))
