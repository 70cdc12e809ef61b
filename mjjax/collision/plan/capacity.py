"""How many contact slots the data of a model gets, where the user does not say."""

from typing import NamedTuple

import numpy as np

from mjjax.collision.plan.pairs import PairPlan
from mjjax.collision.plan.search import FEW_CANDIDATES, contact_disabled, few_of, plan_of
from mjjax.core.enums import GeomType, JointType
from mjjax.model.data import CollisionRules
from mjjax.model.model import Model
from mjjax.model.structure import Structure

LEAST = 64
PER_BODY = 320  # contacts that a single body is expected to have at most
ALONE = (3, 6)  # contacts that a geom of a body is expected to have, if the body moves on its own
LINKED = (1.5, 4)  # and if it is part of a mechanism
IN_FIELD = 40  # and if it may touch an SDF, in both cases


class Capacity(NamedTuple):
    """Contact slots chosen for a model.

    Attributes:
        nconmax: number of slots.
        reason: why, for the user.
    """

    nconmax: int
    reason: str


def capacity_of(model: Model, rules: CollisionRules) -> Capacity:
    """Contact slots chosen for the user.

    All candidate contacts have one if they are few, or if at least half of some hundreds of cheap
    ones are expected, for slots of their own are found faster. Otherwise the number is what is
    expected of the bodies that move: three for two geoms of a mechanism (an arm, a legged robot),
    up to four for one where it may meet a height field; three to six for each geom of a body that
    moves on its own (an object), the more the more contacts its pairs can have; forty for each geom
    that may touch an SDF. No body counts for more than 320, and there are 64 slots at least.
    """
    if contact_disabled(model):
        return Capacity(0, "contacts are disabled")
    plan = plan_of(model, rules)
    alone, linked = _expected(model.structure, plan)
    if plan.ncandidate <= max(FEW_CANDIDATES, min(few_of(plan, rules), 2 * (alone + linked))):
        return Capacity(plan.ncandidate, "one for each candidate contact")
    expected = max(LEAST, min(alone + linked, plan.ncandidate))
    return Capacity(
        expected,
        f"of {plan.ncandidate} candidate contacts {linked} are expected of mechanisms and {alone} "
        f"of bodies that move on their own; at least {LEAST}",
    )


def _expected(s: Structure, plan: PairPlan) -> tuple[int, int]:
    """Contacts expected of bodies that move on their own, and of the others that move."""
    ncon = np.diff(np.append(plan.start, plan.ncandidate))
    most = np.zeros(s.ngeom, int)
    for side in plan.geom.T:
        np.maximum.at(most, side, ncon)
    body = s.body_weldid[s.geom_bodyid]
    free = np.isin(np.arange(s.nbody), s.jnt_bodyid[s.jnt_type == JointType.FREE])
    links = np.bincount(1 + s.body_treeid[np.unique(s.body_weldid)], minlength=1 + s.ntree)
    alone = free & (links[1 + s.body_treeid] == 1)
    share = np.where(alone[body], np.clip(most, *ALONE), np.clip(most // 8, *LINKED))
    kind = s.geom_type[plan.geom]
    deep = (kind[:, 1] == GeomType.SDF) & (kind[:, 0] != GeomType.PLANE)
    share = np.where(np.isin(np.arange(s.ngeom), plan.geom[deep]), IN_FIELD, share)
    share = np.where((most > 0) & (body > 0), share, 0)
    per_body = np.minimum(np.bincount(body, share, s.nbody), PER_BODY)
    return int(np.ceil(per_body[alone].sum())), int(np.ceil(per_body[~alone].sum()))
