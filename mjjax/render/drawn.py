"""The objects of a picture: the geoms of a model, with its sites and spatial tendons as geoms too.

A site looks like a geom of its type, and a tendon like a capsule along each of its segments. So
sites and tendons become geoms of a model that only pictures use, and no other code knows of them.
"""

import functools
from typing import NamedTuple

import numpy as np

from mjjax.core.enums import GeomType, ObjType
from mjjax.dynamics.tendon import tendon_plan, wrapped
from mjjax.math import quat, safe
from mjjax.math.spatial import flat9
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.xla.namespace import Array, namespace, where

Groups = tuple[bool, ...]
SEEN: Groups = (True, True, True, False, False, False)  # groups that are seen by default
_INSIDE = 0.5  # width of a tendon where it wraps around a geom, relative to its own width


class Shown(NamedTuple):
    """Groups of elements that are seen, six flags each."""

    geoms: Groups = SEEN
    sites: Groups = SEEN
    tendons: Groups = SEEN


class Drawn(NamedTuple):
    """The objects that a picture shows.

    Attributes:
        model, data: world in which sites and segments of tendons follow the geoms.
        element: (ngeom, 2) which element each of these geoms is: its id and its `ObjType`.
    """

    model: Model
    data: Data
    element: np.ndarray


class _DrawPlan(NamedTuple):
    """Static part: the structure with all drawn objects, and the sites and segments among them.

    Attributes:
        sites: ids of sites.
        straight: segments of tendons from site to site.
        bent: segments that may wrap around geoms, numbered from the first such segment.
    """

    structure: Structure
    element: np.ndarray
    sites: np.ndarray
    straight: np.ndarray
    bent: np.ndarray


def drawn(model: Model, data: Data, shown: Shown) -> Drawn:
    """A model for pictures. It holds only what rays and paint need."""
    plan, xp = _plan(model.structure, shown), namespace(model.geom_size, data.geom_xpos)
    size: list[Array] = [model.geom_size]
    rgba: list[Array] = [model.geom_rgba]
    pos: list[Array] = [data.geom_xpos]
    mat: list[Array] = [data.geom_xmat]
    if len(plan.sites):
        size.append(model.site_size[plan.sites])
        rgba.append(model.site_rgba[plan.sites])
        pos.append(data.site_xpos[plan.sites])
        mat.append(data.site_xmat[plan.sites])
    if len(plan.straight):
        start, end, width, colour = _segments(model, data, plan)
        along, length = safe.normalize(end - start)
        size.append(xp.stack([width, 0.5 * length[:, 0], xp.zeros_like(width)], axis=1))
        rgba.append(colour)
        pos.append(0.5 * (start + end))
        mat.append(flat9(quat.to_mat(quat.from_z(along))))
    model = model.replace(
        structure=plan.structure,
        geom_size=xp.concatenate(size),
        geom_rgba=xp.concatenate(rgba),
    )
    data = data.replace(geom_xpos=xp.concatenate(pos), geom_xmat=xp.concatenate(mat))
    return Drawn(model, data, plan.element)


def elements(s: Structure, shown: Shown) -> np.ndarray:
    """`Drawn.element` of a picture of a model, which does not depend on the data."""
    return _plan(s, shown).element


@functools.lru_cache(maxsize=64)
def _plan(s: Structure, shown: Shown) -> _DrawPlan:
    sites = np.flatnonzero(np.array(shown.sites)[np.clip(s.site_group, 0, 5)])
    tendons = tendon_plan(s)
    kept = np.array(shown.tendons)[np.clip(s.tendon_group, 0, 5)]
    straight = np.flatnonzero(kept[tendons.tendon])
    first = len(tendons.tendon) - len(tendons.around)
    bent = straight[straight >= first] - first
    owner = np.concatenate([tendons.tendon[straight], *[tendons.tendon[first + bent]] * 2])
    seen = np.array(shown.geoms)[np.clip(s.geom_group, 0, 5)]

    def joined(geoms: np.ndarray, sites: np.ndarray, tendons: np.ndarray) -> np.ndarray:
        return np.concatenate([geoms, sites, tendons]).astype(np.int32)

    one, none = np.ones_like(owner), np.full(len(sites), -1)
    arrays = {k: v for k, v in s.arrays.items() if not k.startswith("geom_")}
    arrays |= {
        "geom_type": joined(s.geom_type, s.site_type[sites], int(GeomType.CAPSULE) * one),
        "geom_bodyid": joined(s.geom_bodyid, s.site_bodyid[sites], 0 * one),
        "geom_matid": joined(s.geom_matid, s.site_matid[sites], s.tendon_matid[owner]),
        "geom_dataid": joined(s.geom_dataid, none, -one),
        "geom_group": joined(np.where(seen, 0, len(SEEN) - 1), 0 * none, 0 * one),
    }
    kinds = ((s.ngeom, ObjType.GEOM), (len(sites), ObjType.SITE), (len(owner), ObjType.TENDON))
    element = np.stack([
        joined(np.arange(s.ngeom), sites, owner),
        np.concatenate([np.full(n, int(kind), np.int32) for n, kind in kinds]),
    ], axis=1)  # fmt: skip
    sizes = {**s.sizes, "ngeom": len(element)}
    structure = Structure(sizes, arrays, s.names, s.terms, s.model_name, partial=True)
    return _DrawPlan(structure, element, sites, straight, bent)


def _segments(model: Model, data: Data, plan: _DrawPlan) -> tuple[Array, Array, Array, Array]:
    """Ends (n, 3), widths (n,) and colours (n, 4) of the segments of tendons.

    The straight segments come first. Then follow, for segments that may wrap, the chord of the arc
    and the part after it; both are transparent where a segment does not wrap.
    """
    tendons = tendon_plan(model.structure)
    owner = tendons.tendon[plan.straight]
    start, end = (data.site_xpos[x[plan.straight]] for x in (tendons.start, tendons.end))
    width, rgba = model.tendon_width[owner], model.tendon_rgba[owner]
    m = len(plan.bent)
    if not m:
        return start, end, width, rgba
    first = len(tendons.tendon) - len(tendons.around)
    one, two = (data.site_xpos[x[first:]] for x in (tendons.start, tendons.end))
    on, leave, join, _ = (x[plan.bent] for x in wrapped(model, data, tendons, one, two))
    n = len(owner) - m
    near = where(on[:, None], leave, end[n:])
    hidden = rgba[n:] * where(on, 1, 0).astype(rgba.dtype)[:, None]
    chain = namespace(start).concatenate
    return (
        chain([start, leave, join]),
        chain([end[:n], near, join, end[n:]]),
        chain([width, _INSIDE * width[n:], width[n:]]),
        chain([rgba, hidden, hidden]),
    )
