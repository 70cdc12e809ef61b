"""Quadratic programs with bounds."""

from typing import NamedTuple

import jax.numpy as jnp

from mjjax.xla.linalg import cho_solve, cholesky, matmul
from mjjax.xla.loops import while_loop
from mjjax.xla.namespace import Array, where


class BoxQP(NamedTuple):
    """Solution of a bounded quadratic program.

    Attributes:
        x: (n,) the minimiser.
        free: (n,) which coordinates are at no bound.
        factor: (n, n) Cholesky factor of H over the free coordinates, the identity elsewhere.
        rank: number of free coordinates, -1 if the solver failed.
    """

    x: Array
    free: Array
    factor: Array
    rank: Array


class _MultiplierState(NamedTuple):
    x: Array
    free: Array
    factor: Array
    value: Array
    done: Array
    failed: Array
    count: Array


class BoxQPSettings(NamedTuple):
    """The rules by which `box_qp` stops; the defaults are MuJoCo's.

    Attributes:
        iterations: largest number of Newton steps.
        min_gradient: squared norm of the free gradient at which to stop.
        backtrack: factor by which a step that does not help is shortened.
        min_step: shortest step.
        armijo: least decrease, as a fraction of the decrease that the gradient predicts.
    """

    iterations: int = 100
    min_gradient: float = 1e-16
    backtrack: float = 0.5
    min_step: float = 1e-22
    armijo: float = 0.1


def box_qp(
    H: Array,
    g: Array,
    lower: Array | None = None,
    upper: Array | None = None,
    start: Array | None = None,
    settings: BoxQPSettings | None = None,
) -> BoxQP:
    """Minimiser x of x' H x / 2 + g' x with lower <= x <= upper (`mju_boxQP`).

    It makes projected Newton steps. The free coordinates f solve H_ff d = -(H x + g)_f, and the
    step is shortened until the cost falls enough. The loop has no reverse-mode derivative. To
    differentiate a solution, take `free` as fixed: dx is zero at the bounds, and in the free
    coordinates H_ff dx = -(dH x + dg)_f, which you can solve with the returned factor.

    Args:
        H: (n, n) symmetric positive definite.
        g: (n,).
        lower: (n,) lower bounds, or None.
        upper: (n,) upper bounds, or None.
        start: (n,) first guess, zero by default.
        settings: when to stop.
    """
    settings = settings or BoxQPSettings()
    n = g.shape[0]
    low = jnp.full(n, -jnp.inf, g.dtype) if lower is None else lower
    high = jnp.full(n, jnp.inf, g.dtype) if upper is None else upper
    x = jnp.clip(jnp.zeros_like(g) if start is None else start, low, high)
    no, eye = jnp.bool_(False), jnp.eye(n, dtype=g.dtype)
    state = _MultiplierState(x, jnp.ones(n, bool), eye, _value(H, g, x), no, no, jnp.int32(0))
    state = while_loop(
        lambda s: ~s.done & (s.count < settings.iterations),
        lambda s: _step(H, g, low, high, settings, s),
        state,
    )
    rank = where(state.done & ~state.failed, jnp.sum(state.free, dtype=jnp.int32), -1)
    return BoxQP(state.x, state.free, state.factor, rank)


def _value(H: Array, g: Array, x: Array) -> Array:
    return jnp.sum(x * (0.5 * matmul(H, x) + g))


def _step(
    H: Array, g: Array, low: Array, high: Array, settings: BoxQPSettings, state: _MultiplierState
) -> _MultiplierState:
    """Newton's step in the coordinates that are free, shortened until it helps."""
    gradient = matmul(H, state.x) + g
    clamped = ((state.x == low) & (gradient > 0)) | ((state.x == high) & (gradient < 0))
    free = ~clamped
    both = free[:, None] & free[None]
    factor = cholesky(where(both, H, 0) + jnp.diag(where(free, 0, 1).astype(g.dtype)))
    residual = where(free, gradient, 0)
    direction = where(free, -cho_solve(factor, residual), 0)
    slope = jnp.sum(direction * gradient)

    def at(length: Array) -> Array:
        return jnp.clip(state.x + length * direction, low, high)

    def helps(length: Array) -> Array:
        return state.value - _value(H, g, at(length)) >= settings.armijo * length * -slope

    length = while_loop(
        lambda s: ~helps(s) & (s > settings.min_step),
        lambda s: s * settings.backtrack,
        jnp.ones((), g.dtype),
    )
    x, stuck = at(length), length <= settings.min_step
    bad = ~jnp.isfinite(jnp.sum(factor))
    stop = (jnp.sum(residual * residual) < settings.min_gradient) | bad | (slope >= 0)
    return _MultiplierState(
        where(stop, state.x, x),
        free,
        factor,
        where(stop, state.value, _value(H, g, x)),
        stop | stuck | ~jnp.any(free),
        bad | (stuck & ~stop),
        state.count + 1,
    )
