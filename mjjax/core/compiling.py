"""Programs that are compiled in a fraction of the time and run a few times slower."""

import functools
from collections.abc import Callable
from typing import Any

import jax

# Cheaper code generation.
CHEAP = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}


@functools.cache
def known_options() -> dict[str, Any]:
    """Those of the options `CHEAP` that this version of XLA has, on the default device."""

    def known(name: str) -> bool:
        try:
            jax.jit(lambda: 0, compiler_options={name: CHEAP[name]})()
        except jax.errors.JaxRuntimeError:
            return False
        return True

    return {name: value for name, value in CHEAP.items() if known(name)}


def quick(function: Callable, **options: Any) -> Callable:
    """`jax.jit` for a program that runs a few times only; `options` are those of `jax.jit`."""
    return jax.jit(function, compiler_options=known_options(), **options)
