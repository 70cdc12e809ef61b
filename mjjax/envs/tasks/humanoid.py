"""A person who stands or runs."""

import jax.numpy as jnp
from jax import Array

from mjjax.envs.environment import Environment
from mjjax.envs.parts import effort, joint_sensors, near, ramp, reading, shaken
from mjjax.model.data import Data
from mjjax.model.model import Model

ARM = "shoulder_swing_{0} shoulder_lift_{0} elbow_{0} "
LEG = "hip_swing_{0} hip_spread_{0} hip_twist_{0} knee_{0} ankle_pitch_{0} ankle_roll_{0} "


class HumanoidStand(Environment):
    """Stand still.

    r = s (0.6 + 0.4 exp(-|v|^2)) - 0.05 mean(u^2), with s = (height of the head / 1.5 m) times the
    vertical part of the trunk's axis, each clipped to [0, 1], and the velocity v [m/s] of the
    centre of mass. The episode ends when the pelvis is below 0.6 m.
    """

    asset = "humanoid"
    sensors = """
      <framepos name="pelvis" objtype="xbody" objname="pelvis"/>
      <framepos name="head" objtype="geom" objname="head"/>
      <framequat name="pose" objtype="xbody" objname="pelvis"/>
      <framezaxis name="trunk" objtype="xbody" objname="torso"/>
      <framelinvel name="velocity" objtype="xbody" objname="pelvis"/>
      <frameangvel name="turning" objtype="xbody" objname="pelvis"/>
      <subtreelinvel name="motion" body="pelvis"/>
    """ + joint_sensors(
        "lumbar_bend lumbar_tilt lumbar_twist "
        + "".join(limb.format(side) for limb in (ARM, LEG) for side in ("left", "right"))
    )
    weights = {"stand": 0.6, "task": 0.4, "effort": -0.05}

    def start(self, key: Array, model: Model, data: Data) -> Data:
        return shaken(key, model, data, 0.03, 0.05)

    def observe(self, model: Model, data: Data) -> Array:
        # The observation has heights, directions and speeds, but not the position in the plane.
        heights = [reading(model, data, name)[2:] for name in ("pelvis", "head")]
        return jnp.concatenate([*heights, data.sensordata[6:]])

    def terms(self, model: Model, before: Data, data: Data) -> dict[str, Array]:
        height = ramp(reading(model, data, "head")[2], 1.5)
        stand = height * ramp(reading(model, data, "trunk")[2], 1.0)
        task = stand * self.task(reading(model, data, "motion"))
        return {"stand": stand, "task": task, "effort": effort(data)}

    def task(self, motion: Array) -> Array:
        """Reward of the task beside standing, 0 to 1, from the velocity of the centre of mass."""
        return near(motion, 1.0)

    def failed(self, model: Model, data: Data) -> Array:
        return reading(model, data, "pelvis")[2] < 0.6


class HumanoidRun(HumanoidStand):
    """Run along x.

    r = s (0.3 + 0.7 v / 6) - 0.05 mean(u^2), with s as for `HumanoidStand` and the speed v [m/s] of
    the centre of mass along x; v / 6 is clipped to [0, 1]. The episode ends when the pelvis is
    below 0.6 m.
    """

    weights = {"stand": 0.3, "task": 0.7, "effort": -0.05}

    def task(self, motion: Array) -> Array:
        return ramp(motion[0], 6.0)
