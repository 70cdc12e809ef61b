"""Lists the pairs of geoms that may collide: the static half of collision detection."""

import dataclasses
import functools

import numpy as np

from mjjax.collision.plan.numbers import by_type, dimension_of, explicit_geoms, number_of
from mjjax.collision.plan.table import colliders
from mjjax.core.enums import GeomType
from mjjax.model.data import CollisionRules
from mjjax.model.structure import Structure

PLAIN = CollisionRules()
NTYPE = 16  # larger than the number of geom types
PAIRS_AT_ONCE = 1 << 22  # pairs that the filters treat at once, which bounds their memory


@dataclasses.dataclass(frozen=True)
class PairKind:
    """Candidate pairs of one pair of geom types.

    Attributes:
        types: geom types, the lower first.
        pairs: indices into the plan's list of pairs.
    """

    types: tuple[GeomType, GeomType]
    pairs: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class PairPlan:
    """Candidate pairs in MuJoCo's order: by body pair, explicit pairs first, then by geom.

    Attributes:
        geom: (P, 2) geom ids, the lower type first.
        explicit: (P,) row of the explicit `pair_*` fields, or -1.
        number: (P,) number of the pair; see `collision/plan/numbers.py`.
        dim: (P,) contact dimension.
        start: (P,) index of the pair's first candidate contact.
        kinds: the pairs, grouped by their geom types.
        ncandidate: number of candidate contacts of all pairs.
    """

    geom: np.ndarray
    explicit: np.ndarray
    number: np.ndarray
    dim: np.ndarray
    start: np.ndarray
    kinds: tuple[PairKind, ...]
    ncandidate: int

    @property
    def maxdim(self) -> int:
        """Largest contact dimension."""
        return int(self.dim.max(initial=1))

    @property
    def pair_of_candidate(self) -> np.ndarray:
        """(ncandidate,) pair of each candidate contact."""
        return np.repeat(np.arange(len(self.start)), np.diff(self.start, append=self.ncandidate))


@functools.lru_cache(maxsize=64)
def pair_plan(
    s: Structure,
    filterparent: bool = True,
    rules: CollisionRules = PLAIN,
    multiccd: bool = False,
    midphase: bool = True,
) -> PairPlan:
    """Candidate pairs of a structure.

    Args:
        s: structure.
        filterparent: whether bodies do not collide with their parents (flag `filterparent`).
        rules: changes by callbacks.
        multiccd: whether convex geoms may have several contacts (flag `multiccd`).
        midphase: how the pairs of two bodies are ordered. If true, as MuJoCo's trees of bounding
            boxes leave them (flag `midphase`): by geom, where the geom of the lower type counts
            first. If false, the geom of the lower body counts first.
    """
    listed = explicit_geoms(s)
    free = _dynamic_pairs(s, filterparent, rules)
    free = by_type(s, free[~np.isin(_code(s, free), _code(s, listed))])
    geom = np.concatenate([listed, free]).astype(np.int32)
    explicit = np.full(len(geom), -1, np.int32)
    explicit[: len(listed)] = np.arange(len(listed))
    place = np.where(explicit < 0, len(listed), explicit)
    first, second = (geom if midphase else _by_body(s, geom)).T
    order = np.lexsort([second, first, place, _signatures(s, geom)])
    geom, explicit = geom[order], explicit[order]
    number = number_of(s, geom, explicit)

    table = colliders(rules)
    code, which = np.unique(s.geom_type[geom] @ [NTYPE, 1], return_inverse=True)
    types = [(GeomType(c // NTYPE), GeomType(c % NTYPE)) for c in code]
    ncon = np.array([table[t].slots(multiccd) if t in table else -1 for t in types], int)
    keep = ncon[which] >= 0
    geom, explicit, number, which = (x[keep] for x in (geom, explicit, number, which))
    count = ncon[which]
    kinds = tuple(
        PairKind(t, np.flatnonzero(which == k)) for k, t in enumerate(types) if ncon[k] >= 0
    )
    return PairPlan(
        geom=geom,
        explicit=explicit,
        number=number,
        dim=dimension_of(s, number),
        start=np.cumsum(count) - count,
        kinds=kinds,
        ncandidate=int(count.sum()),
    )


def _signatures(s: Structure, geom: np.ndarray) -> np.ndarray:
    body = np.sort(s.geom_bodyid[geom], axis=1).astype(np.int64)
    return (body[:, 0] << 16) + body[:, 1]


def _code(s: Structure, geom: np.ndarray) -> np.ndarray:
    """One number for each pair of geoms, the same for both orders."""
    low_high = np.sort(geom, axis=1).astype(np.int64)
    return low_high[:, 0] * s.ngeom + low_high[:, 1]


def _by_body(s: Structure, geom: np.ndarray) -> np.ndarray:
    """Pairs (n, 2) with the geom of the lower body first."""
    body = s.geom_bodyid[geom]
    return np.where(body[:, :1] <= body[:, 1:], geom, geom[:, ::-1])


def _dynamic_pairs(s: Structure, filterparent: bool, rules: CollisionRules) -> np.ndarray:
    """Pairs (n, 2) that pass MuJoCo's filters: weld bodies, parents, bitmasks and excludes.

    The geom of the lower body comes first.
    """
    contype, conaffinity = _masks(s, rules)
    geoms = np.flatnonzero(contype | conaffinity)
    geoms = geoms[np.argsort(s.geom_bodyid[geoms], kind="stable")]
    body = s.geom_bodyid[geoms]
    weld = s.body_weldid[body]
    above = s.body_weldid[s.body_parentid[weld]]
    contype, conaffinity = contype[geoms], conaffinity[geoms]
    found = [np.zeros((0, 2), int)]
    for one in np.array_split(np.arange(len(geoms)), 1 + len(geoms) ** 2 // PAIRS_AT_ONCE):
        i, j = one[:, None], np.arange(len(geoms))[None]
        may = (contype[i] & conaffinity[j]) | (contype[j] & conaffinity[i]) != 0
        may &= (body[i] < body[j]) & (weld[i] != weld[j])
        if filterparent:
            related = (weld[i] == above[j]) | (weld[j] == above[i])
            may &= ~(related & (weld[i] != 0) & (weld[j] != 0))
        row, column = np.nonzero(may)
        found.append(geoms[np.stack([one[row], column], axis=1)])
    pairs = np.concatenate(found)
    return pairs[~np.isin(_signatures(s, pairs), s.exclude_signature)]


def _masks(s: Structure, rules: CollisionRules) -> tuple[np.ndarray, np.ndarray]:
    """Bitmasks of the geoms, or those of their bodies if a callback decides about the geoms."""
    if not rules.filtered:
        return s.geom_contype, s.geom_conaffinity
    masks = []
    for geom in (s.geom_contype, s.geom_conaffinity):
        body = np.zeros(s.nbody, geom.dtype)
        np.bitwise_or.at(body, s.geom_bodyid, geom)
        masks.append(body[s.geom_bodyid])
    return masks[0], masks[1]
