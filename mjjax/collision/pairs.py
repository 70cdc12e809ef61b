"""Which pairs of geoms may collide: the static half of collision detection."""

import dataclasses
import functools
from collections.abc import Iterator

import numpy as np

from mjjax.collision.table import colliders, never_collide
from mjjax.core.enums import GeomType
from mjjax.model.data import CollisionRules
from mjjax.model.structure import Structure

PLAIN = CollisionRules()


@dataclasses.dataclass(frozen=True)
class Kind:
    """Candidate pairs of one pair of geom types.

    Attributes:
        types: geom types, the lower first.
        pairs: indices into the plan's list of pairs.
    """

    types: tuple[GeomType, GeomType]
    pairs: np.ndarray


@dataclasses.dataclass(frozen=True)
class PairPlan:
    """Candidate pairs in MuJoCo's order: by body pair, explicit pairs first, then by geom.

    Attributes:
        geom: (P, 2) geom ids, the lower type first.
        explicit: (P,) row of the explicit `pair_*` fields, or -1.
        dim: (P,) contact dimension.
        start: (P,) index of the pair's first candidate contact.
        kinds: pairs by types.
        ncandidate: candidate contacts in all.
        unsupported: type pairs that occur and have no collider, with an example pair of geoms.
    """

    geom: np.ndarray
    explicit: np.ndarray
    dim: np.ndarray
    start: np.ndarray
    kinds: tuple[Kind, ...]
    ncandidate: int
    unsupported: dict[tuple[GeomType, GeomType], tuple[int, int]]

    @property
    def maxdim(self) -> int:
        """Largest contact dimension."""
        return int(self.dim.max(initial=1))


@functools.lru_cache(maxsize=64)
def pair_plan(s: Structure, filterparent: bool = True, rules: CollisionRules = PLAIN) -> PairPlan:
    """Candidate pairs of a structure.

    Args:
        s: structure.
        filterparent: whether bodies do not collide with their parents (flag `filterparent`).
        rules: what callbacks change.
    """
    found = [
        (int(sig), 0, i, *_by_type(s, s.pair_geom1[i], s.pair_geom2[i]), i)
        for i, sig in enumerate(_signatures(s, s.pair_geom1, s.pair_geom2))
    ]
    listed = {tuple(sorted(row[3:5])) for row in found}
    for sig, g1, g2 in _dynamic_pairs(s, filterparent, rules):
        if (min(g1, g2), max(g1, g2)) not in listed:
            found.append((sig, 1, 0, *_by_type(s, g1, g2), -1))
    found.sort()
    geom = np.array([row[3:5] for row in found], int).reshape(-1, 2)
    explicit = np.array([row[5] for row in found], int)
    types = [(GeomType(s.geom_type[a]), GeomType(s.geom_type[b])) for a, b in geom]
    table, never = colliders(rules), never_collide(rules)
    keep = [t not in never for t in types]
    unsupported = {}
    for t, row, kept in zip(types, geom, keep, strict=True):
        if kept and t not in table:
            unsupported.setdefault(t, tuple(int(g) for g in row))
    keep = np.array([k and t in table for k, t in zip(keep, types, strict=True)], bool)
    geom, explicit = geom[keep], explicit[keep]
    types = [t for t, k in zip(types, keep, strict=True) if k]

    count = np.array([table[t].ncon for t in types], int)
    start = np.cumsum(count) - count
    order = {t: [i for i, other in enumerate(types) if other == t] for t in sorted(set(types))}
    kinds = tuple(Kind(t, np.array(index)) for t, index in order.items())
    dim = _dimension(s, geom, explicit)
    return PairPlan(geom, explicit, dim, start, kinds, int(count.sum()), unsupported)


def _signatures(s: Structure, geom1: np.ndarray, geom2: np.ndarray) -> np.ndarray:
    b1, b2 = s.geom_bodyid[geom1], s.geom_bodyid[geom2]
    return (np.minimum(b1, b2) << 16) + np.maximum(b1, b2)


def _by_type(s: Structure, g1: int, g2: int) -> tuple[int, int]:
    a, b = int(g1), int(g2)
    return (a, b) if s.geom_type[a] <= s.geom_type[b] else (b, a)


def _dynamic_pairs(
    s: Structure, filterparent: bool, rules: CollisionRules
) -> Iterator[tuple[int, int, int]]:
    """Pairs that pass MuJoCo's filters: weld bodies, parents, bitmasks and excludes."""
    excluded = set(s.exclude_signature.tolist())
    weld = s.body_weldid
    contype, conaffinity = _masks(s, rules)
    above = weld[s.body_parentid[weld]]
    geoms = [np.flatnonzero(s.geom_bodyid == b) for b in range(s.nbody)]
    occupied = [b for b in range(s.nbody) if len(geoms[b])]
    for i, b1 in enumerate(occupied):
        for b2 in occupied[i + 1 :]:
            sig = (b1 << 16) + b2
            w1, w2 = weld[b1], weld[b2]
            related = w1 and w2 and (w1 == above[b2] or w2 == above[b1])
            if w1 == w2 or sig in excluded or (filterparent and related):
                continue
            g1, g2 = geoms[b1][:, None], geoms[b2][None, :]
            mask = (contype[g1] & conaffinity[g2]) | (contype[g2] & conaffinity[g1])
            for row, column in zip(*np.nonzero(mask), strict=True):
                yield sig, int(geoms[b1][row]), int(geoms[b2][column])


def _masks(s: Structure, rules: CollisionRules) -> tuple[np.ndarray, np.ndarray]:
    """Bitmasks of the geoms; those of their bodies where a callback decides about the geoms."""
    if not rules.filtered:
        return s.geom_contype, s.geom_conaffinity
    masks = []
    for geom in (s.geom_contype, s.geom_conaffinity):
        body = np.zeros(s.nbody, geom.dtype)
        np.bitwise_or.at(body, s.geom_bodyid, geom)
        masks.append(body[s.geom_bodyid])
    return masks[0], masks[1]


def _dimension(s: Structure, geom: np.ndarray, explicit: np.ndarray) -> np.ndarray:
    """Contact dimension: the explicit pair's, the higher priority's, or the larger."""
    g1, g2 = geom[:, 0], geom[:, 1]
    p1, p2 = s.geom_priority[g1], s.geom_priority[g2]
    d1, d2 = s.geom_condim[g1], s.geom_condim[g2]
    dim = np.where(p1 == p2, np.maximum(d1, d2), np.where(p1 > p2, d1, d2))
    if not s.npair:
        return dim
    return np.where(explicit >= 0, s.pair_dim[np.maximum(explicit, 0)], dim)
