"""Helpers for derivative rules: inputs without a tangent are constants."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from jax.custom_derivatives import SymbolicZero

from mjjax.xla.namespace import Array


class Moved(NamedTuple):
    """A function of those inputs alone that move, in a rule with symbolic zeros.

    Attributes:
        f: the function, which takes the leaves that have a tangent.
        values: these leaves.
        slopes: their tangents.
    """

    f: Callable[..., Any]
    values: tuple[Array, ...]
    slopes: tuple[Array, ...]


def of_moved(f: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Moved:
    """`f` as a function of the leaves that move; all others are constants.

    Args:
        f: function of pytrees.
        primals: its arguments.
        tangents: their tangents, each leaf an array or a `SymbolicZero`.
    """
    values, tree = jax.tree.flatten(primals)
    slopes = tree.flatten_up_to(tangents)
    moved = [i for i, slope in enumerate(slopes) if not isinstance(slope, SymbolicZero)]

    def of_some(*some: Array) -> Any:
        given = dict(zip(moved, some, strict=True))
        return f(*jax.tree.unflatten(tree, [given.get(i, x) for i, x in enumerate(values)]))

    return Moved(of_some, tuple(values[i] for i in moved), tuple(slopes[i] for i in moved))


def jvp(
    f: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...]
) -> tuple[Any, Any]:
    """The value and its tangent: `jax.jvp` in a rule with symbolic zeros; see `of_moved`."""
    moved = of_moved(f, primals, tangents)
    return jax.jvp(moved.f, moved.values, moved.slopes)


def derivative_of(equal: Callable[..., Array]) -> Callable[..., Callable[..., Array]]:
    """Decorator: JAX differentiates the function as if it were another one with the same values."""

    def decorate(function: Callable[..., Array]) -> Callable[..., Array]:
        wrapped = jax.custom_jvp(function)

        @functools.partial(wrapped.defjvp, symbolic_zeros=True)
        def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Array, Array]:
            return wrapped(*primals), jvp(equal, primals, tangents)[1]

        return wrapped

    return decorate
