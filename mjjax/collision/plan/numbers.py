"""Numbers of pairs of geoms: everything static about a pair follows from its number.

The number of an explicit pair is its row in the `pair_*` fields. Any other pair has the number
npair + g1 ngeom + g2, with the geom of the lower type first. So nothing has to be looked up in a
list of all pairs, which is long if there are many geoms. MuJoCo orders the pairs of two bodies by
these numbers.
"""

from typing import cast

import numpy as np

from mjjax.collision.plan.params import lookup
from mjjax.model.structure import Structure
from mjjax.xla.namespace import A, namespace, where


def explicit_geoms(s: Structure) -> np.ndarray:
    """Geoms (npair, 2) of the explicit pairs."""
    return by_type(s, np.stack([s.pair_geom1, s.pair_geom2], axis=1))


def by_type(s: Structure, geom: np.ndarray) -> np.ndarray:
    """Pairs (n, 2) with the geom of the lower type first; equal types keep their order."""
    kind = s.geom_type[geom]
    return np.where(kind[:, :1] <= kind[:, 1:], geom, geom[:, ::-1])


def number_of(s: Structure, geom: A, explicit: A | None = None) -> A:
    """Numbers (n,) of pairs of geoms (n, 2), in each of which the lower type comes first.

    Args:
        s: structure.
        geom: geom ids.
        explicit: (n,) rows of explicit pairs, -1 for others; `None` if all are others.
    """
    number = (s.npair + geom[:, 0] * s.ngeom + geom[:, 1]).astype(np.int32)
    return cast(A, number if explicit is None else where(explicit < 0, number, explicit))


def explicit_of(s: Structure, number: A) -> A:
    """Rows (n,) of the explicit pairs, -1 for others."""
    return where(number < s.npair, number, np.int32(-1))


def geoms_of(s: Structure, number: A) -> A:
    """Geoms (n, 2) of pairs; the lower type comes first."""
    xp = namespace(number)
    free = xp.maximum(number - np.int32(s.npair), 0)
    geom = xp.stack([free // np.int32(s.ngeom), free % np.int32(s.ngeom)], axis=-1)
    if not s.npair:
        return geom
    row = xp.minimum(number, np.int32(s.npair - 1))
    return where((number < s.npair)[..., None], lookup(explicit_geoms(s), row), geom)


def bodies_of(s: Structure, number: A) -> A:
    """Numbers (n,) of the pairs of bodies; pairs of lower bodies have lower numbers."""
    xp = namespace(number)
    body = lookup(s.geom_bodyid, geoms_of(s, number))
    low, high = xp.min(body, axis=-1), xp.max(body, axis=-1)
    return low * np.int32(s.nbody) + high


def dimension_of(s: Structure, number: A) -> A:
    """Contact dimension (n,): of the explicit pair, of the higher priority, or the larger one."""
    xp = namespace(number)
    g1, g2 = geoms_of(s, number).T
    p1, p2 = lookup(s.geom_priority, g1), lookup(s.geom_priority, g2)
    d1, d2 = lookup(s.geom_condim, g1), lookup(s.geom_condim, g2)
    dim = where(p1 == p2, xp.maximum(d1, d2), where(p1 > p2, d1, d2))
    if not s.npair:
        return dim
    explicit = explicit_of(s, number)
    return where(explicit >= 0, lookup(s.pair_dim, xp.maximum(explicit, 0)), dim)
