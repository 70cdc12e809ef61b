"""The joints that degrees of freedom belong to, and the kinds of these degrees of freedom."""

import functools
from typing import NamedTuple

import numpy as np

from mjjax.core.enums import JointType
from mjjax.model.structure import Structure


class Dofs(NamedTuple):
    """The degrees of freedom of a structure.

    Attributes:
        kind: (nv,) `JointType` of the dof's joint.
        place: (nv,) place among the dofs of that joint, 0 to 5.
        shifts: (nv,) whether it is a translation of a free joint, along a fixed world axis.
        turns: (nv,) whether it is a rotation of a free or ball joint, about an axis that turns with
            the body.
        rotates: (nv,) whether it is any rotation, also that of a hinge.
        same_joint: (nv, nv) whether two dofs belong to the same joint.
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
