"""Robots that run, hop, walk and swim in Gymnasium's tasks."""

import jax.numpy as jnp
from jax import Array

from mjjax.envs.gymnasium_tasks.task import GymnasiumTask, noise, square
from mjjax.model.data import Data
from mjjax.model.model import Model

_TORSO = 1


class HalfCheetahV5(GymnasiumTask):
    """Run along x.

    r = dx/dt - 0.1 |u|^2. The episode does not end.
    """

    file, frame_skip = "half_cheetah.xml", 5
    weights = {"reward_forward": 1.0, "reward_ctrl": -0.1}

    def start(self, key: Array, model: Model, data: Data) -> Data:
        return noise(key, model, data, 0.1, normal=True)

    def observe(self, model: Model, data: Data) -> Array:
        return jnp.concatenate([data.qpos[1:], data.qvel])

    def terms(self, model: Model, before: Data, data: Data) -> dict[str, Array]:
        return {
            "reward_forward": (data.qpos[0] - before.qpos[0]) / self.dt,
            "reward_ctrl": square(data.ctrl),
        }


class SwimmerV5(GymnasiumTask):
    """Swim along x.

    r = dx/dt - 1e-4 |u|^2. The episode does not end.
    """

    file = "swimmer.xml"
    weights = {"reward_forward": 1.0, "reward_ctrl": -1e-4}

    def start(self, key: Array, model: Model, data: Data) -> Data:
        return noise(key, model, data, 0.1, normal=False)

    def observe(self, model: Model, data: Data) -> Array:
        return jnp.concatenate([data.qpos[2:], data.qvel])

    def terms(self, model: Model, before: Data, data: Data) -> dict[str, Array]:
        return HalfCheetahV5.terms(self, model, before, data)  # type: ignore[arg-type]


class HopperV5(GymnasiumTask):
    """Hop along x.

    r = dx/dt + healthy - 1e-3 |u|^2. The robot is healthy, and the episode continues, while z is
    above 0.7 m, the angle is between -0.2 and 0.2, and all other numbers of the state are between
    -100 and 100.
    """

    file = "hopper.xml"
    weights = {"reward_forward": 1.0, "reward_ctrl": -1e-3, "reward_survive": 1.0}

    def start(self, key: Array, model: Model, data: Data) -> Data:
        return noise(key, model, data, 5e-3, normal=False)

    def observe(self, model: Model, data: Data) -> Array:
        return jnp.concatenate([data.qpos[1:], jnp.clip(data.qvel, -10, 10)])

    def terms(self, model: Model, before: Data, data: Data) -> dict[str, Array]:
        return {
            "reward_forward": (data.qpos[0] - before.qpos[0]) / self.dt,
            "reward_ctrl": square(data.ctrl),
            "reward_survive": 1.0 - self.failed(model, data).astype(data.qpos.dtype),
        }

    def failed(self, model: Model, data: Data) -> Array:
        rest = jnp.concatenate([data.qpos[2:], data.qvel])
        low = data.qpos[1] <= 0.7
        return low | (abs(data.qpos[2]) >= 0.2) | jnp.any(abs(rest) >= 100)


class Walker2dV5(HopperV5):
    """Walk along x.

    r = dx/dt + healthy - 1e-3 |u|^2. The robot is healthy, and the episode continues, while z is
    between 0.8 and 2 m and the angle between -1 and 1.
    """

    file = "walker2d_v5.xml"

    def failed(self, model: Model, data: Data) -> Array:
        z, angle = data.qpos[1], data.qpos[2]
        return (z <= 0.8) | (z >= 2) | (abs(angle) >= 1)


class AntV5(GymnasiumTask):
    """Walk along x, on four legs.

    r = dx/dt + healthy - 0.5 |u|^2 - 5e-4 |f|^2, with the forces f on bodies, clipped to [-1, 1].
    The robot is healthy, and the episode continues, while z is between 0.2 and 1 m.
    """

    file, frame_skip, feels, remembered = "ant.xml", 5, True, ("xpos",)
    weights = {
        "reward_forward": 1.0,
        "reward_ctrl": -0.5,
        "reward_contact": -5e-4,
        "reward_survive": 1.0,
    }

    def start(self, key: Array, model: Model, data: Data) -> Data:
        return noise(key, model, data, 0.1, normal=True)

    def observe(self, model: Model, data: Data) -> Array:
        return jnp.concatenate([data.qpos[2:], data.qvel, _forces(data)[1:].ravel()])

    def terms(self, model: Model, before: Data, data: Data) -> dict[str, Array]:
        return {
            "reward_forward": (data.xpos[_TORSO, 0] - before.xpos[_TORSO, 0]) / self.dt,
            "reward_ctrl": square(data.ctrl),
            "reward_contact": square(_forces(data)),
            "reward_survive": 1.0 - self.failed(model, data).astype(data.qpos.dtype),
        }

    def failed(self, model: Model, data: Data) -> Array:
        return ~((data.qpos[2] >= 0.2) & (data.qpos[2] <= 1))


def _forces(data: Data) -> Array:
    return jnp.clip(data.cfrc_ext, -1, 1)
