"""Gymnasium's environments around ours: one world, and many at once.

Importing this module registers all tasks, so that `gymnasium.make("mjjax/ant-v0")` and
`gymnasium.make_vec("mjjax/ant-v0", num_envs=64)` make them. Needs `pip install 'mjjax[envs]'`.

Numbers come as NumPy arrays, which costs a copy in every step: to train on the device, use the
functions themselves.
"""

from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from mjjax.envs import TASKS, make
from mjjax.envs.environment import Environment, Params
from mjjax.envs.randomize import vectorize
from mjjax.envs.spaces import Box
from mjjax.render.picture import render


class GymnasiumEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """One world. As Gymnasium asks, an episode that has ended waits for `reset`.

    Args:
        env: environment, or the name of a task.
        params: its parameters.
        render_mode: `"rgb_array"` for pictures of `render`.
        width: of pictures [pixel].
        height: of pictures [pixel].
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 50}  # noqa: RUF012 as Gymnasium has it

    def __init__(
        self,
        env: Environment | str,
        params: Params | None = None,
        render_mode: str | None = None,
        width: int = 320,
        height: int = 240,
    ):
        self.env = make(env) if isinstance(env, str) else env
        self.params = self.env.default_params if params is None else params
        self.metadata = {**self.metadata, "render_fps": round(1 / self.env.dt)}
        self.render_mode = render_mode
        self.size = width, height
        self.observation_space = space(self.env.observation_space(self.params))
        self.action_space = space(self.env.action_space(self.params))
        self._state = None
        self._step = jax.jit(self.env.step_env)

    def __repr__(self) -> str:
        return f"GymnasiumEnv({self.env!r})"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        obs, self._state = self.env.reset(self._key(), self.params)
        return np.asarray(obs), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if self._state is None:
            raise gymnasium.error.ResetNeeded("call reset before the first step")
        obs, self._state, reward, _, info = self._step(
            self._key(), self._state, jnp.asarray(action), self.params
        )
        terms = {name: float(term) for name, term in info["terms"].items()}
        ends = bool(info["terminated"]), bool(info["truncated"])
        return np.asarray(obs), float(reward), *ends, terms

    def render(self) -> np.ndarray | None:
        """A picture, (height, width, 3) of bytes."""
        if self.render_mode is None or self._state is None:
            return None
        data = self.env.data(self._state, self.params)
        width, height = self.size
        picture = render(self.params.model, data, width=width, height=height)
        return np.asarray(picture.rgb * 255).astype(np.uint8)

    def _key(self) -> jax.Array:
        return jax.random.key(int(self.np_random.integers(2**31)))


class GymnasiumVectorEnv(gymnasium.vector.VectorEnv):
    """Many worlds in one compiled step; a world whose episode ends starts the next in that step.

    The observation with which it ended is in `final_obs` of the information, of those worlds where
    `_final_obs` is true.

    Args:
        env: environment, or the name of a task.
        num_envs: number of worlds.
        params: parameters; a model with a dimension of worlds gives each world its own.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012 as Gymnasium has it

    def __init__(self, env: Environment | str, num_envs: int = 1, params: Params | None = None):
        self.env = make(env) if isinstance(env, str) else env
        self.params = self.env.default_params if params is None else params
        self.num_envs = num_envs
        self.single_observation_space = space(self.env.observation_space(self.params))
        self.single_action_space = space(self.env.action_space(self.params))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._state = None
        self._reset, self._step = vectorize(self.env, self.params)

    def __repr__(self) -> str:
        return f"GymnasiumVectorEnv({self.env!r}, num_envs={self.num_envs})"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        obs, self._state = self._reset(self._keys(), self.params)
        return np.asarray(obs), {}

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        if self._state is None:
            raise gymnasium.error.ResetNeeded("call reset before the first step")
        obs, self._state, reward, done, info = self._step(
            self._keys(), self._state, jnp.asarray(actions), self.params
        )
        given = {name: np.asarray(term) for name, term in info["terms"].items()}
        if np.any(done):
            final = np.full(self.num_envs, None, object)
            for i in np.flatnonzero(done):
                final[i] = np.asarray(info["final_observation"][i])
            given |= {"final_obs": final, "_final_obs": np.asarray(done)}
        ends = np.asarray(info["terminated"]), np.asarray(info["truncated"])
        return np.asarray(obs), np.asarray(reward), *ends, given

    def _keys(self) -> jax.Array:
        return jax.random.split(jax.random.key(int(self.np_random.integers(2**31))), self.num_envs)


def space(box: Box) -> gymnasium.spaces.Box:
    """Gymnasium's space for ours."""
    return gymnasium.spaces.Box(box.low, box.high, box.shape, box.dtype.type)


def _register(name: str) -> None:
    gymnasium.register(
        f"mjjax/{name}-v0",
        entry_point=lambda **options: GymnasiumEnv(name, **options),
        vector_entry_point=lambda **options: GymnasiumVectorEnv(name, **options),
    )


for _name in TASKS:
    _register(_name)
