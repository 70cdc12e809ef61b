"""Functions as programs that are traced once."""

from collections.abc import Callable
from typing import Any

import jax
from jax.extend.core import jaxpr_as_fun


def program(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """The function as a program for such arguments, traced once however often it is batched."""
    closed, out = jax.make_jaxpr(function, return_shape=True)(*arguments)
    tree, run = jax.tree.structure(out), jaxpr_as_fun(closed)
    return lambda *values: tree.unflatten(run(*jax.tree.leaves(values)))
