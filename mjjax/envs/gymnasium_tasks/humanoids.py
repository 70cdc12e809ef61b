"""Gymnasium's humanoid, which runs or stands up."""

import jax.numpy as jnp
from jax import Array

from mjjax.envs.gymnasium_tasks.task import GymnasiumTask, noise, square
from mjjax.model.data import Data
from mjjax.model.model import Model

_MOST = 10.0  # largest cost of forces


class HumanoidV5(GymnasiumTask):
    """Run along x.

    r = 1.25 dx/dt + 5 healthy - 0.1 |u|^2 - min(5e-7 |f|^2, 10), with the centre of mass at x and
    forces f on bodies. The robot is healthy, and the episode continues, while z is between 1 and
    2 m.
    """

    file, frame_skip, feels, remembered = "humanoid.xml", 5, True, ("xipos",)
    weights = {
        "reward_forward": 1.25,
        "reward_ctrl": -0.1,
        "reward_contact": -1.0,
        "reward_survive": 5.0,
    }

    def start(self, key: Array, model: Model, data: Data) -> Data:
        return noise(key, model, data, 0.01, normal=False)

    def observe(self, model: Model, data: Data) -> Array:
        of_bodies = (data.cinert, data.cvel), (data.cfrc_ext,)
        inertia, forces = ([x[1:].ravel() for x in part] for part in of_bodies)
        return jnp.concatenate(
            [data.qpos[2:], data.qvel, *inertia, data.qfrc_actuator[6:], *forces]
        )

    def terms(self, model: Model, before: Data, data: Data) -> dict[str, Array]:
        share = model.body_mass / jnp.sum(model.body_mass)
        moved = jnp.sum(share * (data.xipos[:, 0] - before.xipos[:, 0]))
        return {
            "reward_forward": moved / self.dt,
            "reward_ctrl": square(data.ctrl),
            "reward_contact": jnp.minimum(5e-7 * square(data.cfrc_ext), _MOST),
            "reward_survive": 1.0 - self.failed(model, data).astype(data.qpos.dtype),
        }

    def failed(self, model: Model, data: Data) -> Array:
        return ~((data.qpos[2] > 1) & (data.qpos[2] < 2))


class HumanoidStandupV5(HumanoidV5):
    """Stand up from the ground.

    r = z / timestep + 1 - 0.1 |u|^2 - min(5e-7 |f|^2, 10). The episode does not end.
    """

    file, remembered = "humanoidstandup.xml", ()
    weights = {
        "reward_linup": 1.0,
        "reward_quadctrl": -0.1,
        "reward_impact": -1.0,
        "reward_alive": 1.0,
    }

    def terms(self, model: Model, before: Data, data: Data) -> dict[str, Array]:
        return {
            "reward_linup": data.qpos[2] / model.opt.timestep,
            "reward_quadctrl": square(data.ctrl),
            "reward_impact": jnp.minimum(5e-7 * square(data.cfrc_ext), _MOST),
            "reward_alive": jnp.ones_like(data.time),
        }

    def failed(self, model: Model, data: Data) -> Array:
        return jnp.zeros((), bool)
