"""What Gymnasium's MuJoCo tasks have in common."""

import importlib.util
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mjjax.constraint.reaction import rne_postconstraint
from mjjax.envs.environment import Environment
from mjjax.envs.spaces import Box
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.pipeline.forward import forward
from mjjax.pipeline.rollout import rollout


class GymnasiumTask(Environment):
    """One of Gymnasium's MuJoCo tasks (version 5), with its observations, rewards and ends.

    As in Gymnasium, results such as the positions of bodies are those that the simulator's last
    step computed, which belong to the state before it. Actions are controls within the ranges of
    the actuators. The terms of the reward have the names that Gymnasium's `info` gives them. A
    state that diverges ends the episode.

    Raises:
        ModuleNotFoundError: Gymnasium, which has the models, is not installed.
    """

    episode = 1000
    file: str
    """Name of the model in Gymnasium's package."""
    feels = False
    """Whether the task reads the forces on bodies, `cfrc_ext`."""

    def __init__(self, model: Model | None = None):
        super().__init__(Model.from_xml_path(_assets() / self.file) if model is None else model)

    def seen(self, model: Model, data: Data) -> Data:
        return self._felt(model, forward(model, data), begins=True)

    def advance(self, model: Model, data: Data, ctrl: Any) -> tuple[Data, Data]:
        after, _ = rollout(model, data, ctrl, nstep=self.frame_skip, keep=())
        return after, self._felt(model, after)

    def _felt(self, model: Model, data: Data, begins: bool = False) -> Data:
        """The data with the forces on bodies; Gymnasium computes them only in steps."""
        if not self.feels:
            return data
        felt = rne_postconstraint(model, data)
        return felt.replace(cfrc_ext=jnp.zeros_like(felt.cfrc_ext)) if begins else felt

    def control(self, model: Model, action: Array) -> Array:
        return action

    def action_space(self, params: object = None) -> Box:
        low, high = np.asarray(self.model.actuator_ctrlrange).T
        return Box(float(low[0]), float(high[0]), (self.model.nu,))


def _assets() -> Path:
    found = importlib.util.find_spec("gymnasium")
    if found is None or not found.origin:
        raise ModuleNotFoundError(
            "Gymnasium's tasks need its models: pip install 'mjjax[envs]'", name="gymnasium"
        )
    return Path(found.origin).parent / "envs" / "mujoco" / "assets"


def noise(key: Array, model: Model, data: Data, scale: float, normal: bool) -> Data:
    """Uniform noise on positions; on velocities, uniform or normal."""
    one, two = jax.random.split(key)
    speed = jax.random.normal if normal else _uniform
    qpos = data.qpos + scale * _uniform(one, data.qpos.shape, data.qpos.dtype)
    return data.replace(qpos=qpos, qvel=data.qvel + scale * speed(two, data.qvel.shape, qpos.dtype))


def _uniform(key: Array, shape: tuple[int, ...], dtype: jnp.dtype) -> Array:
    return jax.random.uniform(key, shape, dtype, minval=-1, maxval=1)


def square(x: Array) -> Array:
    """Sum of squares."""
    return jnp.sum(x * x)
