"""A rod on a hinge."""

import jax
import jax.numpy as jnp
from jax import Array

from mjjax.envs.environment import Environment
from mjjax.envs.parts import effort, near, reading
from mjjax.model.data import Data
from mjjax.model.model import Model


class Pendulum(Environment):
    """Swing up a rod that the motor cannot lift in one go, and keep it up.

    r = c (0.8 + 0.2 exp(-(w/2)^2)) - 0.01 u^2, with c = (1 + cos(angle)) / 2 and the angular
    velocity w [rad/s].
    """

    asset = "pendulum"
    sensors = """
      <framezaxis name="rod" objtype="xbody" objname="rod"/>
      <jointvel name="speed" joint="hinge"/>
    """
    weights = {"up": 0.8, "still": 0.2, "effort": -0.01}
    frame_skip = 4
    episode = 250

    def start(self, key: Array, model: Model, data: Data) -> Data:
        angle, speed = jax.random.uniform(key, (2, 1), minval=-1, maxval=1)
        return data.replace(qpos=jnp.pi * angle, qvel=speed)

    def terms(self, model: Model, before: Data, data: Data) -> dict[str, Array]:
        up = (1 + reading(model, data, "rod")[2]) / 2
        still = up * near(reading(model, data, "speed"), 2.0)
        return {"up": up, "still": still, "effort": effort(data)}
