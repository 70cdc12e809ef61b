"""Compiles a model again after edits, and keeps the state of all elements that still exist."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from mjjax.core.below import does
from mjjax.mjcf.element import Element
from mjjax.mjcf.keyframes import KEYFRAME_PARTS, width
from mjjax.mjcf.spec import Spec
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.pipeline.make_data import make_data

# Maps fields of Data to the part of a keyframe that has the same layout.
_FIELDS = {
    "qpos": "qpos",
    "qvel": "qvel",
    "qacc_warmstart": "qvel",
    "qfrc_applied": "qvel",
    "act": "act",
    "ctrl": "ctrl",
    "mocap_pos": "mpos",
    "mocap_quat": "mquat",
}


@does("Spec.recompile")
def recompile(spec: Spec, model: Model, data: Data) -> tuple[Model, Data]:
    """See `Spec.recompile`."""
    before = spec.compiled
    for name, part in _FIELDS.items():
        size = sum(width(part, e) for e in before.get(KEYFRAME_PARTS[part], ()))
        if np.shape(getattr(data, name)) not in ((size,), (size // 3, 3), (size // 4, 4)):
            raise ValueError(
                "the model and data were not made from this description; compile it first, and "
                "recompile the state of one world"
            )
    renewed = spec.compile()
    fresh = make_data(renewed)
    changes: dict[str, Any] = {"time": data.time}
    for name, part in _FIELDS.items():
        kind, start = KEYFRAME_PARTS[part], getattr(fresh, name)
        target, source = _entries(part, spec.compiled[kind], before[kind])
        values = np.asarray(start).ravel().copy()
        values[target] = np.asarray(getattr(data, name)).ravel()[source]
        changes[name] = jnp.asarray(values.reshape(start.shape), start.dtype)
    old = {body: i for i, body in enumerate(before["body"])}
    kept = [(i, old[b]) for i, b in enumerate(spec.compiled["body"]) if b in old]
    rows, source = np.array(kept, np.int64).T
    changes["xfrc_applied"] = fresh.xfrc_applied.at[rows].set(data.xfrc_applied[source])
    return renewed, fresh.replace(**changes)


def _entries(
    part: str, after: list[Element], before: list[Element]
) -> tuple[np.ndarray, np.ndarray]:
    """New and old entries of a field, for the elements that exist both before and after."""
    starts, adr = {}, 0
    for element in before:
        starts[element] = adr
        adr += width(part, element)
    target, source, adr = [], [], 0
    for element in after:
        count = width(part, element)
        if element in starts:
            target += range(adr, adr + count)
            source += range(starts[element], starts[element] + count)
        adr += count
    return np.array(target, np.int64), np.array(source, np.int64)
