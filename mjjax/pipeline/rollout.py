"""Many time steps."""

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp

from mjjax.core.enums import WarningType
from mjjax.model.callbacks import Callbacks
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.terms import require_terms
from mjjax.pipeline.carried import carried, leaf_fields, take
from mjjax.pipeline.integrate import bogacki_shampine, integrate
from mjjax.pipeline.step import whole_step
from mjjax.pipeline.substeps import Adaptive, Substeps, lengths_of
from mjjax.xla.all_worlds import largest_of_worlds
from mjjax.xla.loops import cond, scan
from mjjax.xla.namespace import Array, where

# What reverse mode keeps of a rollout.
Checkpoint = Literal["step", "sqrt", "none"]
CHECKPOINTS = get_args(Checkpoint)
State = dict[str, Any]
Kept = dict[str, Array]
Body = Callable[[State, Array | None], tuple[State, Kept]]


def rollout(
    model: Model,
    data: Data,
    ctrl: Array | None = None,
    *,
    nstep: int | None = None,
    callbacks: Callbacks | None = None,
    keep: Iterable[str] = ("qpos", "qvel"),
    derived: Iterable[str] | None = None,
    checkpoint: Checkpoint = "step",
    substeps: Substeps = 1,
) -> tuple[Data, dict[str, Array]]:
    """Simulates one world for `nstep` steps with `jax.lax.scan`.

    The rollout is compiled as a whole, even outside `jax.jit`.

    Derivatives with respect to controls, initial data and model are exact. `checkpoint` says what
    reverse mode keeps of n steps, each with S bytes of state and R bytes of intermediate results; R
    is hundreds of times S. The recorded fields take memory of their own.

    - `"step"` keeps the state of every step: n S + R bytes. Each step is computed twice.
    - `"sqrt"` keeps sqrt(n) states, and those of all steps between two of them:
      2 sqrt(n) S + R bytes. Each step is computed three times.
    - `"none"` keeps everything: n R bytes. It is fastest for few steps of few worlds.

    Args:
        model: model.
        data: initial data.
        ctrl: (nstep, nu) controls, or (nu,) constant controls, or None for those in `data`.
        nstep: number of steps; by default the length of `ctrl`.
        callbacks: your own functions, called in each step.
        keep: fields of `Data` to record after each step.
        derived: names of the derived fields to compute for the last data, all by default. As in
            `step`, the others stay as they are in `data`; `()` makes the cheapest rollout. Under
            `jax.jit`, fields that are not used afterwards are never computed.
        checkpoint: what reverse mode keeps; results and derivatives do not depend on it.
        substeps: static; number of equal parts into which each step is divided, or `Adaptive`.
            `refsafe` and implicit damping use the length of a part, and reverse mode keeps the
            states of all parts.

    Returns:
        Data after the last step, and the recorded fields, each (nstep, ...).

    Raises:
        AbsentTerm: a coefficient is set, but its term is off (`Model.terms`).
        ValueError: `ctrl` has a wrong shape; `nstep` is missing or is not the length of `ctrl`;
            `checkpoint` or a field is unknown; or `substeps` is less than 1.
    """
    require_terms(model)
    ctrl = _controls(model, data, ctrl, nstep)
    sequence = ctrl is not None and ctrl.ndim == 2
    length = _length(ctrl if sequence else None, nstep)
    if checkpoint not in CHECKPOINTS:
        raise ValueError(f"checkpoint must be one of {', '.join(CHECKPOINTS)}, not {checkpoint!r}")
    if ctrl is not None and not sequence:
        data, ctrl = data.replace(ctrl=ctrl), None
    names = tuple(keep), None if derived is None else tuple(derived)
    # Callbacks may use traced values from where they were defined, so their program is not cached.
    run = _remembered if callbacks is None else _rollout
    return run(model, data, ctrl, length, callbacks, *names, checkpoint, substeps)


def _rollout(
    model: Model,
    data: Data,
    controls: Array | None,
    length: int,
    callbacks: Callbacks | None,
    keep: tuple[str, ...],
    derived: tuple[str, ...] | None,
    checkpoint: Checkpoint,
    substeps: Substeps,
) -> tuple[Data, Kept]:
    integrator = bogacki_shampine if isinstance(substeps, Adaptive) else integrate

    # `jit` makes JAX trace it once, although both `carried` and the loop use it.
    @jax.jit
    def one(model: Model, data: Data) -> tuple[Data, Kept]:
        data = whole_step(model, data, callbacks, integrator)
        return data, take(keep, data)

    names = leaf_fields(data) if derived is None else carried(one, model, data, derived)
    run = one if checkpoint == "none" else jax.checkpoint(one)

    def body(state: State, u: Array | None) -> tuple[State, Kept]:
        start = data.replace(**state)
        start = start if u is None else start.replace(ctrl=u)
        if substeps != 1:
            lengths, few = lengths_of(model, start, callbacks, substeps)
            start = start.with_warnings({WarningType.SUBSTEPFULL: few})
            return _divided(run, model, start, names, lengths, isinstance(substeps, Adaptive))
        after, kept = run(model, start)
        return take(names, after), kept

    loop = _scan_in_blocks if checkpoint == "sqrt" else scan
    state, kept = loop(body, take(names, data), controls, length=length)
    return data.replace(**state), kept


_remembered = functools.partial(jax.jit, static_argnums=(3, 4, 5, 6, 7, 8))(_rollout)


def _divided(
    run: Callable[[Model, Data], tuple[Data, Kept]],
    model: Model,
    start: Data,
    names: Iterable[str],
    lengths: Array,
    some: bool,
) -> tuple[State, Kept]:
    """A time step in parts of the lengths (n,) [s]; with `some`, parts of length 0 are left out."""

    def part(now: tuple[State, Kept], length: Array) -> tuple[State, Kept]:
        at = model.replace(opt=model.opt.replace(timestep=length))
        after, kept = run(at, start.replace(**now[0]))
        return take(names, after), kept

    def own(now: tuple[State, Kept], length: Array) -> tuple[State, Kept]:
        after = part(now, length)
        return jax.tree.map(lambda x, y: where(length > 0, x, y), after, now)

    def body(now: tuple[State, Kept], length: Array) -> tuple[tuple[State, Kept], None]:
        if not some:
            return part(now, length), None
        # After the last part that any world needs, nothing is computed, also under vmap.
        needed = largest_of_worlds(length > 0)
        return cond(needed, own, lambda now, _: now, now, length), None

    kept = jax.eval_shape(run, model, start)[1]
    none = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), kept)
    return scan(body, (take(names, start), none), lengths)[0]


def _controls(model: Model, data: Data, ctrl: Any, nstep: int | None) -> Array | None:
    """Controls (nstep, nu) or (nu,), or None."""
    if ctrl is None:
        return None
    nu = model.structure.nu
    controls = jnp.asarray(ctrl, data.ctrl.dtype)
    if nu == 1 and controls.ndim == 1 and len(controls) > 1:
        controls = controls[:, None]
    if controls.ndim not in (1, 2) or controls.shape[-1] != nu:
        length = "nstep" if nstep is None else nstep
        raise ValueError(
            f"rollout: ctrl has shape {controls.shape}, not ({length}, {nu}), a row for each step, "
            f"or ({nu},), held for all steps; a batch of worlds goes through jax.vmap"
        )
    return controls


def _length(controls: Array | None, nstep: int | None) -> int:
    """Number of steps of a rollout."""
    length = nstep if controls is None else len(controls)
    if length is None:
        raise ValueError("rollout needs nstep, or ctrl of shape (nstep, nu)")
    if nstep is not None and nstep != length:
        raise ValueError(f"nstep is {nstep}, but ctrl has {length} rows")
    return length


def _scan_in_blocks(
    body: Body, state: State, controls: Array | None, length: int
) -> tuple[State, Kept]:
    """`jax.lax.scan` in blocks of about sqrt(length) steps, each computed again in reverse mode."""
    size = _block(length)
    count = -(-length // size)
    rest = count * size - length
    if controls is not None:
        controls = jnp.pad(controls, ((0, rest), (0, 0)))
        controls = controls.reshape(count, size, -1)

    def within(state: State, given: tuple[Array, Array | None]) -> tuple[State, Kept]:
        if not rest:
            return body(state, given[1])
        # The end is the same in all worlds. After it nothing is computed, also under vmap.
        kept = jax.eval_shape(body, state, given[1])[1]
        none = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), kept)
        return cond(given[0] < length, body, lambda state, u: (state, none), state, given[1])

    @jax.checkpoint
    def block(state: State, given: tuple[Array, Array | None]) -> tuple[State, Kept]:
        return scan(within, state, given, length=size)

    index = jnp.arange(count * size, dtype=jnp.int32).reshape(count, size)
    state, kept = scan(block, state, (index, controls))
    flat = {name: x.reshape(count * size, *x.shape[2:]) for name, x in kept.items()}
    return state, {name: x[:length] for name, x in flat.items()}


def _block(length: int) -> int:
    """Number of steps in a block: about the root of the length, so that few steps are left over."""
    root = max(1, math.isqrt(length))
    sizes = range(max(1, root // 2), 2 * root + 1)
    return min(sizes, key=lambda k: (-length % k + k + -(-length // k), k))
