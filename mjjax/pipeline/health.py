"""Worlds that diverge: detection, restart, and counting in `data.warning`."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.extend as jex
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap

from mjjax.core.enums import DisableBit, WarningType
from mjjax.math.namespace import Array
from mjjax.math.safe import is_bad
from mjjax.model.callbacks import NONE, Callbacks
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.pipeline.forward import acceleration_stage, forward
from mjjax.pipeline.make import reset_state


def restarted(model: Model, data: Data, bad: Array) -> Data:
    """`data` with the state of a reset where `bad`."""
    fresh = reset_state(model, data)
    state = {k: jnp.where(bad, x, getattr(data, k)) for k, x in fresh.items()}
    return data.replace(**state)


def checked(model: Model, data: Data) -> Data:
    """Restarts worlds whose position or velocity is bad (`mj_checkPos`, `mj_checkVel`)."""
    bad_pos = is_bad(data.qpos)
    bad_vel = is_bad(data.qvel) & ~bad_pos
    data = data.with_warning(WarningType.BADQPOS, bad_pos)
    data = data.with_warning(WarningType.BADQVEL, bad_vel)
    if model.opt.disabled(DisableBit.AUTORESET):
        return data
    return restarted(model, data, bad_pos | bad_vel)


def checked_forward(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """Forward dynamics; worlds whose acceleration is bad restart first (`mj_checkAcc`).

    The forward pass is repeated only if some world of the batch has diverged, by a loop around one
    traced copy of it. The derivative is that of `forward` at the state it ran from.
    """
    if not model.opt.disabled(DisableBit.AUTORESET):
        run, constants = _program(forward, model, data, callbacks)
        return _attempt(run, constants, model, data)
    data = forward(model, data, callbacks)
    return data.with_warning(WarningType.BADQACC, is_bad(data.qacc))


def checked_acceleration(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """The stage of accelerations; worlds where one is bad restart, with all stages (`mj_checkAcc`).

    A restarted world has no derivative: what its stages compute counts as constant.
    """
    if not model.opt.disabled(DisableBit.AUTORESET):
        last, some = _program(_last_stage, model, data, callbacks)
        full, more = _program(forward, model, data, callbacks)
        return _complete(last, full, (some, more), model, data)
    data = _last_stage(model, data, callbacks)
    return data.with_warning(WarningType.BADQACC, is_bad(data.qacc))


def _last_stage(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    return acceleration_stage(model, data, callbacks or NONE, skipsensor=False)


Stages = Callable[[Model, Data, Callbacks | None], Data]
Program = Callable[[Any, Model, Data], Data]


def _program(
    stages: Stages, model: Model, data: Data, callbacks: Callbacks | None
) -> tuple[Program, Any]:
    """Part of forward dynamics as a function of (constants, model, data), and the constants.

    Callbacks may use traced values of their surroundings, a policy's weights, say. The rules for
    derivatives and batches below see arguments only, so these values become arguments.
    """
    if callbacks is None:
        return _plain(stages), ()
    closed, shape = jax.make_jaxpr(lambda m, d: stages(m, d, callbacks), return_shape=True)(
        model, data
    )
    tree = jax.tree.structure(shape)

    def run(constants: Any, model: Model, data: Data) -> Data:
        traced = jex.core.ClosedJaxpr(closed.jaxpr, constants)
        return jax.tree.unflatten(
            tree, jex.core.jaxpr_as_fun(traced)(*jax.tree.leaves((model, data)))
        )

    return run, list(closed.consts)


@functools.cache
def _plain(stages: Stages) -> Program:
    # traced once: the batching rule below starts from the program that the first call has traced
    traced = jax.jit(lambda model, data: stages(model, data, None), inline=True)
    return lambda constants, model, data: traced(model, data)


def _restart_from(model: Model, data: Data, bad: Array) -> Data:
    return restarted(model, data, bad).with_warning(WarningType.BADQACC, bad)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _attempt(run: Program, constants: Any, model: Model, data: Data) -> Data:
    return _loop(run)(constants, model, data)


@_attempt.defjvp
def _attempt_jvp(run: Program, primals: Any, tangents: Any) -> Any:
    constants, model, data = primals
    out = _attempt(run, constants, model, data)
    bad = out.warning[WarningType.BADQACC] > data.warning[WarningType.BADQACC]
    start = lax.stop_gradient(bad)
    _, tangent = jax.jvp(lambda c, m, d: run(c, m, _restart_from(m, d, start)), primals, tangents)
    return out, tangent


def _loop(run: Program) -> Callable[[Any, Model, Data], Data]:
    """`run`, and once more for worlds that diverged, with a batching rule."""

    @custom_vmap
    def loop(constants: Any, model: Model, data: Data) -> Data:
        return _repeat(lambda d: run(constants, model, d), _single(model), data)

    @loop.def_vmap
    def batched(
        size: int, in_batched: Any, constants: Any, model: Model, data: Data
    ) -> tuple[Data, Any]:
        axes = jax.tree.map(lambda b: 0 if b else None, in_batched[:2])
        data = jax.tree.map(
            lambda x, b: x if b else jnp.broadcast_to(x[None], (size, *x.shape)),
            data,
            in_batched[2],
        )
        many = jax.vmap(run, in_axes=(*axes, 0))
        restart = jax.vmap(_restart_from, in_axes=(axes[1], 0, 0))
        out = _repeat(
            lambda d: many(constants, model, d),
            (jax.vmap(lambda d: is_bad(d.qacc)), lambda d, bad: restart(model, d, bad)),
            data,
        )
        return out, jax.tree.map(lambda _: True, out)

    return loop


Restart = tuple[Callable[[Data], Array], Callable[[Data, Array], Data]]


def _single(model: Model) -> Restart:
    return lambda d: is_bad(d.qacc), lambda d, bad: _restart_from(model, d, bad)


def _repeat(run: Callable[[Data], Data], restart: Restart, data: Data) -> Data:
    """Runs forward, and once more with the diverged worlds restarted if there are any."""
    find, reset = restart

    def body(carry: tuple[Data, Data, Array]) -> tuple[Data, Data, Array]:
        start, out, count = carry
        start = reset(start, find(out) & (count > 0))
        return start, run(start), count + 1

    def again(carry: tuple[Data, Data, Array]) -> Array:
        _, out, count = carry
        return (count == 0) | ((count == 1) & jnp.any(find(out)))

    return lax.while_loop(again, body, (data, data, jnp.int32(0)))[1]


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _complete(last: Program, full: Program, constants: Any, model: Model, data: Data) -> Data:
    """Runs the last stage, and then all of them in worlds that diverged, after a restart."""
    out = last(constants[0], model, data)
    bad = is_bad(out.qacc)

    def again(carry: tuple[Data, Array]) -> tuple[Data, Array]:
        return full(constants[1], model, _restart_from(model, carry[0], bad)), jnp.bool_(False)

    return lax.while_loop(lambda carry: carry[1], again, (out, bad))[0]


@_complete.defjvp
def _complete_jvp(last: Program, full: Program, primals: Any, tangents: Any) -> Any:
    out = _complete(last, full, *primals)
    done = lax.stop_gradient(out)
    bad = done.warning[WarningType.BADQACC] > primals[2].warning[WarningType.BADQACC]

    def settled(constants: Any, model: Model, data: Data) -> Data:
        # a restarted world starts from what it came to: nothing here is bad
        start = jax.tree.map(lambda safe, x: jnp.where(bad, safe, x), done, data)
        end = last(constants[0], model, start)
        return jax.tree.map(lambda x: jnp.where(bad, lax.stop_gradient(x), x), end)

    _, tangent = jax.jvp(settled, primals, tangents)
    return out, tangent
