"""A robot on four legs that follows a joystick."""

import jax
import jax.numpy as jnp
from jax import Array

from mjjax.envs.environment import Environment
from mjjax.envs.parts import joint_sensors, near, reading, shaken
from mjjax.model.data import Data
from mjjax.model.model import Model

JOINTS = " ".join(
    f"{joint}_{leg}" for leg in ("fl", "fr", "hl", "hr") for joint in ("roll", "swing", "knee")
)


class QuadrupedJoystick(Environment):
    """Walk as a joystick asks: forward and sideways speed [m/s], turning speed [rad/s].

    r = exp(-|v - c|^2/0.5^2) + 0.5 exp(-((w - c_w)/0.5)^2) - 0.5 v_z^2 - |t|^2 - 0.02 |u - u'|^2
    - 0.1 |u - q|^2. Here v, v_z and w are velocities of the trunk in its own frame, c and c_w are
    the command, and t is the horizontal part of the direction of gravity in that frame. u and u'
    are the current and previous servo targets [rad], and q their angles. The episode ends
    when the trunk is tilted by more than 60 degrees or is below 0.15 m.

    The command is in `userdata` and is part of the observation. Each start draws it at random,
    within 1 m/s forward, 0.5 m/s sideways and 1 rad/s.
    """

    asset = "quadruped"
    sensors = """
      <velocimeter name="velocity" site="imu"/>
      <gyro name="turning" site="imu"/>
      <framezaxis name="upward" objtype="body" objname="world" reftype="site" refname="imu"/>
      <framepos name="place" objtype="site" objname="imu"/>
    """ + joint_sensors(JOINTS)
    weights = {
        "velocity": 1.0,
        "turning": 0.5,
        "bounce": -0.5,
        "tilt": -1.0,
        "change": -0.02,
        "strain": -0.1,
    }

    def start(self, key: Array, model: Model, data: Data) -> Data:
        asking, shaking = jax.random.split(key)
        command = jax.random.uniform(asking, (3,), minval=-1, maxval=1)
        data = data.replace(userdata=command * jnp.array([1.0, 0.5, 1.0]))
        return shaken(shaking, model, data, 0.03, 0.05)

    def observe(self, model: Model, data: Data) -> Array:
        body = [reading(model, data, name) for name in ("velocity", "turning", "upward")]
        joints = data.sensordata[int(model.sensor_adr[4]) :]
        return jnp.concatenate([data.userdata, *body, joints, data.ctrl])

    def terms(self, model: Model, before: Data, data: Data) -> dict[str, Array]:
        velocity, turning = reading(model, data, "velocity"), reading(model, data, "turning")
        return {
            "velocity": near(velocity[:2] - data.userdata[:2], 0.5),
            "turning": near(turning[2] - data.userdata[2], 0.5),
            "bounce": velocity[2] ** 2,
            "tilt": jnp.sum(reading(model, data, "upward")[:2] ** 2),
            "change": jnp.sum((data.ctrl - before.ctrl) ** 2),
            "strain": jnp.sum((data.ctrl - data.actuator_length) ** 2),
        }

    def failed(self, model: Model, data: Data) -> Array:
        tilted = reading(model, data, "upward")[2] < 0.5
        return tilted | (reading(model, data, "place")[2] < 0.15)
