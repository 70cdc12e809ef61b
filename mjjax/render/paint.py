"""Colours of geoms, from themselves or their materials, and the places of textures on them."""

import functools
from typing import NamedTuple

import numpy as np

from mjjax.core.enums import GeomType, TextureType
from mjjax.math import safe
from mjjax.math.quat import cross
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.render.texture import Pool, cube_place, sample
from mjjax.xla.linalg import dot
from mjjax.xla.namespace import Array, columns, namespace, rows, where

_RGB, _RGBA = 1, 8  # columns of `mat_texid`
_PLAIN = (0.5, 0.5, 0.5, 1.0)  # the colour of a geom that leaves it to its material
_SPECULAR, _SHININESS = 0.5, 0.5  # without a material
_ROUND = {GeomType.SPHERE: (0, 0, 0), GeomType.CAPSULE: (0, 0, 1), GeomType.CYLINDER: (0, 0, 1)}
_MIRRORS = (GeomType.PLANE, GeomType.BOX)
_SHARP = 0.8  # cosine between the normals of a triangle and of its corner
_ACTUAL = (GeomType.MESH, GeomType.SDF, GeomType.HFIELD)


class Paint(NamedTuple):
    """How geoms look.

    Attributes:
        rgba: (ngeom, 4) colour.
        emission, specular, shininess: (ngeom,) of the material.
        mirror: (ngeom,) reflectance of the material; only planes and boxes reflect, as in MuJoCo.
    """

    rgba: Array
    emission: Array
    specular: Array
    shininess: Array
    mirror: Array


def paint(model: Model) -> Paint:
    """How the geoms of a model look; a colour of their own replaces that of the material."""
    s = model.structure
    xp, real = namespace(model.geom_rgba), model.geom_rgba.dtype
    plain = xp.zeros(s.ngeom, real)
    rough = Paint(model.geom_rgba, plain, plain + _SPECULAR, plain + _SHININESS, plain)
    if not s.nmat:
        return rough
    ids, has = np.maximum(s.geom_matid, 0), s.geom_matid >= 0
    own = xp.any(model.geom_rgba != np.array([_PLAIN], real), axis=1)
    return Paint(
        where((~has | own)[:, None], model.geom_rgba, model.mat_rgba[ids]),
        where(has, model.mat_emission[ids], rough.emission),
        where(has, model.mat_specular[ids], rough.specular),
        where(has, model.mat_shininess[ids], rough.shininess),
        where(has & np.isin(s.geom_type, _MIRRORS), model.mat_reflectance[ids], 0),
    )


def textures_to_read(s: Structure) -> tuple[int, ...]:
    """Textures that pictures can show: those of the sky and of the geoms' materials."""
    ids = np.unique(np.concatenate([s.geom_matid, s.site_matid, s.tendon_matid]))
    found = {sky(s), *(_of_material(s)[ids[ids >= 0]].tolist() if s.nmat else ())}
    return tuple(sorted(found - {-1}))


@functools.lru_cache(maxsize=64)
def geom_textures(s: Structure) -> np.ndarray:
    """Texture (ngeom,) of every geom, -1 for none."""
    if not s.nmat:
        return np.full(s.ngeom, -1)
    return np.where(s.geom_matid >= 0, _of_material(s)[np.maximum(s.geom_matid, 0)], -1)


def _of_material(s: Structure) -> np.ndarray:
    """Texture (nmat,) of every material, -1 for none."""
    return np.where(s.mat_texid[:, _RGB] >= 0, s.mat_texid[:, _RGB], s.mat_texid[:, _RGBA])


def _extents(model: Model) -> Array:
    """Half sizes (ngeom, 3) of the objects that textures lie on; 1 where a plane has no end."""
    s = model.structure
    column = np.broadcast_to(np.arange(3), (s.ngeom, 3)).copy()
    for kind, which in _ROUND.items():
        column[s.geom_type == kind] = which
    xp = namespace(model.geom_size)
    size = xp.take_along_axis(model.geom_size, xp.asarray(column, np.int32), axis=1)
    if s.nhfield:
        field = model.hfield_size[np.where(s.geom_type == GeomType.HFIELD, s.geom_dataid, 0), :3]
        size = where((s.geom_type == GeomType.HFIELD)[:, None], field, size)
    endless = (s.geom_type == GeomType.PLANE)[:, None] & (size <= 0)
    flat = (s.geom_type == GeomType.PLANE)[:, None] & (np.arange(3) == 2)[None]
    return where(endless | flat, 1, size)


class Triangles(NamedTuple):
    """Properties of points on triangles that rays met.

    Attributes:
        normal: (n, 3) normal in the frame of the geom, zero where there is none.
        st: (n, 2) texture coordinates.
        density: (n,) root of the ratio of area in texture coordinates to area in space [1/m].
        mapped: (n,) whether there are texture coordinates.
    """

    normal: Array
    st: Array
    density: Array
    mapped: Array


@functools.lru_cache(maxsize=256)
def _indices(s: Structure, name: str) -> np.ndarray:
    """A table of indices, with 0 in place of -1 (none)."""
    return np.maximum(getattr(s, name), 0).astype(np.int32)


def on_triangles(model: Model, geom: Array, face: Array, local: Array) -> Triangles:
    """Normals and texture coordinates, interpolated between the corners of meshes' triangles.

    On meshes without texture coordinates, a corner whose normal is far from that of the triangle
    has the triangle's. So sharp edges look sharp (`mjr_uploadMesh`).

    Args:
        model: model with meshes.
        geom: (n,) geoms.
        face: (n,) triangles of `mesh_face`, -1 for none.
        local: (n, 3) points in the frames of the geoms.
    """
    s, xp = model.structure, namespace(model.mesh_vert, local)
    met, face = face >= 0, xp.maximum(face, 0)
    mesh = xp.minimum(rows(_indices(s, "geom_dataid"), geom), s.nmesh - 1)

    def corners(values: Array, first: str, index: str) -> Array:
        start = rows(_indices(s, first), mesh)[:, None]
        return rows(values, start + rows(_indices(s, index), face))

    vert = corners(model.mesh_vert, "mesh_vertadr", "mesh_face")
    one, two, at = vert[:, 1] - vert[:, 0], vert[:, 2] - vert[:, 0], local - vert[:, 0]
    area = cross(one, two)
    square = xp.maximum(dot(area, area), np.finfo(area.dtype).tiny)
    v = dot(cross(at, two), area) / square
    w = dot(cross(one, at), area) / square
    weight = columns(1 - v - w, v, w)[..., None]
    normals = corners(model.mesh_normal, "mesh_normaladr", "mesh_facenormal")
    flat = safe.normalize(area)[0][:, None]
    sharp = (dot(normals, flat) < _SHARP) & ~rows(s.mesh_texcoordadr >= 0, mesh)[:, None]
    normal = xp.sum(weight * where(sharp[..., None], flat, normals), 1)
    normal = where(met[:, None], normal, 0)
    if not s.nmeshtexcoord:
        nothing = xp.zeros_like(v)
        return Triangles(normal, local[:, :2] * 0, nothing, nothing > 0)
    flat = corners(model.mesh_texcoord, "mesh_texcoordadr", "mesh_facetexcoord")
    mapped = met & rows(s.mesh_texcoordadr >= 0, mesh)
    a, b = flat[:, 1] - flat[:, 0], flat[:, 2] - flat[:, 0]
    density = xp.sqrt(abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) / safe.sqrt(square) + 1e-12)
    return Triangles(normal, xp.sum(weight * flat, 1), density, mapped)


def texture_colour(
    model: Model,
    geom: Array,
    local: Array,
    along: Array,
    spread: Array,
    triangles: Triangles | None,
    pool: Pool | None,
) -> Array:
    """Colours (n, 3) of textures. A geom without a texture has 1, a sky without one is black.

    Args:
        model: model.
        geom: (n,) geoms, -1 for the sky.
        local: (n, 3) points in their frames.
        along: (n, 3) unit directions of the rays, world.
        spread: (n,) width that one pixel of the picture sees: on the surface [m], or on a sphere
            of radius 1 with the sky on it.
        triangles: properties of the points on meshes; None if there are no meshes.
        pool: pixels of all textures that these geoms have; None if they have none.
    """
    s, xp = model.structure, namespace(local)
    met, geom = geom >= 0, xp.maximum(geom, 0)
    of_geom, above = geom_textures(s), sky(s)
    used = np.union1d(of_geom[of_geom >= 0], [above] if above >= 0 else []).astype(int)
    if pool is None or not len(used):
        return xp.broadcast_to(met[:, None], local.shape).astype(local.dtype)
    texture = xp.full(geom.shape, above, np.int32)
    if s.ngeom:
        texture = where(met, rows(of_geom.astype(np.int32), geom), texture)
    there, texture = texture >= 0, xp.maximum(texture, 0)
    width = rows(pool.size[:, 0].astype(local.dtype), texture)
    face, st, density = xp.zeros_like(geom), local[:, :2], xp.zeros_like(spread)
    if (of_geom >= 0).any():
        st, density = _flat_place(model, geom, local, triangles)
    covered = spread * density * safe.sqrt(width[:, 0] * width[:, 1])
    if pool.cube[used].any():
        turned, scale = _cube_direction(model, geom, local)
        upright = columns(along[:, 0], along[:, 2], -along[:, 1])
        side, place, reach = cube_place(where(met[:, None], turned, upright))
        cube, scale = rows(pool.cube, texture), where(met, scale, 1)
        face, st = where(cube, side, face), where(cube[:, None], place, st)
        covered = where(cube, spread * scale * 0.5 * width[:, 0] / reach, covered)
    found = sample(pool, texture, face, st, covered)
    nothing = where(met, 1, 0).astype(local.dtype)[:, None]
    return where(there[:, None], found, nothing)


def _flat_place(
    model: Model, geom: Array, local: Array, triangles: Triangles | None
) -> tuple[Array, Array]:
    """Places (n, 2) on flat textures, and the number of textures per metre (n,).

    Textures lie in the x-y plane of the geom. They repeat `texrepeat` times over the geom, or over
    two metres with `texuniform`. Meshes with texture coordinates use these instead.
    """
    s, xp = model.structure, namespace(local)
    ids = np.maximum(s.geom_matid, 0)
    uniform = xp.asarray(s.mat_texuniform[ids])[:, None]
    half = where(uniform, 1, _extents(model)[:, :2])
    factor = rows(0.5 * model.mat_texrepeat[ids] / half, geom)
    st = 0.5 + factor * local[:, :2] * np.array([[1, -1]], local.dtype)
    density = safe.sqrt(abs(factor[:, 0] * factor[:, 1]))
    if triangles is None:
        return st, density
    mapped = triangles.mapped
    st = where(mapped[:, None], triangles.st, st)
    return st, where(mapped, triangles.density, density)


def _cube_direction(model: Model, geom: Array, local: Array) -> tuple[Array, Array]:
    """Directions (n, 3) of points on cube textures, and how fast they change with the points (n,).

    Shapes count as drawn at unit size, unless `texuniform` is on. Meshes and height fields count at
    their own size, times their size once more if `texuniform` is on.
    """
    s, xp = model.structure, namespace(local)
    if not (geom_textures(s) >= 0).any():
        return local, xp.ones_like(local[:, 0])
    uniform = s.mat_texuniform[np.maximum(s.geom_matid, 0)]
    actual = np.isin(s.geom_type, _ACTUAL)
    size = _extents(model)
    scale = where((actual & uniform)[:, None], size, 1)
    scale = rows(where((~actual & ~uniform)[:, None], 1 / size, scale), geom)
    return local * scale, xp.max(scale, axis=1)


def sky(s: Structure) -> int:
    """The texture of the sky: the first skybox, -1 if there is none."""
    found = np.flatnonzero((s.tex_type == TextureType.SKYBOX) & (s.tex_height > 0))
    return int(found[0]) if len(found) else -1
