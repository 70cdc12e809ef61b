"""Slots of the constraint rows: which rows a model can have, in MuJoCo's order.

Most rows need no Jacobian matrix. Dry friction and limits of slides and hinges touch one dof:
their row is plus or minus a unit vector. A contact's rows are combinations of a few contact-frame
rows. Only the rest ("general": equalities, tendons, limits of ball joints) has a matrix.
"""

import dataclasses
import functools

import numpy as np

from mjjax.collision.search import plan_of
from mjjax.core.enums import ConeType, ConstraintType, DisableBit, EqType, JointType
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure

FRICTION = (ConstraintType.FRICTION_DOF, ConstraintType.FRICTION_TENDON)
# from where on contacts are kept by bodies (measured)
MANY_TREES, MANY_DOFS = 3, 60
EQUALITY_ROWS = {EqType.CONNECT: 3, EqType.WELD: 6, EqType.JOINT: 1, EqType.TENDON: 1}


@dataclasses.dataclass(frozen=True, eq=False)
class RowLayout:
    """Row slots: scalar rows first, then `per_contact` rows for each contact.

    Instances are shared between equal structures, so that they compare by identity.

    Attributes:
        structure: structure of the model.
        kind: (nscalar,) `ConstraintType` of the scalar rows.
        owner: (nscalar,) id of the equality, dof, tendon or joint that each belongs to.
        side: (nscalar,) of limits: +1 lower side, -1 upper side; 0 for a ball and other kinds.
        single: scalar rows that touch one dof, as row indices.
        dof: dof of each single row.
        sign: coefficient of each single row.
        general: scalar rows with a Jacobian matrix, as row indices.
        width: number of contact-frame rows of a contact: its largest dimension.
        pyramidal: whether contacts use the pyramidal cone.
        ncontact: number of contacts that have row slots.
    """

    structure: Structure
    kind: np.ndarray
    owner: np.ndarray
    side: np.ndarray
    single: np.ndarray
    dof: np.ndarray
    sign: np.ndarray
    general: np.ndarray
    width: int
    pyramidal: bool
    ncontact: int

    @property
    def nv(self) -> int:
        """Number of dofs."""
        return self.structure.nv

    @property
    def nscalar(self) -> int:
        """Number of scalar rows."""
        return len(self.kind)

    @property
    def has_edges(self) -> bool:
        """Whether a contact's rows are the edges of a pyramid."""
        return self.pyramidal and self.width > 1

    @property
    def by_body(self) -> bool:
        """Whether contact rows are wrenches on bodies: a matrix of them would be mostly zeros."""
        return self.structure.ntree >= MANY_TREES and self.nv > MANY_DOFS

    @property
    def per_contact(self) -> int:
        """Row slots of one contact."""
        return 2 * (self.width - 1) if self.has_edges else self.width

    @property
    def nrow(self) -> int:
        """Number of row slots in use."""
        return self.nscalar + self.ncontact * self.per_contact

    def of(self, kind: ConstraintType) -> tuple[np.ndarray, np.ndarray]:
        """Owners and sides of the rows of a kind."""
        mine = self.kind == kind
        return self.owner[mine], self.side[mine]

    def mask(self, *kinds: ConstraintType) -> np.ndarray:
        """Which rows (nrow,) are scalar rows of some kinds."""
        return np.pad(np.isin(self.kind, kinds), (0, self.nrow - self.nscalar))


def layout_of(model: Model, data: Data) -> RowLayout:
    """Row layout of a model and the capacities of its data.

    Raises:
        ValueError: the data has no room for the rows that need no contact.
    """
    width = plan_of(model, data.rules).maxdim
    slots, room = data.contact.dist.shape[0], data.efc_D.shape[0]
    layout = row_layout(model, slots, room, width)
    items, general = len(data.efc_spring), len(data.efc_Jgeneral)
    missing = layout.nscalar > room or layout.nscalar + layout.ncontact > items
    if missing or len(layout.general) != general:
        raise ValueError(
            f"the data has {room} constraint rows and the model needs {layout.nscalar} for "
            "equalities, friction and limits: since make_data it got terms (model.terms), or other "
            "flags; make the data again, make_data(model)"
        )
    return layout


def row_layout(model: Model, nconmax: int, njmax: int, width: int) -> RowLayout:
    """Layout of the rows that are enabled and fit into `njmax` slots."""
    flags = model.opt.disableflags & (
        DisableBit.CONSTRAINT | DisableBit.EQUALITY | DisableBit.FRICTIONLOSS | DisableBit.LIMIT
    )
    cone = model.opt.cone == ConeType.PYRAMIDAL
    return _layout(model.structure, int(flags), bool(cone), nconmax, njmax, width)


@functools.lru_cache(maxsize=64)
def _layout(
    s: Structure, flags: int, pyramidal: bool, nconmax: int, njmax: int, width: int
) -> RowLayout:
    disabled = DisableBit(flags)
    slots = [
        (kind, owner, side)
        for kind, disable, found in (
            (ConstraintType.EQUALITY, DisableBit.EQUALITY, _equalities(s)),
            (ConstraintType.FRICTION_DOF, DisableBit.FRICTIONLOSS, _lossy(s, "dof")),
            (ConstraintType.FRICTION_TENDON, DisableBit.FRICTIONLOSS, _lossy(s, "tendon")),
            (ConstraintType.LIMIT_JOINT, DisableBit.LIMIT, _joint_limits(s)),
            (ConstraintType.LIMIT_TENDON, DisableBit.LIMIT, _tendon_limits(s)),
        )
        if not disabled & (disable | DisableBit.CONSTRAINT)
        for owner, side in found
    ]
    kind, owner, side = np.array(slots, int).reshape(-1, 3).T
    dof, sign = _single_dofs(s, kind, owner, side)
    layout = RowLayout(
        structure=s,
        kind=kind,
        owner=owner,
        side=side,
        single=np.flatnonzero(dof >= 0),
        dof=dof[dof >= 0],
        sign=sign[dof >= 0],
        general=np.flatnonzero(dof < 0),
        width=width,
        pyramidal=pyramidal,
        ncontact=nconmax,
    )
    room = (njmax - layout.nscalar) // max(layout.per_contact, 1)
    return dataclasses.replace(layout, ncontact=max(0, min(nconmax, room)))


Slots = list[tuple[int, int]]


def _equalities(s: Structure) -> Slots:
    return [(i, 0) for i, kind in enumerate(s.eq_type) for _ in range(EQUALITY_ROWS[kind])]


def _lossy(s: Structure, kind: str) -> Slots:
    return [(i, 0) for i in np.flatnonzero(s.terms[f"{kind}_frictionloss"]).tolist()]


def _joint_limits(s: Structure) -> Slots:
    sides = {JointType.FREE: (), JointType.BALL: (0,)}
    return [
        (j, side)
        for j in np.flatnonzero(s.jnt_limited).tolist()
        for side in sides.get(s.jnt_type[j], _BOTH)
    ]


def _tendon_limits(s: Structure) -> Slots:
    return [(t, side) for t in np.flatnonzero(s.tendon_limited).tolist() for side in _BOTH]


_BOTH = (1, -1)


def _single_dofs(
    s: Structure, kind: np.ndarray, owner: np.ndarray, side: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The one dof that each scalar row touches, -1 if it may touch several, and its sign."""
    dof, sign = np.full(len(kind), -1), np.ones(len(kind))
    friction = kind == ConstraintType.FRICTION_DOF
    dof[friction] = owner[friction]
    limit = (kind == ConstraintType.LIMIT_JOINT) & (side != 0)
    dof[limit], sign[limit] = s.jnt_dofadr[owner[limit]], side[limit]
    return dof, sign
