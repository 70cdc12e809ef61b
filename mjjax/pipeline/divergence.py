"""Finds worlds that diverge, resets them, and counts them in `data.warning`.

A world is lost once its position, velocity or acceleration is NaN or beyond 1e10.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from mjjax.core.enums import DisableBit, WarningType
from mjjax.math.safe import is_bad
from mjjax.math.tangents import of_moved
from mjjax.model.callbacks import Callbacks
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.pipeline.make_data import blank_data, chosen, reset_state
from mjjax.xla.loops import varying
from mjjax.xla.namespace import Array, where

Step = Callable[..., Data]

# The warnings that come with a reset.
RESETS = slice(WarningType.BADQPOS, WarningType.BADQACC + 1)


def check_state(model: Model, data: Data) -> Data:
    """Resets worlds whose position or velocity is bad (`mj_checkPos`, `mj_checkVel`)."""
    bad = _bad_state(data)
    data = data.with_warnings(bad)
    if model.opt.disabled(DisableBit.AUTORESET):
        return data
    lost, fresh = functools.reduce(jnp.logical_or, bad.values()), reset_state(model, data)
    now = {name: getattr(data, name) for name in fresh}
    return data.replace(**chosen(lost, fresh, now))


def reset_diverged(model: Model, data: Data) -> Data:
    """Resets worlds that came to a bad acceleration or state (`mj_checkAcc`).

    Nothing that was computed for them is left: their `Data` is that of a reset, except for the
    warnings.
    """
    bad = {WarningType.BADQACC: is_bad(data.qacc)}
    if model.opt.disabled(DisableBit.AUTORESET):
        return data.with_warnings(bad)  # the next step counts a bad state
    bad |= {k: x & ~bad[WarningType.BADQACC] for k, x in _bad_state(data).items()}
    data, lost = data.with_warnings(bad), functools.reduce(jnp.logical_or, bad.values())
    fresh = blank_data(model, data).replace(warning=data.warning)
    return chosen(lost, fresh, data)


def _bad_state(data: Data) -> dict[WarningType, Array]:
    bad = is_bad(data.qpos)
    return {WarningType.BADQPOS: bad, WarningType.BADQVEL: is_bad(data.qvel) & ~bad}


def no_derivative_where_reset(step: Step) -> Step:
    """Makes the derivative of a step (model, data, callbacks, ...) zero in worlds that it resets.

    In such worlds the derivatives of the stages are NaN, and zero times NaN is not zero. Therefore
    the derivatives are masked before and after the stages, in both modes.
    """

    @functools.wraps(step)
    def masked(model: Model, data: Data, callbacks: Callbacks | None = None, *static: Any) -> Data:
        if model.opt.disabled(DisableBit.AUTORESET):
            return step(model, data, callbacks, *static)
        run = _StepWith(step, static)
        if callbacks is None:
            return _masked(run, (model, data))
        # Callbacks may use traced values from where they were defined, such as a policy's weights.
        # The rule below sees only arguments, so these values become arguments.
        whole, constants = jax.closure_convert(
            lambda model, data: step(model, data, callbacks, *static), model, data
        )
        return _masked(whole, (model, data, *constants))

    return masked


class _StepWith(NamedTuple):
    """A step without callbacks, with its other arguments; two are equal if these are equal."""

    step: Step
    static: tuple[Any, ...]

    def __call__(self, model: Model, data: Data) -> Data:
        return self.step(model, data, None, *self.static)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _masked(step: Step, arguments: tuple[Any, ...]) -> Data:
    return step(*arguments)


@functools.partial(_masked.defjvp, symbolic_zeros=True)
def _masked_jvp(step: Step, primals: Any, tangents: Any) -> tuple[Data, Data]:
    moved = of_moved(step, primals[0], tangents[0])
    out, push = jax.linearize(moved.f, *varying(moved.values))
    reset = jnp.any((out.warning != primals[0][1].warning)[RESETS])

    def mask(slope: Any) -> Any:
        real = jnp.issubdtype(slope.dtype, jnp.floating)
        return where(reset, 0, slope) if real else slope

    return out, jax.tree.map(mask, push(*varying([mask(x) for x in moved.slopes])))
