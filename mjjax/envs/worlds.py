"""Many worlds that run on and on in one compiled program: when and how the next episode starts.

Each world has a random key of its own, which every step and every reset splits once. So a world
behaves the same alone and among others. The information of a step has Gymnasium's layout: beside
each entry `name`, `_name` says in which worlds it holds; in other worlds the entry is zero.
"""

import functools
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mjjax.core.struct import PyTree
from mjjax.envs.environment import Environment, EnvState, Params
from mjjax.envs.randomize import world_axes
from mjjax.xla.all_worlds import largest_of_worlds
from mjjax.xla.loops import cond
from mjjax.xla.namespace import where

# When the next episode starts: in the step that ends one, in the step after it, or by a reset.
Restart = Literal["same", "next", "never"]


class World(PyTree):
    """The state from which a world goes on; its key is an array of numbers, so `where` takes it."""

    key: Array
    state: EnvState
    obs: Array
    over: Array


class Stepped(NamedTuple):
    """Reward, ends and information of a step; a step that was a reset has reward zero."""

    reward: Array
    terminated: Array
    truncated: Array
    info: dict[str, Any]


def begin(env: Environment, key: Array, params: Params) -> World:
    """One world at the start of an episode."""
    key, starting = jax.random.split(key)
    obs, state = env.reset_env(starting, params)
    return World(key, state, obs, jnp.zeros((), bool))


def advance(
    env: Environment, restart: Restart, world: World, action: Array, params: Params
) -> tuple[World, Stepped]:
    """One step of one world."""
    key, stepping = jax.random.split(world.key)
    seen, state, reward, done, info = env.step_env(stepping, world.state, action, params)
    said = info["terms"] | {"bad_action": info["bad_action"]}
    ends = info["terminated"], info["truncated"]
    if restart == "never":
        said = _where_it_holds(jnp.ones((), bool), said)
        return World(key, state, seen, done), Stepped(reward, *ends, said)
    if restart == "next":
        starts, starting = world.over, stepping
        reward, done, *ends = (_or_zero(~starts, x) for x in (reward, done, *ends))
        said = _where_it_holds(~starts, said)
    else:
        starts, (after, starting) = done, jax.random.split(key)
        key = where(starts, after, key)
        final = {"final_obs": seen, "final_info": _where_it_holds(done, said)}
        said = _where_it_holds(~done, said) | _where_it_holds(done, final)
    # A new start is computed only in steps in which some world of the batch starts anew.
    begun = cond(
        largest_of_worlds(starts), lambda: env.reset_env(starting, params), lambda: (seen, state)
    )
    obs, state = jax.tree.map(lambda a, b: where(starts, a, b), begun, (seen, state))
    return World(key, state, obs, done), Stepped(reward, ends[0], ends[1], said)


def _where_it_holds(mask: Array, said: dict[str, Any]) -> dict[str, Any]:
    values = {name: jax.tree.map(lambda x: _or_zero(mask, x), x) for name, x in said.items()}
    return values | {f"_{name}": mask for name in said}


def _or_zero(mask: Array, x: Array) -> Array:
    return where(mask, x, jnp.zeros_like(x))


begin_one = jax.jit(begin, static_argnums=0)
advance_one = jax.jit(advance, static_argnums=(0, 1))


@functools.partial(jax.jit, static_argnums=0)
def begin_all(env: Environment, keys: Array, params: Params) -> World:
    """Worlds at the start of episodes; `params` may have a value per world."""
    return jax.vmap(functools.partial(begin, env), (0, world_axes(params)))(keys, params)


@functools.partial(jax.jit, static_argnums=(0, 1))
def advance_all(
    env: Environment, restart: Restart, worlds: World, actions: Array, params: Params
) -> tuple[World, Stepped]:
    """One step of all worlds; `params` may have a value per world."""
    one = functools.partial(advance, env, restart)
    return jax.vmap(one, (0, 0, world_axes(params)))(worlds, actions, params)


@jax.jit
def keys_of(seeds: Array) -> Array:
    """A random key per seed (n,)."""
    return jax.vmap(jax.random.PRNGKey)(seeds)


@jax.jit
def chosen_worlds(mask: Array, fresh: Any, now: Any) -> Any:
    """Takes some worlds from the batch `fresh` and the others from `now`, by a mask (n,)."""
    pick = jax.vmap(lambda some, x, y: where(some, x, y))
    return jax.tree.map(lambda x, y: pick(mask, x, y), fresh, now)
