"""One model per world; this module finds out which leaves get a dimension of worlds."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from mjjax.core.convert import whole_number
from mjjax.core.struct import PyTree, specs
from mjjax.envs.checks import require_key
from mjjax.envs.environment import Environment, EnvState, Info, Params
from mjjax.model.model import Model
from mjjax.model.refusals import NOT_NEGATIVE, require_no_negative
from mjjax.pipeline.boundary import check_shapes, require_kinds


def randomize(
    model: Model, change: Callable[[Model, Array], Model], key: Array, worlds: int
) -> Model:
    """Makes a batch of models, one for each world.

    Only the fields that `change` sets get a dimension of worlds. If `change` sets masses or sizes,
    let it call `set_const`, which updates the constants that follow from them.

    Args:
        model: model to change.
        change: function of (model, key) that returns a model with other numbers.
        key: random key.
        worlds: number of worlds.

    Raises:
        TypeError: `change` does not return a model, or `key` is not a random key.
        ValueError: `change` alters the shape of a field or makes a mass negative, or `worlds` is
            less than 1.
    """
    require_kinds("randomize", {"model": model})
    require_key(key, "randomize")
    worlds = whole_number(worlds, "randomize: worlds is a whole number")
    if worlds < 1:
        raise ValueError(f"randomize: worlds must be at least 1, not {worlds}")
    program, changed = jax.make_jaxpr(change, return_shape=True)(model, key)
    require_kinds("what change() of randomize returns", {"model": changed})
    check_shapes("what change() of randomize returns", {"model": changed})
    given, found = program.jaxpr.invars[:-1], program.jaxpr.outvars
    axes = [None if any(out is leaf for leaf in given) else 0 for out in found]
    axes = jax.tree.unflatten(jax.tree.structure(changed), axes)
    keys = jax.random.split(key, worlds)
    models = jax.jit(jax.vmap(change, in_axes=(None, 0), out_axes=axes))(model, keys)
    for name in NOT_NEGATIVE:
        require_no_negative(models, name)
    return models


def world_axes(tree: Any) -> Any:
    """`in_axes` of a `Model` or `Params`: 0 for leaves with a dimension of worlds, None for others.

    Raises:
        ValueError: a leaf has neither the dimensions of its field nor one more.
    """

    def axis(path: tuple, value: Array) -> int | None:
        holder = tree
        for key in path[:-1]:
            holder = getattr(holder, key.name)
        # Entries of dictionaries are the weights, which are numbers.
        own = len(specs(holder)[path[-1].name].shape) if isinstance(holder, PyTree) else 0
        more = jnp.ndim(value) - own
        if more not in (0, 1):
            name = jax.tree_util.keystr(path, simple=True, separator=".")
            raise ValueError(
                f"{name} has shape {jnp.shape(value)}, but needs {own} dimensions or one more"
            )
        return 0 if more else None

    return jax.tree_util.tree_map_with_path(axis, tree)


def vectorize(
    env: Environment, params: Params | None = None
) -> tuple[
    Callable[[Array, Params], tuple[Array, EnvState]],
    Callable[[Array, EnvState, Array, Params], tuple[Array, EnvState, Array, Array, Info]],
]:
    """Functions `reset(keys, params)` and `step(keys, states, actions, params)` for many worlds.

    Args:
        env: environment.
        params: parameters like those that you will pass. The model, the weights and the length of
            an episode may have one value per world.
    """
    axes = world_axes(env.default_params if params is None else params)
    return (
        jax.jit(jax.vmap(env.reset_env, in_axes=(0, axes))),
        jax.jit(jax.vmap(env.step, in_axes=(0, 0, 0, axes))),
    )
