"""Spreads worlds over devices. Each device runs its own worlds and never waits for another one.

mjjax.use_all_cores()
model, batch = mjjax.shard_worlds(model, batch)
step = mjjax.jit_worlds(jax.vmap(mjjax.step, in_axes=(None, 0)))
batch = step(model, batch)
"""

import os
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from mjjax.model.model import Model
from mjjax.xla.threads import ensure_threads

Batch = TypeVar("Batch")
_WORLDS = P("worlds")


def use_all_cores(count: int | None = None) -> bool:
    """Makes each core of the processor a JAX device; call it before JAX is first used.

    XLA runs small batched matrix products on about one core, however large the batch is. A batch
    that is spread over devices runs on all cores.

    Args:
        count: number of CPU devices; by default the number of cores that this process may use.

    Returns:
        Whether the call was early enough. If not, JAX keeps the devices that it has.
    """
    count = count or cores()
    ensure_threads(count)
    try:
        jax.config.update("jax_num_cpu_devices", count)
    except RuntimeError:
        return len(jax.devices("cpu")) == count
    return True


def cores() -> int:
    """Number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def shard_worlds(model: Model, batch: Batch, devices: int | None = None) -> tuple[Model, Batch]:
    """Copies the model to every device, and gives each device its part of a batch of worlds.

    With several processes (`jax.distributed.initialize`), each process gives its own worlds. All
    worlds together are one batch over the devices of all processes.

    Args:
        model: one model for all worlds.
        batch: a tree of arrays with the worlds as leading dimension, such as a batch of `Data`.
        devices: how many of `jax.devices()` to use; all by default.

    Raises:
        ValueError: there are not that many devices, or they cannot share the worlds evenly.
    """
    mesh = mesh_of_worlds(devices)
    worlds = {np.shape(x)[0] if np.ndim(x) else None for x in jax.tree.leaves(batch)}
    own = mesh.local_mesh.size
    if len(worlds) > 1 or any(n is None or n % own for n in worlds):
        raise ValueError(
            f"{own} devices cannot share a batch with leading dimensions {worlds}; "
            "these must be equal, and a multiple of the number of devices"
        )
    return _put(model, NamedSharding(mesh, P())), _put(batch, NamedSharding(mesh, _WORLDS))


def _put(tree: Batch, sharding: NamedSharding) -> Batch:
    """Arrays on the devices; each process gives the part that is on its own devices."""
    if jax.process_count() == 1:
        return jax.device_put(tree, sharding)
    return jax.tree.map(
        lambda x: jax.make_array_from_process_local_data(sharding, np.asarray(x)), tree
    )


def jit_worlds(
    function: Callable[..., Any],
    devices: int | None = None,
    **options: Any,
) -> Any:
    """`jax.jit` of `function(model, batch, *rest)`, run by each device on its part of the batch.

    Loops, such as those of the solver, run as often as the worlds of one device need. With plain
    `jax.jit` on a sharded batch, they would run as often as the slowest of all worlds needs, and
    the devices would exchange a flag in each iteration. The derivative is that of `function`.

    The results agree with `jax.jit(function)` up to rounding. For several devices, or another
    number of worlds per device, XLA compiles a different program, which may round sums of products
    differently. Two devices give the same bits as eight devices with as many worlds on each.

    Args:
        function: the function to run; all of its results must have the worlds as leading dimension.
        devices: how many of `jax.devices()` to use; all by default, as for `shard_worlds`.
        options: options of `jax.jit`, such as `donate_argnums`.
    """
    mesh = mesh_of_worlds(devices)

    def spread(model: Model, batch: Any, *rest: Any) -> Any:
        worlds = jax.tree.leaves(batch)[0].shape[0]
        given = [_with_elements(x) for x in (model, batch, *rest)]
        leading = (None, worlds // mesh.size, *[None] * len(rest))
        whole = None

        def own(*some: Any) -> Any:
            nonlocal whole
            trees = [back(x, n) for (_, back), x, n in zip(given, some, leading, strict=True)]
            found, whole = _with_elements(function(*trees))
            return found

        specs = (P(), _WORLDS, *[P()] * len(rest))
        # The check is off: a loop of the user may start from constants, which it would refuse.
        inner = jax.shard_map(own, mesh=mesh, in_specs=specs, out_specs=_WORLDS, check_vma=False)
        found = inner(*(x for x, _ in given))
        assert whole is not None
        return whole(found, worlds)

    # The sharding is given, because arrays without elements would otherwise come back replicated.
    return jax.jit(spread, out_shardings=NamedSharding(mesh, _WORLDS), **options)


def _with_elements(tree: Any) -> tuple[list[Any], Callable[[list[Any], int | None], Any]]:
    """The arrays of a tree that have elements, and a function that makes the tree of them again.

    The second argument of that function is the leading dimension of arrays without elements, if it
    changes. The compiler of JAX 0.11.2 crashes if such arrays enter or leave a device's program.
    """
    leaves, form = jax.tree.flatten(tree)
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in leaves]

    def back(some: list[Any], leading: int | None) -> Any:
        arrays = iter(some)
        lead = [x.shape[:1] if leading is None else (leading,) for x in shapes]
        return form.unflatten(
            next(arrays) if x.size else jnp.zeros((*n, *x.shape[1:]), x.dtype)
            for x, n in zip(shapes, lead, strict=True)
        )

    return [x for x in leaves if x.size], back


def mesh_of_worlds(count: int | None = None) -> Mesh:
    """The first `count` devices, all by default, in one axis `worlds`."""
    found = jax.devices()
    if count is not None and not 1 <= count <= len(found):
        raise ValueError(f"{count} devices asked for, but JAX has {len(found)}")
    return Mesh(np.asarray(found[:count]), ("worlds",))
