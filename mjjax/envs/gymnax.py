"""gymnax's `Environment` (from version 1.0) around those of mjjax, for gymnax's wrappers.

Libraries that expect five results of `step`, such as rejax, take environments of mjjax as they are.
This module needs `pip install 'mjjax[envs]'`.
"""

from typing import Any

from gymnax.environments import environment, spaces
from jax import Array

from mjjax.envs.environment import Environment, EnvState, Params


class GymnaxEnv(environment.Environment[Any, Any]):
    """An environment with gymnax's six results, in which termination and truncation are separate.

    Attributes:
        env: the mjjax environment.
    """

    def __init__(self, env: Environment):
        self.env = env

    @property
    def name(self) -> str:
        return self.env.name

    @property
    def default_params(self) -> Params:
        return self.env.default_params

    @property
    def num_actions(self) -> int:
        """Length of an action."""
        return self.env.model.nu

    def reset_env(self, key: Array, params: Params) -> tuple[Array, EnvState]:
        return self.env.reset_env(key, params)

    def step_env(
        self, key: Array, state: EnvState, action: Any, params: Params
    ) -> tuple[Array, EnvState, Array, Array, dict[Any, Any]]:
        obs, state, reward, _, info = self.env.step_env(key, state, action, params)
        rest = {name: info[name] for name in ("bad_action", "terms")}
        return obs, state, reward, info["terminated"], rest

    def action_space(self, params: Params) -> spaces.Box:
        box = self.env.action_space(params)
        return spaces.Box(box.low, box.high, box.shape, box.dtype)

    def observation_space(self, params: Params) -> spaces.Box:
        box = self.env.observation_space(params)
        return spaces.Box(box.low, box.high, box.shape, box.dtype)
