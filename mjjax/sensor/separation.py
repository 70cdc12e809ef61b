"""Sensors of the distance between two geoms or bodies."""

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np

from mjjax.collision.distance import Separation, Types, candidates, closest, slots_of, types_of
from mjjax.collision.shape.contact_set import NO_CONTACT
from mjjax.core.constants import MINVAL
from mjjax.core.enums import DisableBit, ObjType, SensorType
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.xla.linalg import row_sum
from mjjax.xla.namespace import Array, where

SEPARATIONS = (SensorType.GEOMDIST, SensorType.GEOMNORMAL, SensorType.GEOMFROMTO)


@dataclasses.dataclass(frozen=True)
class Separations:
    """Pairs of geoms whose distances sensors need.

    Attributes:
        kinds: pairs of types, the lower first, each with geoms (n, 2), whether (n,) their order
            differs from the sensor's, and (n,) the sensor's place among the ids.
        nearest: (sensors, k) candidates of each sensor; places without a candidate hold `total`.
        total: number of candidates.
    """

    kinds: tuple[tuple[Types, np.ndarray, np.ndarray, np.ndarray], ...]
    nearest: np.ndarray
    total: int


def separated_geoms(s: Structure, sensor: int) -> list[tuple[int, int]]:
    """Pairs of geoms of the two objects of a sensor."""
    sides = []
    for kind, index in (
        (s.sensor_objtype[sensor], s.sensor_objid[sensor]),
        (s.sensor_reftype[sensor], s.sensor_refid[sensor]),
    ):
        body = kind != ObjType.GEOM
        sides.append(np.flatnonzero(s.geom_bodyid == index) if body else [index])
    return [(int(a), int(b)) for a in sides[0] for b in sides[1]]


@functools.lru_cache(maxsize=64)
def _separations(s: Structure, ids: tuple[int, ...], native: bool) -> Separations:
    groups: dict[Types, list[tuple[int, int, bool, int, int]]] = {}
    for place, sensor in enumerate(ids):
        for order, pair in enumerate(separated_geoms(s, sensor)):
            types, swap = types_of(s, pair)
            if not slots_of(types, native):
                continue
            a, b = pair[::-1] if swap else pair
            groups.setdefault(types, []).append((a, b, swap, place, order))
    kinds, places, orders = [], [], []
    for types, members in groups.items():
        table = np.array(members, int)
        kinds.append((types, table[:, :2], table[:, 2].astype(bool), table[:, 3]))
        ncon = slots_of(types, native)
        places.append(np.repeat(table[:, 3], ncon))
        orders.append(np.repeat(table[:, 4], ncon))
    place, order = (np.concatenate([np.zeros(0, int), *x]) for x in (places, orders))
    mine = [np.flatnonzero(place == k) for k in range(len(ids))]
    mine = [found[np.argsort(order[found], kind="stable")] for found in mine]
    nearest = np.full((len(ids), max(map(len, mine), default=1) or 1), len(place))
    for row, found in zip(nearest, mine, strict=True):
        row[: len(found)] = found
    return Separations(tuple(kinds), nearest, len(place))


def _nearest(model: Model, data: Data, ids: np.ndarray) -> Separation:
    """Smallest distances (n,) up to the cutoff, and the nearest points (n, 3) of both sides."""
    native = not model.opt.disabled(DisableBit.NATIVECCD)
    plan = _separations(model.structure, tuple(int(i) for i in ids), native)
    cutoff = model.sensor_cutoff[ids]
    columns = [
        candidates(model, data, types, geoms, swap, cutoff[place]).reshape(-1, 7)
        for types, geoms, swap, place in plan.kinds
    ]
    none = jnp.full((1, 7), NO_CONTACT, cutoff.dtype)
    return closest(jnp.concatenate([*columns, none])[plan.nearest], cutoff)


def distance(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Distances, negative in penetration, and at most the cutoff."""
    return _nearest(model, data, ids).dist


def normal(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Directions from the nearest point of the first object to that of the second."""
    _, start, end = _nearest(model, data, ids)
    offset = end - start
    square = row_sum(offset * offset)
    apart = square > MINVAL**2
    return where(apart, offset / jnp.sqrt(where(apart, square, 1)), 0).ravel()


def fromto(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Nearest points of both objects."""
    nearest = _nearest(model, data, ids)
    return jnp.concatenate([nearest.start, nearest.end], axis=1).ravel()
