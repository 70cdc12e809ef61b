"""Two legs in a plane."""

import jax.numpy as jnp
from jax import Array

from mjjax.envs.environment import Environment
from mjjax.envs.parts import effort, joint_sensors, ramp, reading, shaken
from mjjax.model.data import Data
from mjjax.model.model import Model


class Walker(Environment):
    """Walk upright.

    r = s (0.4 + 0.6 v / 1.2) - 0.02 mean(u^2), with s = (height of the hip / 0.9) cos(lean) and the
    forward speed v [m/s]. Both quotients are clipped to [0, 1]. The episode ends when the hip is
    below 0.5 m or the trunk leans by more than 1.2 rad.
    """

    asset = "walker"
    sensors = """
      <jointpos name="height" joint="root_z"/> <jointpos name="lean" joint="root_y"/>
      <jointvel name="speed" joint="root_x"/> <jointvel name="rise" joint="root_z"/>
      <jointvel name="turn" joint="root_y"/>
    """ + joint_sensors("hip_right knee_right ankle_right hip_left knee_left ankle_left")
    weights = {"stand": 0.4, "walk": 0.6, "effort": -0.02}

    def start(self, key: Array, model: Model, data: Data) -> Data:
        return shaken(key, model, data, 0.05, 0.1)

    def terms(self, model: Model, before: Data, data: Data) -> dict[str, Array]:
        stand = ramp(self._height(model, data), 0.9) * jnp.cos(reading(model, data, "lean"))
        walk = stand * ramp(reading(model, data, "speed"), 1.2)
        return {"stand": stand, "walk": walk, "effort": effort(data)}

    def failed(self, model: Model, data: Data) -> Array:
        leans = jnp.abs(reading(model, data, "lean")) > 1.2
        return leans | (self._height(model, data) < 0.5)

    def _height(self, model: Model, data: Data) -> Array:
        """Height of the hip above the floor [m]."""
        return model.body_pos[1, 2] + reading(model, data, "height")
