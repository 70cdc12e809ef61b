"""Environments for reinforcement learning, with the interface of gymnax.

env = mjjax.envs.make("cartpole_swingup")
params = env.default_params
obs, state = env.reset(key, params)
obs, state, reward, done, info = env.step(key, state, action, params)
"""

import functools

from mjjax.envs.environment import Environment, EnvState, Params
from mjjax.envs.gymnasium_tasks import GYMNASIUM_TASKS
from mjjax.envs.parts import reading
from mjjax.envs.randomize import randomize, vectorize, world_axes
from mjjax.envs.spaces import Box
from mjjax.envs.tasks import TASKS
from mjjax.envs.tasks.hold import Hold

__all__ = [
    "GYMNASIUM_TASKS",
    "TASKS",
    "Box",
    "EnvState",
    "Environment",
    "Hold",
    "Params",
    "make",
    "randomize",
    "reading",
    "vectorize",
    "world_axes",
]


@functools.cache
def make(name: str) -> Environment:
    """The environment of a task in `TASKS` or `GYMNASIUM_TASKS`.

    Every call returns the same object, so it compiles only once.

    Raises:
        ValueError: there is no such task; the message lists mjjax's own.
    """
    tasks = TASKS | GYMNASIUM_TASKS
    if name not in tasks:
        own = ", ".join(TASKS)
        raise ValueError(f"no task {name!r}; there are {own}, Ant-v5, ...")
    return tasks[name]()
