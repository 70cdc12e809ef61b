"""A runner in a plane."""

import jax.numpy as jnp
from jax import Array

from mjjax.envs.environment import Environment
from mjjax.envs.parts import effort, joint_sensors, reading, shaken
from mjjax.model.data import Data
from mjjax.model.model import Model


class HalfCheetah(Environment):
    """Run forward.

    r = v - 0.1 mean(u^2), with the forward speed v, clipped to [-10, 10] m/s.
    """

    asset = "halfcheetah"
    sensors = """
      <jointpos name="height" joint="root_z"/> <jointpos name="lean" joint="root_y"/>
      <jointvel name="speed" joint="root_x"/> <jointvel name="rise" joint="root_z"/>
      <jointvel name="turn" joint="root_y"/>
    """ + joint_sensors("hind_hip hind_knee hind_ankle fore_hip fore_knee fore_ankle")
    weights = {"forward": 1.0, "effort": -0.1}
    frame_skip = 5

    def start(self, key: Array, model: Model, data: Data) -> Data:
        return shaken(key, model, data, 0.05, 0.1)

    def terms(self, model: Model, before: Data, data: Data) -> dict[str, Array]:
        speed = jnp.clip(reading(model, data, "speed"), -10, 10)
        return {"forward": speed, "effort": effort(data)}
