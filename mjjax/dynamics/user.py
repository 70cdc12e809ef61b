"""Gains, biases and activation rates of actuators of type `user`, from callbacks."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.core.enums import DynType
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.xla.indexing import gather
from mjjax.xla.namespace import Array

Ask = Callable[[Model, Data, Array], Array]


def user_values(
    ask: Ask | None, model: Model, data: Data, user: np.ndarray, values: Array
) -> Array:
    """Values (nu,) of actuators; where `user` (nu,) is true they come from the callback, if any."""
    ids = np.flatnonzero(user)
    if ask is None or not len(ids):
        return values
    return _put(values, ids, _asked(ask, model, data, ids, ()))


def user_rates(ask: Ask | None, model: Model, data: Data, rates: Array) -> Array:
    """Activation rates (na,); those of user dynamics come from the callback, if there is one."""
    s = model.structure
    user = (s.actuator_dyntype == DynType.USER) & (s.actuator_actnum > 0)
    if ask is None:
        return rates
    for count in np.unique(s.actuator_actnum[user]):
        ids = np.flatnonzero(user & (s.actuator_actnum == count))
        where = s.actuator_actadr[ids][:, None] + np.arange(count)
        shape = () if count == 1 else (int(count),)
        rates = _put(rates, where.ravel(), _asked(ask, model, data, ids, shape).ravel())
    return rates


def _asked(ask: Ask, model: Model, data: Data, ids: np.ndarray, shape: tuple[int, ...]) -> Array:
    def one(index: Array) -> Array:
        return jnp.asarray(ask(model, data, index), data.qpos.dtype).reshape(shape)

    return jax.vmap(one)(jnp.asarray(ids, jnp.int32))


def _put(values: Array, where: np.ndarray, new: Array) -> Array:
    source = np.arange(values.shape[0])
    source[where] = values.shape[0] + np.arange(len(where))
    return gather(jnp.concatenate([values, new]), source)
