"""Training on several devices, of one host or of many: each of them steps its part of the worlds.

Networks are the same on all devices. Their gradients are added up where a batch of learning has
steps of several devices.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from mjjax.pipeline.devices import jit_worlds, mesh_of_worlds

# Fields of a state of rejax's algorithms that have a leading dimension of worlds.
_OF_WORLDS = ("env_state", "last_obs", "last_done")


def spread(algorithm: type[Any]) -> type[Any]:
    """A class of rejax whose worlds are stepped by all devices; the class itself for one device."""
    if jax.device_count() == 1:
        return algorithm

    def vmap_step(self: Any) -> Callable[..., Any]:
        step = jax.vmap(self.env.step, in_axes=(0, 0, 0, None))
        run = jit_worlds(lambda params, given: step(*given, params))
        return lambda keys, state, action, params: run(params, (keys, state, action))

    def vmap_reset(self: Any) -> Callable[..., Any]:
        reset = jax.vmap(self.env.reset, in_axes=(0, None))
        run = jit_worlds(lambda params, keys: reset(keys, params))
        return lambda keys, params: run(params, keys)

    methods = {"vmap_step": property(vmap_step), "vmap_reset": property(vmap_reset)}
    return type(algorithm.__name__, (algorithm,), methods)


def run_worlds(function: Callable[[Any, Array], Any], shared: Any, keys: Array) -> Any:
    """`function(shared, keys)`, of which each device computes its part of the worlds."""
    if len(keys) % jax.device_count():
        return function(shared, keys)
    return jit_worlds(function)(shared, keys)


def shardings(state: Any, seeds: int) -> Any:
    """Where each array of a state is: its worlds on all devices, the rest on each."""
    shared = NamedSharding(mesh_of_worlds(), P("worlds") if seeds == 1 else P(None, "worlds"))

    def where(name: str) -> Any:
        place = shared if name in _OF_WORLDS else on_each()
        return jax.tree.map(lambda _: place, getattr(state, name))

    return state.replace(**{x.name: where(x.name) for x in dataclasses.fields(state)})


def on_each() -> NamedSharding:
    """Whole on each device."""
    return NamedSharding(mesh_of_worlds(), P())


def settled(state: Any, types: Any, places: Any) -> Any:
    """The state, with the types and places that it has after each call.

    rejax begins with numbers of Python. Its program would be compiled again for the second call.
    """
    leaves, tree = jax.tree.flatten(state)
    wanted = [x.dtype for x in jax.tree.leaves(types)]

    def settle(leaves: list[Array]) -> list[Array]:
        return [jnp.asarray(x, t) for x, t in zip(leaves, wanted, strict=True)]

    return tree.unflatten(jax.jit(settle, out_shardings=jax.tree.leaves(places))(leaves))
