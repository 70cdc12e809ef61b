"""Sub-steps: how a time step is divided, evenly or by the error that each part makes."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.model.callbacks import Callbacks
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.pipeline.forward import forward_skip
from mjjax.pipeline.integrate import BOGACKI_SHAMPINE, Rates, drift, rates_of
from mjjax.xla.loops import scan, while_loop
from mjjax.xla.namespace import Array, where


@dataclasses.dataclass(frozen=True)
class Adaptive:
    """Makes sub-steps as short as the motion requires; pass it as `substeps` to `rollout`.

    The third-order pair of Bogacki and Shampine takes the place of the model's integrator. A
    sub-step is accepted if its velocity differs from that of the pair's second-order method by at
    most `tolerance` (1 + |qvel|), where both sides are largest entries [m/s or rad/s]. The
    difference also determines the length of the next sub-step. The lengths have no derivative; the
    derivative of the sub-steps is exact.

    Every world of a batch takes as many sub-steps as the world that needs most.

    Attributes:
        tolerance: largest error of a sub-step; in float32 it is raised to what rounding allows.
        most: largest number of sub-steps of a step. If a step needs more, the last sub-step covers
            the rest of the step, and `data.warning[WarningType.SUBSTEPFULL]` counts this.

    Raises:
        ValueError: the tolerance is not positive, or `most` is less than 1.
    """

    tolerance: float = 1e-6
    most: int = 256

    def __post_init__(self) -> None:
        if not self.tolerance > 0 or self.most < 1:
            raise ValueError(f"tolerance must be positive and most at least 1, got {self}")


Substeps = int | Adaptive

# The error of the pair in velocity is a weighted sum of rates. These are the weights of the rates
# at the start and after each stage; the last stage is at the end of the sub-step.
ERROR = (-5 / 72, (1 / 12, 1 / 9, -1 / 8))
ORDER = 3  # the error of a sub-step grows with this power of its length
SHORTEST = 2.0**-30  # part of a time step that is accepted whatever the error
# The next length is SAFETY times the one for the wanted error, within these factors of the last.
SAFETY, SHRINK, GROW = 0.9, 0.1, 4.0


def lengths_of(
    model: Model, data: Data, callbacks: Callbacks | None, substeps: Substeps
) -> tuple[Array, Array]:
    """Lengths (n,) of the sub-steps of a time step [s], and whether () they are too few.

    Sub-steps that are not needed stand at the end and have length zero. The derivative by the time
    step takes the division into parts as fixed.

    Raises:
        ValueError: the number of sub-steps is less than 1.
    """
    h = jnp.asarray(model.opt.timestep)
    if isinstance(substeps, Adaptive):
        parts, few = _parts(model, data, callbacks, substeps)
        return h * parts, few
    if substeps < 1:
        raise ValueError(f"a step has at least one sub-step, not {substeps}")
    return jnp.broadcast_to(h / substeps, (substeps,)), jnp.asarray(False)


def _parts(
    model: Model, data: Data, callbacks: Callbacks | None, rule: Adaptive
) -> tuple[Array, Array]:
    """Parts (most,) of the time step, without derivative, and whether they are too few."""

    def find(model: Model, data: Data) -> tuple[Array, Array]:
        return _search(model, data, callbacks, rule)

    if callbacks is None:
        return find(*lax.stop_gradient((model, data)))
    # Callbacks may use traced values from where they were defined. The derivatives of such values
    # must not get into the loop, so these values become arguments.
    run, constants = jax.closure_convert(find, model, data)
    return run(*lax.stop_gradient((model, data, *constants)))


def _search(
    model: Model, data: Data, callbacks: Callbacks | None, rule: Adaptive
) -> tuple[Array, Array]:
    """Finds the parts by trial: repeats each sub-step, shorter, until its error is small enough."""
    h, real = model.opt.timestep, data.qvel.dtype
    tolerance = max(rule.tolerance, 32 * float(jnp.finfo(real).eps))

    def going(state: Any) -> Array:
        _, parts, count, left, _ = state
        return (left > 0) & (count < parts.shape[0] - 1)

    def attempt(state: Any) -> Any:
        data, parts, count, left, wish = state
        part = jnp.minimum(wish, left)
        end, error = _pair(model, data, part * h, callbacks)
        allowed = tolerance * (1 + jnp.max(jnp.abs(data.qvel), initial=0))
        error = jnp.max(jnp.abs(error), initial=0) / allowed
        accepted = (error <= 1) | (part <= SHORTEST)
        factor = jnp.clip(SAFETY * jnp.maximum(error, 1e-9) ** (-1 / ORDER), SHRINK, GROW)
        factor = where(jnp.isfinite(error), factor, SHRINK)
        # The first trial has length zero: it only evaluates the rates at the start.
        stay = part == 0
        parts = parts.at[count].set(where(accepted, part, 0))
        count = count + (accepted & ~stay).astype(jnp.int32)
        left = left - where(accepted, part, 0)
        wish = where(stay, 1, part * factor).astype(real)
        data = jax.tree.map(lambda x, y: where(accepted, x, y), end, data)
        return data, parts, count, left, wish

    zero, one = jnp.zeros((), real), jnp.ones((), real)
    parts = jnp.zeros(rule.most, real)
    state = (data, parts, jnp.int32(0), one, zero)
    _, parts, count, left, wish = while_loop(going, attempt, state)
    return parts.at[count].add(left), left > wish


def _pair(
    model: Model, start: Data, length: Array, callbacks: Callbacks | None
) -> tuple[Data, Array]:
    """The end of a sub-step, after `forward`, and its error in velocity (nv,).

    Args:
        model: model.
        start: data after `forward`.
        length: length of the sub-step [s].
        callbacks: functions of the user.
    """

    def stage(carry: tuple[Data, Rates, Array], row: Array) -> tuple[Any, None]:
        data, total, error = carry
        fraction, weight, part, within = row
        rates = jax.tree.map(lambda x, y: where(within > 0, x, y), rates_of(data), total)
        moved = drift(model, start, rates, fraction * length)
        data = forward_skip(model, moved, skipsensor=True, callbacks=callbacks)
        total = jax.tree.map(lambda sum_, x: sum_ + weight * x, total, rates_of(data))
        return (data, total, error + part * data.qacc), None

    stages = ((*BOGACKI_SHAMPINE.stages, (1.0, 0.0)), ERROR[1], (1, 1, 0))
    rows = np.array([(*stage, part, within) for stage, part, within in zip(*stages, strict=True)])
    first = jax.tree.map(lambda x: x * BOGACKI_SHAMPINE.first, rates_of(start))
    begin = (start, first, ERROR[0] * start.qacc)
    (end, _, error), _ = scan(stage, begin, jnp.asarray(rows, start.qvel.dtype))
    return end, length * error
