"""Sensor stages: after a stage of the step, all of its sensors are read, type by type."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from mjjax.constraint.reaction import rne_postconstraint
from mjjax.core.enums import DataType, DisableBit, SensorType, Stage
from mjjax.core.profile import stage
from mjjax.dynamics.history import Buffers, buffers, chosen, inserted, read, samples, stored
from mjjax.dynamics.velocity import subtree_vel
from mjjax.model.callbacks import Callbacks
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.sleep import sleeps
from mjjax.model.structure import Structure
from mjjax.sensor.asleep import keep_asleep
from mjjax.sensor.table import BEFORE, KERNELS, UNLIMITED
from mjjax.xla.indexing import gather
from mjjax.xla.namespace import Array, where


@stage
def sensor_pos(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """Readings of the sensors that depend on positions (`mj_sensorPos`)."""
    return sensor_stage(model, data, Stage.POS, callbacks)


@stage
def sensor_vel(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """Readings of the sensors that depend on velocities (`mj_sensorVel`)."""
    return sensor_stage(model, data, Stage.VEL, callbacks)


@stage
def sensor_acc(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """Readings of the sensors that depend on accelerations and forces (`mj_sensorAcc`)."""
    return sensor_stage(model, data, Stage.ACC, callbacks)


def sensor_stage(
    model: Model, data: Data, stage: Stage, callbacks: Callbacks | None = None
) -> Data:
    """Reads the sensors of a stage; the flag `sensor` keeps the old readings.

    Derivatives are exact; where a cutoff is active they are zero.
    """
    s = model.structure
    if model.opt.disabled(DisableBit.SENSOR):
        return data
    mine = s.sensor_needstage == stage
    ids = np.flatnonzero(mine & _known(s))
    if len(ids):
        old = data.sensordata
        data, values = readings(model, data, ids)
        values = _delayed(model, data, ids, values)
        if sleeps(model, data):
            values = keep_asleep(data, ids, values, gather(old, _entries(s, ids)))
        data = _written(s, data, ids, values)
    if callbacks is not None and callbacks.sensor:
        data = _user(model, data, stage, np.flatnonzero(mine & ~_known(s)), callbacks.sensor)
    return data


def _user(
    model: Model, data: Data, stage: Stage, ids: np.ndarray, function: Callable[..., Data]
) -> Data:
    """Readings of user sensors, from the user's function."""
    s = model.structure
    if len(ids):
        entries = _entries(s, ids)
        data = _written(s, data, ids, jnp.zeros(len(entries), data.sensordata.dtype))
        if stage >= Stage.VEL:
            data = subtree_vel(model, data)
        if stage == Stage.ACC:
            data = rne_postconstraint(model, data)
    data = function(model, data, stage)
    if not len(ids):
        return data
    values = _limited(model, ids, gather(data.sensordata, _entries(s, ids)))
    return _written(s, data, ids, values)


def _written(s: Structure, data: Data, ids: np.ndarray, values: Array) -> Data:
    """`data` with new readings of some sensors."""
    entries = _entries(s, ids)
    order = np.arange(s.nsensordata)
    order[entries] = s.nsensordata + np.arange(len(entries))
    return data.replace(sensordata=gather(jnp.concatenate([data.sensordata, values]), order))


def _known(s: Structure) -> np.ndarray:
    return np.isin(s.sensor_type, list(KERNELS))


def readings(model: Model, data: Data, ids: np.ndarray) -> tuple[Data, Array]:
    """Present readings of sensors, one after the other, and data with all that they need."""
    s = model.structure
    kinds = s.sensor_type[ids]
    for function, types in BEFORE:
        if np.isin(kinds, types).any():
            data = function(model, data)
    parts, order = [], []
    for kind in np.unique(kinds):
        own = ids[kinds == kind]
        parts.append(KERNELS[SensorType(kind)](model, data, own).astype(data.sensordata.dtype))
        order.append(_entries(s, own))
    values = gather(jnp.concatenate(parts), np.argsort(np.concatenate(order)))
    return data, _limited(model, ids, values)


def _entries(s: Structure, ids: np.ndarray) -> np.ndarray:
    """Entries in `sensordata` of the sensors, one after the other."""
    parts = [s.sensor_adr[i] + np.arange(int(s.sensor_dim[i])) for i in ids]
    return np.concatenate([np.zeros(0, int), *parts]).astype(int)


def _limited(model: Model, ids: np.ndarray, values: Array) -> Array:
    """Readings within positive cutoffs, which bound both sides, or only above if positive."""
    s = model.structure
    owner = np.repeat(ids, s.sensor_dim[ids])
    kind = s.sensor_datatype[owner]
    free = np.isin(s.sensor_type[owner], UNLIMITED)
    both, above = (kind == DataType.REAL) & ~free, (kind == DataType.POSITIVE) & ~free
    if not (both | above).any():
        return values
    limit = gather(model.sensor_cutoff, owner)
    over = (limit > 0) & (both | above) & (values > limit)
    under = (limit > 0) & both & (values < -limit)
    return where(over, limit, where(under, -limit, values))


def _delayed(model: Model, data: Data, ids: np.ndarray, values: Array) -> Array:
    """Readings in which delayed and periodic sensors are read from buffers, unless they are due."""
    every = buffers(model.structure, "sensor")
    if every is None or not np.isin(every.ids, ids).any():
        return values
    b = every.part(np.flatnonzero(np.isin(every.ids, ids)))
    x = samples(data.history, b)
    past = read(x, b, data.time - model.sensor_delay[b.ids])
    now = _now(model, data, b.ids, x.user)
    entry = _padded_entries(model.structure, ids, b)
    kept = where(now[:, None], jnp.append(values, 0)[entry], past)
    held = entry < len(values)
    return jnp.asarray(values).at[entry[held]].set(kept[held])


def _padded_entries(s: Structure, ids: np.ndarray, b: Buffers) -> np.ndarray:
    """Places (m, wide) of the numbers of buffered sensors in the joined readings of sensors `ids`.

    Padding has places beyond the end of these readings.
    """
    dim = s.sensor_dim[ids]
    start = np.zeros(s.nsensor, int)
    start[ids] = np.cumsum(dim) - dim
    number = np.arange(b.value.shape[2])
    return np.where(number < b.dim[:, None], start[b.ids][:, None] + number, dim.sum())


def _now(model: Model, data: Data, ids: np.ndarray, user: Array) -> Array:
    """Whether buffered sensors are read now, rather than their buffers."""
    return (model.sensor_delay[ids] <= 0) & _due(model, data, ids, user)


def is_read_now(model: Model, data: Data, kind: SensorType) -> Array:
    """Whether a sensor of some type is read now: there is one, and its buffer is not read."""
    s = model.structure
    mine = s.sensor_type == kind
    every = buffers(s, "sensor")
    if every is None or mine[every.ids].sum() < mine.sum():
        return jnp.bool_(mine.any())
    b = every.part(np.flatnonzero(mine[every.ids]))
    return jnp.any(_now(model, data, b.ids, samples(data.history, b).user))


def _due(model: Model, data: Data, ids: np.ndarray, user: Array) -> Array:
    """Whether sensors take a sample now: always without an interval, else when it is over."""
    period = model.sensor_interval[ids, 0]
    return (period <= 0) | (user + period <= data.time)


def remember_sensors(model: Model, data: Data) -> Data:
    """Appends the present readings to the buffers of the sensors that take a sample now."""
    s = model.structure
    b = buffers(s, "sensor")
    if b is None:
        return data
    ids = b.ids
    values = gather(data.sensordata, _entries(s, ids))
    if s.terms["sensor_delay"].any() and not model.opt.disabled(DisableBit.SENSOR):
        # `sensordata` holds past readings of these sensors, so they are read again.
        _, fresh = readings(model, data, ids)
        delay = gather(model.sensor_delay, np.repeat(ids, s.sensor_dim[ids]))
        values = where(delay > 0, fresh, values)
    old = samples(data.history, b)
    due = _due(model, data, ids, old.user)
    period = model.sensor_interval[ids, 0]
    new = inserted(old, b, data.time, jnp.append(values, 0)[_padded_entries(s, ids, b)])
    new = new._replace(user=where(period > 0, old.user + period, old.user))
    return data.replace(history=stored(data.history, b, chosen(due, new, old)))
