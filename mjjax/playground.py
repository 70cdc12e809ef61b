"""MuJoCo Playground: its environments as ours, and our tasks in its registry.

    env = mjjax.playground.load("CheetahRun")  # for mjjax.training, Gymnasium, gymnax
    mjjax.playground.register()  # playground's registry.load("halfcheetah")

It needs Playground, `pip install playground`, and calls `mjjax.mujoco.install`.
"""

import functools
import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

import mjjax
import mjjax.envs
import mjjax.mujoco
from mjjax.envs.checks import require_state, weighted, within
from mjjax.envs.environment import DIVERGED, Environment, EnvState, Info, Params, first, following
from mjjax.mjx import Data, put_model
from mjjax.model.data import Data as NativeData
from mjjax.model.model import Model
from mjjax.pipeline.carried import take

_STATE = "state"  # of the environment of Playground, in the state of ours


def _playground() -> Any:
    """Playground on mjjax.

    Raises:
        ImportError: Playground is not installed.
        RuntimeError: something has imported MJX.
    """
    mjjax.mujoco.install()
    try:
        return importlib.import_module("mujoco_playground")
    except ModuleNotFoundError as error:
        raise ImportError(f"{error}: pip install playground") from None


def load(name: str, config: Any = None, config_overrides: Any = None) -> "PlaygroundEnv":
    """An environment of Playground, with the interface of `mjjax.envs.Environment`.

    Args:
        name: its name in Playground's registry.
        config: its configuration, `registry.get_default_config(name)` if None.
        config_overrides: values by name that replace those of the configuration.

    Raises:
        ImportError: Playground is not installed.
        RuntimeError: the program has imported MJX; call `mjjax.mujoco.install()` at its start.
        ValueError: there is no such environment.
    """
    registry = _playground().registry
    if name not in registry.ALL_ENVS:
        raise ValueError(f"Playground has no {name!r}; it has {', '.join(registry.ALL_ENVS)}")
    config = registry.get_default_config(name) if config is None else config
    if "impl" in config:  # the implementations that it may name are MJX's
        config.impl = "jax"
    return PlaygroundEnv(name, registry.load(name, config, config_overrides))


class PlaygroundEnv(Environment):
    """An environment of Playground with the interface of gymnax; `load` makes one.

    Its observation is what the policy sees; of a dictionary, it is the entry `state`. Its
    parameters have the model, whose numbers may be randomized per world, and one weight, `reward`.
    An episode ends when Playground says so, when the simulation diverges, or after the
    `episode_length` of its configuration.

    Attributes:
        playground: the environment of Playground.
    """

    weights = {"reward": 1.0}  # noqa: RUF012 as the class has it

    def __init__(self, name: str, playground: Any):
        self.playground, self._name = playground, name
        super().__init__(playground.mjx_model.native)

    def __repr__(self) -> str:
        return f"mjjax.playground.load({self._name!r})"

    @property
    def name(self) -> str:
        return self._name

    @property
    def dt(self) -> float:
        return float(self.playground.dt)

    @property
    def default_params(self) -> Params:
        longest = jnp.asarray(self.playground._config.episode_length, jnp.int32)
        return super().default_params.replace(max_steps_in_episode=longest)

    @property
    def fields(self) -> tuple[str, ...]:
        return (_STATE,)

    def reset_env(self, key: Array, params: Params) -> tuple[Array, EnvState]:
        if jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
            key = jax.random.key_data(key)
        with self._of(params.model) as playground:
            found = playground.reset(key)
        return _seen(found), EnvState(jnp.zeros((), jnp.int32), {_STATE: found})

    def step_env(
        self, key: Array, state: EnvState, action: Array, params: Params
    ) -> tuple[Array, EnvState, Array, Array, Info]:
        del key  # Playground's states have keys of their own
        require_state(state, self.fields, f"step of {self.name}")
        action = within(action, self.action_space(params), f"an action of {self.name}")
        bad = jnp.isnan(action).any()
        # Steps write into the dictionaries of a state, which belong to the caller here.
        before: Any = jax.tree.map(lambda x: x, state.physics[_STATE])
        count = before.data.native.warning[DIVERGED]
        with self._of(params.model) as playground:
            after = playground.step(before, jnp.nan_to_num(action))
        # Numbers of a step may be of other types than those of a reset.
        after = jax.tree.map(lambda x, to: jnp.asarray(x, to.dtype), after, state.physics[_STATE])
        terms = {"reward": after.reward}
        diverged = jnp.any(after.data.native.warning[DIVERGED] > count)
        time = state.time + 1
        terminated = (after.done > 0) | diverged | bad
        truncated = time >= params.max_steps_in_episode
        info = {"terminated": terminated, "truncated": truncated, "bad_action": bad, "terms": terms}
        reward = weighted(terms, params.weights, self.name)
        new = EnvState(time, {_STATE: after})
        return _seen(after), new, reward, terminated | truncated, info

    def data(self, state: EnvState, params: Params | None = None) -> NativeData:
        found: Any = state.physics[_STATE]
        return found.data.native

    @contextmanager
    def _of(self, model: Model) -> Iterator[Any]:
        """Playground's environment with a model; its own comes back in the end."""
        own = self.playground._mjx_model
        self.playground._mjx_model = type(own)(model)
        try:
            yield self.playground
        finally:
            self.playground._mjx_model = own


def _seen(state: Any) -> Array:
    """What the policy sees of a state of Playground."""
    return state.obs["state"] if isinstance(state.obs, Mapping) else state.obs


def register() -> tuple[str, ...]:
    """Adds mjjax's tasks to Playground's registry, where training scripts find them by name.

    They are listed with the environments of the DeepMind Control Suite, so training scripts use the
    settings of that suite for them. Rewards are those of `mjjax.envs`, `metrics` the terms of the
    reward. `state.data` has all that follows from positions and velocities.

    Returns:
        Their names.

    Raises:
        ImportError: Playground is not installed.
        RuntimeError: something has imported MJX.
    """
    playground = _playground()
    suite, registry = playground.dm_control_suite, playground.registry
    names = (*mjjax.envs.TASKS, *mjjax.envs.GYMNASIUM_TASKS)
    for name in names:
        own = {"task_name": name, "state": playground.State}
        task = type(f"Task_{name}", (Task, playground.MjxEnv), own)
        suite.register_environment(name, task, functools.partial(configuration, name))
    for module in (suite, registry):
        module.ALL_ENVS = tuple(dict.fromkeys((*module.ALL_ENVS, *names)))
    return names


def configuration(name: str) -> Any:
    """Playground's configuration of a task of `mjjax.envs`."""
    config_dict: Any = importlib.import_module("ml_collections.config_dict")
    env = mjjax.envs.make(name)
    return config_dict.create(
        ctrl_dt=env.dt,
        sim_dt=float(env.model.opt.timestep),
        episode_length=int(env.episode),
        action_repeat=1,
        impl="jax",
    )


class Task:
    """A task of `mjjax.envs` in Playground's form, beside Playground's own base class.

    Attributes:
        task_name: name of the task.
        state: Playground's class of states.
        task: the environment of mjjax.
    """

    task_name: str
    state: Any

    def __init__(self, config: Any = None, config_overrides: Any = None):
        config = configuration(self.task_name) if config is None else config
        super().__init__(config, config_overrides)  # type: ignore[call-arg]
        self.task = mjjax.envs.make(self.task_name)
        self._mj_model = sys.modules["mujoco"].MjModel.from_xml_string(self.task.scene())
        self._mjx_model = put_model(self.task.model)

    def reset(self, rng: Array) -> Any:
        """Starts an episode."""
        params = self._params()
        seen, state = first(self.task, rng, params)
        zero = jnp.zeros(())
        return self._state(params, seen, state, zero, zero, dict.fromkeys(params.weights, zero), {})

    def step(self, state: Any, action: Array) -> Any:
        """One step; `done` is 1 if the episode ended for another reason than its time limit."""
        params = self._params()
        before = EnvState(jnp.zeros((), jnp.int32), take(self.task.fields, state.data.native))
        seen, after, reward, info = following(self.task, before, action, params)
        done = info["terminated"].astype(reward.dtype)
        metrics = state.metrics | info["terms"]
        return self._state(params, seen, after, reward, done, metrics, state.info)

    def _params(self) -> Params:
        # Playground's wrapper puts random models in the place of its own.
        return self.task.default_params.replace(model=self._mjx_model.native)

    def _state(self, params: Params, seen: NativeData, state: EnvState, *rest: Any) -> Any:
        obs = self.task.observe(params.model, seen)
        return self.state(Data(seen.replace(**state.physics)), obs, *rest)

    @property
    def xml_path(self) -> str:
        """Name of the file of the model."""
        return f"{self.task.asset}.xml"

    @property
    def action_size(self) -> int:
        """Length of an action."""
        return self.task.model.nu

    @property
    def mj_model(self) -> Any:
        """The model for pictures and names."""
        return self._mj_model

    @property
    def mjx_model(self) -> Any:
        """The model that is simulated."""
        return self._mjx_model
