"""Functions and loops in kernels that hold much code, such as those of `item_by_item`.

XLA takes the operations of a program apart and computes a value anew for every result that uses
it, unless it is costly (a quotient, a root). In a kernel of scalars most of the code would be such
copies. Two copies may also be rounded differently, because a processor can round a product and a
sum together. If a decision is among the values, two results may then be taken from different cases:
one component of a vector from another corner than the rest.

The operands and the results of a `subroutine` are computed once, and it is traced and lowered once
however often it is called.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax.experimental.xla_metadata import set_xla_metadata

from mjjax.xla.loops import State, fori_loop
from mjjax.xla.place import on_processor

F = TypeVar("F", bound=Callable[..., Any])


def subroutine(function: F) -> F:
    """The function, of trees of arrays, as a subroutine on a processor.

    On an accelerator it is part of the program around it: a call would start more kernels.
    """

    def inside(*operands: Any) -> Any:
        with set_xla_metadata(inlineable=None):  # only this call stays a call
            return function(*operands)

    routine = jax.jit(inside)

    @functools.wraps(function)
    def call(*operands: Any) -> Any:
        if not on_processor():
            return routine(*operands)
        with set_xla_metadata(inlineable="false"):
            return routine(*operands)

    return call  # type: ignore[return-value]


def few_rounds(count: int, body: Callable[[Any, State], State], start: State) -> State:
    """A loop from 0 to a small static `count`, written out where rounds cost more than code.

    On a processor code has to be compiled. On an accelerator each round starts its own kernels.
    """
    if on_processor():
        return fori_loop(0, count, body, start)
    state = start
    for k in range(count):
        state = body(jnp.int32(k), state)
    return state
