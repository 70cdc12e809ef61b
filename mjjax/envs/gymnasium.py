"""Gymnasium's environments around those of mjjax: one world, and many at once.

Importing this module registers all tasks, so that `gymnasium.make("mjjax/ant-v0")` and
`gymnasium.make_vec("mjjax/ant-v0", num_envs=64)` make them. Gymnasium's own tasks on mjjax have its
names: `gymnasium.make("mjjax/Ant-v5")`. Needs `pip install 'mjjax[envs]'`.

Numbers come as NumPy arrays, which costs a copy in every step; `GymnasiumVectorEnv` with
`arrays="jax"` leaves them where they were computed.
"""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from jax.core import Tracer

from mjjax.envs import GYMNASIUM_TASKS, TASKS, make
from mjjax.envs.environment import Environment, EnvState, Params
from mjjax.envs.randomize import world_axes
from mjjax.envs.worlds import (
    Restart,
    World,
    advance_all,
    advance_one,
    begin_all,
    begin_one,
    chosen_worlds,
    keys_of,
)
from mjjax.pipeline.arguments import check_shape, real_array
from mjjax.render.smooth import smooth_picture

# The kinds of arrays that the vector environment returns.
Arrays = Literal["numpy", "jax"]
Array = np.ndarray | jax.Array
Info = dict[str, Any]

RESTARTS: dict[AutoresetMode, Restart] = {
    AutoresetMode.NEXT_STEP: "next",
    AutoresetMode.SAME_STEP: "same",
    AutoresetMode.DISABLED: "never",
}


class GymnasiumEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """One world. As Gymnasium requires, an episode that has ended waits for `reset`.

    The `info` of a step has the terms of the reward, before weighting, and `bad_action`, which says
    whether the episode ended because the action is NaN.

    Args:
        env: environment, or the name of a task.
        params: parameters of the environment.
        render_mode: `"rgb_array"` if `render` is to make pictures.
        width: width of pictures [pixel].
        height: height of pictures [pixel].

    Raises:
        ValueError: there is no such task or render mode.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 50}  # noqa: RUF012 as Gymnasium has it

    def __init__(
        self,
        env: Environment | str,
        params: Params | None = None,
        render_mode: str | None = None,
        width: int = 320,
        height: int = 240,
    ):
        self.env = _made(env)
        self.params = self.env.default_params if params is None else params
        self.metadata = self.metadata | {"render_fps": round(1 / self.env.dt)}
        self.render_mode = _known("render_mode", render_mode, (None, "rgb_array"))
        self.size = width, height
        self.observation_space = space(self.env.observation_space(self.params))
        self.action_space = space(self.env.action_space(self.params))
        self._world: World | None = None

    def __repr__(self) -> str:
        return f"GymnasiumEnv({self.env!r})"

    def reset(
        self, *, seed: int | None = None, options: Info | None = None
    ) -> tuple[np.ndarray, Info]:
        super().reset(seed=seed)
        if seed is None and self._world is not None:
            key = self._world.key
        else:
            key = keys_of(_numbers([seed], self.np_random))[0]
        self._world = world = begin_one(self.env, key, self.params)
        return jax.tree.map(np.array, world.obs), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, Info]:
        if self._world is None:
            raise ResetNeeded("call reset before the first step")
        numbers = real_array(action, "an action")
        world, found = advance_one(self.env, "never", self._world, numbers, self.params)
        self._world = world
        obs, (reward, terminated, truncated, info) = jax.device_get((world.obs, found))
        said = {name: x.item() for name, x in info.items() if f"_{name}" in info}
        return jax.tree.map(np.array, obs), float(reward), bool(terminated), bool(truncated), said

    def render(self) -> np.ndarray | None:
        """A picture as bytes (height, width, 3)."""
        if self.render_mode is None or self._world is None:
            return None
        return _picture(self.env, self._world.state, self.params, self.size)


class GymnasiumVectorEnv(gymnasium.vector.VectorEnv):
    """Many worlds in one compiled step; `autoreset_mode` says when their next episodes start.

    - `NEXT_STEP`, which Gymnasium's wrappers expect: the step after the end of an episode ignores
      that world's action and starts the next episode, with reward 0.
    - `SAME_STEP`: the step that ends an episode also starts the next one. `info` then has the last
      observation and `info` of the old episode, `final_obs` and `final_info`.
    - `DISABLED`: `reset(options={"reset_mask": mask})` starts new episodes in some worlds.

    The `info` of a step has the terms of the reward, before weighting, and `bad_action`, which says
    whether an episode ended because the action is NaN. For each entry `name`, `_name` says for
    which worlds it holds. From the same seed, a world behaves as in `GymnasiumEnv`.

    Args:
        env: environment, or the name of a task.
        num_envs: number of worlds.
        params: parameters; a model with a dimension of worlds gives each world its own.
        render_mode: `"rgb_array"` if `render` is to make pictures.
        width: width of pictures [pixel].
        height: height of pictures [pixel].
        autoreset_mode: Gymnasium's `AutoresetMode`, or its name or value.
        arrays: `"numpy"` or `"jax"`. With `"jax"`, a step copies nothing to the host, all entries
            of `info` are there in every step, and `DISABLED` does not notice that a world continues
            after its episode has ended.

    Raises:
        ValueError: there is no such task, mode or kind of arrays, or `params` has another number of
            worlds.
    """

    metadata = {  # noqa: RUF012 as Gymnasium has it
        "render_modes": ["rgb_array"],
        "render_fps": 50,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        env: Environment | str,
        num_envs: int = 1,
        params: Params | None = None,
        render_mode: str | None = None,
        width: int = 320,
        height: int = 240,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        arrays: Arrays = "numpy",
    ):
        self.env = _made(env)
        self.params = self.env.default_params if params is None else params
        self.num_envs = _count(num_envs, self.params)
        mode = _mode(autoreset_mode)
        fps = round(1 / self.env.dt)
        self.metadata = self.metadata | {"render_fps": fps, "autoreset_mode": mode}
        self.render_mode = _known("render_mode", render_mode, (None, "rgb_array"))
        self.size = width, height
        self.arrays = _known("arrays", arrays, get_args(Arrays))
        self.single_observation_space = space(self.env.observation_space(self.params))
        self.single_action_space = space(self.env.action_space(self.params))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._restart = RESTARTS[mode]
        self._worlds: World | None = None
        self._over = np.zeros(num_envs, bool)  # the host knows it only with arrays="numpy"

    def __repr__(self) -> str:
        return f"GymnasiumVectorEnv({self.env!r}, num_envs={self.num_envs})"

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Info | None = None
    ) -> tuple[Any, Info]:
        """Starts an episode in every world, or in those of `options["reset_mask"]`.

        Args:
            seed: seeds of the worlds, or that of the first world, from which the others count up;
                with None, the worlds continue at random.
            options: `reset_mask`, (num_envs,) booleans, says which worlds start anew.

        Raises:
            ValueError: the number of seeds is wrong, or the mask is invalid.
            ResetNeeded: there is a mask, but not all worlds have been reset before.
        """
        mask = None if options is None else options.get("reset_mask")
        if mask is not None:
            self._check_mask(mask)
        seeds = self._seeds(seed)
        keys = keys_of(_numbers(seeds, self.np_random))
        if self._worlds is not None:
            given = np.array([one is not None for one in seeds])
            keys = chosen_worlds(given, keys, self._worlds.key)
        fresh = begin_all(self.env, keys, self.params)
        worlds = fresh if mask is None else chosen_worlds(mask, fresh, self._worlds)
        self._worlds = worlds
        if self.arrays == "jax":
            return worlds.obs, {}
        self._over = np.array(worlds.over)
        return jax.tree.map(np.array, worlds.obs), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, Info]:
        """One step of all worlds.

        Args:
            actions: (num_envs, nu), a JAX, NumPy or DLPack array.

        Raises:
            ValueError: the actions have another shape, or they are not real numbers.
            ResetNeeded: there was no reset, or with `DISABLED` no reset after an episode ended.
        """
        if self._worlds is None:
            raise ResetNeeded("call reset before the first step")
        if self._restart == "never" and self._over.any():
            ended = ", ".join(map(str, np.flatnonzero(self._over)))
            raise ResetNeeded(f"the episodes of worlds {ended} have ended: reset with a reset_mask")
        actions = real_array(actions, "actions")
        check_shape(actions, self.action_space.shape or (), "actions")
        before, actions = _together(self._worlds, actions)
        worlds, found = advance_all(self.env, self._restart, before, actions, self.params)
        self._worlds = worlds
        if self.arrays == "jax":
            return worlds.obs, *found
        obs, self._over, found = jax.tree.map(
            np.array, jax.device_get((worlds.obs, worlds.over, found))
        )
        return obs, *found[:3], _of_some(found.info)

    def render(self) -> tuple[np.ndarray, ...] | None:
        """A picture per world, as bytes (height, width, 3)."""
        if self.render_mode is None or self._worlds is None:
            return None
        return tuple(self._picture(i) for i in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        self._worlds = None

    def _picture(self, i: int) -> np.ndarray:
        assert self._worlds is not None
        state = jax.tree.map(lambda x: x[i], self._worlds.state)
        leaves, kind = jax.tree.flatten(self.params)
        own = [x if a is None else x[i] for x, a in zip(leaves, _axes(self.params), strict=True)]
        return _picture(self.env, state, jax.tree.unflatten(kind, own), self.size)

    def _seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int | np.integer):
            super().reset(seed=int(seed))
            return [int(seed) + i for i in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ValueError(f"{len(seed)} seeds for {self.num_envs} worlds: give one for each")
        return seed

    def _check_mask(self, mask: Any) -> None:
        if self._worlds is None:
            raise ResetNeeded("the first reset is one of all worlds, without a reset_mask")
        shape, dtype = getattr(mask, "shape", None), getattr(mask, "dtype", type(mask).__name__)
        if shape != (self.num_envs,) or dtype != np.bool_:
            raise ValueError(
                f"reset_mask must be an array of {self.num_envs} truth values, got {dtype} of "
                f"shape {shape}"
            )
        if not np.any(mask):
            raise ValueError("reset_mask is false everywhere: there is nothing to reset")


def _made(env: Environment | str) -> Environment:
    if isinstance(env, str):
        return make(env)
    if not isinstance(env, Environment):
        raise TypeError(f"env is an mjjax.envs.Environment or the name of a task, not {env!r:.60}")
    return env


def space(box: Any) -> gymnasium.spaces.Space[Any]:
    """A space, or a dictionary of spaces, as a space of Gymnasium."""
    if isinstance(box, dict):
        return gymnasium.spaces.Dict({name: space(part) for name, part in box.items()})
    return gymnasium.spaces.Box(box.low, box.high, box.shape, box.dtype.type)


def _picture(
    env: Environment, state: EnvState, params: Params, size: tuple[int, int]
) -> np.ndarray:
    """A picture of one world by the model's free camera, as bytes (height, width, 3)."""
    return smooth_picture(params.model, env.data(state, params), None, *size)


def _together(worlds: World, actions: jax.Array) -> tuple[World, jax.Array]:
    """Binds the worlds to the device of actions that are bound to one, as other libraries' are.

    JAX would compile a program for each mixture of bound and unbound arrays.
    """
    if isinstance(actions, Tracer) or not actions.committed:
        return worlds, actions
    place = worlds.over.sharding
    if not worlds.over.committed:
        worlds = jax.device_put(worlds, place)
    return worlds, jax.device_put(actions, place)


def _numbers(seeds: Sequence[int | None], random: np.random.Generator) -> jax.Array:
    """Numbers (n,) for random keys, from the seeds or at random."""
    for seed in seeds:
        whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
        if seed is not None and (not whole or seed < 0):
            raise ValueError(f"a seed is a whole number that is not negative, not {seed!r}")
    drawn = random.integers(2**32, size=len(seeds)) if None in seeds else np.zeros(len(seeds), int)
    given = [int(x) if seed is None else seed % 2**32 for x, seed in zip(drawn, seeds, strict=True)]
    return jnp.asarray(np.array(given, np.uint32))


def _of_some(info: Info) -> Info:
    """The entries that hold for some world, in the form of Gymnasium's own vector environments."""
    found: Info = {}
    for name, value in info.items():
        mask = info.get(f"_{name}")
        if mask is None or not mask.any():
            continue
        if name == "final_obs":
            whole, value = value, np.full(len(mask), None, object)
            for i in np.flatnonzero(mask):
                value[i] = jax.tree.map(lambda x, i=i: x[i], whole)
        found |= {name: _of_some(value) if isinstance(value, dict) else value, f"_{name}": mask}
    return found


def _axes(params: Params) -> list[int | None]:
    """The axis of worlds of each leaf, or None."""
    return jax.tree.structure(params).flatten_up_to(world_axes(params))


def _count(num_envs: int, params: Params) -> int:
    """The number of worlds, after a check that the parameters have the same number."""
    if num_envs < 1:
        raise ValueError(f"num_envs must be at least 1, got {num_envs}")
    leaves = zip(jax.tree.leaves(params), _axes(params), strict=True)
    if other := {len(x) for x, axis in leaves if axis is not None} - {num_envs}:
        raise ValueError(f"params is of {other.pop()} worlds, but num_envs is {num_envs}")
    return num_envs


def _mode(given: AutoresetMode | str) -> AutoresetMode:
    for mode in AutoresetMode:
        if given in (mode, mode.value, mode.name):
            return mode
    names = ", ".join(mode.name for mode in AutoresetMode)
    raise ValueError(f"autoreset_mode must be one of {names}, not {given!r}")


def _known(name: str, given: Any, values: Sequence[Any]) -> Any:
    if given not in values:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, values))}, not {given!r}")
    return given


for _name in (*TASKS, *GYMNASIUM_TASKS):
    # The entry points are names, so that the specification of an environment can be saved.
    gymnasium.register(
        f"mjjax/{_name}" if _name in GYMNASIUM_TASKS else f"mjjax/{_name}-v0",
        entry_point=f"{__name__}:GymnasiumEnv",
        vector_entry_point=f"{__name__}:GymnasiumVectorEnv",
        kwargs={"env": _name},
    )
