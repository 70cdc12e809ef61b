"""Checks of what users pass to an environment and of what their tasks return, while tracing."""

from collections.abc import Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mjjax.core.representation import short
from mjjax.envs.spaces import Box
from mjjax.model.model import Model
from mjjax.pipeline.arguments import check_shape, real_array
from mjjax.xla.namespace import where

VMAP = "vmap over worlds"


def require_key(key: Any, what: str) -> None:
    """Refuses everything but a random key of one world.

    Args:
        key: a key of `jax.random.key`, or the numbers of a key, as `jax.random.PRNGKey` makes them.
        what: name of the called function, for the message.

    Raises:
        TypeError: `key` is a seed, or not a key at all.
        ValueError: `key` holds the keys of many worlds.
    """
    typed = isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    numbers = isinstance(key, jax.Array | np.ndarray) and key.dtype == np.uint32 and key.ndim
    if not typed and not numbers:
        made = f"jax.random.key({key})" if isinstance(key, int) else "jax.random.key(0)"
        raise TypeError(f"{what} takes a random key, such as {made}, not {short(key)}")
    if key.ndim > (0 if typed else 1):
        raise ValueError(f"{what} takes the key of one world, not {key.shape} keys: {VMAP}")


def require_params(params: Any, model: Model, what: str) -> None:
    """Refuses parameters of another environment.

    Raises:
        TypeError: `params` are not parameters.
        ValueError: their model is not the model of the environment.
    """
    theirs = getattr(params, "model", None)
    if not isinstance(theirs, Model):
        raise TypeError(f"{what} takes an mjjax.envs.Params, not {short(params)}")
    if not theirs.structure.is_of(model.structure):
        raise ValueError(
            f"{what}: params have another model ({theirs.structure.model_name!r:.40}); an "
            "environment is made for one: Environment(model)"
        )


def require_state(state: Any, fields: Iterable[str], what: str) -> None:
    """Refuses the state of another environment, or of many worlds.

    Raises:
        TypeError: `state` is not a state.
        ValueError: the state belongs to another environment, or it is a batch.
    """
    physics = getattr(state, "physics", None)
    if not isinstance(physics, Mapping):
        raise TypeError(f"{what} takes the state that reset or step returned, not {short(state)}")
    if other := set(physics) ^ set(fields):
        raise ValueError(f"{what}: the state is of another environment ({min(other)} differs)")
    check_shape(state.time, (), f"{what}: the time of a state", VMAP)


def within(action: Any, space: Box, what: str) -> Array:
    """An action within the bounds of its space; NaN stays.

    Args:
        action: real numbers; a single number is the action of a single actuator.
        space: bounds.
        what: name of the action, for the message.

    Raises:
        ValueError: the action has a wrong shape, or it has no real numbers.
    """
    action = real_array(action, what)
    if space.shape == (1,) and not action.ndim:
        action = action[None]
    check_shape(action, space.shape, what, VMAP)
    # This is not a clip, because the derivative of a clip at the bound itself is half.
    action = where(action < space.low, space.low, action)
    return where(action > space.high, space.high, action)


def truth(x: Any, what: str) -> Array:
    """A truth value that a task returns.

    Raises:
        ValueError: the task returned something else, or several truth values.
    """
    found = jnp.asarray(x) if isinstance(x, bool | np.bool_ | jax.Array | np.ndarray) else None
    if found is None or found.dtype != bool or found.shape:
        given = short(x) if found is None else f"{found.dtype} of shape {found.shape}"
        raise ValueError(f"{what} must be one truth value, not {given}")
    return found


def weighted(terms: Any, weights: Mapping[str, Array], name: str) -> Array:
    """The reward: the sum of the terms, each times its weight.

    Raises:
        ValueError: a term or its weight is missing, or one of them is not a number.
    """
    if not isinstance(terms, Mapping):
        raise ValueError(f"{name}: terms() must return a dictionary of numbers, not {short(terms)}")
    without = [f"term {term!r} has no weight" for term in terms if term not in weights]
    without += [f"weight {term!r} has no term" for term in weights if term not in terms]
    without += [
        f"{what} {term!r} has shape {jnp.shape(x)}, not that of a number"
        for what, values in (("term", terms), ("weight", weights))
        for term, x in values.items()
        if jnp.ndim(x)
    ]
    if without or not terms:
        raise ValueError(f"{name}: {', '.join(without) or 'terms() gives no term'}")
    return jnp.sum(jnp.stack([weights[term] * terms[term] for term in terms]))
