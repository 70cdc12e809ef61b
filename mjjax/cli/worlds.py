"""Starts and advances many worlds at once, on all cores."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import export

import mjjax
from mjjax.xla.compiling import compiled

JITTER = 0.01  # standard deviation of starting states: m or rad, and m/s or rad/s


class Watch(NamedTuple):
    """The largest counts of each world over all steps."""

    ncon: jax.Array
    nefc: jax.Array


export.register_namedtuple_serialization(Watch, serialized_name="mjjax.cli.Watch")


def start(model: mjjax.Model, worlds: int, seed: int) -> mjjax.Data:
    """A batch of worlds near the reference configuration, each a little different."""
    keys = jax.random.split(jax.random.key(seed), worlds)
    return compiled("disturbed", jax.jit(disturbed), model, keys)(model, keys)


def disturbed(model: mjjax.Model, keys: jax.Array) -> mjjax.Data:
    """The worlds of `start`, one for each key."""

    def one(key: jax.Array) -> mjjax.Data:
        data = mjjax.make_data(model)
        kq, kv = jax.random.split(key)
        dq = JITTER * jax.random.normal(kq, data.qvel.shape, data.qvel.dtype)
        qvel = JITTER * jax.random.normal(kv, data.qvel.shape, data.qvel.dtype)
        qpos = mjjax.integrate_pos(model, data.qpos, dq, jnp.ones((), dq.dtype))
        return data.replace(qpos=qpos, qvel=qvel)

    return jax.vmap(one)(keys)


def advance(model: mjjax.Model, batch: mjjax.Data, nstep: jax.Array) -> tuple[mjjax.Data, Watch]:
    """Takes `nstep` steps in every world; it is traced, so that any number runs one program."""
    step = functools.partial(mjjax.step, derived=Watch._fields)

    def body(_: jax.Array, carry: tuple[mjjax.Data, Watch]) -> tuple[mjjax.Data, Watch]:
        batch, seen = carry
        batch = jax.vmap(step, in_axes=(None, 0))(model, batch)
        return batch, Watch(jnp.maximum(seen.ncon, batch.ncon), jnp.maximum(seen.nefc, batch.nefc))

    nothing = Watch(jnp.zeros_like(batch.ncon), jnp.zeros_like(batch.nefc))
    return jax.lax.fori_loop(0, nstep, body, (batch, nothing))
