"""Which entries of a traced array may be nonzero: the bridge from numbers to structure."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from jax.core import Tracer


class Pattern(NamedTuple):
    """Which entries of a real field of `Model` take part: those for which `test` holds."""

    field: str
    test: Callable[[Any], Any]


# What is absent from the program because its coefficients are zero.
_TERMS: dict[str, Callable[[Any], Any]] = {
    "dof_frictionloss": lambda x: x > 0,
    "dof_damping": lambda x: x != 0,
    "jnt_stiffness": lambda x: x != 0,
    "body_gravcomp": lambda x: x > 0,
    "tendon_frictionloss": lambda x: x > 0,
    "tendon_stiffness": lambda x: x != 0,
    "tendon_damping": lambda x: x != 0,
    "tendon_armature": lambda x: x != 0,
    "sensor_delay": lambda x: x > 0,
    "geom_fluid": lambda x: x > 0,
}

# Real fields whose values shape the program. The last four make forces that may grow with velocity.
PATTERNS = {name: Pattern(name, test) for name, test in _TERMS.items()} | {
    "negative_dof_damping": Pattern("dof_damping", lambda x: x < 0),
    "negative_tendon_damping": Pattern("tendon_damping", lambda x: x < 0),
    "velocity_gain": Pattern("actuator_gainprm", lambda x: x[..., 2] != 0),
    "growing_bias": Pattern("actuator_biasprm", lambda x: x[..., 2] > 0),
}


def patterns(fields: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    """The patterns of those `fields` that have one, by name.

    Args:
        fields: values by name, with or without batch dimensions, traced or not.
        sizes: number of entries of each pattern.
    """
    return {
        name: may_hold(fields[pattern.field], pattern.test, sizes[name])
        for name, pattern in PATTERNS.items()
        if pattern.field in fields
    }


def may_hold(value: Any, test: Callable[[Any], Any], size: int) -> np.ndarray:
    """Where `test` may hold for an entry, over all batch dimensions; a tracer may hold anything."""
    if isinstance(value, Tracer) or not size:
        return np.ones(size, bool)
    return np.any(test(np.asarray(value)).reshape(-1, size), axis=0)
