"""Buffers of past controls and readings, in MuJoCo's layout.

A buffer of n samples consists of a number of the user, a cursor, n times and n values. Times and
values form a ring that ends at the cursor. All buffers of a kind are handled together, in order of
time and padded to one shape.
"""

import dataclasses
import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from mjjax.core.constants import MINVAL
from mjjax.math import safe
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.xla.namespace import Array, where

HOLD, LINEAR, CUBIC = range(3)  # `interp`
NEVER = 1e20  # time of a sample that is padding


@dataclasses.dataclass(frozen=True, eq=False)
class Buffers:
    """Buffers of one kind.

    Attributes:
        ids: (m,) actuators or sensors.
        interp: (m,) interpolation.
        n: (m,) numbers of samples.
        dim: (m,) numbers per sample.
        first: (m,) first entries of the buffers in `Data.history`.
        time: (m, most) entries of the times in `Data.history`; padding has the history's length.
        value: (m, most, wide) entries of the values in `Data.history`.
    """

    ids: np.ndarray
    interp: np.ndarray
    n: np.ndarray
    dim: np.ndarray
    first: np.ndarray
    time: np.ndarray
    value: np.ndarray

    def part(self, rows: np.ndarray) -> "Buffers":
        """Some of the buffers."""
        fields = (getattr(self, f.name)[rows] for f in dataclasses.fields(self))
        return Buffers(*fields)


class Samples(NamedTuple):
    """Contents of m buffers in order of time.

    Attributes:
        time: (m, most) times that increase; `NEVER` for padding.
        value: (m, most, wide) values.
        user: (m,) numbers of the user.
        cursor: (m,) places of the newest samples in the rings.
    """

    time: Array
    value: Array
    user: Array
    cursor: Array


@functools.lru_cache(maxsize=64)
def buffers(s: Structure, kind: str) -> Buffers | None:
    """Buffers of ``"actuator"`` or ``"sensor"``, None if there are none."""
    count, interp = s.arrays[f"{kind}_history"].T
    ids = np.flatnonzero(count > 0)
    if not len(ids):
        return None
    n, first = count[ids], s.arrays[f"{kind}_historyadr"][ids]
    dim = np.ones_like(n) if kind == "actuator" else s.sensor_dim[ids]
    sample, number = np.arange(n.max()), np.arange(dim.max())
    time = np.where(sample < n[:, None], first[:, None] + 2 + sample, s.nhistory)
    adr = (first + 2 + n)[:, None, None] + sample[:, None] * dim[:, None, None] + number
    held = (sample < n[:, None])[:, :, None] & (number < dim[:, None])[:, None]
    value = np.where(held, adr, s.nhistory)
    return Buffers(ids, interp[ids], n, dim, first, time, value)


def samples(history: Array, b: Buffers) -> Samples:
    """Contents of buffers."""
    padded = jnp.append(history, 0)
    cursor = padded[b.first + 1].astype(jnp.int32)
    place, n = _places(b)
    order = where(place < n, (cursor[:, None] + 1 + place) % n, place)
    time = jnp.take_along_axis(padded[b.time], order, axis=1)
    value = jnp.take_along_axis(padded[b.value], order[:, :, None], axis=1)
    return Samples(where(place < n, time, NEVER), value, padded[b.first], cursor)


def stored(history: Array, b: Buffers, x: Samples) -> Array:
    """`history` with the contents of buffers replaced."""
    place, n = _places(b)
    order = where(place < n, (place - x.cursor[:, None] - 1) % n, place)
    time = jnp.take_along_axis(x.time, order, axis=1)
    value = jnp.take_along_axis(x.value, order[:, :, None], axis=1)
    entry = np.concatenate([b.first, b.first + 1, b.time.ravel(), b.value.ravel()])
    parts = [x.user, x.cursor.astype(time.dtype), time.ravel(), value.ravel()]
    kept = entry < len(history)
    return jnp.asarray(history).at[entry[kept]].set(jnp.concatenate(parts)[kept])


def _places(b: Buffers) -> tuple[np.ndarray, np.ndarray]:
    """Places (1, most) in the rings and their sizes (m, 1)."""
    return np.arange(b.time.shape[1], dtype=np.int32)[None], b.n[:, None].astype(np.int32)


def _slack(time: Array) -> Array:
    """Times that differ by less than this are equal: MuJoCo's number, or float32's rounding."""
    eps = float(jnp.finfo(time.dtype).eps)
    return 16 * eps * jnp.abs(time) if eps > 1e-10 else jnp.full_like(time, MINVAL)


def read(x: Samples, b: Buffers, time: Array) -> Array:
    """Values (m, wide) at times (m,): held, linear or cubic between samples, constant beyond them.

    The cubic has Catmull-Rom slopes, which are zero at the ends. Derivatives are exact between
    samples.
    """
    n, interp = b.n.astype(np.int32), b.interp
    reached = x.time <= (time + _slack(time))[:, None]
    last = jnp.clip(jnp.sum(reached, axis=1, dtype=jnp.int32) - 1, 0, n - 1)
    t0, v0 = _at(x, last)
    if (interp == HOLD).all():
        return v0
    t1, v1 = _at(x, jnp.minimum(last + 1, n - 1))
    part = jnp.clip(safe.divide(time - t0, t1 - t0), 0, 1)[:, None]
    line = v0 + part * (v1 - v0)
    result = where((interp == HOLD)[:, None], v0, line)
    if not (interp == CUBIC).any():
        return result
    before, after = (_at(x, jnp.clip(last + k, 0, n - 1)) for k in (-1, 2))
    slope0 = safe.divide(v1 - before[1], _wide(t1 - before[0], v1))
    slope1 = safe.divide(after[1] - v0, _wide(after[0] - t0, v1))
    slope0 = where((last > 0)[:, None], slope0, 0)
    slope1 = where((last + 2 < n)[:, None], slope1, 0)
    rest, step = 1 - part, (t1 - t0)[:, None]
    bend = rest * slope0 * step - part * slope1 * step
    curve = rest * rest * (1 + 2 * part) * v0 + part * part * (3 - 2 * part) * v1
    curve = curve + part * rest * bend
    return where((interp == CUBIC)[:, None], curve, result)


def _at(x: Samples, k: Array) -> tuple[Array, Array]:
    """Times (m,) and values (m, dim) of the k-th samples."""
    time = jnp.take_along_axis(x.time, k[:, None], axis=1)[:, 0]
    return time, jnp.take_along_axis(x.value, k[:, None, None], axis=1)[:, 0]


def _wide(time: Array, like: Array) -> Array:
    return jnp.broadcast_to(time[:, None], like.shape)


def inserted(x: Samples, b: Buffers, time: Array, value: Array) -> Samples:
    """Buffers after new values (m, wide) at one time, which take the place of the oldest sample.

    The new sample stands in order of time. If a buffer has a sample of that time, the new one
    replaces it. A sample that is older than all others replaces the oldest.
    """
    n = b.n.astype(np.int32)
    slack = _slack(time)
    same = jnp.abs(x.time - time) <= slack
    equal = jnp.any(same, axis=1)
    older = jnp.sum(x.time < time - slack, axis=1, dtype=jnp.int32)
    # An equal sample is replaced at its place; a new one shifts the samples before it.
    place = where(equal, older, jnp.maximum(older - 1, 0))[:, None]
    index, _ = _places(b)
    shifted = index + ((index < place) & ~equal[:, None]).astype(jnp.int32)
    times = jnp.take_along_axis(x.time, shifted, axis=1)
    values = jnp.take_along_axis(x.value, shifted[:, :, None], axis=1)
    here = index == place
    newest = (older == n) & ~equal
    return x._replace(
        time=where(here, time, times),
        value=where(here[:, :, None], value[:, None], values),
        cursor=(x.cursor + newest.astype(jnp.int32)) % n,
    )


def chosen(on: Array, new: Samples, old: Samples) -> Samples:
    """The new contents where `on` (m,) is true, the old ones elsewhere."""
    pairs = zip(new, old, strict=True)
    return Samples(*(where(on.reshape(-1, *[1] * (a.ndim - 1)), a, b) for a, b in pairs))


def initial_history(model: Model) -> Array:
    """Buffers after a reset, with zeros at the times at which samples would have been taken."""
    s, h = model.structure, jnp.asarray(model.opt.timestep, model.qpos0.dtype)
    history = jnp.zeros(s.nhistory, h.dtype)
    for kind in ("actuator", "sensor"):
        b = buffers(s, kind)
        if b is None:
            continue
        place, n = _places(b)
        back = jnp.asarray(place - n, h.dtype)
        user, time = jnp.zeros(len(b.ids), h.dtype), back * h
        if kind == "sensor":
            period, phase = model.sensor_interval[b.ids].T
            regular = period > 0
            last = where(phase < 0, phase, -period)
            ticks = last[:, None] + (back + 1) * period[:, None]
            ticks = jnp.ceil(ticks / h - 1e-6) * h
            user = where(regular, last, -h)
            time = where(regular[:, None], ticks, time)
        value = jnp.zeros(b.value.shape, h.dtype)
        cursor = jnp.asarray(b.n - 1, jnp.int32)
        history = stored(history, b, Samples(time, value, user, cursor))
    return history


def delayed_ctrl(model: Model, data: Data) -> Array:
    """Controls (nu,) as they reach the actuators; delayed controls come from the past."""
    b = buffers(model.structure, "actuator")
    if b is None:
        return data.ctrl
    delay = model.actuator_delay[b.ids]
    past = read(samples(data.history, b), b, data.time - delay)[:, 0]
    return data.ctrl.at[b.ids].set(where(delay > 0, past, data.ctrl[b.ids]))


def remember_ctrl(model: Model, data: Data) -> Data:
    """Appends the present controls to their buffers."""
    b = buffers(model.structure, "actuator")
    if b is None:
        return data
    new = inserted(samples(data.history, b), b, data.time, data.ctrl[b.ids][:, None])
    return data.replace(history=stored(data.history, b, new))


def read_ctrl(
    model: Model, data: Data, actuator: int, time: Array | float, interp: int = -1
) -> Array:
    """The control that reaches an actuator at a given time (`mj_readCtrl`).

    Args:
        model: model.
        data: data.
        actuator: id; static.
        time: time [s], from which the actuator's delay is subtracted.
        interp: 0 to hold, 1 for linear, 2 for cubic, -1 for the actuator's own setting; static.
    """
    b = _buffer(model.structure, "actuator", actuator)
    if b is None:
        return data.ctrl[actuator]
    return _read_one(data, b, time - model.actuator_delay[actuator], interp)[0]


def read_sensor(
    model: Model, data: Data, sensor: int, time: Array | float, interp: int = -1
) -> Array:
    """Reading (dim,) of a sensor at a given time (`mj_readSensor`); arguments as in `read_ctrl`."""
    b = _buffer(model.structure, "sensor", sensor)
    if b is None:
        first, dim = (int(x[sensor]) for x in (model.sensor_adr, model.sensor_dim))
        return data.sensordata[first : first + dim]
    return _read_one(data, b, time - model.sensor_delay[sensor], interp)


def init_ctrl_history(
    model: Model, data: Data, actuator: int, times: Array | None, values: Array
) -> Data:
    """`data` with given past controls of an actuator (`mj_initCtrlHistory`).

    Args:
        model: model.
        data: data.
        actuator: id; static.
        times: (n,) increasing times [s]; None keeps the times in the buffer.
        values: (n,) controls.

    Raises:
        ValueError: the actuator has no buffer, or the arrays do not fit it.
    """
    return _initialized(
        model, data, "actuator", actuator, times, jnp.asarray(values)[:, None], None
    )


def init_sensor_history(
    model: Model, data: Data, sensor: int, times: Array | None, values: Array, phase: Array | float
) -> Data:
    """`data` with given past readings (n, dim) of a sensor (`mj_initSensorHistory`).

    `phase` is the last time at which a sensor with an interval was read. The other arguments are
    those of `init_ctrl_history`.
    """
    return _initialized(model, data, "sensor", sensor, times, jnp.asarray(values), phase)


def _initialized(
    model: Model,
    data: Data,
    kind: str,
    index: int,
    times: Array | None,
    values: Array,
    user: Array | float | None,
) -> Data:
    b = _buffer(model.structure, kind, index)
    if b is None:
        raise ValueError(f"{kind} {index} has no history: set nsample")
    old = samples(data.history, b)
    real = data.history.dtype
    time = old.time[0] if times is None else jnp.asarray(times, real)
    n, dim = int(b.n[0]), int(b.dim[0])
    if time.shape != (n,) or values.shape != (n, dim):
        raise ValueError(f"{kind} {index} needs {n} times and values of {dim} numbers")
    if times is not None and not isinstance(times, Tracer) and not (np.diff(times) > 0).all():
        raise ValueError("times must increase")
    new = Samples(
        time[None],
        values[None].astype(real),
        old.user if user is None else jnp.full(1, user, real),
        jnp.full(1, n - 1, jnp.int32),
    )
    return data.replace(history=stored(data.history, b, new))


def _buffer(s: Structure, kind: str, index: int) -> Buffers | None:
    """The buffer of one actuator or sensor, without padding."""
    every = buffers(s, kind)
    if every is None or index not in every.ids:
        return None
    b = every.part(np.flatnonzero(every.ids == index))
    n, dim = int(b.n[0]), int(b.dim[0])
    return dataclasses.replace(b, time=b.time[:, :n], value=b.value[:, :n, :dim])


def _read_one(data: Data, b: Buffers, time: Array, interp: int) -> Array:
    if interp >= 0:
        b = dataclasses.replace(b, interp=np.array([interp]))
    return read(samples(data.history, b), b, jnp.asarray(time, data.history.dtype)[None])[0]
