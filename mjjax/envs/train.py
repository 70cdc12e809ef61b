"""Training by PPO (rejax): policy, learning and physics are one compiled program.

Needs `pip install 'mjjax[train]'`.
"""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mjjax.core.representation import represent
from mjjax.core.struct import PyTree
from mjjax.envs.environment import Environment, Params

TEST_WORLDS = 64
# Settings of rejax's PPO for all tasks.
SETTINGS: dict[str, Any] = {
    "num_envs": 256,
    "num_steps": 64,
    "num_minibatches": 8,
    "num_epochs": 4,
    "learning_rate": 1e-3,
    "gamma": 0.98,  # with 0.99 the return of the swing-up falls by a third after its maximum
    "gae_lambda": 0.95,
    "ent_coef": 0.0,
    "max_grad_norm": 0.5,
    "normalize_observations": True,
    "normalize_rewards": True,
}
HIDDEN = (64, 64)  # sizes of the hidden layers of the policy and of the value function


class Point(NamedTuple):
    """A point of a learning curve: the returns of test episodes, with sampled actions.

    Attributes:
        steps: number of steps of the environment so far.
        seconds: time since the start, including compilation.
        mean: mean of the returns.
        std: standard deviation of the returns.
        length: mean number of steps of an episode.
    """

    steps: int
    seconds: float
    mean: float
    std: float
    length: float


class Policy(PyTree):
    """A network of tanh layers; `policy(obs)` is the mean action, between -1 and 1."""

    mean: Array
    std: Array
    layers: list[tuple[Array, Array]]

    def __call__(self, obs: Array) -> Array:
        x = (obs - self.mean) / self.std
        for weight, bias in self.layers[:-1]:
            x = jnp.tanh(x @ weight + bias)
        weight, bias = self.layers[-1]
        return jnp.clip(x @ weight + bias, -1, 1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes an `.npz` file."""
        arrays = {
            f"{kind}{i}": x
            for i, layer in enumerate(self.layers)
            for kind, x in zip("wb", layer, strict=True)
        }
        np.savez(path, allow_pickle=False, mean=self.mean, std=self.std, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Policy":
        """Reads a file that `save` wrote."""
        with np.load(path) as found:
            count = (len(found) - 2) // 2
            layers = [
                (jnp.asarray(found[f"w{i}"]), jnp.asarray(found[f"b{i}"])) for i in range(count)
            ]
            return cls(jnp.asarray(found["mean"]), jnp.asarray(found["std"]), layers)


class Trained(NamedTuple):
    """The result of training: the policy at the best point of the learning curve, and the curve."""

    policy: Policy
    curve: list[Point]

    __repr__ = represent


def train(
    env: Environment,
    seed: int = 0,
    steps: int = 2_000_000,
    *,
    points: int = 10,
    params: Params | None = None,
    report: Callable[[Point], None] = lambda point: None,
    **settings: Any,
) -> Trained:
    """Trains a policy with PPO.

    Args:
        env: environment.
        seed: seed of the policy, the starts and the actions.
        steps: steps of the environment in all worlds together; rounded up to whole iterations.
        points: number of points of the learning curve.
        params: parameters of the environment.
        report: function that is called with each point of the curve.
        settings: settings of rejax's PPO that replace those in `SETTINGS`.

    Raises:
        ImportError: rejax is missing.
        ValueError: `points` is less than 1.
    """
    done = None
    for done in training(env, seed, steps, points=points, params=params, **settings):
        report(done.curve[-1])
    assert done is not None  # there is at least one point
    return done


def training(
    env: Environment,
    seed: int,
    steps: int,
    *,
    points: int,
    params: Params | None = None,
    **settings: Any,
) -> Iterator[Trained]:
    """What `train` has at each point of the learning curve; you may stop at any of them.

    The arguments are those of `train`.

    Raises:
        ImportError: rejax is missing.
        ValueError: `points` is less than 1.
    """
    if points < 1:
        raise ValueError(f"a learning curve has at least one point, not {points}")
    params = env.default_params if params is None else params
    algorithm = _algorithm(env, params, -(-steps // points), settings)
    begin = time.perf_counter()
    # This is not traced, because the optimizer keeps the numbers of the algorithm.
    starting, staggering = jax.random.split(jax.random.key(seed))
    state = _annealed(algorithm, points).init_state(starting)
    # Worlds start at different times. If all began at once, the learner would see one part of the
    # episode after the other.
    worlds = state.env_state
    longest = params.max_steps_in_episode
    times = jax.random.randint(staggering, worlds.time.shape, 0, longest, jnp.int32)
    state = state.replace(env_state=worlds.replace(time=times))
    advance = jax.jit(lambda algorithm, state: algorithm.train(train_state=state), donate_argnums=1)
    # rejax begins with numbers of Python. With the final types, the program is compiled only once.
    after, _ = jax.eval_shape(advance, algorithm, state)
    state = jax.tree.map(lambda x, to: jnp.asarray(x, to.dtype), state, after)
    curve: list[Point] = []
    policy, highest = _policy(state), -np.inf
    for _ in range(points):
        state, tested = advance(algorithm, state)
        lengths, returns = (np.asarray(x) for x in tested)
        seconds = time.perf_counter() - begin
        numbers = returns.mean(), returns.std(), lengths.mean()
        curve.append(Point(int(state.global_step), seconds, *map(float, numbers)))
        if curve[-1].mean >= highest:
            highest = curve[-1].mean
            policy = jax.tree.map(jnp.copy, _policy(state))  # the state itself is donated
        yield Trained(policy, list(curve))


def _algorithm(env: Environment, params: Params, steps: int, settings: dict[str, Any]) -> Any:
    """rejax's PPO, which makes `steps` steps and then tests its policy."""
    from rejax import PPO
    from rejax.evaluate import evaluate

    longest = int(params.max_steps_in_episode)

    def test(algorithm: Any, state: Any, key: Array) -> tuple[Array, Array]:
        act = algorithm.make_act(state)
        return evaluate(act, key, algorithm.env, algorithm.env_params, TEST_WORLDS, longest)

    return PPO.create(
        env=env,
        env_params=params,
        total_timesteps=steps,
        eval_freq=steps,
        skip_initial_evaluation=True,
        agent_kwargs={"activation": "tanh", "hidden_layer_sizes": HIDDEN},
        **(SETTINGS | settings),
    ).replace(eval_callback=test)


def _annealed(algorithm: Any, points: int) -> Any:
    """The algorithm with a learning rate that falls to zero, so that a good policy stays good."""
    import optax

    iterations = points * -(-algorithm.eval_freq // (algorithm.num_envs * algorithm.num_steps))
    updates = iterations * algorithm.num_epochs * algorithm.num_minibatches
    rate = optax.linear_schedule(float(algorithm.learning_rate), 0.0, updates)
    return algorithm.replace(learning_rate=rate)


def _policy(state: Any) -> Policy:
    """The policy in a state of rejax's PPO."""
    network, seen = state.actor_ts.params["params"], state.obs_rms_state
    hidden = [network["features"][f"Dense_{i}"] for i in range(len(HIDDEN))]
    layers = [(layer["kernel"], layer["bias"]) for layer in (*hidden, network["action_mean"])]
    return Policy(seen.mean, jnp.sqrt(seen.var + 1e-8), layers)


def plot(curve: list[Point], path: str | os.PathLike[str], title: str) -> None:
    """Saves the learning curve as a picture."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    steps, _, mean, std, _ = (np.array(x) for x in zip(*curve, strict=True))
    fig, ax = plt.subplots(figsize=(6, 4))
    ax.fill_between(steps, mean - std, mean + std, alpha=0.2)
    ax.plot(steps, mean)
    ax.set(xlabel="steps of the environment", ylabel="return", title=title)
    fig.savefig(Path(path), dpi=120, bbox_inches="tight")
    plt.close(fig)
