"""One leg that hops."""

import jax.numpy as jnp
from jax import Array

from mjjax.envs.environment import Environment
from mjjax.envs.parts import effort, joint_sensors, reading, shaken
from mjjax.model.data import Data
from mjjax.model.model import Model


class Hopper(Environment):
    """Hop forward.

    r = 1 + v - 0.05 mean(u^2), with the forward speed v, clipped to [-2, 4] m/s. The episode ends
    when the hip is below 0.7 m or the trunk leans by more than 0.8 rad.
    """

    asset = "hopper"
    sensors = """
      <jointpos name="height" joint="root_z"/> <jointpos name="lean" joint="root_y"/>
      <jointvel name="speed" joint="root_x"/> <jointvel name="rise" joint="root_z"/>
      <jointvel name="turn" joint="root_y"/>
    """ + joint_sensors("hip knee ankle")
    weights = {"alive": 1.0, "forward": 1.0, "effort": -0.05}

    def start(self, key: Array, model: Model, data: Data) -> Data:
        bent = data.replace(qpos=data.qpos.at[3:].set(jnp.array([-0.3, 0.6, -0.3])))
        return shaken(key, model, bent, 0.02, 0.05)

    def terms(self, model: Model, before: Data, data: Data) -> dict[str, Array]:
        return {
            "alive": jnp.ones_like(data.time),
            "forward": jnp.clip(reading(model, data, "speed"), -2, 4),
            "effort": effort(data),
        }

    def failed(self, model: Model, data: Data) -> Array:
        low = 1.12 + reading(model, data, "height") < 0.7
        return low | (jnp.abs(reading(model, data, "lean")) > 0.8)
