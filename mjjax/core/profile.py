"""Names of stages in profiles."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import jax

P = ParamSpec("P")
R = TypeVar("R")


def stage(function: Callable[P, R]) -> Callable[P, R]:
    """Gives the operations of a stage its name in profiles and in compiled programs."""

    @functools.wraps(function)
    def named(*args: P.args, **kwargs: P.kwargs) -> R:
        with jax.named_scope(function.__name__):
            return function(*args, **kwargs)

    return named
