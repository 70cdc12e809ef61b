"""Brax's interface to an environment; Brax itself is not needed.

`brax.envs.wrappers.training.wrap`, and training code built on it, accept a `BraxEnv`.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from mjjax.core.struct import PyTree
from mjjax.envs.environment import Environment, EnvState, Params
from mjjax.render.smooth import smooth_picture


class BraxState(PyTree):
    """The state that Brax passes from step to step, with Brax's names."""

    pipeline_state: EnvState
    obs: Any
    reward: Array
    done: Array
    metrics: dict[str, Array]
    info: dict[str, Any]


class BraxEnv:
    """An environment whose `reset(rng)` and `step(state, action)` return a `BraxState`.

    Like Brax's own environments, it does not restart and does not end episodes whose time is up:
    wrappers do both. `metrics` are the terms of the reward, before weighting.

    Attributes:
        env: the mjjax environment.
        params: parameters of the environment.
    """

    def __init__(self, env: Environment, params: Params | None = None):
        self.env = env
        self.params = env.default_params if params is None else params
        # Brax asks whether an environment is one of its own, in programs that have imported it.
        if base := sys.modules.get("brax.envs.base"):
            base.Env.register(type(self))

    def __repr__(self) -> str:
        return f"BraxEnv({self.env!r})"

    def reset(self, rng: Array) -> BraxState:
        """Starts an episode."""
        obs, state = self.env.reset_env(rng, self.params)
        zero = jnp.zeros(())
        metrics = dict.fromkeys(self.env.weights, zero)
        return BraxState(state, obs, zero, zero, metrics, {})

    def step(self, state: BraxState, action: Array) -> BraxState:
        """One step; `done` is 1 if the episode ended for another reason than its time limit."""
        # The steps of our tasks are not random, so any key will do.
        key = jnp.zeros(2, jnp.uint32)
        obs, after, reward, _, info = self.env.step_env(
            key, state.pipeline_state, action, self.params
        )
        # Wrappers keep entries of their own in `info` and `metrics`, so these are kept too.
        return state.replace(
            pipeline_state=after,
            obs=obs,
            reward=reward,
            done=info["terminated"].astype(reward.dtype),
            metrics=state.metrics | info["terms"],
        )

    def render(
        self,
        trajectory: Sequence[EnvState] | EnvState,
        height: int = 240,
        width: int = 320,
        camera: str | int | None = None,
    ) -> Any:
        """A picture (height, width, 3), in bytes, of each `pipeline_state` or of the only one.

        Args:
            trajectory: states of one world.
            height: rows of a picture.
            width: columns of a picture.
            camera: name or id of a camera; by default the model's free camera.
        """
        if isinstance(trajectory, EnvState):
            return self._picture(trajectory, height, width, camera)
        return [self._picture(state, height, width, camera) for state in trajectory]

    def _picture(self, state: EnvState, height: int, width: int, camera: Any) -> np.ndarray:
        data = self.env.data(state, self.params)
        return smooth_picture(self.params.model, data, camera, width, height)

    @property
    def observation_size(self) -> Any:
        """Length of an observation, or the shapes of its parts by name."""
        space = self.env.observation_space(self.params)
        if isinstance(space, Mapping):
            return {name: part.shape for name, part in space.items()}
        return space.shape[0]

    @property
    def action_size(self) -> int:
        return self.env.action_space(self.params).shape[0]

    @property
    def dt(self) -> float:
        """Duration of a step [s]."""
        return self.env.dt

    @property
    def backend(self) -> str:
        return "mjjax"

    @property
    def unwrapped(self) -> "BraxEnv":
        return self
