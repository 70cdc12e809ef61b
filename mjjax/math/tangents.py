"""Rules of differentiation: what does not move is a constant, a product by its factors."""

import functools
from collections.abc import Callable
from typing import Any

import jax
from jax.custom_derivatives import SymbolicZero

from mjjax.math.namespace import Array


def jvp(f: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    """`jax.jvp` in a rule with symbolic zeros; what has such a tangent has no part in it.

    Args:
        f: function of pytrees.
        primals: its arguments.
        tangents: their tangents, each leaf an array or a `SymbolicZero`.

    Returns:
        The value and its tangent.
    """
    values, tree = jax.tree.flatten(primals)
    slopes = tree.flatten_up_to(tangents)
    moved = [i for i, slope in enumerate(slopes) if not isinstance(slope, SymbolicZero)]

    def of_moved(*some: Array) -> Any:
        given = dict(zip(moved, some, strict=True))
        return f(*jax.tree.unflatten(tree, [given.get(i, x) for i, x in enumerate(values)]))

    return jax.jvp(of_moved, tuple(values[i] for i in moved), tuple(slopes[i] for i in moved))


def derivative_of(equal: Callable[..., Array]) -> Callable[..., Callable[..., Array]]:
    """Decorator: a function of arrays is differentiated as another with the same values."""

    def decorate(function: Callable[..., Array]) -> Callable[..., Array]:
        wrapped = jax.custom_jvp(function)

        @functools.partial(wrapped.defjvp, symbolic_zeros=True)
        def rule(primals: tuple[Array, ...], tangents: tuple[Any, ...]) -> tuple[Array, Array]:
            return wrapped(*primals), jvp(equal, primals, tangents)[1]

        return wrapped

    return decorate
