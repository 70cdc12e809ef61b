"""The algorithms of rejax, with our settings and our policy.

rejax's state is a pytree that its functions take and return, so a training can stop after any call
and go on from there.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from mjjax.envs.environment import Environment, Params
from mjjax.training.policy import Policy
from mjjax.training.spread import check_worlds, chosen, run_worlds, spread

TEST_WORLDS = 64
# What every algorithm begins with.
_SHARED: dict[str, Any] = {
    "hidden_layer_sizes": (64, 64),
    "normalize_observations": True,
}
# Settings for all tasks, by algorithm.
ALGORITHMS: dict[str, dict[str, Any]] = {
    "ppo": _SHARED
    | {
        "num_envs": 256,
        "num_steps": 64,
        "num_minibatches": 8,
        "num_epochs": 4,
        "learning_rate": 1e-3,
        "gamma": 0.98,  # with 0.99 the return of the swing-up falls by a third after its maximum
        "gae_lambda": 0.95,
        "ent_coef": 0.0,
        "max_grad_norm": 0.5,
        "normalize_rewards": True,
    },
    "sac": _SHARED
    | {
        "num_envs": 64,
        "num_epochs": 32,  # updates after a step of all worlds
        "batch_size": 256,
        "buffer_size": 500_000,
        "fill_buffer": 8_192,
        "learning_rate": 1e-3,
        "gamma": 0.98,
        "polyak": 0.995,
    },
    "shac": _SHARED
    | {
        "num_envs": 64,
        "num_steps": 8,
        "num_minibatches": 2,
        "num_epochs": 8,  # of the critic
        "learning_rate": 1e-3,
        "critic_learning_rate": 2e-3,
        "gamma": 0.99,
        "gae_lambda": 0.8,
        "max_grad_norm": 1.0,
        "normalize_rewards": True,
    },
}
# Fields of rejax's classes that are not settings.
_INNER = {"env", "env_params", "eval_callback", "eval_freq", "skip_initial_evaluation"}
_INNER |= {"total_timesteps", "actor", "critic"}
# Fields of their states that a policy consists of.
_OF_POLICY = ("actor_ts", "obs_rms_state")


def settings_of(algorithm: str) -> dict[str, Any]:
    """All settings of an algorithm, by name, with their values if nothing is said.

    Raises:
        ImportError: rejax is missing.
        ValueError: there is no such algorithm.
    """
    if algorithm not in ALGORITHMS:
        raise ValueError(f"no algorithm {algorithm!r}; there are {', '.join(ALGORITHMS)}")
    fields = dataclasses.fields(_class(algorithm))
    known = {f.name: f.default for f in fields if f.name not in _INNER}
    return known | ALGORITHMS[algorithm]


def check_settings(algorithm: str, settings: Mapping[str, Any]) -> None:
    """Refuses settings that an algorithm does not have, and worlds that devices cannot share.

    Raises:
        ImportError: rejax is missing.
        ValueError: there is no such algorithm or setting, or devices cannot share the worlds.
    """
    known = settings_of(algorithm)
    for name in settings:
        if name not in known:
            raise ValueError(f"{algorithm} has no setting {name!r}; it has {', '.join(known)}")
    worlds, devices = (known | dict(settings))["num_envs"], jax.device_count()
    if worlds % devices:
        more = -(-worlds // devices) * devices
        raise ValueError(f"{devices} devices cannot share {worlds} worlds; {more} they can")


def made(
    algorithm: str, env: Environment, params: Params, steps: int, settings: Mapping[str, Any]
) -> Any:
    """The algorithm, which makes `steps` steps in a call and then tests its policy.

    Raises:
        ImportError: rejax is missing.
        ValueError: there is no such algorithm or setting, or devices cannot share the worlds.
    """
    check_settings(algorithm, settings)
    values = ALGORITHMS[algorithm] | dict(settings)
    check_worlds(params, values["num_envs"])
    network = {"activation": "tanh", "hidden_layer_sizes": values.pop("hidden_layer_sizes")}
    return (
        spread(_class(algorithm), params)
        .create(
            env=env,
            env_params=params,
            total_timesteps=steps,
            eval_freq=steps,
            skip_initial_evaluation=True,
            agent_kwargs=network,
            **values,
        )
        .replace(eval_callback=tested)
    )


def tested(algorithm: Any, state: Any, key: Array) -> tuple[Array, Array]:
    """Lengths and returns of `TEST_WORLDS` episodes, in worlds of their own."""
    from rejax.evaluate import evaluate_single

    others = {x.name: None for x in dataclasses.fields(state) if x.name not in _OF_POLICY}
    act = algorithm.make_act(state.replace(**others))

    def episode(params: Params, key: Array) -> Any:
        return evaluate_single(act, algorithm.env, params, key, params.max_steps_in_episode)

    params = chosen(algorithm.env_params, TEST_WORLDS)
    return run_worlds(episode, params, jax.random.split(key, TEST_WORLDS))


def steps_of_iteration(algorithm: Any) -> int:
    """Steps of the environments, together, in an iteration."""
    return algorithm.num_envs * getattr(algorithm, "num_steps", 1)


def annealed(algorithm: Any, steps: int) -> Any:
    """An algorithm with a learning rate that falls to zero, so that a good policy stays good.

    SAC, which learns from steps of long ago too, keeps its rate.
    """
    updates = -(-steps // steps_of_iteration(algorithm))
    match type(algorithm).__name__:
        case "SAC":
            return algorithm
        case "PPO":
            updates *= algorithm.num_epochs * algorithm.num_minibatches
    import optax

    rate = optax.linear_schedule(float(algorithm.learning_rate), 0.0, updates)
    return algorithm.replace(learning_rate=rate)


def policy_of(state: Any) -> Policy:
    """The policy in a state of an algorithm."""
    network, seen = state.actor_ts.params["params"], state.obs_rms_state
    features = network["features"]
    count = sum(name.startswith("Dense") for name in features)
    dense = [*(features[f"Dense_{k}"] for k in range(count)), network["action_mean"]]
    layers = [(layer["kernel"], layer["bias"]) for layer in dense]
    scales = [features.get(f"LayerNorm_{k}") for k in range(count)]
    norms = [(norm["scale"], norm["bias"]) for norm in scales if norm]
    # PPO clips its actions. The others end their networks by tanh.
    squashed = bool(norms) or hasattr(state, "alpha_ts")
    return Policy(seen.mean, jnp.sqrt(seen.var + 1e-8), layers, norms, squashed)


def staggered(state: Any, params: Params, key: Array) -> Any:
    """The state with worlds that are at different times of their episodes.

    If all began at once, the learner would see one part of the episode after the other.
    """
    worlds = state.env_state
    longest = params.max_steps_in_episode
    times = jax.random.randint(key, worlds.time.shape, 0, longest, jnp.int32)
    return state.replace(env_state=worlds.replace(time=times))


def _class(algorithm: str) -> Any:
    import rejax

    from mjjax.training.shac import SHAC

    return SHAC if algorithm == "shac" else getattr(rejax, algorithm.upper())
