"""What a window runs: worlds whose controls a user sets, or episodes of a policy."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mjjax.core.convert import as_tree
from mjjax.core.enums import WarningType
from mjjax.envs.environment import Environment, EnvState, Params
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.pipeline.make_data import make_data, reset_data
from mjjax.view.controls import Controls
from mjjax.view.world import Frame, Pull, advance, frame, pulled
from mjjax.xla.namespace import where


class Running(Protocol):
    """What a window can step and show.

    Attributes:
        model: model of the worlds.
        nworld: number of worlds.
        interval: time of a step [s].
        keyframes: whether a user can start them from a keyframe.
    """

    model: Model
    nworld: int
    interval: float
    keyframes: bool

    def add_controls(self, gui: Any) -> None:
        """Adds the switches with which a user controls the worlds."""
        ...

    def reset(self, key: int | None) -> None:
        """Starts again, from a keyframe if one is given."""
        ...

    def frames(self) -> Frame:
        """What is seen of the worlds."""
        ...

    def advance(self, world: int | None, pull: Pull, nstep: int) -> Frame:
        """Makes steps; controls belong to one world, or to all for None."""
        ...

    def notes(self, world: int) -> list[str]:
        """Lines about the worlds."""
        ...


class Worlds:
    """Worlds whose controls a user sets by sliders."""

    keyframes = True

    def __init__(self, model: Model, data: Data | None = None):
        data = make_data(model) if data is None else data
        self._start = data if data.time.ndim else jax.tree.map(lambda x: x[None], data)
        self.model, self._batch = model, self._start
        self.nworld, self.interval = self._start.time.shape[0], float(model.opt.timestep)

    def add_controls(self, gui: Any) -> None:
        self._controls = Controls(gui, self.model, np.asarray(self._start.ctrl))

    def reset(self, key: int | None) -> None:
        self._batch = self._start if key is None else _at_key(self.model, self._start, key)
        self._controls.reset(np.asarray(self._batch.ctrl))

    def frames(self) -> Frame:
        return jax.device_get(_frames(self.model, self._batch))

    def advance(self, world: int | None, pull: Pull, nstep: int) -> Frame:
        ctrl, count = self._controls.ctrl(world), np.array(nstep, np.int32)
        self._batch, seen = advance(self.model, self._batch, ctrl, pull, count)
        return jax.device_get(seen)

    def notes(self, world: int) -> list[str]:
        counts = np.asarray(self._batch.warning).sum(axis=0)
        warned = ", ".join(kind.name for kind in WarningType if counts[kind])
        return [f"warnings: {warned}"] if warned else []


class Playing(NamedTuple):
    """Worlds in which a policy acts.

    Attributes:
        obs: observations.
        state: states.
        earned: (nworld,) sums of the rewards since the starts of the episodes.
        last: (nworld,) returns of the last episodes that ended, not a number before that.
    """

    obs: Any
    state: EnvState
    earned: Array
    last: Array


class Episodes:
    """Worlds in which a policy acts; when an episode ends, the next one starts."""

    keyframes = False

    def __init__(
        self, env: Environment, policy: Callable[[Any], Any], nworld: int = 1, seed: int = 0
    ):
        self._env, self._params = env, env.default_params
        self._policy = as_tree(policy)
        self.model, self.nworld, self.interval = self._params.model, nworld, env.dt
        self._key = jax.random.key(seed)
        self.reset(None)

    def add_controls(self, gui: Any) -> None:
        """Adds nothing: the policy acts."""

    def reset(self, key: int | None) -> None:
        del key
        keys = self._keys()
        obs, state = jax.vmap(self._env.reset, in_axes=(0, None))(keys, self._params)
        nothing, never = jnp.zeros(self.nworld), jnp.full(self.nworld, jnp.nan)
        self._worlds = Playing(obs, state, nothing, never)

    def frames(self) -> Frame:
        return jax.device_get(_episode_frames(self._env, self._params, self._worlds.state))

    def advance(self, world: int | None, pull: Pull, nstep: int) -> Frame:
        for _ in range(nstep):
            self._worlds = _act(
                self._env, self._params, self._policy, self._worlds, self._keys(), pull
            )
        return self.frames()

    def notes(self, world: int) -> list[str]:
        steps, last = int(self._worlds.state.time[world]), float(self._worlds.last[world])
        lines = [f"return {float(self._worlds.earned[world]):.1f} after {steps} steps"]
        return lines if np.isnan(last) else [*lines, f"return of the last episode {last:.1f}"]

    def _keys(self) -> Array:
        self._key, key = jax.random.split(self._key)
        return jax.random.split(key, self.nworld)


@functools.partial(jax.jit, static_argnums=0)
def _act(
    env: Environment, params: Params, policy: Any, worlds: Playing, keys: Array, pull: Pull
) -> Playing:
    """A step of all worlds by a policy, while a hand pulls on one of them."""

    def one(key: Array, at: Playing, world: Array) -> Playing:
        state = at.state
        if "xfrc_applied" in state.physics:
            data = pulled(params.model, env.data(state, params), pull, world == pull.world)
            state = state.replace(physics=state.physics | {"xfrc_applied": data.xfrc_applied})
        obs, state, reward, done, _ = env.step(key, state, policy(at.obs), params)
        earned = at.earned + reward
        return Playing(obs, state, where(done, 0, earned), where(done, earned, at.last))

    return jax.vmap(one)(keys, worlds, jnp.arange(len(keys), dtype=jnp.int32))


@functools.partial(jax.jit, static_argnums=0)
def _episode_frames(env: Environment, params: Params, states: EnvState) -> Frame:
    return jax.vmap(lambda state: frame(params.model, env.data(state, params)))(states)


@functools.partial(jax.jit, static_argnums=2)
def _at_key(model: Model, batch: Data, key: int) -> Data:
    return jax.vmap(lambda data: reset_data(model, data, key))(batch)


@jax.jit
def _frames(model: Model, batch: Data) -> Frame:
    return jax.vmap(functools.partial(frame, model))(batch)
