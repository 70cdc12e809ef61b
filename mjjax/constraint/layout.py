"""Slots of the constraint rows: which rows a model can have, in MuJoCo's order.

Most rows need no Jacobian matrix. Dry friction and limits of slides and hinges touch one dof, so
their row is plus or minus a unit vector. A contact's rows are combinations of a few contact-frame
rows. Only the other rows ("general": equalities, tendons, limits of ball joints) have a matrix.
"""

import dataclasses
import functools

import numpy as np

from mjjax.collision.plan.pairs import PairPlan
from mjjax.collision.plan.search import plan_of
from mjjax.core.enums import ConeType, ConstraintType, DisableBit, EqType, JointType
from mjjax.model.data import CollisionRules, Data
from mjjax.model.model import Model
from mjjax.model.rows import RowSlots
from mjjax.model.structure import Structure
from mjjax.xla.namespace import Array

FRICTION = (ConstraintType.FRICTION_DOF, ConstraintType.FRICTION_TENDON)
# Flags that switch the kinds of scalar rows off.
FLAGS = {
    ConstraintType.EQUALITY: DisableBit.EQUALITY,
    ConstraintType.FRICTION_DOF: DisableBit.FRICTIONLOSS,
    ConstraintType.FRICTION_TENDON: DisableBit.FRICTIONLOSS,
    ConstraintType.LIMIT_JOINT: DisableBit.LIMIT,
    ConstraintType.LIMIT_TENDON: DisableBit.LIMIT,
}
# From so many trees and dofs on, contact rows are wrenches on bodies (measured).
MANY_TREES, MANY_DOFS = 3, 60
EQUALITY_ROWS = {EqType.CONNECT: 3, EqType.WELD: 6, EqType.JOINT: 1, EqType.TENDON: 1}


@dataclasses.dataclass(frozen=True, eq=False)
class RowLayout:
    """Row slots: scalar rows first, then `per_contact` rows for each contact.

    Equal structures share one instance, so instances compare by identity.

    Attributes:
        structure: structure of the model.
        kind: (nscalar,) `ConstraintType` of the scalar rows.
        owner: (nscalar,) id of the equality, dof, tendon or joint that the row belongs to.
        side: (nscalar,) +1 for lower limits, -1 for upper limits, 0 for balls and other kinds.
        single: scalar rows that touch one dof, as row indices.
        dof: dof of each single row.
        sign: coefficient of each single row.
        general: scalar rows with a Jacobian matrix, as row indices.
        slots: rows of a contact.
        ncontact: number of contacts that have row slots.
        own: (ntree,) largest numbers of contacts of a tree with itself and the static world; empty
            if they are not needed.
    """

    structure: Structure
    kind: np.ndarray
    owner: np.ndarray
    side: np.ndarray
    single: np.ndarray
    dof: np.ndarray
    sign: np.ndarray
    general: np.ndarray
    slots: RowSlots
    ncontact: int
    own: tuple[int, ...]

    @property
    def nv(self) -> int:
        """Number of dofs."""
        return self.structure.nv

    @property
    def nscalar(self) -> int:
        """Number of scalar rows."""
        return len(self.kind)

    @property
    def width(self) -> int:
        """Number of contact-frame rows of a contact: its largest dimension."""
        return self.slots.width

    @property
    def pyramidal(self) -> bool:
        """Whether contacts use the pyramidal cone."""
        return self.slots.pyramidal

    @property
    def has_edges(self) -> bool:
        """Whether a contact's rows are the edges of a pyramid."""
        return self.slots.has_edges

    @property
    def by_body(self) -> bool:
        """Whether contact rows are wrenches on bodies, because a matrix would be mostly zeros."""
        return self.structure.ntree >= MANY_TREES and self.nv > MANY_DOFS

    @property
    def per_contact(self) -> int:
        """Row slots of one contact."""
        return self.slots.per_contact

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

    def frictionless(self, loss: Array) -> Array:
        """Which scalar rows (nscalar,) are dry friction with zero `loss`; C has no such rows."""
        return np.isin(self.kind, FRICTION) & (loss == 0)


def layout_of(model: Model, data: Data) -> RowLayout:
    """Row layout of a model and the capacities of its data.

    If flags have disabled a kind of rows since `make_data`, these rows keep their slots.

    Raises:
        ValueError: the data was made for other rows.
    """
    now, made = slots_of(model, data.rules), data.slots
    scalar = len(data.efc_scalar_pos)
    room = len(data.contact.dist), len(data.efc_vel)
    own = _own_candidates(model.structure, plan_of(model, data.rules))
    layout = row_layout(model.structure, made, *room, own)
    if made.disabled & ~now.disabled or not has_rows(layout, data):
        needs = row_layout(model.structure, now, *room)
        raise ValueError(
            f"the data has {scalar} constraint rows for equalities, friction and limits and the "
            f"model needs {needs.nscalar}: its terms (model.terms) or flags have changed since "
            "make_data; make the data again, make_data(model)"
        )
    if layout.ncontact and now.width and (now.width, now.pyramidal) != (made.width, made.pyramidal):
        cones = ["pyramidal" if x.pyramidal else "elliptic" for x in (made, now)]
        raise ValueError(
            f"the data has constraint rows for {cones[0]} cones of {made.width} dimensions and the "
            f"model has {cones[1]} ones of {now.width}; make the data again, make_data(model)"
        )
    return layout


def has_rows(layout: RowLayout, data: Data) -> bool:
    """Whether data have as many scalar rows and general rows as a layout."""
    general = not layout.nv or len(data.efc_Jgeneral) == len(layout.general)
    return general and len(data.efc_scalar_pos) == layout.nscalar


def slots_of(model: Model, rules: CollisionRules) -> RowSlots:
    """Row slots that the options of a model ask for."""
    every = DisableBit.EQUALITY | DisableBit.FRICTIONLOSS | DisableBit.LIMIT
    off = every if model.opt.disabled(DisableBit.CONSTRAINT) else model.opt.disableflags & every
    pyramidal = model.opt.cone == ConeType.PYRAMIDAL
    return RowSlots(int(off), plan_of(model, rules).maxdim, bool(pyramidal))


@functools.lru_cache(maxsize=64)
def row_layout(
    s: Structure, slots: RowSlots, nconmax: int, njmax: int, own: tuple[int, ...] = ()
) -> RowLayout:
    """Layout of the rows that fit into `njmax` slots; `own` as in `RowLayout`."""
    found = [
        (kind, owner, side)
        for kind, its in (
            (ConstraintType.EQUALITY, _equalities(s)),
            (ConstraintType.FRICTION_DOF, _lossy(s, "dof")),
            (ConstraintType.FRICTION_TENDON, _lossy(s, "tendon")),
            (ConstraintType.LIMIT_JOINT, _joint_limits(s)),
            (ConstraintType.LIMIT_TENDON, _tendon_limits(s)),
        )
        if not slots.disabled & FLAGS[kind]
        for owner, side in its
    ]
    kind, owner, side = np.array(found, int).reshape(-1, 3).T
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
        slots=slots,
        ncontact=nconmax,
        own=own,
    )
    room = (njmax - layout.nscalar) // max(layout.per_contact, 1)
    return dataclasses.replace(layout, ncontact=max(0, min(nconmax, room)))


@functools.lru_cache(maxsize=64)
def _own_candidates(s: Structure, plan: PairPlan) -> tuple[int, ...]:
    """Candidate contacts (ntree,) of each tree with itself and the static world."""
    tree = s.body_treeid[s.geom_bodyid[plan.geom]]
    count = np.diff(np.append(plan.start, plan.ncandidate))
    mine = (tree[:, 0] == tree[:, 1]) | (tree < 0).any(axis=1)
    found = np.zeros(s.ntree + 1, int)
    np.add.at(found, tree.max(axis=1)[mine], count[mine])
    return tuple(found[:-1].tolist())


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
    """The dof that each scalar row touches, or -1 if it may touch several, and its sign."""
    dof, sign = np.full(len(kind), -1), np.ones(len(kind))
    friction = kind == ConstraintType.FRICTION_DOF
    dof[friction] = owner[friction]
    limit = (kind == ConstraintType.LIMIT_JOINT) & (side != 0)
    dof[limit], sign[limit] = s.jnt_dofadr[owner[limit]], side[limit]
    return dof, sign
