"""Training by an algorithm of rejax: policy, learning and physics are one compiled program."""

import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.core.representation import represent
from mjjax.envs.environment import Environment, Params
from mjjax.training.algorithms import annealed, made, policy_of, staggered, steps_of_iteration
from mjjax.training.policy import Policy
from mjjax.training.spread import on_each, settled, shardings

POINTS = 10  # of a learning curve, if nothing is said


class Point(NamedTuple):
    """A point of a learning curve: the returns of test episodes, with sampled actions.

    Attributes:
        steps: number of steps of the environment so far.
        seconds: time since the start, including compilation.
        mean: mean of the returns.
        std: standard deviation of the returns.
        length: mean number of steps of an episode.
        skipped: number of updates of the policy so far that were left out, because their gradient
            was not finite; only SHAC counts them.
    """

    steps: int
    seconds: float
    mean: float
    std: float
    length: float
    skipped: int = 0


class Trained(NamedTuple):
    """The result of training: the policy at the best point of the learning curve, and the curve."""

    policy: Policy
    curve: list[Point]

    __repr__ = represent


class Training:
    """A training that goes on from where it is, by one point of the learning curve in a call.

    With several seeds, all of them are trained in one program. All devices take part, each with
    its share of the worlds. After `jax.distributed.initialize`, these are the devices of all
    processes, which then make the same calls.

    Attributes:
        state: everything on which the next point depends: networks, optimizers, worlds and keys.
        results: best policy and learning curve of each seed.
        steps: steps of the environment after which it ends, in all worlds of a seed together.
    """

    def __init__(
        self,
        env: Environment,
        steps: int = 2_000_000,
        *,
        algorithm: str = "ppo",
        every: int | None = None,
        seed: int = 0,
        seeds: int = 1,
        params: Params | None = None,
        **settings: Any,
    ):
        """Makes the networks and the worlds, and compiles nothing large.

        Args:
            env: environment.
            steps: steps of the environment, in all worlds of a seed together; rounded up to whole
                points of the learning curve.
            algorithm: `"ppo"`, `"sac"` or `"shac"`.
            every: steps between points of the learning curve, a tenth of `steps` by default.
            seed: first seed of the policy, the starts and the actions.
            seeds: number of seeds.
            params: parameters of the environment. With a value per world, as `envs.randomize` makes
                them, each world is trained in with its own; tests take the first 64.
            settings: settings of the algorithm that replace those in `ALGORITHMS`.

        Raises:
            ImportError: rejax is missing.
            ValueError: a number is less than 1, there is no such algorithm or setting, the devices
                cannot share the worlds evenly, or `params` are of another number of worlds.
        """
        for name, number in (("steps", steps), ("every", every or 1), ("seeds", seeds)):
            if number < 1:
                raise ValueError(f"{name} is at least 1, not {number}")
        params = env.default_params if params is None else params
        every = every or -(-steps // POINTS)
        self._algorithm = made(algorithm, env, params, every, settings)
        size = steps_of_iteration(self._algorithm)
        every = -(-every // size) * size
        self.steps = -(-steps // every) * every
        self._seeds = seeds
        # The optimizer keeps the numbers of the algorithm, which is not traced here.
        starting = annealed(self._algorithm, self.steps)
        start = functools.partial(_start, starting, params)
        keys = jnp.stack([jax.random.key(seed + k) for k in range(seeds)])
        self.state, self._advance = _program(self._algorithm, start, keys)
        self.results = [Trained(policy, []) for policy in self._policies()]
        self._highest = np.full(seeds, -np.inf)
        self._seconds = 0.0

    @property
    def made_steps(self) -> int:
        """Steps of the environment so far, in all worlds of a seed together."""
        curve = self.results[0].curve
        return curve[-1].steps if curve else 0

    @property
    def finished(self) -> bool:
        """Whether all steps are made."""
        return self.made_steps >= self.steps

    @property
    def best(self) -> Trained:
        """The result of the seed with the highest point of its curve."""
        return self.results[int(np.argmax(self._highest))]

    def advance(self) -> list[Point]:
        """Trains up to the next point of the learning curve; returns it for each seed."""
        begin = time.perf_counter()
        self.state, tested = self._advance(self._algorithm, self.state)
        lengths, returns = (np.asarray(x).reshape(self._seeds, -1) for x in tested)
        self._seconds += time.perf_counter() - begin
        steps = int(np.ravel(self.state.global_step)[0])
        skipped = np.broadcast_to(getattr(self.state, "skipped", 0), self._seeds)
        points = [
            Point(steps, self._seconds, float(r.mean()), float(r.std()), float(n.mean()), int(k))
            for r, n, k in zip(returns, lengths, skipped, strict=True)
        ]
        policies = self._policies()
        for k, point in enumerate(points):
            policy, curve = self.results[k]
            if point.mean >= self._highest[k]:
                self._highest[k] = point.mean
                policy = policies[k]
            self.results[k] = Trained(policy, [*curve, point])
        return points

    def continue_from(self, state: Any, results: list[Trained]) -> None:
        """Goes on from a state and results that were saved."""
        self.state, self.results = state, results
        self._highest = np.array([max(p.mean for p in r.curve) for r in results])
        self._seconds = results[0].curve[-1].seconds

    def _policies(self) -> list[Policy]:
        """Copies of the policies of all seeds; the state itself is donated to the next call."""
        # They go by way of the host, because a process alone cannot use arrays of many processes.
        found = jax.tree.map(np.array, policy_of(self.state))
        if self._seeds == 1:
            return [jax.tree.map(jnp.asarray, found)]
        return [jax.tree.map(lambda x, k=k: jnp.asarray(x[k]), found) for k in range(self._seeds)]


def _start(algorithm: Any, params: Params, key: jax.Array) -> Any:
    starting, staggering = jax.random.split(key)
    return staggered(algorithm.init_state(starting), params, staggering)


def _program(
    algorithm: Any, start: Callable[[jax.Array], Any], keys: jax.Array
) -> tuple[Any, Callable[[Any, Any], Any]]:
    """The first state of a training with these keys, one per seed, and what advances it."""
    several = len(keys) > 1

    def advance(algorithm: Any, state: Any) -> Any:
        def train(state: Any) -> Any:
            return algorithm.train(train_state=state)

        return jax.vmap(train)(state) if several else train(state)

    begun = jax.jit(jax.vmap(start))(keys) if several else jax.jit(start)(keys[0])
    after, _ = jax.eval_shape(advance, algorithm, begun)
    places = shardings(begun, len(keys))
    kept = (places, on_each())
    return settled(begun, after, places), jax.jit(advance, donate_argnums=1, out_shardings=kept)


def train(
    env: Environment,
    seed: int = 0,
    steps: int = 2_000_000,
    *,
    report: Callable[[Point], None] = lambda point: None,
    **options: Any,
) -> Trained:
    """Trains a policy.

    Args:
        env: environment.
        seed: seed of the policy, the starts and the actions.
        steps: steps of the environment in all worlds together.
        report: function that is called with each point of the curve.
        options: other arguments of `Training`.

    Raises:
        ImportError: rejax is missing.
        ValueError: a number is less than 1, or there is no such algorithm or setting.
    """
    training = Training(env, steps, seed=seed, **options)
    while not training.finished:
        report(training.advance()[0])
    return training.results[0]
