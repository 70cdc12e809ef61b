"""Converts data that were made before their model got terms or flags to the model's layout."""

import inspect
import sys
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer

from mjjax.constraint.layout import has_rows, row_layout, slots_of
from mjjax.core.enums import EnableBit
from mjjax.core.struct import specs
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.pipeline.make_data import ALL_ROWS, allocated, armatures
from mjjax.pipeline.rest import asleep_at_first

# Loops that carry data. The data after a round must have the shapes of the data before it.
_LOOPS = tuple(
    inspect.unwrap(f).__code__ for f in (jax.lax.scan, jax.lax.while_loop, jax.lax.fori_loop)
)


def refitted(model: Model, data: Data) -> Data:
    """`data` with room for the rows of `model`; `data` itself if it has this room already.

    State, inputs and all other fields of the same shape are kept. Constraint rows are empty until
    `forward` or `step`. The number of contact slots stays.

    Raises:
        ValueError: a loop of the user carries these data, so their layout cannot change.
    """
    if not _is_stale(model, data):
        return data
    if _in_loop() and _is_of_this_trace(vars(data).get("qfrc_bias")):
        raise ValueError(
            "the data in this loop were made before the model got its terms or flags; "
            "make them again before the loop: mjjax.make_data(model).replace(qpos=..., qvel=...)"
        )
    nconmax = len(data.contact.dist) or None
    before = row_layout(data.structure, data.slots, nconmax or 0, ALL_ROWS)
    after = row_layout(model.structure, slots_of(model, data.rules), nconmax or 0, ALL_ROWS)
    spare = len(data.efc_vel) - before.nrow  # fewer or more slots than all rows need
    njmax = max(0, after.nrow + spare) if spare else None
    fresh = allocated(model, data.rules, nconmax, njmax)
    kept = {
        name: vars(data)[name]
        for name in vars(fresh)
        if name in specs(Data) and not name.startswith("efc_") and name != "armature"
        if _same_shapes(vars(data).get(name), vars(fresh)[name])
    }
    fresh = fresh.replace(**kept)
    return fresh if data.sleep is not None else asleep_at_first(model, fresh)


def _same_shapes(one: Any, two: Any) -> bool:
    return jax.tree.map(jnp.shape, one) == jax.tree.map(jnp.shape, two)


def _is_stale(model: Model, data: Data) -> bool:
    """Whether data that are made now would have another layout."""
    now, made = slots_of(model, data.rules), data.slots
    layout = row_layout(model.structure, made, len(data.contact.dist), len(data.efc_vel))
    return (
        bool(made.disabled & ~now.disabled)
        or (now.width, now.pyramidal) != (made.width, made.pyramidal)
        or not has_rows(layout, data)
        or len(data.armature) != armatures(model.structure)
        or (model.opt.enabled(EnableBit.SLEEP) and data.sleep is None)
    )


def _is_of_this_trace(x: Any) -> bool:
    """Whether an array belongs to the program that is being traced, and not to one around it.

    A loop carries arrays of its own program. It only reads arrays of programs around it, and the
    layout of these may change in every round.
    """
    here = jax.lax.stop_gradient(0.0)
    while isinstance(x, Tracer):
        within = getattr(x, "val", getattr(x, "primal", None))  # of a vmap, of a derivative
        if not isinstance(within, jax.Array):
            return getattr(x, "_trace", None) is getattr(here, "_trace", None)
        x = within
    return False


def _in_loop() -> bool:
    """Whether a loop of JAX is being traced: only its own frames tell."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code in _LOOPS:
            return True
        frame = frame.f_back
    return False
