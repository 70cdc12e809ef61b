"""A ball on four legs."""

import jax.numpy as jnp
from jax import Array

from mjjax.envs.environment import Environment
from mjjax.envs.parts import effort, joint_sensors, reading, shaken
from mjjax.model.data import Data
from mjjax.model.model import Model


class Ant(Environment):
    """Walk along x.

    r = 0.5 + v - 0.1 mean(u^2), with the speed v along x, clipped to [-5, 5] m/s. The episode ends
    when the trunk is below 0.22 m or above 1.2 m.
    """

    asset = "ant"
    sensors = """
      <framepos name="place" objtype="body" objname="torso"/>
      <framequat name="pose" objtype="body" objname="torso"/>
      <framelinvel name="velocity" objtype="body" objname="torso"/>
      <frameangvel name="turning" objtype="body" objname="torso"/>
    """ + joint_sensors("hip_1 knee_1 hip_2 knee_2 hip_3 knee_3 hip_4 knee_4")
    weights = {"alive": 0.5, "forward": 1.0, "effort": -0.1}

    def start(self, key: Array, model: Model, data: Data) -> Data:
        raised = data.replace(qpos=data.qpos.at[2].add(0.1))
        return shaken(key, model, raised, 0.05, 0.1)

    def observe(self, model: Model, data: Data) -> Array:
        return data.sensordata[2:]  # without the position in the plane

    def terms(self, model: Model, before: Data, data: Data) -> dict[str, Array]:
        return {
            "alive": jnp.ones_like(data.time),
            "forward": jnp.clip(reading(model, data, "velocity")[0], -5, 5),
            "effort": effort(data),
        }

    def failed(self, model: Model, data: Data) -> Array:
        height = reading(model, data, "place")[2]
        return (height < 0.22) | (height > 1.2)
