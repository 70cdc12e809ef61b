"""Rays: the nearest surface that a half line meets.

Geoms of one type are tried together. Meshes are searched by trees of bounding boxes, and height
fields cell by cell along the ray. The choice of the nearest geom has no derivative, but its
distance, point and normal have one.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from mjjax.collision.rays.ray_field import field_hits
from mjjax.collision.rays.ray_hfield import FieldHit, hfield_hits
from mjjax.collision.rays.ray_mesh import mesh_hits
from mjjax.collision.rays.ray_shapes import NORMALS, along_z, shape_hit
from mjjax.core.constants import NGROUP
from mjjax.core.enums import GeomType
from mjjax.math import safe
from mjjax.math.quat import cross
from mjjax.math.spatial import mat3
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.xla.linalg import matvec3, matvec3_t
from mjjax.xla.namespace import Array, where

MISS = 1e20  # distance that stands for no hit


class Lines(NamedTuple):
    """Half lines, world frame.

    Attributes:
        point: (n, 3) points where they start [m].
        direction: (n, 3) directions; distances are in units of their lengths.
        exclude: (n,) body whose geoms the ray passes through, -1 for none.
    """

    point: Array
    direction: Array
    exclude: Array


class Hit(NamedTuple):
    """The surfaces that rays meet.

    Attributes:
        dist: (...,) distance in units of the ray's direction, -1 if nothing is met.
        geomid: (...,) geom, -1 if there is none.
        normal: (..., 3) outward unit normal of the surface, world; zero if there is none.
    """

    dist: Array
    geomid: Array
    normal: Array


@dataclasses.dataclass(frozen=True)
class RayPlan:
    """The geoms that a ray may meet, in the order in which their distances are joined.

    Attributes:
        solids: geom ids by type.
        bases: height-field geoms; below its surface each has a box, the base.
        geom: geom of every entry; the entries are the solids, then the bases.
        meshes: geoms with meshes.
        fields: SDF geoms.
    """

    solids: tuple[tuple[GeomType, np.ndarray], ...]
    bases: np.ndarray
    geom: np.ndarray
    meshes: np.ndarray
    fields: np.ndarray


@functools.lru_cache(maxsize=64)
def ray_plan(s: Structure, groups: tuple[bool, ...] | None, static: bool) -> RayPlan:
    """The geoms that a ray may meet under the filters that do not depend on the ray."""
    kept = np.ones(s.ngeom, bool)
    if groups is not None:
        kept &= np.array(groups, bool)[np.clip(s.geom_group, 0, 5)]
    if not static:
        kept &= s.body_weldid[s.geom_bodyid] > 0
    solids = []
    for kind in NORMALS:
        ids = np.flatnonzero(kept & (s.geom_type == kind))
        if len(ids):
            solids.append((kind, ids))
    bases = np.flatnonzero(kept & (s.geom_type == GeomType.HFIELD))
    geom = np.concatenate([*(ids for _, ids in solids), bases]).astype(int)
    meshes = np.flatnonzero(kept & (s.geom_type == GeomType.MESH))
    fields = np.flatnonzero(kept & (s.geom_type == GeomType.SDF))
    return RayPlan(tuple(solids), bases, geom, meshes, fields)


def cast(model: Model, data: Data, plan: RayPlan, lines: Lines, seen: Array) -> Hit:
    """First hits of rays; the arguments are those of `cast_faces`."""
    return cast_faces(model, data, plan, lines, seen)[0]


def cast_faces(
    model: Model, data: Data, plan: RayPlan, lines: Lines, seen: Array
) -> tuple[Hit, Array]:
    """First hits of n rays, and the triangles (n,) of `mesh_face` that are hit, -1 for none.

    Args:
        model: model.
        data: data with `geom_xpos` and `geom_xmat`.
        plan: the geoms that may be met.
        lines: the rays.
        seen: (ngeom,) geoms that can be met.
    """
    point, direction, _ = lines
    s = model.structure
    nothing = jnp.full(point.shape[0], -1, jnp.int32)
    hit = Hit(jnp.full(point.shape[0], MISS, point.dtype), nothing, jnp.zeros_like(point))
    face = nothing
    if len(plan.geom):
        hit = _entries(model, data, plan, lines, seen)
    if len(plan.bases):
        allowed = _allowed(s, plan.bases, lines, seen)
        met = hfield_hits(model, plan.bases, *_local(data, plan.bases, point, direction), allowed)
        hit = _nearest_field(data, hit, met, plan.bases, allowed)
    if len(plan.fields):
        allowed = _allowed(s, plan.fields, lines, seen)
        met = field_hits(model, plan.fields, *_local(data, plan.fields, point, direction))
        hit = _nearest_field(data, hit, met, plan.fields, allowed)
    if len(plan.meshes):
        allowed = _allowed(s, plan.meshes, lines, seen)
        local = _local(data, plan.meshes, point, direction)
        met = mesh_hits(model, plan.meshes, *local, allowed, hit.dist)
        a, b, c = (met.corners[:, k] for k in range(3))
        face = where((met.dist >= 0) & (met.dist < hit.dist), met.face, -1)
        hit = _nearer(data, hit, met.dist, plan.meshes, met.which, cross(b - a, c - a))
    return hit._replace(dist=where(hit.dist < MISS, hit.dist, -1)), face


def _allowed(s: Structure, geoms: np.ndarray, lines: Lines, seen: Array) -> Array:
    """Which of m geoms each ray can meet (n, m)."""
    body = s.geom_bodyid[geoms].astype(np.int32)
    return seen[geoms][None] & (body[None] != lines.exclude[:, None])


def _nearest_field(data: Data, hit: Hit, met: FieldHit, geoms: np.ndarray, allowed: Array) -> Hit:
    """The nearest hits among `hit` and the hits `met` with m geoms, as far as `allowed` (n, m)."""
    away = where(allowed & (met.dist >= 0), met.dist, MISS)
    which = jnp.argmin(away, axis=1)[:, None]
    dist = jnp.take_along_axis(away, which, axis=1)[:, 0]
    normal = jnp.take_along_axis(met.normal, which[..., None], axis=1)[:, 0]
    return _nearer(data, hit, dist, geoms, which[:, 0], normal)


def _nearer(
    data: Data, hit: Hit, dist: Array, geoms: np.ndarray, which: Array, normal: Array
) -> Hit:
    """The nearer of `hit` and other hits, whose normals (n, 3) are in the frames of their geoms."""
    geom = jnp.asarray(geoms, jnp.int32)[which]
    better = (dist >= 0) & (dist < hit.dist)
    normal = matvec3(mat3(data.geom_xmat[geom]), safe.normalize(normal)[0])
    return Hit(
        where(better, dist, hit.dist),
        where(better, geom, hit.geomid),
        where(better[:, None], normal, hit.normal),
    )


def _entries(model: Model, data: Data, plan: RayPlan, lines: Lines, seen: Array) -> Hit:
    """First hits of solids and bases; the distance is `MISS` if there is none."""
    point, direction, _ = lines
    s = model.structure
    found = []
    for kind, ids in plan.solids:
        local = _local(data, ids, point, direction)
        found.append(shape_hit(kind, *local, model.geom_size[ids][None]))
    if len(plan.bases):
        local, size = _base(model, data, plan.bases, point, direction)
        found.append(shape_hit(GeomType.BOX, *local, size[None]))
    dist = jnp.concatenate(found, axis=1)
    dist = where(_allowed(s, plan.geom, lines, seen) & (dist >= 0), dist, MISS)
    entry = jnp.argmin(dist, axis=1)
    dist = jnp.take_along_axis(dist, entry[:, None], axis=1)[:, 0]
    met = dist < MISS
    geom = jnp.asarray(plan.geom, jnp.int32)[entry]
    at = where(met[:, None], point + dist[:, None] * direction, 0)
    normal = _normals(model, data, plan, entry, at)
    return Hit(dist, where(met, geom, -1), where(met[:, None], normal, 0))


def _local(data: Data, geom: np.ndarray, point: Array, direction: Array) -> tuple[Array, Array]:
    """Points and directions (n, m, 3) in the frames of m geoms."""
    turn = jnp.swapaxes(mat3(data.geom_xmat[geom]), 1, 2)[None]
    offset = point[:, None] - data.geom_xpos[geom][None]
    return matvec3(turn, offset), matvec3(turn, direction[:, None])


def _base(
    model: Model, data: Data, geom: np.ndarray, point: Array, direction: Array
) -> tuple[tuple[Array, Array], Array]:
    """Rays in the frames of the boxes below height fields, and the half sizes of these boxes."""
    size = model.hfield_size[model.structure.geom_dataid[geom]]
    half = jnp.concatenate([size[:, :2], 0.5 * size[:, 3:]], axis=1)
    start, along = _local(data, geom, point, direction)
    return (start + along_z(half[:, 2:])[None], along), half


def visible(model: Model) -> Array:
    """Whether the colour of each geom, or of its material if it has one, is not transparent."""
    s = model.structure
    alpha = model.geom_rgba[:, 3]
    if s.nmat:
        material = model.mat_rgba[np.maximum(s.geom_matid, 0), 3]
        alpha = where(s.geom_matid >= 0, material, alpha)
    return alpha != 0


def _normals(
    model: Model,
    data: Data,
    plan: RayPlan,
    entry: Array,
    at: Array,
) -> Array:
    """Outward unit normals (n, 3), world, at the points where entries of the plan are met."""
    s = model.structure
    geom = jnp.asarray(plan.geom, jnp.int32)[entry]
    turn = mat3(data.geom_xmat[geom])
    local = matvec3_t(turn, at - data.geom_xpos[geom])
    kind = jnp.asarray(s.geom_type, jnp.int32)[geom][:, None]
    normal = jnp.zeros_like(local)
    for one, _ in plan.solids:
        normal = where(kind == int(one), NORMALS[one](local, model.geom_size[geom]), normal)
    first = sum(len(ids) for _, ids in plan.solids)
    if len(plan.bases):
        dataid = jnp.asarray(np.maximum(s.geom_dataid, 0), jnp.int32)[geom]
        size = model.hfield_size[jnp.minimum(dataid, s.nhfield - 1)]
        half = jnp.concatenate([size[:, :2], 0.5 * size[:, 3:]], axis=1)
        base = NORMALS[GeomType.BOX](local + along_z(half[:, 2:]), half)
        normal = where((entry >= first)[:, None], base, normal)
    return matvec3(turn, safe.normalize(normal)[0])


def ray(
    model: Model,
    data: Data,
    pnt: Array,
    vec: Array,
    geomgroup: Sequence[bool] | None = None,
    flg_static: bool = True,
    bodyexclude: Array | Sequence[int] | int = -1,
) -> Hit:
    """The nearest visible surface on a half line (`mj_ray`).

    The result has `dist`, `geomid` (both -1 if nothing is hit) and `normal`. The derivative of the
    distance is exact for the geom (and triangle) that is hit. Distances to SDF geoms are in metres,
    whatever the length of `vec`, as in MuJoCo.

    Args:
        model: model.
        data: data with `geom_xpos` and `geom_xmat`.
        pnt: (3,) point where the ray starts, world [m].
        vec: (3,) direction of the ray; the distance is in units of its length.
        geomgroup: six flags that say which geom groups are seen; None for all.
        flg_static: whether geoms of static bodies are seen.
        bodyexclude: body whose geoms are not seen, or several such bodies; -1 for none.
    """
    return _one(multi_ray(model, data, pnt, vec[None], geomgroup, flg_static, bodyexclude))


def _one(hits: Hit) -> Hit:
    return Hit(*(x[0] for x in hits))


def multi_ray(
    model: Model,
    data: Data,
    pnt: Array,
    vec: Array,
    geomgroup: Sequence[bool] | None = None,
    flg_static: bool = True,
    bodyexclude: Array | Sequence[int] | int = -1,
    cutoff: Array | float = MISS,
) -> Hit:
    """The nearest visible surfaces on half lines (n, 3) from one point (`mj_multiRay`).

    The other arguments are those of `ray`. Geoms whose bounding spheres are further away than
    `cutoff` [m] are not seen; a plane has no bounding sphere, so its centre counts. Each half line
    gives the same result as `ray`. MuJoCo 3.6.0 skips bodies by their bounds, and so misses some
    geoms of bodies that have several, also in `rangefinder` sensors of cameras.
    """
    groups = None if geomgroup is None else tuple(bool(x) for x in geomgroup)
    if groups is not None and len(groups) != NGROUP:
        raise ValueError(f"geomgroup has {NGROUP} flags, one of each group, not {len(groups)}")
    plan = ray_plan(model.structure, groups, bool(flg_static))
    start = jnp.broadcast_to(pnt[None], vec.shape)
    excluded = jnp.ravel(jnp.asarray(bodyexclude, jnp.int32))
    hidden = jnp.any(model.structure.geom_bodyid[:, None] == excluded[None], axis=1)
    gap = safe.norm(data.geom_xpos - pnt[None]) - model.geom_rbound
    seen = visible(model) & (gap <= cutoff) & ~hidden
    none = jnp.full(vec.shape[:1], -1, jnp.int32)
    return cast(model, data, plan, Lines(start, vec, none), seen)
