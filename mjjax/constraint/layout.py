"""Slots of the constraint rows: which rows a model can have, in MuJoCo's order.

Most rows need no Jacobian matrix. Dry friction and limits of slides and hinges touch one dof:
their row is plus or minus a unit vector. A contact's rows are combinations of a few contact-frame
rows. Only the rest ("general": limits of ball joints) has a matrix.
"""

import dataclasses
import functools

import numpy as np

from mjjax.core.enums import ConeType, ConstraintType, DisableBit, JointType
from mjjax.model.model import Model
from mjjax.model.structure import Structure


@dataclasses.dataclass(frozen=True, eq=False)
class RowLayout:
    """Row slots: scalar rows first, then `per_contact` rows for each contact.

    Instances are shared between equal structures, so that they compare by identity.

    Attributes:
        nv: number of dofs.
        friction: (nf,) dofs with dry friction.
        limit_joint: (nl,) joint of each limit row, in joint order; the lower side first.
        limit_side: (nl,) +1 lower side, -1 upper side, 0 ball.
        single: scalar rows that touch one dof, as row indices.
        dof: dof of each single row.
        sign: coefficient of each single row.
        general: scalar rows with a Jacobian matrix, as row indices.
        width: number of contact-frame rows of a contact: its largest dimension.
        pyramidal: whether contacts use the pyramidal cone.
        ncontact: number of contacts that have row slots.
    """

    nv: int
    friction: np.ndarray
    limit_joint: np.ndarray
    limit_side: np.ndarray
    single: np.ndarray
    dof: np.ndarray
    sign: np.ndarray
    general: np.ndarray
    width: int
    pyramidal: bool
    ncontact: int

    @property
    def nscalar(self) -> int:
        """Number of scalar rows."""
        return len(self.friction) + len(self.limit_joint)

    @property
    def per_contact(self) -> int:
        """Row slots of one contact."""
        return 2 * (self.width - 1) if self.pyramidal and self.width > 1 else self.width

    @property
    def nrow(self) -> int:
        """Number of row slots in use."""
        return self.nscalar + self.ncontact * self.per_contact

    @property
    def scalar_type(self) -> np.ndarray:
        """`ConstraintType` of the scalar rows."""
        counts = (len(self.friction), len(self.limit_joint))
        return np.repeat([ConstraintType.FRICTION_DOF, ConstraintType.LIMIT_JOINT], counts)


def row_layout(model: Model, nconmax: int, njmax: int, width: int) -> RowLayout:
    """Layout of the rows that are enabled and fit into `njmax` slots."""
    flags = model.opt.disableflags & (
        DisableBit.CONSTRAINT | DisableBit.FRICTIONLOSS | DisableBit.LIMIT
    )
    cone = model.opt.cone == ConeType.PYRAMIDAL
    return _layout(model.structure, int(flags), bool(cone), nconmax, njmax, width)


@functools.lru_cache(maxsize=64)
def _layout(
    s: Structure, flags: int, pyramidal: bool, nconmax: int, njmax: int, width: int
) -> RowLayout:
    disabled = DisableBit(flags)
    friction = np.flatnonzero(s.nonzero["dof_frictionloss"])
    limited = np.flatnonzero(s.jnt_limited)
    if disabled & (DisableBit.FRICTIONLOSS | DisableBit.CONSTRAINT):
        friction = friction[:0]
    if disabled & (DisableBit.LIMIT | DisableBit.CONSTRAINT):
        limited = limited[:0]
    rows = [
        (j, side)
        for j in limited
        for side in ((0,) if s.jnt_type[j] == JointType.BALL else (1, -1))
        if s.jnt_type[j] != JointType.FREE
    ]
    joint = np.array([r[0] for r in rows], int)
    side = np.array([r[1] for r in rows], int)
    base = len(friction)
    single = np.concatenate([np.arange(base), base + np.flatnonzero(side)]).astype(int)
    dof = np.concatenate([friction, s.jnt_dofadr[joint[side != 0]]]).astype(int)
    sign = np.concatenate([np.ones(base), side[side != 0]])
    layout = RowLayout(
        nv=s.nv,
        friction=friction,
        limit_joint=joint,
        limit_side=side,
        single=single,
        dof=dof,
        sign=sign,
        general=base + np.flatnonzero(side == 0),
        width=width,
        pyramidal=pyramidal,
        ncontact=nconmax,
    )
    room = (njmax - layout.nscalar) // max(layout.per_contact, 1)
    return dataclasses.replace(layout, ncontact=max(0, min(nconmax, room)))
