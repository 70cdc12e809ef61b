"""Chooses the number of contact slots of a model's data if the user does not give it."""

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
ALONE = (3, 6)  # contacts expected, least and most, of a geom of a body that moves on its own
LINKED = (1.5, 4)  # contacts expected of a geom whose body is part of a mechanism
IN_FIELD = 40  # contacts expected of a geom that may touch an SDF, in both cases


class Capacity(NamedTuple):
    """Contact slots chosen for a model.

    Attributes:
        nconmax: number of slots.
        reason: text that tells the user why.
    """

    nconmax: int
    reason: str


def capacity_of(model: Model, rules: CollisionRules) -> Capacity:
    """Contact slots chosen for the user.

    All candidate contacts get a slot of their own if they are few. They also do if they are a few
    hundred cheap ones of which at least half are expected to touch, because such slots are filled
    faster. Otherwise there are as many slots as contacts are expected of the bodies that move:

    - in a mechanism (an arm, a legged robot) three for two geoms, or up to four for a geom that may
      meet a height field;
    - for a body that moves on its own (an object) three to six for each geom, according to the
      number of contacts that its pairs can have;
    - forty for each geom that may touch an SDF.

    At most 320 contacts are expected of one body, and there are at least 64 slots.
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
    """Contacts expected of bodies that move on their own, and of the other moving bodies."""
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
