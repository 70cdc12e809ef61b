"""Worlds spread over devices: each runs its own worlds and never waits for another.

model, batch = mjjax.shard_worlds(model, batch)
step = mjjax.jit_worlds(jax.vmap(mjjax.step, in_axes=(None, 0)))
batch = step(model, batch)
"""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from mjjax.model.model import Model

Batch = TypeVar("Batch")
_WORLDS = P("worlds")


def shard_worlds(model: Model, batch: Batch, devices: int | None = None) -> tuple[Model, Batch]:
    """The model on every device, and of a batch of worlds each its part.

    Args:
        model: one model for all worlds.
        batch: a tree of arrays with the worlds as leading dimension, such as a batch of `Data`.
        devices: how many of `jax.devices()`; all by default.

    Raises:
        ValueError: there are fewer devices, or the worlds cannot be divided evenly among them.
    """
    mesh = _mesh(devices)
    worlds = {np.shape(x)[0] if np.ndim(x) else None for x in jax.tree.leaves(batch)}
    if len(worlds) > 1 or any(n is None or n % mesh.size for n in worlds):
        raise ValueError(
            f"{mesh.size} devices cannot share a batch with leading dimensions {worlds}; "
            "their number must be the same and a multiple of that of devices"
        )
    model = jax.device_put(model, NamedSharding(mesh, P()))
    return model, jax.device_put(batch, NamedSharding(mesh, _WORLDS))


def jit_worlds(function: Callable[..., Any], devices: int | None = None) -> Any:
    """`jax.jit` of `function(model, batch, *rest)`, run by each device on its part of the batch.

    Loops, such as the solver's, run as often as the worlds of one device need, where a program of
    `jax.jit` on a sharded batch runs them as often as any world does and exchanges a flag each
    time. The derivative is that of `function`.

    Args:
        function: what to run; all of its results must have the worlds as leading dimension.
        devices: how many of `jax.devices()`; all by default. As for `shard_worlds`.
    """
    mesh = _mesh(devices)

    def spread(model: Model, batch: Any, *rest: Any) -> Any:
        specs = (P(), _WORLDS, *[P()] * len(rest))
        # Loops run a number of rounds that differs between devices: not to be checked.
        inner = jax.shard_map(
            function, mesh=mesh, in_specs=specs, out_specs=_WORLDS, check_vma=False
        )
        return inner(model, batch, *rest)

    # Named, because arrays without elements would come back as if they were everywhere.
    return jax.jit(spread, out_shardings=NamedSharding(mesh, _WORLDS))


def _mesh(count: int | None) -> Mesh:
    found = jax.devices()
    if count is not None and not 1 <= count <= len(found):
        raise ValueError(f"{count} devices asked for, JAX has {len(found)}")
    return Mesh(np.asarray(found[:count]), ("worlds",))
