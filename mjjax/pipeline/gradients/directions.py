"""Random directions in which a check of derivatives moves each input of a step."""

import numpy as np

from mjjax.model.model import Model
from mjjax.model.terms import TERMS
from mjjax.pipeline.gradients.probe import Move, Probed, reals

# The inputs of a step in `Data`; all other fields are computed.
INPUTS = "qpos qvel act ctrl qfrc_applied xfrc_applied mocap_pos mocap_quat userdata".split()
# Options that decide only how exactly something is computed.
NUMERICAL = {f"opt.{name}tolerance" for name in ("", "ls_", "noslip_", "ccd_", "sleep_")}
# Fields that add to the inertia. If they moved down by more than their value, the inertia would
# become negative.
INERTIAS = {"dof_armature", "tendon_armature"}
# Delays. A signal without delay would come from a buffer as soon as it had one, so a delay of zero
# is not moved.
DELAYS = {"actuator_delay", "sensor_delay"}


def differentiable_fields(model: Model) -> tuple[str, ...]:
    """Real fields of a model, with entries, by which a step has a derivative."""
    off = [TERMS[name] for name, mask in model.terms.items() if not mask.all()]
    absent = {field for term in off for field in term.fields if not term.derived}
    return tuple(n for n, x in reals(model).items() if x.size and n not in absent | NUMERICAL)


def random_moves(probed: Probed, rng: np.random.Generator) -> list[Move]:
    """One direction for every input; entries of the model move in proportion to their size."""
    leaves, data, moves = reals(probed.model), probed.data, []
    for name in INPUTS:
        shape = np.shape(data.qvel if name == "qpos" else getattr(data, name))
        if np.prod(shape):
            moves.append(Move(name, rng.normal(size=shape)))
    for name in probed.names:
        x = np.asarray(leaves[name])
        unit = np.min(leaves["dof_M0"]) if name in INERTIAS else 1
        along = rng.normal(size=x.shape) * _scale(x, unit)
        if name.endswith("quat"):
            along -= x * np.sum(along * x, axis=-1, keepdims=True)
        if name in DELAYS:
            along = np.where(x > 0, along, 0)
        moves.append(Move(name, along))
    return moves


def _scale(x: np.ndarray, unit: float) -> np.ndarray:
    """How far entries of a leaf move: in proportion to themselves, or a little if they are zero.

    If the leaf has entries of both signs, a little is a part of the largest entry. Otherwise, as
    for masses, it is a part of the smallest entry: such entries may have any size and must keep
    their sign. If all entries are zero, it is one `unit`.
    """
    size = np.abs(x)
    if not size.any():
        return np.full_like(x, unit)
    if (x < 0).any():
        return size + 1e-3 * size.max()
    return np.where(size > 0, size, 1e-3 * size[size > 0].min())
