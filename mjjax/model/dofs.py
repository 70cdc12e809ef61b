"""Which joint a degree of freedom belongs to, and what it is there."""

import functools
from typing import NamedTuple

import numpy as np

from mjjax.core.enums import JointType
from mjjax.model.structure import Structure


class Dofs(NamedTuple):
    """The degrees of freedom of a structure.

    Attributes:
        kind: (nv,) `JointType` of its joint.
        place: (nv,) place among the dofs of its joint, 0 to 5.
        shifts: (nv,) whether it is a translation of a free joint, along a fixed world axis.
        turns: (nv,) whether it is a rotation of a free or ball joint, about an axis that turns with
            the body.
        rotates: (nv,) whether it is any rotation, of a hinge too.
        same_joint: (nv, nv) whether two dofs have one joint.
    """

    kind: np.ndarray
    place: np.ndarray
    shifts: np.ndarray
    turns: np.ndarray
    rotates: np.ndarray
    same_joint: np.ndarray


@functools.lru_cache(maxsize=64)
def dofs_of(s: Structure) -> Dofs:
    """The degrees of freedom of a structure."""
    kind = s.jnt_type[s.dof_jntid]
    place = np.arange(s.nv) - s.jnt_dofadr[s.dof_jntid]
    shifts = (kind == JointType.FREE) & (place < 3)
    turns = (kind <= JointType.BALL) & ~shifts
    return Dofs(
        kind=kind,
        place=place,
        shifts=shifts,
        turns=turns,
        rotates=turns | (kind == JointType.HINGE),
        same_joint=s.dof_jntid[:, None] == s.dof_jntid,
    )
