"""Two links in a plane."""

import jax
import jax.numpy as jnp
from jax import Array

from mjjax.envs.environment import Environment
from mjjax.envs.parts import effort, near, reading, shaken
from mjjax.model.data import Data
from mjjax.model.model import Model


class Reacher(Environment):
    """Hold the tip of the arm at a target somewhere within reach.

    r = 0.5 exp(-(d/0.1)^2) + 0.5 exp(-(d/0.02)^2) - 0.01 mean(u^2), with the distance d [m] of the
    tip from the target.
    """

    asset = "reacher"
    sensors = """
      <framexaxis name="upper" objtype="xbody" objname="upper"/>
      <framexaxis name="lower" objtype="xbody" objname="lower" reftype="xbody" refname="upper"/>
      <jointvel name="shoulder_speed" joint="shoulder"/>
      <jointvel name="elbow_speed" joint="elbow"/>
      <framepos name="target" objtype="xbody" objname="target"/>
      <framepos name="gap" objtype="site" objname="tip" reftype="xbody" refname="target"/>
    """
    weights = {"close": 0.5, "there": 0.5, "effort": -0.01}
    frame_skip = 2
    episode = 200

    def start(self, key: Array, model: Model, data: Data) -> Data:
        posing, shaking, placing = jax.random.split(key, 3)
        turn = jax.random.uniform(posing, (model.nq,), minval=-2.5, maxval=2.5)
        radius, angle = jax.random.uniform(
            placing, (2,), minval=jnp.array([0.06, -jnp.pi]), maxval=jnp.array([0.22, jnp.pi])
        )
        target = radius * jnp.stack([jnp.cos(angle), jnp.sin(angle), jnp.zeros_like(angle)])
        data = data.replace(qpos=turn, mocap_pos=target[None])
        return shaken(shaking, model, data, 0.0, 0.05)

    def terms(self, model: Model, before: Data, data: Data) -> dict[str, Array]:
        gap = reading(model, data, "gap")
        return {"close": near(gap, 0.1), "there": near(gap, 0.02), "effort": effort(data)}
