"""Sensor stages: all sensors of a stage are read after it, by kind."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from mjjax.constraint.reaction import rne_postconstraint
from mjjax.core.enums import DataType, DisableBit, SensorType, Stage
from mjjax.dynamics.history import buffers, chosen, inserted, read, samples, stored
from mjjax.dynamics.subtree import subtree_vel
from mjjax.math.linalg import rows
from mjjax.math.namespace import Array
from mjjax.model.callbacks import Callbacks
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.sensor.table import KERNELS, MOMENTA, REACTIONS, UNLIMITED


def sensor_pos(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """Readings of the sensors of positions (`mj_sensorPos`)."""
    return sensor_stage(model, data, Stage.POS, callbacks)


def sensor_vel(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """Readings of the sensors of velocities (`mj_sensorVel`)."""
    return sensor_stage(model, data, Stage.VEL, callbacks)


def sensor_acc(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """Readings of the sensors of accelerations and forces (`mj_sensorAcc`)."""
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
        data, values = readings(model, data, ids)
        data = _written(s, data, ids, _delayed(model, data, ids, values))
    if callbacks is not None and callbacks.sensor:
        data = _user(model, data, stage, np.flatnonzero(mine & ~_known(s)), callbacks.sensor)
    return data


def _user(
    model: Model, data: Data, stage: Stage, ids: np.ndarray, function: Callable[..., Data]
) -> Data:
    """Readings of user sensors, from the function of the user's."""
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
    values = _limited(model, ids, rows(data.sensordata, _entries(s, ids)))
    return _written(s, data, ids, values)


def _written(s: Structure, data: Data, ids: np.ndarray, values: Array) -> Data:
    """`data` with new readings of some sensors."""
    entries = _entries(s, ids)
    order = np.arange(s.nsensordata)
    order[entries] = s.nsensordata + np.arange(len(entries))
    return data.replace(sensordata=rows(jnp.concatenate([data.sensordata, values]), order))


def _known(s: Structure) -> np.ndarray:
    return np.isin(s.sensor_type, list(KERNELS))


def readings(model: Model, data: Data, ids: np.ndarray) -> tuple[Data, Array]:
    """Present readings of sensors, one after the other, and the data with what they needed."""
    s = model.structure
    kinds = s.sensor_type[ids]
    if np.isin(kinds, MOMENTA).any():
        data = subtree_vel(model, data)
    if np.isin(kinds, REACTIONS).any():
        data = rne_postconstraint(model, data)
    parts, order = [], []
    for kind in np.unique(kinds):
        own = ids[kinds == kind]
        parts.append(KERNELS[SensorType(kind)](model, data, own).astype(data.sensordata.dtype))
        order.append(_entries(s, own))
    values = rows(jnp.concatenate(parts), np.argsort(np.concatenate(order)))
    return data, _limited(model, ids, values)


def _entries(s: Structure, ids: np.ndarray) -> np.ndarray:
    """Entries of `sensordata` of sensors, one after the other."""
    parts = [np.arange(s.sensor_adr[i], s.sensor_adr[i] + s.sensor_dim[i]) for i in ids]
    return np.concatenate([np.zeros(0, int), *parts]).astype(int)


def _limited(model: Model, ids: np.ndarray, values: Array) -> Array:
    """Readings within the cutoffs that are positive: both ways, or above for positive readings."""
    s = model.structure
    owner = np.repeat(ids, s.sensor_dim[ids])
    kind = s.sensor_datatype[owner]
    free = np.isin(s.sensor_type[owner], UNLIMITED)
    both, above = (kind == DataType.REAL) & ~free, (kind == DataType.POSITIVE) & ~free
    if not (both | above).any():
        return values
    limit = rows(model.sensor_cutoff, owner)
    over = (limit > 0) & (both | above) & (values > limit)
    under = (limit > 0) & both & (values < -limit)
    return jnp.where(over, limit, jnp.where(under, -limit, values))


def _delayed(model: Model, data: Data, ids: np.ndarray, values: Array) -> Array:
    """Readings with those of delayed and periodic sensors from their buffers, unless due now."""
    s = model.structure
    start = _starts(s, ids)
    for b in buffers(s, "sensor"):
        on = np.isin(b.ids, ids)
        if not on.any():
            continue
        x = samples(data.history, b)
        delay = model.sensor_delay[b.ids]
        now = (delay <= 0) & _due(model, data, b.ids, x.user)
        past = read(x, data.time - delay, b.interp)
        entries = (start[b.ids[on]][:, None] + np.arange(b.dim)).ravel()
        kept = jnp.where(now[:, None][on], values[entries].reshape(-1, b.dim), past[on])
        values = values.at[entries].set(kept.ravel())
    return values


def _starts(s: Structure, ids: np.ndarray) -> np.ndarray:
    """(nsensor,) where each of the sensors begins in their joined readings."""
    start = np.zeros(s.nsensor, int)
    start[ids] = np.cumsum(s.sensor_dim[ids]) - s.sensor_dim[ids]
    return start


def _due(model: Model, data: Data, ids: np.ndarray, user: Array) -> Array:
    """Whether sensors take a sample now: always, or when their interval is over."""
    period = model.sensor_interval[ids, 0]
    return (period <= 0) | (user + period <= data.time)


def remember_sensors(model: Model, data: Data) -> Data:
    """Appends the present readings to the buffers of the sensors that take a sample now."""
    s = model.structure
    ids = np.flatnonzero((s.sensor_history[:, 0] > 0) & _known(s))
    if not len(ids):
        return data
    if model.opt.disabled(DisableBit.SENSOR):
        values = rows(data.sensordata, _entries(s, ids))
    else:
        _, values = readings(model, data, ids)
    start, history = _starts(s, ids), data.history
    for b in buffers(s, "sensor"):
        old = samples(history, b)
        entries = start[b.ids][:, None] + np.arange(b.dim)
        due = _due(model, data, b.ids, old.user)
        period = model.sensor_interval[b.ids, 0]
        new = inserted(old, data.time, values[entries])
        new = new._replace(user=jnp.where(period > 0, old.user + period, old.user))
        history = stored(history, b, chosen(due, new, old))
    return data.replace(history=history)
