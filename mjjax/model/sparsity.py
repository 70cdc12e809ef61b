"""Which entries of a traced array may be nonzero: the bridge from numbers to structure."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jax.core import Tracer

# Real fields whose zeros shape the program: the test says when an entry takes part.
SPARSE_FIELDS: dict[str, Callable[[Any], Any]] = {
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


def may_hold(value: Any, test: Callable[[Any], Any], size: int) -> np.ndarray:
    """Where `test` may hold for an entry, over all batch dimensions; a tracer may hold anything."""
    if isinstance(value, Tracer) or not size:
        return np.ones(size, bool)
    return np.any(test(np.asarray(value)).reshape(-1, size), axis=0)
