"""Contact parameters of pairs of geoms, mixed as in MuJoCo; they depend only on the model."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from mjjax.core.constants import MINMU, MINVAL
from mjjax.core.enums import EnableBit
from mjjax.model.model import Model
from mjjax.xla.indexing import gather_rows
from mjjax.xla.namespace import Array, namespace, where


class PairParams(NamedTuple):
    """Parameters per pair (n, ...)."""

    margin: Array
    gap: Array
    friction: Array
    solref: Array
    solreffriction: Array
    solimp: Array


def lookup(table: np.ndarray, index: Array) -> Array:
    """Entries of a static table of integers: a numpy array if the index is one, else traced."""
    return table[index] if isinstance(index, np.ndarray) else jnp.asarray(table, jnp.int32)[index]


def pair_params(model: Model, geom: Array, explicit: Array) -> PairParams:
    """Margin, gap, friction and solver parameters of pairs of geoms.

    Margins and gaps add up. If the geoms have equal priority, the larger friction counts and solimp
    is the mean weighted by `solmix`. So is solref if both are of the standard kind; otherwise the
    smaller values count. If the priorities differ, friction, solref and solimp are those of the
    geom with the higher priority. Explicit pairs have their own values. With the flag `override`
    the options `o_*` replace all parameters except the gaps.

    Args:
        model: model.
        geom: (n, 2) geom ids; numpy if static.
        explicit: (n,) row of the explicit `pair_*` fields, or -1.
    """
    xp = namespace(model.geom_friction)
    one, two = _of_geoms(model, geom)
    p1, p2 = one.priority[:, None], two.priority[:, None]
    mix = _mix(one.solmix, two.solmix)[:, None]
    weight = where(p1 == p2, mix, where(p1 > p2, 1.0, 0.0))

    def mean(a: Array, b: Array) -> Array:
        return weight * a + (1 - weight) * b

    def rank(a: Array, b: Array, equal: Array) -> Array:
        return where(p1 == p2, equal, where(p1 > p2, a, b))

    ref1, ref2 = one.solref, two.solref
    standard = (ref1[:, :1] > 0) & (ref2[:, :1] > 0)
    solref = rank(ref1, ref2, where(standard, mean(ref1, ref2), xp.minimum(ref1, ref2)))
    friction = rank(one.friction, two.friction, xp.maximum(one.friction, two.friction))
    slide, spin, roll = friction[:, :1], friction[:, 1:2], friction[:, 2:]
    friction = xp.concatenate([slide, slide, spin, roll, roll], axis=1)
    mixed = PairParams(
        margin=one.margin + two.margin,
        gap=one.gap + two.gap,
        friction=friction,
        solref=solref,
        solreffriction=xp.zeros_like(solref),
        solimp=rank(one.solimp, two.solimp, mean(one.solimp, two.solimp)),
    )
    mixed = _overridden(model, _with_explicit(model, explicit, mixed))
    return mixed._replace(friction=xp.maximum(mixed.friction, MINMU))


class _GeomParams(NamedTuple):
    """Parameters of geoms (n, ...)."""

    priority: Array
    margin: Array
    gap: Array
    solmix: Array
    solref: Array
    solimp: Array
    friction: Array


def _of_geoms(model: Model, geom: Array) -> tuple[_GeomParams, _GeomParams]:
    """Parameters of the first and of the second geoms of pairs (n, 2)."""
    leaves = (
        model.geom_margin, model.geom_gap, model.geom_solmix,
        model.geom_solref, model.geom_solimp, model.geom_friction,
    )  # fmt: skip
    each = geom.T.reshape(-1)
    both = _GeomParams(lookup(model.structure.geom_priority, each), *gather_rows(leaves, each))
    n = len(geom)
    return _GeomParams(*(x[:n] for x in both)), _GeomParams(*(x[n:] for x in both))


def _mix(s1: Array, s2: Array) -> Array:
    """Weight of the first of two solmix values; one half if both are zero."""
    both = (s1 >= MINVAL) & (s2 >= MINVAL)
    total = where(both, s1 + s2, 1)
    neither = (s1 < MINVAL) & (s2 < MINVAL)
    alone = where(s1 < MINVAL, 0.0, 1.0)
    return where(both, s1 / total, where(neither, 0.5, alone))


def _with_explicit(model: Model, explicit: Array, mixed: PairParams) -> PairParams:
    if not model.structure.npair or (isinstance(explicit, np.ndarray) and (explicit < 0).all()):
        return mixed
    row = namespace(explicit).maximum(explicit, 0)
    own = PairParams(
        model.pair_margin[row],
        model.pair_gap[row],
        model.pair_friction[row],
        model.pair_solref[row],
        model.pair_solreffriction[row],
        model.pair_solimp[row],
    )

    def choose(a: Array, b: Array) -> Array:
        mask = (explicit >= 0).reshape((-1,) + (1,) * (a.ndim - 1))
        return where(mask, a, b)

    return PairParams(*(choose(a, b) for a, b in zip(own, mixed, strict=True)))


def _overridden(model: Model, params: PairParams) -> PairParams:
    opt = model.opt
    if not opt.enabled(EnableBit.OVERRIDE):
        return params
    xp = namespace(params.friction)
    values = {
        "margin": opt.o_margin,
        "friction": opt.o_friction,
        "solref": opt.o_solref,
        "solreffriction": opt.o_solref,
        "solimp": opt.o_solimp,
    }
    shape = params._asdict()
    return params._replace(**{k: xp.broadcast_to(v, shape[k].shape) for k, v in values.items()})
