"""A pole on a cart."""

import jax.numpy as jnp
from jax import Array

from mjjax.envs.environment import Environment
from mjjax.envs.parts import effort, near, reading, shaken
from mjjax.model.data import Data
from mjjax.model.model import Model


class CartpoleSwingup(Environment):
    """Swing the pole up and keep it up over the middle of the rail.

    r = c (0.2 + 0.3 (1 - (x/2)^2) + 0.5 exp(-(w/2)^2)) - 0.01 u^2, with c = (1 + cos(angle)) / 2.
    The cart is at x [m], the pole turns at w [rad/s], and u is the control.
    """

    asset = "cartpole"
    sensors = """
      <jointpos name="cart" joint="rail"/>
      <framezaxis name="pole" objtype="xbody" objname="pole"/>
      <jointvel name="cart_speed" joint="rail"/>
      <jointvel name="pole_speed" joint="hinge"/>
    """
    weights = {"up": 0.2, "centred": 0.3, "still": 0.5, "effort": -0.01}
    angle = jnp.pi  # angle of the pole at the start

    def start(self, key: Array, model: Model, data: Data) -> Data:
        placed = data.replace(qpos=data.qpos.at[1].set(self.angle))
        return shaken(key, model, placed, 0.1, 0.05)

    def terms(self, model: Model, before: Data, data: Data) -> dict[str, Array]:
        up = (1 + reading(model, data, "pole")[2]) / 2
        return {
            "up": up,
            "centred": up * (1 - (reading(model, data, "cart") / 2) ** 2),
            "still": up * near(reading(model, data, "pole_speed"), 2.0),
            "effort": effort(data),
        }


class CartpoleBalance(CartpoleSwingup):
    """Keep the pole up, which starts upright.

    Reward of the swing-up. The episode ends when cos(angle) < 0.8 or |x| > 1.8 m.
    """

    angle = 0.0

    def failed(self, model: Model, data: Data) -> Array:
        fallen = reading(model, data, "pole")[2] < 0.8
        return fallen | (jnp.abs(reading(model, data, "cart")) > 1.8)
