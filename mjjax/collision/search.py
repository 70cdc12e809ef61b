"""What is searched for contacts, and how: everything about it that is static.

Few candidates of cheap kinds are all computed, in slots of their own (`collision/dense.py`).
Otherwise only pairs that are near are, by a queue over the pairs of all worlds
(`collision/detect.py`).
"""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from mjjax.collision.pairs import Kind, PairPlan, pair_plan
from mjjax.collision.table import Collider, colliders
from mjjax.core.enums import DisableBit, EnableBit, GeomType
from mjjax.model.data import CollisionRules, Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure

FEW = 64  # candidate contacts up to which all are computed, and have slots by default


@dataclasses.dataclass(frozen=True, eq=False)
class KernelClass:
    """Pairs that one kernel tests.

    Attributes:
        collider: the kernel.
        pairs: indices into the plan's list of pairs.
        plane: whether the first geoms are planes.
    """

    collider: Collider
    pairs: np.ndarray
    plane: bool


@dataclasses.dataclass(frozen=True, eq=False)
class Search:
    """How a structure is searched by the queue.

    Attributes:
        structure: structure of the model.
        plan: candidate pairs.
        classes: the pairs by kernel.
        override: whether options replace the margins.
        multiccd: whether convex geoms may have several contacts.
        iterations: largest number of iterations for convex geoms.
        sdf: `sdf_initpoints` and `sdf_iterations`.
    """

    structure: Structure
    plan: PairPlan
    classes: tuple[KernelClass, ...]
    override: bool
    multiccd: bool
    iterations: int
    sdf: tuple[int, int]

    @property
    def batched(self) -> bool:
        """Whether any kernel works on shapes and pools."""
        return any(kind.collider.batched for kind in self.classes)

    @functools.cached_property
    def meshes(self) -> tuple[int, ...]:
        """Meshes of geoms that may collide as hulls."""
        return hulls_among(self.structure, self.plan.geom)

    @functools.cached_property
    def class_of(self) -> np.ndarray:
        """Class (P,) of every pair."""
        found = np.zeros(len(self.plan.geom), np.int32)
        for k, kind in enumerate(self.classes):
            found[kind.pairs] = k
        return found


def hulls_among(s: Structure, pairs: np.ndarray) -> tuple[int, ...]:
    """Meshes that are hulls in some of the pairs (n, 2) of geoms: an SDF is one for planes only."""
    kind = s.geom_type[pairs]
    lying = (kind[:, :1] == GeomType.PLANE) & (kind == GeomType.SDF)
    meshes = s.geom_dataid[pairs[(kind == GeomType.MESH) | lying]]
    return tuple(np.unique(meshes).tolist())


def contact_disabled(model: Model) -> bool:
    """Whether a flag turns all contacts off."""
    return model.opt.disabled(DisableBit.CONTACT | DisableBit.CONSTRAINT)


def plan_of(model: Model, rules: CollisionRules) -> PairPlan:
    """Candidate pairs under the model's options and what callbacks change."""
    opt = model.opt
    return pair_plan(
        model.structure,
        not opt.disabled(DisableBit.FILTERPARENT),
        rules,
        opt.enabled(EnableBit.MULTICCD),
        not opt.disabled(DisableBit.MIDPHASE),
    )


def search_of(model: Model, rules: CollisionRules) -> Search:
    """How the queue searches a model."""
    opt = model.opt
    return _search(
        model.structure,
        plan_of(model, rules),
        rules,
        opt.enabled(EnableBit.OVERRIDE),
        opt.enabled(EnableBit.MULTICCD),
        opt.ccd_iterations,
        (opt.sdf_initpoints, opt.sdf_iterations),
    )


@functools.lru_cache(maxsize=64)
def _search(
    s: Structure,
    plan: PairPlan,
    rules: CollisionRules,
    override: bool,
    multiccd: bool,
    iterations: int,
    sdf: tuple[int, int],
) -> Search:
    table = colliders(rules)
    groups: dict[Callable, list[Kind]] = {}
    for kind in plan.kinds:
        groups.setdefault(table[kind.types].function, []).append(kind)
    classes = []
    for kinds in groups.values():
        pairs = np.sort(np.concatenate([kind.pairs for kind in kinds]))
        plane = kinds[0].types[0] == GeomType.PLANE
        classes.append(KernelClass(table[kinds[0].types], pairs, plane))
    return Search(s, plan, tuple(classes), override, multiccd, iterations, sdf)


def every_candidate(model: Model, rules: CollisionRules, nconmax: int) -> bool:
    """Whether all candidates are computed: they are cheap, and few or all of them have slots."""
    plan, table = plan_of(model, rules), colliders(rules)
    if any(table[kind.types].batched for kind in plan.kinds):
        return False
    return plan.ncandidate <= max(FEW, nconmax)


def slot_geoms(model: Model, data: Data) -> np.ndarray | None:
    """Geoms (nconmax, 2) of every slot where each candidate has its own, otherwise None."""
    plan, slots = plan_of(model, data.rules), data.contact.dist.shape[0]
    if contact_disabled(model) or plan.ncandidate != slots:
        return None
    if not every_candidate(model, data.rules, slots):
        return None
    count = np.diff(np.append(plan.start, plan.ncandidate))
    return np.repeat(plan.geom, count, axis=0)
