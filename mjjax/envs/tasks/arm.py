"""An arm that reaches for a cube and lifts it."""

import jax
import jax.numpy as jnp
from jax import Array

from mjjax.envs.environment import Environment
from mjjax.envs.parts import joint_sensors, near, ramp, reading
from mjjax.model.data import Data
from mjjax.model.model import Model

JOINTS = "turn shoulder elbow wrist roll finger_left"


class ArmLift(Environment):
    """Reach for the cube, lift it and bring it to the target.

    r = exp(-(d/0.15)^2) + 3 lift + 5 lift exp(-(e/0.1)^2) - 0.01 |u - u'|^2. Here d [m] is the
    distance of the hand from the cube, e [m] the distance of the cube from the target, and
    lift = (height of the cube above the floor / 0.1 m) clipped to [0, 1]. u and u' are the current
    and the previous controls.
    """

    asset = "arm"
    sensors = """
      <framepos name="cube" objtype="xbody" objname="cube"/>
      <framequat name="pose" objtype="xbody" objname="cube"/>
      <framelinvel name="velocity" objtype="xbody" objname="cube"/>
      <framepos name="target" objtype="xbody" objname="target"/>
      <framepos name="grip" objtype="site" objname="grip"/>
      <framezaxis name="hand" objtype="site" objname="grip"/>
    """ + joint_sensors(JOINTS)
    weights = {"reach": 1.0, "lift": 3.0, "bring": 5.0, "change": -0.01}
    episode = 300
    pose = (0.0, 0.5, 1.4, 1.2, 0.0, 0.03, 0.03)  # the hand above the cube, open

    def start(self, key: Array, model: Model, data: Data) -> Data:
        posing, placing, aiming = jax.random.split(key, 3)
        joints = jnp.array(self.pose) + 0.05 * jax.random.normal(posing, (7,)) * (jnp.arange(7) < 5)
        cube = jax.random.uniform(placing, (2,), minval=-0.08, maxval=0.08)
        target = jax.random.uniform(aiming, (3,), minval=-0.1, maxval=0.1)
        return data.replace(
            qpos=data.qpos.at[:7].set(joints).at[7:9].add(cube),
            ctrl=jnp.array(self.pose[:6]),
            mocap_pos=data.mocap_pos + target,
        )

    def observe(self, model: Model, data: Data) -> Array:
        gaps = [self._gap(model, data, "grip"), self._gap(model, data, "target")]
        return jnp.concatenate([data.sensordata, *gaps, data.ctrl])

    def terms(self, model: Model, before: Data, data: Data) -> dict[str, Array]:
        lift = ramp(reading(model, data, "cube")[2] - 0.025, 0.1)
        return {
            "reach": near(self._gap(model, data, "grip"), 0.15),
            "lift": lift,
            "bring": lift * near(self._gap(model, data, "target"), 0.1),
            "change": jnp.sum((data.ctrl - before.ctrl) ** 2),
        }

    def _gap(self, model: Model, data: Data, name: str) -> Array:
        """The vector from the cube to the grip or to the target [m]."""
        return reading(model, data, name) - reading(model, data, "cube")
