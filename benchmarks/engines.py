"""The engines to measure, behind one interface: mjjax, MJX and the C program."""

import abc
import functools
import importlib.util
import os
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

import mjjax

# Stages by MuJoCo's name, in the order of a step; an engine is measured on those it has.
STAGES = (
    "fwd_position kinematics com_pos camlight tendon crb factor_m collision make_constraint "
    "transmission fwd_velocity com_vel passive rne fwd_actuation fwd_acceleration fwd_constraint "
    "euler sensor_pos sensor_vel sensor_acc"
).split()


class Engine(abc.ABC):
    """One engine with one model loaded.

    Attributes:
        name: what the tables call it.
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

        The block starts from the given states, shape (worlds, nq) and (worlds, nv), or from
        where the engine itself is `warmup` steps later (rounded up to whole blocks).
        """

    @abc.abstractmethod
    def block(self) -> None:
        """Runs the block from its start to completion."""

    def details(self) -> dict[str, Any]:
        """What can be measured beyond speed, by name; needs `prepare`."""
        return {}


class JaxEngine(Engine):
    """mjjax or MJX: both are pure functions of a model and a data."""

    dtype = "float32"

    def __init__(self, name: str, api: ModuleType, model: Any, devices: int):
        self.name, self.api, self.model, self.devices = name, api, model, devices
        self.qpos0, self.nv = np.asarray(model.qpos0), model.nv
        self._jit: Any = jax.jit

    def prepare(self, qpos: np.ndarray, qvel: np.ndarray, nstep: int, warmup: int) -> float:
        step = jax.vmap(self.api.step, in_axes=(None, 0))

        def steps(model: Any, batch: Any) -> Any:
            return jax.lax.scan(lambda b, _: (step(model, b), None), batch, length=nstep)[0]

        def start(model: Any, qpos: jax.Array, qvel: jax.Array) -> Any:
            data = self.api.make_data(model)
            return jax.vmap(lambda q, v: data.replace(qpos=q, qvel=v))(qpos, qvel)

        self._start = jax.jit(start)(self.model, jnp.float32(qpos), jnp.float32(qvel))
        if self.devices > 1:
            self._jit = functools.partial(mjjax.jit_worlds, devices=self.devices)
            self.model, self._start = mjjax.shard_worlds(self.model, self._start, self.devices)
        begin = time.perf_counter()
        self._block = self._jit(steps).lower(self.model, self._start).compile()
        seconds = time.perf_counter() - begin
        for _ in range(-(-warmup // nstep)):  # whole blocks: there is no other program
            self._start = self._block(self.model, self._start)
        self.block()
        return seconds

    def block(self) -> None:
        jax.block_until_ready(self._block(self.model, self._start))

    def details(self) -> dict[str, Any]:
        leaves = jax.tree.leaves(self._start)
        worlds = self._start.qpos.shape[0]
        one = jax.tree.map(lambda x: x[0], self._start)
        return {
            "bytes_per_world": sum(x.nbytes for x in leaves) / worlds,
            "equations": equations(jax.make_jaxpr(self.api.step)(self.model, one).jaxpr),
        }

    def gradient(self) -> dict[str, Any]:
        """Reverse derivative of one step of each world: seconds to compile and per world."""

        def loss(inputs: tuple[jax.Array, ...], model: Any, data: Any) -> jax.Array:
            qpos, qvel, ctrl = inputs
            after = self.api.step(model, data.replace(qpos=qpos, qvel=qvel, ctrl=ctrl))
            return after.qpos.sum() + after.qvel.sum()

        def gradient(model: Any, batch: Any) -> Any:
            inputs = batch.qpos, batch.qvel, batch.ctrl
            return jax.vmap(jax.grad(loss), in_axes=(0, None, 0))(inputs, model, batch)

        try:
            begin = time.perf_counter()
            f = self._jit(gradient).lower(self.model, self._start).compile()
            compiled = time.perf_counter() - begin
        except (ValueError, NotImplementedError) as error:
            return {"refused": str(error).splitlines()[0]}
        finite = all(bool(jnp.isfinite(x).all()) for x in f(self.model, self._start))
        seconds = best(lambda: jax.block_until_ready(f(self.model, self._start)))
        worlds = self._start.qpos.shape[0]
        return {"compile_s": compiled, "us_per_world": 1e6 * seconds / worlds, "finite": finite}

    def stages(self, names: Sequence[str]) -> dict[str, float]:
        """Microseconds per world of each named stage on its own; `call` is an empty one."""
        times = {}
        for name in ("call", *names):
            stage = (lambda _, d: d) if name == "call" else getattr(self.api, name, None)
            if stage is None or isinstance(stage, ModuleType):
                continue
            try:
                f = self._jit(jax.vmap(stage, in_axes=(None, 0)))
                jax.block_until_ready(f(self.model, self._start))
            except (NotImplementedError, TypeError, AttributeError):
                continue  # not for this model, or not a function of (model, data)
            seconds = best(lambda f=f: jax.block_until_ready(f(self.model, self._start)))
            times[name] = 1e6 * seconds / self._start.qpos.shape[0]
        return times


class CEngine(Engine):
    """The C program through `mujoco.rollout`, one thread per core."""

    dtype = "float64"
    name = "c"

    def __init__(self, path: str):
        import mujoco

        self._mujoco = mujoco
        self.model = mujoco.MjModel.from_xml_path(path)
        self.qpos0, self.nv = self.model.qpos0, self.model.nv

    def prepare(self, qpos: np.ndarray, qvel: np.ndarray, nstep: int, warmup: int) -> float:
        from mujoco import rollout

        mujoco, threads = self._mujoco, cores()
        data = [mujoco.MjData(self.model) for _ in range(threads)]
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        start = np.zeros((len(qpos), mujoco.mj_stateSize(self.model, kind)))
        for row, q, v in zip(start, qpos, qvel, strict=True):
            data[0].qpos[:], data[0].qvel[:] = q, v
            mujoco.mj_getState(self.model, data[0], row, kind)
        pool = rollout.Rollout(nthread=threads if threads > 1 else 0)
        if warmup:
            start = np.array(pool.rollout(self.model, data, start, nstep=warmup)[0])[:, -1]
        out = np.empty((len(qpos), nstep, start.shape[1]))
        self._block = lambda: pool.rollout(self.model, data, start, nstep=nstep, state=out)
        self._block()
        return 0.0

    def block(self) -> None:
        self._block()


def open_engine(name: str, path: str, devices: int) -> Engine:
    """Loads the model at `path` into the engine `ours`, `mjx` or `c`."""
    if name == "c":
        return CEngine(path)
    if name == "mjx":
        import mujoco
        from mujoco import mjx

        return JaxEngine(name, mjx, mjx.put_model(mujoco.MjModel.from_xml_path(path)), devices)
    return JaxEngine(name, mjjax, mjjax.Model.from_xml_path(path), devices)


def installed(name: str) -> bool:
    """Whether the engine can be imported."""
    module = {"ours": "mjjax", "mjx": "mujoco.mjx", "c": "mujoco.rollout"}[name]
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def cores() -> int:
    """Number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def best(f: Callable[[], Any], repeats: int = 5) -> float:
    """Shortest time of several calls, in seconds."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        f()
        times.append(time.perf_counter() - begin)
    return min(times)


def equations(jaxpr: core.Jaxpr) -> int:
    """Number of equations of a program, those of inner programs included."""
    return len(jaxpr.eqns) + sum(map(equations, core.subjaxprs(jaxpr)))
