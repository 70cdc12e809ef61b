"""An episode of a policy, for pictures and pages."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array

from mjjax.core.convert import as_tree
from mjjax.dynamics.kinematics import PLACES
from mjjax.envs.environment import Environment, Params


class Episode(NamedTuple):
    """What an episode of n steps was.

    Attributes:
        moves: `qpos`, `mocap_pos` and `mocap_quat` after each step, (n, ...).
        rewards: (n,) rewards.
        interval: time of a step [s].
    """

    moves: dict[str, np.ndarray]
    rewards: np.ndarray
    interval: float


def episode(
    env: Environment,
    policy: Callable[[Array], Array],
    key: Array,
    params: Params | None = None,
) -> Episode:
    """Runs a policy up to the end of an episode.

    Args:
        env: environment.
        policy: function from an observation to an action.
        key: key of the start.
        params: parameters of the environment.
    """
    params = env.default_params if params is None else params
    longest = int(params.max_steps_in_episode)
    moves, rewards, ended = _run(env, longest, as_tree(policy), key, params)
    ends = np.flatnonzero(ended)
    count = ends[0] + 1 if len(ends) else len(rewards)
    kept = {name: np.asarray(x)[:count] for name, x in moves.items()}
    return Episode(kept, np.asarray(rewards)[:count], env.dt)


# A policy that is a tree is an argument, so the next policy of a training compiles nothing.
@functools.partial(jax.jit, static_argnums=(0, 1))
def _run(env: Environment, steps: int, policy: Any, key: Array, params: Params) -> Any:
    starting, going = jax.random.split(key)
    start = env.reset_env(starting, params)

    def one(carry: tuple[Array, Any], key: Array) -> tuple[Any, Any]:
        obs, state = carry
        obs, state, reward, done, _ = env.step_env(key, state, policy(obs), params)
        return (obs, state), (state, reward, done)

    _, (states, rewards, ended) = jax.lax.scan(one, start, jax.random.split(going, steps))

    def moved(state: Any) -> dict[str, Array]:
        data = env.data(state, params)
        return {name: getattr(data, name) for name in PLACES}

    return jax.vmap(moved)(states), rewards, ended
