"""Common parts of tasks: readings, starts and terms of rewards."""

import jax
import jax.numpy as jnp
from jax import Array

from mjjax.dynamics.position import integrate_pos
from mjjax.model.data import Data
from mjjax.model.model import Model


def reading(model: Model, data: Data, name: str) -> Array:
    """The readings (dim,) of a sensor, or a scalar if the sensor has only one.

    Raises:
        KeyError: there is no such sensor; the message lists all sensors.
    """
    index = model.structure.id_of("sensor", name)
    start, count = int(model.sensor_adr[index]), int(model.sensor_dim[index])
    values = data.sensordata[start : start + count]
    return values[0] if count == 1 else values


def shaken(
    key: Array, model: Model, data: Data, position: float = 0.05, velocity: float = 0.05
) -> Data:
    """`data` with normal noise of a given standard deviation on every degree of freedom."""
    both = jax.random.normal(key, (2, model.nv), data.qvel.dtype)
    return data.replace(
        qpos=integrate_pos(model, data.qpos, both[0], position),
        qvel=data.qvel + velocity * both[1],
    )


def near(distance: Array, width: float) -> Array:
    """exp(-(d / width)^2), where the distance d is a number or the length of a vector."""
    return jnp.exp(-jnp.sum(jnp.square(distance / width)))


def ramp(x: Array, top: float) -> Array:
    """x / top between 0 and 1."""
    return jnp.clip(x / top, 0, 1)


def effort(data: Data) -> Array:
    """Mean square of the controls."""
    return jnp.mean(jnp.square(data.ctrl))


def joint_sensors(names: str) -> str:
    """MJCF of sensors of the positions and velocities of joints, whose names are in one text."""
    return "".join(
        f'<jointpos name="{name}" joint="{name}"/><jointvel name="{name}_speed" joint="{name}"/>'
        for name in names.split()
    )
