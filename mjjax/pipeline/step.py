"""One time step, and many."""

import math
from collections.abc import Callable
from typing import Literal, get_args

import jax
import jax.numpy as jnp

from mjjax.core.enums import EnableBit, Stage
from mjjax.math.namespace import Array
from mjjax.model.callbacks import NONE, Callbacks
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.pipeline.divergence import check_state, no_derivative_where_reset, reset_diverged
from mjjax.pipeline.forward import acceleration, forward, position_and_velocity
from mjjax.pipeline.integrate import integrate
from mjjax.pipeline.inverse import compare_fwd_inv

# What reverse mode keeps of a rollout.
Checkpoint = Literal["step", "sqrt", "none"]
CHECKPOINTS = get_args(Checkpoint)
Body = Callable[[Data, Array | None], tuple[Data, dict[str, Array]]]


@no_derivative_where_reset
def step(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """Advances one world by one time step (`mj_step`).

    Pure: jit it, vmap it over worlds (`in_axes=(None, 0)`) or over models and worlds, and
    differentiate it in either mode. After it, the state is that after the step and derived fields
    belong to the state before.

    A world that diverges, its state or acceleration not finite or beyond 1e10, is reset to `qpos0`
    and counted in `data.warning`, unless `autoreset` is disabled: if `data` is bad, it takes its
    first step from there, as in MuJoCo; if the step makes it bad, it leaves the step in its reset
    state, at time 0, where MuJoCo would have taken the first step too. Its derivative is zero.

    Args:
        model: model.
        data: data.
        callbacks: functions of the user's.
    """
    data = check_state(model, data)
    data = forward(model, data, callbacks)
    if model.opt.enabled(EnableBit.FWDINV):
        data = compare_fwd_inv(model, data, callbacks)
    data = integrate(model, data, callbacks)
    return reset_diverged(model, data)


def step1(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """The first half of a step (`mj_step1`): everything before controls are needed.

    Checks, position and velocity stages, control callback. With new controls or forces in `data`,
    `step2` does the rest. A world whose state is bad is reset and goes on from there.
    """
    calls = callbacks or NONE
    data = check_state(model, data)
    data = position_and_velocity(model, data, calls, Stage.NONE, skipsensor=False)
    return calls.control(model, data) if calls.control else data


@no_derivative_where_reset
def step2(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """The second half of a step (`mj_step2`): forces, acceleration and integration.

    `RK4` is replaced by Euler's method, as in MuJoCo. A world that diverges is reset as in `step`.
    """
    data = acceleration(model, data, callbacks or NONE, skipsensor=False)
    if model.opt.enabled(EnableBit.FWDINV):
        data = compare_fwd_inv(model, data, callbacks)
    data = integrate(model, data, callbacks, again=False)
    return reset_diverged(model, data)


def rollout(
    model: Model,
    data: Data,
    ctrl: Array | None = None,
    *,
    nstep: int | None = None,
    callbacks: Callbacks | None = None,
    keep: tuple[str, ...] = ("qpos", "qvel"),
    checkpoint: Checkpoint = "step",
) -> tuple[Data, dict[str, Array]]:
    """Simulates one world for `nstep` steps with `jax.lax.scan`.

    Exact derivatives by controls, initial data and model. What reverse mode keeps of n steps, with
    S bytes of state and R bytes of intermediate results of a step (R is hundreds of S):

    - `"step"`: the state of each step, n S + R; each step is computed twice.
    - `"sqrt"`: states at sqrt(n) places and of the steps between two of them, 2 sqrt(n) S + R;
      each step is computed three times.
    - `"none"`: everything, n R; the fastest for few steps of few worlds.

    What is recorded takes its own room.

    Args:
        model: model.
        data: initial data.
        ctrl: (nstep, nu) controls per step, or (nu,) constant, or None for those in `data`.
        nstep: number of steps; by default the length of `ctrl`.
        callbacks: functions of the user's, called in each step.
        keep: fields of `Data` to record after each step.
        checkpoint: what reverse mode keeps; results and derivatives do not depend on it.

    Returns:
        Data after the last step, and the recorded fields, each (nstep, ...).

    Raises:
        ValueError: neither `nstep` nor a sequence of controls tells how far to go, or they differ;
            there is no such way of checkpointing.
    """
    sequence = ctrl is not None and jnp.ndim(ctrl) == 2
    length = _length(ctrl if sequence else None, nstep)
    if checkpoint not in CHECKPOINTS:
        raise ValueError(f"checkpoint is one of {', '.join(CHECKPOINTS)}, not {checkpoint!r}")
    if ctrl is not None and not sequence:
        data = data.replace(ctrl=jnp.asarray(ctrl, data.ctrl.dtype))

    def one(model: Model, data: Data) -> Data:
        return step(model, data, callbacks)

    def body(data: Data, u: Array | None) -> tuple[Data, dict[str, Array]]:
        if u is not None:
            data = data.replace(ctrl=jnp.asarray(u, data.ctrl.dtype))
        data = (one if checkpoint == "none" else jax.checkpoint(one))(model, data)
        return data, {name: getattr(data, name) for name in keep}

    controls = jnp.asarray(ctrl) if sequence else None
    if checkpoint == "sqrt":
        return _scan_in_blocks(body, data, controls, length)
    return jax.lax.scan(body, data, controls, length=length)


def _length(controls: Array | None, nstep: int | None) -> int:
    """Number of steps of a rollout."""
    length = nstep if controls is None else len(controls)
    if length is None:
        raise ValueError("rollout needs nstep, or ctrl of shape (nstep, nu)")
    if nstep is not None and nstep != length:
        raise ValueError(f"nstep is {nstep}, but ctrl has {length} rows")
    return length


def _scan_in_blocks(
    body: Body, data: Data, controls: Array | None, length: int
) -> tuple[Data, dict[str, Array]]:
    """`jax.lax.scan` in blocks of about sqrt(length) steps, each computed again in reverse mode."""
    size = _block(length)
    count = -(-length // size)
    rest = count * size - length
    if controls is not None:
        controls = jnp.pad(controls, ((0, rest), (0, 0)))
        controls = controls.reshape(count, size, -1)

    def within(data: Data, given: tuple[Array, Array | None]) -> tuple[Data, dict[str, Array]]:
        if not rest:
            return body(data, given[1])
        # the same in all worlds: behind the end nothing is computed, also under vmap
        kept = jax.eval_shape(body, data, given[1])[1]
        none = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), kept)
        return jax.lax.cond(given[0] < length, body, lambda data, u: (data, none), data, given[1])

    @jax.checkpoint
    def block(data: Data, given: tuple[Array, Array | None]) -> tuple[Data, dict[str, Array]]:
        return jax.lax.scan(within, data, given, length=size)

    index = jnp.arange(count * size, dtype=jnp.int32).reshape(count, size)
    data, kept = jax.lax.scan(block, data, (index, controls))
    flat = {name: x.reshape(count * size, *x.shape[2:]) for name, x in kept.items()}
    return data, {name: x[:length] for name, x in flat.items()}


def _block(length: int) -> int:
    """Steps in a block: about the root of the length, with few steps left over."""
    root = max(1, math.isqrt(length))
    sizes = range(max(1, root // 2), 2 * root + 1)
    return min(sizes, key=lambda k: (-length % k + k + -(-length // k), k))
