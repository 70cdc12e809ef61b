"""Training on several devices, of one host or of many: each of them steps its part of the worlds.

Networks are the same on all devices. Their gradients are added up where a batch of learning has
steps of several devices.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from mjjax.envs.environment import Params
from mjjax.envs.randomize import world_axes
from mjjax.pipeline.devices import jit_worlds, mesh_of_worlds

# Fields of a state of rejax's algorithms that have a leading dimension of worlds.
_OF_WORLDS = ("env_state", "last_obs", "last_done")


def spread(algorithm: type[Any], params: Params) -> type[Any]:
    """A class of rejax whose worlds are stepped by all devices, each world with its parameters.

    It is the class itself for one device and the same parameters in all worlds.
    """
    axes = world_axes(params)
    if jax.device_count() == 1 and not jax.tree.leaves(axes):
        return algorithm

    def vmap_step(self: Any) -> Callable[..., Any]:
        def step(params: Params, key: Array, state: Any, action: Array) -> Any:
            return self.env.step(key, state, action, params)

        return lambda *given: run_worlds(step, given[-1], *given[:-1])

    def vmap_reset(self: Any) -> Callable[..., Any]:
        def reset(params: Params, key: Array) -> Any:
            return self.env.reset(key, params)

        return lambda keys, params: run_worlds(reset, params, keys)

    methods = {"vmap_step": property(vmap_step), "vmap_reset": property(vmap_reset)}
    return type(algorithm.__name__, (algorithm,), methods)


def check_worlds(params: Params, worlds: int) -> None:
    """Refuses parameters of another number of worlds.

    Raises:
        ValueError: a parameter has a dimension of worlds that is not their number.
    """
    for x, is_own in zip(jax.tree.leaves(params), _own(params), strict=True):
        if is_own and x.shape[0] != worlds:
            raise ValueError(f"parameters are of {x.shape[0]} worlds, but num_envs is {worlds}")


def run_worlds(function: Callable[..., Any], params: Params, *given: Any) -> Any:
    """`function(params, *given)` of all worlds, of which each device computes its part.

    If the devices cannot share the worlds evenly, the compiler decides who computes what.

    Args:
        function: function of one world.
        params: parameters, some of which may have a dimension of worlds.
        given: trees of arrays with a dimension of worlds.
    """
    axes = world_axes(params)
    every = jax.vmap(function, in_axes=(axes, *[0] * len(given)))
    if jax.tree.leaves(given)[0].shape[0] % jax.device_count():
        return every(params, *given)
    (leaves, tree), is_own = jax.tree.flatten(params), _own(params)

    def run(shared: list[Array], batch: tuple[list[Array], tuple[Any, ...]]) -> Any:
        own, given = batch
        both = iter(own), iter(shared)
        return every(tree.unflatten([next(both[not mine]) for mine in is_own]), *given)

    own, shared = (
        [x for x, mine in zip(leaves, is_own, strict=True) if mine is kind]
        for kind in (True, False)
    )
    return jit_worlds(run)(shared, (own, given))


def _own(params: Params) -> list[bool]:
    """Which leaves have a value per world."""
    axes = jax.tree.structure(params).flatten_up_to(world_axes(params))
    return [axis == 0 for axis in axes]


def chosen(params: Params, count: int) -> Params:
    """The parameters of `count` worlds: those of the first, and of all again if there are fewer."""
    leaves, tree = jax.tree.flatten(params)
    worlds = [
        jnp.take(x, np.arange(count) % x.shape[0], axis=0) if is_own else x
        for x, is_own in zip(leaves, _own(params), strict=True)
    ]
    return tree.unflatten(worlds)


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
