"""An environment: a model, and how episodes start, are observed, are rewarded and end."""

import functools
from collections.abc import Mapping
from importlib import resources
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mjjax.core.enums import WarningType
from mjjax.core.struct import PyTree, array
from mjjax.dynamics.actuation import accepted_ctrl
from mjjax.envs.checks import (
    require_key,
    require_params,
    require_state,
    truth,
    weighted,
    within,
)
from mjjax.envs.spaces import Box
from mjjax.model.data import Data
from mjjax.model.export import register_numbers
from mjjax.model.model import Model
from mjjax.pipeline.arguments import check_shape, real_array
from mjjax.pipeline.boundary import check_shapes, require_kinds
from mjjax.pipeline.carried import carried, take
from mjjax.pipeline.forward import forward
from mjjax.pipeline.make_data import make_data
from mjjax.pipeline.rollout import rollout
from mjjax.pipeline.step import step, step1
from mjjax.xla.all_worlds import largest_of_worlds
from mjjax.xla.loops import cond
from mjjax.xla.namespace import where

DIVERGED = np.array([WarningType.BADQPOS, WarningType.BADQVEL, WarningType.BADQACC])
Info = dict[str, Any]


class Params(PyTree):
    """All numbers of an environment; changing them needs no new compilation."""

    model: Model = array(doc="the model; its leaves may have one value per world")
    weights: dict[str, Array] = array(doc="factor of each term of the reward")
    max_steps_in_episode: Array = array(dtype=int, doc="steps after which an episode is cut off")

    def replace(self, **changes: Any) -> "Params":
        """These parameters with some changed; numbers as weights compile nothing anew."""
        if isinstance(changes.get("weights"), Mapping):
            weights = changes["weights"].items()
            changes["weights"] = {name: _strong(value) for name, value in weights}
        return self._replaced(changes)


def _strong(x: Any) -> Any:
    """A number as an array of the default precision; anything else, such as a mark, as it is."""
    if isinstance(x, str):
        raise TypeError(f"a weight is a number, not {x!r:.40}")
    return jnp.asarray(x, jnp.zeros(()).dtype) if isinstance(x, int | float) else x


class EnvState(PyTree):
    """The state from which an episode continues."""

    time: Array = array(dtype=int, doc="steps since the reset")
    physics: dict[str, Array] = array(doc="fields of `Data` that the next step reads")


for _tree in (Params, EnvState):
    register_numbers(_tree)


class Environment:
    """Reset and step with the interface of gymnax; a subclass defines the task.

    An environment is pure and immutable: you can `jax.vmap` it over keys, states and actions. If
    the model in `Params` has a dimension of worlds, use `vectorize`. A step is `frame_skip` steps
    of the simulator. Observation, reward and end of the episode belong to the state that the step
    returns, not to the state before it.

    A subclass sets the class variables and defines `start` and `terms`. It also defines `observe`
    and `failed` if the defaults do not suit it.

    Attributes:
        model: the model of `default_params`.
    """

    asset: ClassVar[str]
    """Name of the MJCF file in `mjjax/assets`."""
    sensors: ClassVar[str] = ""
    """MJCF of sensors that the task adds to it."""
    weights: ClassVar[Mapping[str, float]]
    """Factor of each term of the reward."""
    frame_skip: int = 4
    """Steps of the simulator in a step of the environment."""
    episode: int = 500
    """Number of steps after which an episode ends."""
    remembered: ClassVar[tuple[str, ...]] = ()
    """Results in `Data` that `terms` reads of the step before."""

    def __init__(self, model: Model | None = None):
        self.model = Model.from_xml_string(self.scene()) if model is None else model
        require_kinds(self.name, {"model": self.model})
        if not hasattr(self, "weights"):
            raise TypeError(f"{self.name} has no weights, the factor of each term of its reward")

    def __repr__(self) -> str:
        name = self.model.structure.model_name
        return f"{self.name}({name!r}, frame_skip={self.frame_skip}, episode={self.episode})"

    def scene(self) -> str:
        """MJCF of the model: the asset with the sensors of the task."""
        if not hasattr(self, "asset"):
            raise TypeError(f"{self.name} has no asset: pass a model, {self.name}(model)")
        text = (resources.files("mjjax") / f"assets/{self.asset}.xml").read_text(encoding="utf-8")
        return text.replace("</mujoco>", f"<sensor>{self.sensors}</sensor></mujoco>")

    # A subclass defines these for its task.

    def start(self, key: Array, model: Model, data: Data) -> Data:
        """A random state in which an episode starts; `data` is at `qpos0`, at rest."""
        raise NotImplementedError(f"{self.name} does not define start(key, model, data)")

    def terms(self, model: Model, before: Data, data: Data) -> dict[str, Array]:
        """Terms of the reward by name; the reward is the sum of the terms, each times its weight.

        Args:
            model: model.
            before: state at the beginning of the step, with the `ctrl` of the step before.
            data: data after the step, with everything that follows from positions and velocities,
                including the readings of such sensors.
        """
        raise NotImplementedError(f"{self.name} does not define terms(model, before, data)")

    def failed(self, model: Model, data: Data) -> Array:
        """Whether the task ends the episode here; by default never."""
        return jnp.zeros((), bool)

    def observe(self, model: Model, data: Data) -> Any:
        """The observation; by default the readings of all sensors, in their order.

        It is an array, or a dictionary of arrays, which Brax and Gymnasium accept.
        """
        return data.sensordata

    def seen(self, model: Model, data: Data) -> Data:
        """What the task sees at the start of an episode: all that follows from the state."""
        return step1(model, data)

    def advance(self, model: Model, data: Data, ctrl: Any) -> tuple[Data, Data]:
        """The data after a step with these controls, and what the task sees of it."""
        after, _ = rollout(model, data, ctrl, nstep=self.frame_skip, keep=(), derived=())
        return after, step1(model, after)

    def control(self, model: Model, action: Array) -> Array:
        """Controls for an action in `action_space`; maps [-1, 1] to the range of each actuator.

        `step` clamps the result to the range of each actuator that has a range.
        """
        low, high = model.actuator_ctrlrange.T
        return (low + high) / 2 + action * (high - low) / 2

    # Users call these.

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def dt(self) -> float:
        """Duration of a step [s]."""
        return self.frame_skip * float(self.model.opt.timestep)

    @functools.cached_property
    def default_params(self) -> Params:
        # They are kept, so they must not belong to a program in which they are read first.
        with jax.ensure_compile_time_eval():
            weights = {name: jnp.asarray(value, float) for name, value in self.weights.items()}
            return Params(self.model, weights, jnp.asarray(self.episode, jnp.int32))

    def reset(self, key: Array, params: Params | None = None) -> tuple[Array, EnvState]:
        """Starts an episode, and returns its first observation and state."""
        params = self._checked("reset", key, params)
        return _reset(self, key, params)

    def step(
        self, key: Array, state: EnvState, action: Array, params: Params | None = None
    ) -> tuple[Array, EnvState, Array, Array, Info]:
        """Makes one step; if it ends the episode, the next one starts at once, in a random state.

        An action beyond the bounds of `action_space` counts as the nearest one within them, so its
        derivative is zero. An action that is NaN ends the episode: its step is made with all
        controls zero, as in MuJoCo, and `data.warning` counts it.

        Args:
            key: random key for the start of the next episode.
            state: state.
            action: (nu,) in -1 to 1; a JAX, NumPy or DLPack array, or a list.
            params: parameters, by default `default_params`.

        Returns:
            Observation, state, reward, whether the episode ended, and a dictionary. In it,
            `terminated` and `truncated` say why it ended (both may be true), `bad_action` whether a
            NaN action ended it. `final_observation` is the last observation of an episode that
            ended, else the observation. `terms` are the terms of the reward, before weighting.

        Raises:
            ValueError: the action is invalid, the state is a batch, or a term has no weight.
        """
        params = self._checked("step", key, params)
        require_state(state, self.fields, f"step of {self.name}")
        action = real_array(action, f"an action of {self.name}")
        return _step(self, key, state, action, params)

    def reset_env(self, key: Array, params: Params) -> tuple[Array, EnvState]:
        """`reset`, without `jax.jit`."""
        seen, state = first(self, key, params)
        return self._observation(params.model, seen), state

    def step_env(
        self, key: Array, state: EnvState, action: Array, params: Params
    ) -> tuple[Array, EnvState, Array, Array, Info]:
        """`step`, without `jax.jit` and without a restart when an episode ends."""
        del key  # only environments whose steps are random need it
        seen, after, reward, info = following(self, state, action, params)
        done = info["terminated"] | info["truncated"]
        return self._observation(params.model, seen), after, reward, done, info

    def data(self, state: EnvState, params: Params | None = None) -> Data:
        """`Data` of one world with all fields, for pictures and measurements."""
        require_state(state, self.fields, f"data of {self.name}")
        return _data(self, state, self.default_params if params is None else params)

    def action_space(self, params: Params | None = None) -> Box:
        return Box(-1.0, 1.0, (self.model.nu,))

    def observation_space(self, params: Params | None = None) -> Any:
        """A `Box`; a dictionary of them if observations are dictionaries."""
        return jax.tree.map(lambda x: Box(-np.inf, np.inf, x.shape), self._observed)

    def _observation(self, model: Model, data: Data) -> Any:
        """An observation, as an array or a dictionary of arrays."""
        what, seen = f"what observe() of {self.name} returns", self.observe(model, data)
        if isinstance(seen, Mapping):
            return {name: real_array(x, what, data.qpos.dtype) for name, x in seen.items()}
        return real_array(seen, what, data.qpos.dtype)

    def _checked(self, method: str, key: Any, params: Params | None) -> Params:
        """Parameters of a call after checks; the default ones if the call has none."""
        require_key(key, f"{method} of {self.name}")
        if params is None:
            return self.default_params
        require_params(params, self.model, f"{method} of {self.name}")
        return params

    @functools.cached_property
    def fields(self) -> tuple[str, ...]:
        """Fields of `Data` that a step reads from the step before."""
        data = jax.eval_shape(make_data, self.model)
        found = carried(lambda m, d: (step(m, d), None), self.model, data, ())
        return tuple(sorted(found | {*self.remembered}))

    @functools.cached_property
    def _observed(self) -> Any:
        """Shapes and types of an observation."""
        return jax.eval_shape(self.reset_env, jax.random.key(0), self.default_params)[0]


def first(env: Environment, key: Array, params: Params) -> tuple[Data, EnvState]:
    """The start of an episode: what the task sees of it, and the state from which it goes on."""
    model, what = params.model, f"start() of {env.name}"
    check_shapes(f"reset of {env.name}", {"model": model})
    data = env.start(key, model, make_data(model))
    require_kinds(what, {"data": data})
    check_shapes(what, {"model": model, "data": data})
    seen = env.seen(model, data)
    data = data.replace(**take(env.remembered, seen))
    return seen, EnvState(jnp.zeros((), jnp.int32), take(env.fields, data))


def following(
    env: Environment, state: EnvState, action: Array, params: Params
) -> tuple[Data, EnvState, Array, Info]:
    """A step: what the task sees after it, the state, the reward and information."""
    model = params.model
    require_state(state, env.fields, f"step of {env.name}")
    before = make_data(model).replace(**state.physics)
    check_shapes(f"step of {env.name}", {"model": model, "data": before})
    action = within(action, env.action_space(params), f"an action of {env.name}")
    what = f"what control() of {env.name} returns"
    ctrl = real_array(env.control(model, action), what)
    check_shape(ctrl, (model.structure.nu,), what)
    ctrl, bad = accepted_ctrl(model, ctrl)
    before = before.with_warnings({WarningType.BADCTRL: bad})
    data, seen = env.advance(model, before, ctrl)
    after = EnvState(state.time + 1, take(env.fields, data))
    terms = env.terms(model, before, seen)
    reward = weighted(terms, params.weights, env.name)
    diverged = jnp.any(data.warning[DIVERGED] > before.warning[DIVERGED])
    failed = truth(env.failed(model, seen), f"what failed() of {env.name} returns")
    terminated = failed | diverged | bad
    truncated = after.time >= params.max_steps_in_episode
    info = {"terminated": terminated, "truncated": truncated, "bad_action": bad, "terms": terms}
    return seen, after, reward, info


# Environments compare by identity. So programs are found again for an environment, and for `make`.
@functools.partial(jax.jit, static_argnums=0)
def _reset(env: Environment, key: Array, params: Params) -> tuple[Array, EnvState]:
    return env.reset_env(key, params)


@functools.partial(jax.jit, static_argnums=0)
def _step(
    env: Environment, key: Array, state: EnvState, action: Array, params: Params
) -> tuple[Array, EnvState, Array, Array, Info]:
    stepping, starting = jax.random.split(key)
    seen, after, reward, done, info = env.step_env(stepping, state, action, params)
    # A new start is computed only in steps in which an episode of some world of the batch ends.
    begun = cond(
        largest_of_worlds(done), lambda: env.reset_env(starting, params), lambda: (seen, after)
    )
    obs, state = jax.tree.map(lambda a, b: where(done, a, b), begun, (seen, after))
    return obs, state, reward, done, info | {"final_observation": seen}


@functools.partial(jax.jit, static_argnums=0)
def _data(env: Environment, state: EnvState, params: Params) -> Data:
    data = make_data(params.model).replace(**state.physics)
    return forward(params.model, data)
