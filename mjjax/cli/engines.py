"""Engines to measure, behind one interface: mjjax, and the common part of its peers."""

import abc
import functools
import importlib.util
import time
from collections.abc import Callable, Sequence
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

import mjjax
from mjjax.xla.operations import COUNTED, Counts, operations

# Stages by MuJoCo's name, in the order of a step; an engine is measured on those that it has.
TIMED_STAGES = (
    "fwd_position kinematics com_pos camlight tendon crb factor_m collision make_constraint "
    "transmission fwd_velocity com_vel passive rne fwd_actuation fwd_acceleration fwd_constraint "
    "euler sensor_pos sensor_vel sensor_acc"
).split()

# Fields that a block passes on to the next block.
PEER_STATE = ("time", "qpos", "qvel", "act", "qacc_warmstart")


class Engine(abc.ABC):
    """One engine with one model loaded.

    Attributes:
        name: name in tables.
        dtype: precision of its numbers.
        qpos0: the model's reference configuration.
        nv: number of dofs.
    """

    name: str
    dtype: str
    qpos0: np.ndarray
    nv: int

    @abc.abstractmethod
    def prepare(self, qpos: np.ndarray, qvel: np.ndarray, nstep: int, warmup: int) -> float:
        """Compiles a block of `nstep` steps and warms up; returns the seconds of compilation.

        The block gives positions and velocities after every step, as `mujoco.rollout` does. It
        starts from the given states, shape (worlds, nq) and (worlds, nv), or from the states that
        the engine itself reaches after `warmup` steps (rounded up to whole blocks).
        """

    @abc.abstractmethod
    def block(self) -> None:
        """Runs the block from its start to completion."""

    def details(self) -> dict[str, Any]:
        """Further measurements beside speed, by name; needs `prepare`."""
        return {}


class JaxEngine(Engine):
    """mjjax or MJX: both are pure functions of a model and a data."""

    dtype = "float32"

    def __init__(self, name: str, api: ModuleType, model: Any, devices: int = 1):
        self.name, self.api, self.model, self.devices = name, api, model, devices
        self.qpos0, self.nv = np.asarray(model.qpos0), model.nv
        self._jit: Any = jax.jit

    def begin(self, qpos: np.ndarray, qvel: np.ndarray) -> None:
        """Makes the batch of worlds, shape (worlds, nq) and (worlds, nv)."""

        def start(model: Any, qpos: jax.Array, qvel: jax.Array) -> Any:
            data = self.api.make_data(model)
            return jax.vmap(lambda q, v: data.replace(qpos=q, qvel=v))(qpos, qvel)

        self.batch = jax.jit(start)(self.model, jnp.float32(qpos), jnp.float32(qvel))
        if self.devices > 1:
            self._jit = functools.partial(mjjax.jit_worlds, devices=self.devices)
            self.model, self.batch = mjjax.shard_worlds(self.model, self.batch, self.devices)

    def prepare(self, qpos: np.ndarray, qvel: np.ndarray, nstep: int, warmup: int) -> float:
        def one(model: Any, data: Any) -> Any:
            def advance(data: Any, _: None) -> Any:
                data = self.api.step(model, data)
                return data, (data.qpos, data.qvel)

            last, states = jax.lax.scan(advance, data, None, length=nstep)
            return {name: getattr(last, name) for name in PEER_STATE}, states

        self.begin(qpos, qvel)
        self._block, seconds = self._compiled(jax.vmap(one, in_axes=(None, 0)))
        for _ in range(-(-warmup // nstep)):  # whole blocks, because no other program is compiled
            last, _ = self._block(self.model, self.batch)
            self.batch = self.batch.replace(**last)
        self.block()
        return seconds

    def _compiled(self, program: Callable[..., Any]) -> tuple[Any, float]:
        """A program of the model and the batch, and the seconds of its compilation."""
        begin = time.perf_counter()
        compiled = self._jit(program).lower(self.model, self.batch).compile()
        return compiled, time.perf_counter() - begin

    def block(self) -> None:
        jax.block_until_ready(self._block(self.model, self.batch))

    def details(self) -> dict[str, Any]:
        one = jax.tree.map(lambda x: x[0], self.batch)
        return {
            "bytes_per_world": self.bytes_per_world(),
            "equations": equations(jax.make_jaxpr(self.api.step)(self.model, one).jaxpr),
        }

    def bytes_per_world(self) -> float:
        """Size of the data of one world."""
        worlds = self.batch.qpos.shape[0]
        return sum(x.nbytes for x in jax.tree.leaves(self.batch)) / worlds

    def _gradient(self, model: Any, batch: Any) -> Any:
        """Reverse derivative of one step of each world: by position, velocity and control."""

        def loss(inputs: tuple[jax.Array, ...], model: Any, data: Any) -> jax.Array:
            qpos, qvel, ctrl = inputs
            after = self.api.step(model, data.replace(qpos=qpos, qvel=qvel, ctrl=ctrl))
            return after.qpos.sum() + after.qvel.sum()

        inputs = batch.qpos, batch.qvel, batch.ctrl
        return jax.vmap(jax.grad(loss), in_axes=(0, None, 0))(inputs, model, batch)

    def gradient(self) -> dict[str, Any]:
        """Times of the reverse derivative of one step: to compile [s], and for each world [us]."""
        try:
            f, compiled = self._compiled(self._gradient)
        except (ValueError, NotImplementedError) as error:
            return {"refused": str(error).splitlines()[0]}
        finite = all(bool(jnp.isfinite(x).all()) for x in f(self.model, self.batch))
        seconds = best(lambda: jax.block_until_ready(f(self.model, self.batch)))
        worlds = self.batch.qpos.shape[0]
        return {"compile_s": compiled, "us_per_world": 1e6 * seconds / worlds, "finite": finite}

    def operations(self, gradient: bool) -> dict[str, Counts]:
        """Operations of the compiled step of the batch, and of its reverse derivative."""

        def count(program: Callable[..., Any]) -> Counts:
            lowered = self._jit(program).lower(self.model, self.batch)
            return operations(lowered.compile(compiler_options=COUNTED))

        found = {"step": count(jax.vmap(self.api.step, in_axes=(None, 0)))}
        if gradient:
            found["gradient"] = count(self._gradient)
        return found

    def stages(self, names: Sequence[str]) -> dict[str, float]:
        """Microseconds per world of each named stage on its own; `call` is an empty stage."""
        times = {}
        # The stages read fields that a whole step computes.
        batch = self._jit(jax.vmap(self.api.step, in_axes=(None, 0)))(self.model, self.batch)
        for name in ("call", *names):
            stage = (lambda _, d: d) if name == "call" else getattr(self.api, name, None)
            if stage is None or isinstance(stage, ModuleType):
                continue
            try:
                f = self._jit(jax.vmap(stage, in_axes=(None, 0)))
                jax.block_until_ready(f(self.model, batch))
            except (NotImplementedError, TypeError, AttributeError):
                continue  # the stage is not for this model, or is not a function of (model, data)
            seconds = best(lambda f=f: jax.block_until_ready(f(self.model, batch)))
            times[name] = 1e6 * seconds / batch.qpos.shape[0]
        return times


def installed(name: str) -> bool:
    """Whether the engine can be imported; it is not, since this would slow other engines."""
    modules = {"ours": "mjjax.cli", "mjx": "mujoco.mjx", "c": "mujoco.rollout"}
    package, part = modules[name].split(".")
    found = importlib.util.find_spec(package)
    places = found.submodule_search_locations if found else None
    return bool(places) and PathFinder.find_spec(part, places) is not None


def best(f: Callable[[], Any], repeats: int = 5) -> float:
    """Shortest time of several calls [s]."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        f()
        times.append(time.perf_counter() - begin)
    return min(times)


def equations(jaxpr: core.Jaxpr) -> int:
    """Number of equations of a program and of the programs inside it."""
    return len(jaxpr.eqns) + sum(map(equations, core.subjaxprs(jaxpr)))
