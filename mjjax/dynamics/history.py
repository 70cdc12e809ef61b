"""Buffers of past controls and readings, in MuJoCo's layout.

A buffer of n samples is a user's number, a cursor, n times and n values, in a ring that ends at
the cursor. Buffers of one shape are handled together, in order of time.
"""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.core.constants import MINVAL
from mjjax.math import safe
from mjjax.math.namespace import Array
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure

HOLD, LINEAR, CUBIC = range(3)  # `interp`


@dataclasses.dataclass(frozen=True, eq=False)
class Buffers:
    """Buffers of one shape.

    Attributes:
        ids: (m,) actuators or sensors.
        interp: (m,) interpolation.
        cells: (m, 2 + n (1 + dim)) entries of `Data.history`.
        n: number of samples.
        dim: numbers per sample.
    """

    ids: np.ndarray
    interp: np.ndarray
    cells: np.ndarray
    n: int
    dim: int


class Samples(NamedTuple):
    """Contents of m buffers: times (m, n) that increase, values (m, n, dim), and the rest (m,)."""

    time: Array
    value: Array
    user: Array
    cursor: Array


@functools.lru_cache(maxsize=64)
def buffers(s: Structure, kind: str) -> tuple[Buffers, ...]:
    """Buffers of ``"actuator"`` or ``"sensor"`` by shape."""
    count, interp = s.arrays[f"{kind}_history"].T
    dim = np.ones_like(count) if kind == "actuator" else s.sensor_dim
    adr = s.arrays[f"{kind}_historyadr"]
    shapes = sorted({(int(n), int(d)) for n, d in zip(count, dim, strict=True) if n > 0})
    found = []
    for n, width in shapes:
        ids = np.flatnonzero((count == n) & (dim == width))
        cells = adr[ids][:, None] + np.arange(2 + n * (1 + width))
        found.append(Buffers(ids, interp[ids], cells, n, width))
    return tuple(found)


def samples(history: Array, b: Buffers) -> Samples:
    """Contents of buffers in order of time."""
    cells = history[b.cells]
    cursor = cells[:, 1].astype(jnp.int32)
    order = (cursor[:, None] + 1 + np.arange(b.n, dtype=np.int32)[None]) % b.n
    time = jnp.take_along_axis(cells[:, 2 : 2 + b.n], order, axis=1)
    value = cells[:, 2 + b.n :].reshape(len(b.ids), b.n, b.dim)
    value = jnp.take_along_axis(value, order[:, :, None], axis=1)
    return Samples(time, value, cells[:, 0], cursor)


def stored(history: Array, b: Buffers, x: Samples) -> Array:
    """`history` with the contents of buffers replaced."""
    place = np.arange(b.n, dtype=np.int32)[None]
    order = (place - x.cursor[:, None] - 1) % b.n
    time = jnp.take_along_axis(x.time, order, axis=1)
    value = jnp.take_along_axis(x.value, order[:, :, None], axis=1)
    head = jnp.stack([x.user, x.cursor.astype(time.dtype)], axis=1)
    cells = jnp.concatenate([head, time, value.reshape(len(b.ids), -1)], axis=1)
    return history.at[b.cells].set(cells)


def _slack(time: Array) -> Array:
    """Difference below which times count as equal: MuJoCo's, or the rounding error in float32."""
    eps = float(jnp.finfo(time.dtype).eps)
    return 16 * eps * jnp.abs(time) if eps > 1e-10 else jnp.full_like(time, MINVAL)


def read(x: Samples, time: Array, interp: np.ndarray) -> Array:
    """Values (m, dim) at times (m,): held, linear or cubic between samples, constant beyond.

    The cubic has Catmull-Rom slopes, zero at the ends. Exact derivatives between samples.
    """
    n = x.time.shape[1]
    reached = x.time <= (time + _slack(time))[:, None]
    last = jnp.clip(jnp.sum(reached, axis=1, dtype=jnp.int32) - 1, 0, n - 1)
    t0, v0 = _at(x, last)
    if (interp == HOLD).all():
        return v0
    t1, v1 = _at(x, jnp.minimum(last + 1, n - 1))
    part = jnp.clip(safe.divide(time - t0, t1 - t0), 0, 1)[:, None]
    line = v0 + part * (v1 - v0)
    result = jnp.where((interp == HOLD)[:, None], v0, line)
    if not (interp == CUBIC).any():
        return result
    before, after = (_at(x, jnp.clip(last + k, 0, n - 1)) for k in (-1, 2))
    slope0 = safe.divide(v1 - before[1], _wide(t1 - before[0], v1))
    slope1 = safe.divide(after[1] - v0, _wide(after[0] - t0, v1))
    slope0 = jnp.where((last > 0)[:, None], slope0, 0)
    slope1 = jnp.where((last + 2 < n)[:, None], slope1, 0)
    rest, step = 1 - part, (t1 - t0)[:, None]
    bend = rest * slope0 * step - part * slope1 * step
    curve = rest * rest * (1 + 2 * part) * v0 + part * part * (3 - 2 * part) * v1
    curve = curve + part * rest * bend
    return jnp.where((interp == CUBIC)[:, None], curve, result)


def _at(x: Samples, k: Array) -> tuple[Array, Array]:
    """Times (m,) and values (m, dim) of the k-th samples."""
    time = jnp.take_along_axis(x.time, k[:, None], axis=1)[:, 0]
    return time, jnp.take_along_axis(x.value, k[:, None, None], axis=1)[:, 0]


def _wide(time: Array, like: Array) -> Array:
    return jnp.broadcast_to(time[:, None], like.shape)


def inserted(x: Samples, time: Array, value: Array) -> Samples:
    """Buffers after values (m, dim) at one time: at its place, for the oldest sample.

    A sample of that time is replaced; what is older than all takes the place of the oldest.
    """
    n = x.time.shape[1]
    slack = _slack(time)
    same = jnp.abs(x.time - time) <= slack
    equal = jnp.any(same, axis=1)
    older = jnp.sum(x.time < time - slack, axis=1, dtype=jnp.int32)
    # an equal sample stays where it is, a new one shifts those before it
    place = jnp.where(equal, older, jnp.maximum(older - 1, 0))[:, None]
    index = np.arange(n, dtype=np.int32)[None]
    shifted = index + ((index < place) & ~equal[:, None]).astype(jnp.int32)
    times = jnp.take_along_axis(x.time, shifted, axis=1)
    values = jnp.take_along_axis(x.value, shifted[:, :, None], axis=1)
    here = index == place
    newest = (older == n) & ~equal
    return x._replace(
        time=jnp.where(here, time, times),
        value=jnp.where(here[:, :, None], value[:, None], values),
        cursor=(x.cursor + newest.astype(jnp.int32)) % n,
    )


def chosen(on: Array, new: Samples, old: Samples) -> Samples:
    """The new contents where `on` (m,), the old ones elsewhere."""
    pairs = zip(new, old, strict=True)
    return Samples(*(jnp.where(on.reshape(-1, *[1] * (a.ndim - 1)), a, b) for a, b in pairs))


def initial_history(model: Model) -> Array:
    """Buffers after a reset: zeros, at the times at which samples would have been taken."""
    s, h = model.structure, model.opt.timestep
    history = jnp.zeros(s.nhistory, h.dtype)
    for kind in ("actuator", "sensor"):
        for b in buffers(s, kind):
            back = jnp.asarray(np.arange(b.n)[None] - b.n, h.dtype)
            user, time = (
                jnp.zeros(len(b.ids), h.dtype),
                jnp.broadcast_to(back * h, (len(b.ids), b.n)),
            )
            if kind == "sensor":
                period, phase = model.sensor_interval[b.ids].T
                last = jnp.where(phase < 0, phase, -period)
                ticks = last[:, None] + (back + 1) * period[:, None]
                ticks = jnp.ceil(ticks / h - 1e-6) * h
                regular = period > 0
                user = jnp.where(regular, last, -h)
                time = jnp.where(regular[:, None], ticks, time)
            value = jnp.zeros((len(b.ids), b.n, b.dim), h.dtype)
            cursor = jnp.full(len(b.ids), b.n - 1, jnp.int32)
            history = stored(history, b, Samples(time, value, user, cursor))
    return history


def delayed_ctrl(model: Model, data: Data) -> Array:
    """Controls (nu,) as they reach the actuators: those with a delay from the past."""
    ctrl = data.ctrl
    for b in buffers(model.structure, "actuator"):
        delay = model.actuator_delay[b.ids]
        past = read(samples(data.history, b), data.time - delay, b.interp)[:, 0]
        ctrl = ctrl.at[b.ids].set(jnp.where(delay > 0, past, ctrl[b.ids]))
    return ctrl


def remember_ctrl(model: Model, data: Data) -> Data:
    """Appends the present controls to their buffers."""
    history = data.history
    for b in buffers(model.structure, "actuator"):
        new = inserted(samples(history, b), data.time, data.ctrl[b.ids][:, None])
        history = stored(history, b, new)
    return data.replace(history=history)


def read_ctrl(model: Model, data: Data, actuator: int, time: Array, interp: int = -1) -> Array:
    """Control that reaches an actuator at a time (`mj_readCtrl`).

    Args:
        model: model.
        data: data.
        actuator: id; static.
        time: time [s], from which the actuator's delay is subtracted.
        interp: 0 hold, 1 linear, 2 cubic, -1 as the actuator says; static.
    """
    b = _buffer(model.structure, "actuator", actuator)
    if b is None:
        return data.ctrl[actuator]
    return _read_one(data, b, time - model.actuator_delay[actuator], interp)[0]


def read_sensor(model: Model, data: Data, sensor: int, time: Array, interp: int = -1) -> Array:
    """Reading (dim,) of a sensor at a time (`mj_readSensor`); arguments as for `read_ctrl`."""
    b = _buffer(model.structure, "sensor", sensor)
    if b is None:
        first, dim = (int(x[sensor]) for x in (model.sensor_adr, model.sensor_dim))
        return data.sensordata[first : first + dim]
    return _read_one(data, b, time - model.sensor_delay[sensor], interp)


def init_ctrl_history(
    model: Model, data: Data, actuator: int, times: Array | None, values: Array
) -> Data:
    """`data` with past controls of an actuator (`mj_initCtrlHistory`).

    Args:
        model: model.
        data: data.
        actuator: id; static.
        times: (n,) times that increase, None for those in the buffer.
        values: (n,) controls.

    Raises:
        ValueError: the actuator has no buffer, or the arrays do not fit it.
    """
    return _initialized(
        model, data, "actuator", actuator, times, jnp.asarray(values)[:, None], None
    )


def init_sensor_history(
    model: Model, data: Data, sensor: int, times: Array | None, values: Array, phase: Array
) -> Data:
    """`data` with past readings (n, dim) of a sensor (`mj_initSensorHistory`).

    `phase` is the last time at which a sensor with an interval was read; the rest is as for
    `init_ctrl_history`.
    """
    return _initialized(model, data, "sensor", sensor, times, jnp.asarray(values), phase)


def _initialized(
    model: Model,
    data: Data,
    kind: str,
    index: int,
    times: Array | None,
    values: Array,
    user: Array | None,
) -> Data:
    b = _buffer(model.structure, kind, index)
    if b is None:
        raise ValueError(f"{kind} {index} has no history: set nsample")
    old = samples(data.history, b)
    real = data.history.dtype
    time = old.time[0] if times is None else jnp.asarray(times, real)
    if time.shape != (b.n,) or values.shape != (b.n, b.dim):
        raise ValueError(f"{kind} {index} needs {b.n} times and values of {b.dim} numbers")
    if not isinstance(time, jax.core.Tracer) and not bool(jnp.all(jnp.diff(time) > 0)):
        raise ValueError("times must increase")
    new = Samples(
        time[None],
        values[None].astype(real),
        old.user if user is None else jnp.full(1, user, real),
        jnp.full(1, b.n - 1, jnp.int32),
    )
    return data.replace(history=stored(data.history, b, new))


def _buffer(s: Structure, kind: str, index: int) -> Buffers | None:
    for b in buffers(s, kind):
        row = np.flatnonzero(b.ids == index)
        if len(row):
            return Buffers(b.ids[row], b.interp[row], b.cells[row], b.n, b.dim)
    return None


def _read_one(data: Data, b: Buffers, time: Array, interp: int) -> Array:
    kind = b.interp if interp < 0 else np.array([interp])
    return read(samples(data.history, b), jnp.asarray(time, data.history.dtype)[None], kind)[0]
