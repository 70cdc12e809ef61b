"""Gymnasium's arms and pendulums."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

from mjjax.envs.gymnasium_tasks.task import GymnasiumTask, noise, square
from mjjax.math import safe
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.xla.loops import while_loop


class ReacherV5(GymnasiumTask):
    """Reach a target in the plane with the tip of an arm.

    r = -|tip - target| - |u|^2. The target is anywhere within 0.2 m. The episode does not end.
    """

    file, frame_skip, episode = "reacher.xml", 2, 50
    weights = {"reward_dist": -1.0, "reward_ctrl": -1.0}

    def start(self, key: Array, model: Model, data: Data) -> Data:
        positions, velocities, goal = jax.random.split(key, 3)
        low, high = jnp.array([-0.2, -0.2]), jnp.array([0.2, 0.2])
        goal = _drawn(goal, low, high, lambda x: safe.norm(x) < 0.2)
        shaken = noise(positions, model, data, 0.1, normal=False)
        slow = noise(velocities, model, data, 0.005, normal=False)
        return data.replace(qpos=shaken.qpos.at[-2:].set(goal), qvel=slow.qvel.at[-2:].set(0))

    def observe(self, model: Model, data: Data) -> Array:
        angles = data.qpos[:2]
        parts = [jnp.cos(angles), jnp.sin(angles), data.qpos[2:], data.qvel[:2]]
        return jnp.concatenate([*parts, _between(model, data, "fingertip", "target")[:2]])

    def terms(self, model: Model, before: Data, data: Data) -> dict[str, Array]:
        return {
            "reward_dist": safe.norm(_between(model, data, "fingertip", "target")),
            "reward_ctrl": square(data.ctrl),
        }


class PusherV5(GymnasiumTask):
    """Push an object to its goal with the tip of an arm.

    r = -|object - goal| - 0.1 |u|^2 - 0.5 |object - tip|. The episode does not end.
    """

    file, frame_skip, episode = "pusher_v5.xml", 5, 100
    weights = {"reward_dist": -1.0, "reward_ctrl": -0.1, "reward_near": -0.5}

    def start(self, key: Array, model: Model, data: Data) -> Data:
        velocities, place = jax.random.split(key)
        low, high = jnp.array([-0.3, -0.2]), jnp.array([0.0, 0.2])
        place = _drawn(place, low, high, lambda x: safe.norm(x) > 0.17)
        slow = noise(velocities, model, data, 0.005, normal=False)
        return data.replace(
            qpos=data.qpos.at[-4:].set(jnp.concatenate([place, 0 * place])),
            qvel=slow.qvel.at[-4:].set(0),
        )

    def observe(self, model: Model, data: Data) -> Array:
        places = [data.body(name).xpos for name in ("tips_arm", "object", "goal")]
        return jnp.concatenate([data.qpos[:7], data.qvel[:7], *places])

    def terms(self, model: Model, before: Data, data: Data) -> dict[str, Array]:
        return {
            "reward_dist": safe.norm(_between(model, data, "object", "goal")),
            "reward_ctrl": square(data.ctrl),
            "reward_near": safe.norm(_between(model, data, "object", "tips_arm")),
        }


class InvertedPendulumV5(GymnasiumTask):
    """Balance a pole on a cart.

    r = 1 until the pole leans by more than 0.2 rad, which ends the episode.
    """

    file, frame_skip = "inverted_pendulum.xml", 2
    weights = {"reward_survive": 1.0}

    def start(self, key: Array, model: Model, data: Data) -> Data:
        return noise(key, model, data, 0.01, normal=False)

    def observe(self, model: Model, data: Data) -> Array:
        return jnp.concatenate([data.qpos, data.qvel])

    def terms(self, model: Model, before: Data, data: Data) -> dict[str, Array]:
        return {"reward_survive": 1.0 - self.failed(model, data).astype(data.qpos.dtype)}

    def failed(self, model: Model, data: Data) -> Array:
        return abs(data.qpos[1]) > 0.2


class InvertedDoublePendulumV5(GymnasiumTask):
    """Balance two poles on a cart, one on the other.

    r = 10 healthy - 0.01 x^2 - (y - 2)^2 - 1e-3 v1^2 - 5e-3 v2^2, with the tip at (x, y).
    The episode ends when y is 1 m or less.
    """

    file, frame_skip = "inverted_double_pendulum.xml", 5
    weights = {"reward_survive": 10.0, "distance_penalty": -1.0, "velocity_penalty": -1.0}

    def start(self, key: Array, model: Model, data: Data) -> Data:
        return noise(key, model, data, 0.1, normal=True)

    def observe(self, model: Model, data: Data) -> Array:
        angles = data.qpos[1:]
        speed, force = (jnp.clip(x, -10, 10) for x in (data.qvel, data.qfrc_constraint))
        return jnp.concatenate([data.qpos[:1], jnp.sin(angles), jnp.cos(angles), speed, force[:1]])

    def terms(self, model: Model, before: Data, data: Data) -> dict[str, Array]:
        x, y = data.site_xpos[0, 0], data.site_xpos[0, 2]
        return {
            "reward_survive": 1.0 - self.failed(model, data).astype(data.qpos.dtype),
            "distance_penalty": 0.01 * x**2 + (y - 2) ** 2,
            "velocity_penalty": 1e-3 * data.qvel[1] ** 2 + 5e-3 * data.qvel[2] ** 2,
        }

    def failed(self, model: Model, data: Data) -> Array:
        return data.site_xpos[0, 2] <= 1


def _between(model: Model, data: Data, one: str, other: str) -> Array:
    """The way (3,) from one body to another, backwards: one minus other."""
    return data.body(one).xpos - data.body(other).xpos


def _drawn(key: Array, low: Array, high: Array, counts: Callable[[Array], Array]) -> Array:
    """A uniform place between two corners for which a condition holds, by drawing again."""

    def draw(key: Array) -> tuple[Array, Array]:
        key, one = jax.random.split(key)
        return key, jax.random.uniform(one, low.shape, low.dtype, minval=low, maxval=high)

    return while_loop(lambda both: ~counts(both[1]), lambda both: draw(both[0]), draw(key))[1]
