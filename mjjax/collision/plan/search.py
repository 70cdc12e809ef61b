"""Plans how contacts are searched for: everything about the search that is static.

If there are few candidates of cheap kinds, all are computed (`collision/queue/dense.py`).
Otherwise only the pairs that are near are computed, in a queue over the pairs of all worlds
(`collision/queue/detect.py`). To find them, the bounding spheres of all pairs are compared. If
there are very many pairs, only those that a sweep over the sorted geoms finds are compared
(`collision/queue/sweep.py`).
"""

import dataclasses
import functools
import sys

import numpy as np

from mjjax.collision.plan.broad import WORD_BITS
from mjjax.collision.plan.numbers import explicit_of, geoms_of
from mjjax.collision.plan.pairs import NTYPE, PairPlan, pair_plan
from mjjax.collision.plan.params import lookup
from mjjax.collision.plan.table import Collider, colliders
from mjjax.core.enums import DisableBit, EnableBit, GeomType
from mjjax.model.data import CollisionRules, Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.xla.namespace import Array
from mjjax.xla.place import on_processor

SWEEP_FROM = 50_000  # with fewer pairs a test of every pair is as fast (measured, CPU)
_UNSWEPT = {GeomType.PLANE, GeomType.HFIELD}
_SEVERAL = 3  # cheap kernels with so many contacts or more count as one sort
FEW_CANDIDATES = 64  # candidate contacts up to which all are computed, and have slots by default
FEW_CHEAP = 320  # the same limit if no kernel is long (measured)


@dataclasses.dataclass(frozen=True, eq=False)
class KernelClass:
    """Pairs that one kernel tests.

    Attributes:
        collider: the kernel.
        pairs: indices into the plan's list of pairs.
        plane: whether the first geoms are planes.
        swept: whether near pairs are found by sweep and prune instead of a test of every pair.
    """

    collider: Collider
    pairs: np.ndarray
    plane: bool
    swept: bool

    @property
    def tested(self) -> bool:
        """Whether the boxes of its pairs are compared before the kernel is run.

        Where pairs are done one by one, each pair that is left out saves time.
        """
        saves = self.collider.costly or (self.collider.alone and on_processor())
        return saves and not self.plane

    @property
    def sort(self) -> tuple[bool, bool, bool, int]:
        """Key of the order; neighbours with equal keys share a loop if their pairs can be alone.

        A processor takes each pair's own branch, so that pairs of all kinds share a loop; an
        accelerator computes all branches for every pair.
        """
        alone = self.collider.alone
        if alone and on_processor():
            return False, self.swept, False, 0
        return not alone, self.swept, self.collider.costly, min(self.collider.ncon, _SEVERAL)


@dataclasses.dataclass(frozen=True, eq=False)
class Swept:
    """Geoms whose pairs are found by sweep and prune.

    Attributes:
        geoms: (n,) their ids, by body.
        legal: (n, ceil(n / 32)) words with a bit for every pair of these geoms that says whether
            they may collide.
    """

    geoms: np.ndarray
    legal: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class SearchPlan:
    """How a structure is searched by the queue.

    Attributes:
        structure: structure of the model.
        plan: candidate pairs.
        classes: the pairs by kernel, those with cheap kernels first.
        override: whether options replace the margins.
        multiccd: whether convex geoms may have several contacts.
        native: whether convex geoms collide by MuJoCo's own algorithm (flag `nativeccd`).
        iterations: largest number of iterations for convex geoms.
        sdf: `sdf_initpoints` and `sdf_iterations`.
        swept: geoms whose pairs are found by sweep and prune; `None` if there are none.
    """

    structure: Structure
    plan: PairPlan
    classes: tuple[KernelClass, ...]
    override: bool
    multiccd: bool
    native: bool
    iterations: int
    sdf: tuple[int, int]
    swept: Swept | None

    @property
    def batched(self) -> bool:
        """Whether any kernel works on shapes and pools."""
        return any(kind.collider.batched for kind in self.classes)

    @functools.cached_property
    def meshes(self) -> tuple[int, ...]:
        """Meshes of geoms that may collide as hulls."""
        return hulls_among(self.structure, self.plan.geom)

    @functools.cached_property
    def lines(self) -> tuple[tuple[int, ...], ...]:
        """Places of the classes that go through each loop."""
        lines: list[list[int]] = []
        for k, kind in enumerate(self.classes):
            together = kind.collider.alone and (on_processor() or not kind.collider.costly)
            if k and together and kind.sort == self.classes[k - 1].sort:
                lines[-1].append(k)
            else:
                lines.append([k])
        return tuple(tuple(line) for line in lines)

    def class_of(self, number: Array) -> Array:
        """Class (n,) of pairs by their numbers."""
        types = lookup(self.structure.geom_type, geoms_of(self.structure, number))
        explicit = (explicit_of(self.structure, number) >= 0).astype(np.int32)
        place = (explicit * NTYPE + types[..., 0]) * NTYPE + types[..., 1]
        return lookup(self._class_by_types, place)

    @functools.cached_property
    def _class_by_types(self) -> np.ndarray:
        """Class of pairs by whether they are explicit and by their types; a flat table."""
        found = np.zeros((2, NTYPE, NTYPE), np.int32)
        for k, kind in enumerate(self.classes):
            types = self.structure.geom_type[self.plan.geom[kind.pairs]]
            explicit = (self.plan.explicit[kind.pairs] >= 0).astype(int)
            found[explicit, types[:, 0], types[:, 1]] = k
        return found.ravel()


def hulls_among(s: Structure, pairs: np.ndarray) -> tuple[int, ...]:
    """Meshes used as hulls in some of the pairs (n, 2) of geoms; an SDF is one only with planes."""
    kind = s.geom_type[pairs]
    lying = (kind[:, :1] == GeomType.PLANE) & (kind == GeomType.SDF)
    meshes = s.geom_dataid[pairs[(kind == GeomType.MESH) | lying]]
    return tuple(np.unique(meshes).tolist())


def contact_disabled(model: Model) -> bool:
    """Whether a flag turns all contacts off."""
    return model.opt.disabled(DisableBit.CONTACT | DisableBit.CONSTRAINT)


def plan_of(model: Model, rules: CollisionRules) -> PairPlan:
    """Candidate pairs under the model's options and the changes by callbacks."""
    opt = model.opt
    return pair_plan(
        model.structure,
        not opt.disabled(DisableBit.FILTERPARENT),
        rules,
        opt.enabled(EnableBit.MULTICCD),
        not opt.disabled(DisableBit.MIDPHASE),
    )


def search_of(model: Model, rules: CollisionRules, sweep_from: int = SWEEP_FROM) -> SearchPlan:
    """How the queue searches a model.

    Args:
        model: model.
        rules: changes by callbacks.
        sweep_from: number of pairs from which sweep and prune replaces the test of every pair,
            unless flag `midphase` is off.
    """
    opt = model.opt
    return _search(
        model.structure,
        plan_of(model, rules),
        rules,
        opt.enabled(EnableBit.OVERRIDE),
        opt.enabled(EnableBit.MULTICCD),
        not opt.disabled(DisableBit.NATIVECCD),
        opt.ccd_iterations,
        (opt.sdf_initpoints, opt.sdf_iterations),
        sys.maxsize if opt.disabled(DisableBit.MIDPHASE) else sweep_from,
    )


@functools.lru_cache(maxsize=64)
def _search(
    s: Structure,
    plan: PairPlan,
    rules: CollisionRules,
    override: bool,
    multiccd: bool,
    native: bool,
    iterations: int,
    sdf: tuple[int, int],
    sweep_from: int,
) -> SearchPlan:
    table, free = colliders(rules), plan.explicit < 0
    # Planes have no bounds and height fields large ones. A filter is asked about every pair.
    many = {k.types: free[k.pairs] for k in plan.kinds if not _UNSWEPT.intersection(k.types)}
    sweep = not rules.filtered and sum(x.sum() for x in many.values()) >= sweep_from
    groups: dict[tuple, tuple[Collider, list[np.ndarray]]] = {}
    for kind in plan.kinds:
        swept = (
            many[kind.types] if sweep and kind.types in many else np.zeros(len(kind.pairs), bool)
        )
        for part in (False, True):
            if (swept == part).any():
                collider, plane = table[kind.types], kind.types[0] == GeomType.PLANE
                _, pairs = groups.setdefault((collider.function, plane, part), (collider, []))
                pairs.append(kind.pairs[swept == part])
    each = (
        KernelClass(collider, np.sort(np.concatenate(pairs)), plane, swept)
        for (_, plane, swept), (collider, pairs) in groups.items()
    )
    classes = tuple(sorted(each, key=lambda kind: kind.sort))
    pairs = [kind.pairs for kind in classes if kind.swept]
    swept = _swept(s, plan.geom[np.concatenate(pairs)]) if pairs else None
    return SearchPlan(s, plan, classes, override, multiccd, native, iterations, sdf, swept)


def _swept(s: Structure, geom: np.ndarray) -> Swept:
    """Geoms of pairs (n, 2), and which of them may collide."""
    geoms = np.unique(geom)
    geoms = geoms[np.argsort(s.geom_bodyid[geoms], kind="stable")].astype(np.int32)
    place = np.zeros(s.ngeom, int)
    place[geoms] = np.arange(len(geoms))
    legal = np.zeros((len(geoms), -(-len(geoms) // WORD_BITS) * WORD_BITS), bool)
    for one, two in (place[geom].T, place[geom].T[::-1]):
        legal[one, two] = True
    words = np.packbits(legal, axis=1, bitorder="little").view("<u4")
    return Swept(geoms, words.astype(np.uint32))


def few_of(plan: PairPlan, rules: CollisionRules) -> int:
    """Number of candidates up to which all are computed; 0 if a kernel is batched."""
    table = colliders(rules)
    kinds = [table[kind.types] for kind in plan.kinds]
    if any(kind.batched for kind in kinds):
        return 0
    return FEW_CANDIDATES if any(kind.long for kind in kinds) else FEW_CHEAP


def every_candidate(model: Model, rules: CollisionRules, nconmax: int) -> bool:
    """Whether all candidates are computed: cheap ones are if they are few or all have slots."""
    plan = plan_of(model, rules)
    few = few_of(plan, rules)
    return few > 0 and plan.ncandidate <= max(few, nconmax)


def slot_geoms(model: Model, data: Data) -> np.ndarray | None:
    """Geoms (nconmax, 2) of every slot if each candidate has its own slot, otherwise None."""
    pairs = slot_pairs(model, data)
    return None if pairs is None else plan_of(model, data.rules).geom[pairs]


def slot_pairs(model: Model, data: Data) -> np.ndarray | None:
    """Candidate pair (nconmax,) of every slot if each candidate has its own slot, else None."""
    plan, slots = plan_of(model, data.rules), data.contact.dist.shape[0]
    if contact_disabled(model) or plan.ncandidate != slots:
        return None
    if not every_candidate(model, data.rules, slots):
        return None
    return plan.pair_of_candidate
