"""JAX's loops and branches, in a form that passes JAX's checks when worlds are spread over devices.

Inside `jax.shard_map` the type of every array says over which devices it varies. A loop must return
arrays of the types that it was given, and both branches of a choice must return the same types. But
loops start from constants, which are the same on all devices, and go on with numbers of the worlds,
which are not. These loops and branches mark everything that they carry and return as varying. That
costs nothing.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
from jax import lax

from mjjax.xla.namespace import Array

State = TypeVar("State")


def while_loop(
    running: Callable[[State], Array], body: Callable[[State], State], start: State
) -> State:
    """`jax.lax.while_loop`, for use inside `jax.shard_map` too."""
    return lax.while_loop(running, _marked(body), varying(start))


def fori_loop(lower: Any, upper: Any, body: Callable[[Any, State], State], start: State) -> State:
    """`jax.lax.fori_loop`, for use inside `jax.shard_map` too."""
    return lax.fori_loop(lower, upper, _marked(body), varying(start))


def scan(
    body: Callable[[State, Any], tuple[State, Any]], start: State, *given: Any, **options: Any
) -> tuple[State, Any]:
    """`jax.lax.scan`, for use inside `jax.shard_map` too."""
    return lax.scan(_marked(body), varying(start), *given, **options)


def cond(
    pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any
) -> Any:
    """`jax.lax.cond`, for use inside `jax.shard_map` too."""
    return lax.cond(pred, _marked(true_fun), _marked(false_fun), *operands)


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """`jax.lax.switch`, for use inside `jax.shard_map` too."""
    return lax.switch(index, [_marked(f) for f in branches], *operands)


def varying(tree: State) -> State:
    """The tree, with its numbers marked as different between the devices of a `jax.shard_map`."""
    axes = _axes()
    return jax.tree.map(lambda x: _over(x, axes), tree) if axes else tree


def _axes() -> tuple[str, ...]:
    """Axes of the mesh of a `jax.shard_map` around the code that is being traced."""
    return jax.sharding.get_abstract_mesh().manual_axes


def _over(x: Any, axes: tuple[str, ...]) -> Any:
    varies = jax.typeof(x).manual_axis_type.varying
    missing = tuple(axis for axis in axes if axis not in varies)
    return lax.pcast(x, missing, to="varying") if missing else x


def _marked(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with its results marked; unchanged outside of `jax.shard_map`."""
    return (lambda *operands: varying(f(*operands))) if _axes() else f
