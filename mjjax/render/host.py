"""Pictures outside of programs: Embree for triangles, our formulas in NumPy for all other shapes.

Nothing is compiled. A geom is tried only with the rays that pass through its bounding sphere, and
the nearest hit wins. The picture is made in pieces, which the cores share.
"""

import functools
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np

from mjjax.collision.rays.ray import Hit
from mjjax.collision.rays.ray_shapes import NORMALS, shape_hit, triangle
from mjjax.core.enums import GeomType
from mjjax.math import safe
from mjjax.math.quat import cross
from mjjax.math.spatial import mat3
from mjjax.model.bounds import rbound
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.render.camera import FreeCamera, view_rays
from mjjax.render.embree import OF_TRIANGLES, Triangles, triangles_of
from mjjax.render.paint import textures_to_read
from mjjax.render.scene import Scene, Sight, scene_of
from mjjax.render.shade import LAYERS, depth, first_rays, meet, surface
from mjjax.render.texture import texture_pool
from mjjax.xla.linalg import dot
from mjjax.xla.namespace import rows

_PIECE = 2**15  # rays that are followed together; their arrays fit into a cache
_BUNDLE = 64  # neighbouring rays that are tried with bounding spheres together
_SLACK = 1e-3  # of the distance of a sphere from a bundle, against rounding
_ROUNDING = 1e-5  # of the square of the distance from a sphere


class HostTracer:
    """Finds what rays meet, geom by geom; see `Tracer`."""

    def __init__(self, scene: Scene) -> None:
        model, plan = scene.model, scene.plan
        self._model: Any = model
        self._kind = model.structure.geom_type
        self._pos: Any = scene.data.geom_xpos
        self._mat: Any = mat3(scene.data.geom_xmat)
        # In this order, the first of several geoms at one distance wins, as in `cast_faces`.
        flat = [ids for _, ids in plan.solids]
        self._geoms = np.concatenate([*flat, plan.bases, plan.fields, plan.meshes]).astype(int)
        self._triangles: dict[int, Triangles] = {}
        for geom in self._geoms:
            if self._kind[geom] in OF_TRIANGLES and scene.coloured[geom]:
                self._triangles[int(geom)] = triangles_of(model, int(geom))
        balls = [self._ball(int(geom)) for geom in self._geoms]
        real = self._pos.dtype
        self._centre = np.array([centre for centre, _ in balls], real).reshape(-1, 3)
        self._radius = np.array([radius for _, radius in balls], real)

    def _ball(self, geom: int) -> tuple[np.ndarray, float]:
        """A sphere around a geom, world."""
        pos, kind = self._pos[geom], self._kind[geom]
        if geom in self._triangles:
            found = self._triangles[geom]
            return pos + self._mat[geom] @ found.centre, float(found.radius)
        size = self._model.geom_size[geom]
        endless = kind == GeomType.PLANE
        return pos, np.inf if endless else float(rbound(np.array([kind]), size[None])[0])

    def first(
        self, start: np.ndarray, along: np.ndarray, seen: np.ndarray
    ) -> tuple[Hit, np.ndarray]:
        """The first surfaces on rays and their triangles, see `Tracer`."""
        n, real = len(start), start.dtype
        dist, geoms = np.full(n, np.inf, real), np.full(n, -1, np.int32)
        faces = np.full(n, -1, np.int32)
        for geom, rays, local in self._candidates(start, along, seen):
            if geom in self._triangles:
                away, face = self._triangles[geom].first(*local, dist[rays])
                better = face >= 0
            else:
                away = self._flat(geom, *local)
                face = np.full(len(rays), -1)
                better = (away >= 0) & (away < dist[rays])
            rays = rays[better]
            dist[rays], faces[rays], geoms[rays] = away[better], face[better], geom
        return self._hit(start, along, dist, geoms, faces)

    def blocked(
        self, start: np.ndarray, along: np.ndarray, reach: np.ndarray, seen: np.ndarray
    ) -> np.ndarray:
        """Whether something stands on rays before their ends, see `Tracer`."""
        whole, live = len(start), np.flatnonzero(reach > 0)
        start, along, reach = (rows(x, live) for x in (start, along, reach))
        free = np.ones(len(live), bool)
        for geom, rays, local in self._candidates(start, along, seen, free):
            if geom in self._triangles:
                meets = self._triangles[geom].blocked(*local, reach[rays])
            else:
                away = self._flat(geom, *local)
                meets = (away >= 0) & (away < reach[rays])
            free[rays[meets]] = False
        dark = np.zeros(whole, bool)
        dark[live] = ~free
        return dark

    def _flat(self, geom: int, start: np.ndarray, along: np.ndarray) -> Any:
        """Distances (n,) of a geom without triangles on rays in its frame, -1 for none."""
        kind, size = GeomType(self._kind[geom]), self._model.geom_size[geom]
        return shape_hit(kind, start, along, size[None])

    def _candidates(
        self,
        start: np.ndarray,
        along: np.ndarray,
        seen: np.ndarray,
        asked: np.ndarray | None = None,
    ) -> Iterator[tuple[int, np.ndarray, tuple[np.ndarray, np.ndarray]]]:
        """Geoms, the rays among those `asked` for that may meet them, and these in their frames."""
        if not len(start):
            return
        near = _near(self._centre, self._radius, start, along)
        first = np.arange(near.shape[1]) * _BUNDLE
        members = np.arange(_BUNDLE)
        for entry in np.flatnonzero(near.any(axis=1) & seen[self._geoms]).tolist():
            geom, close = int(self._geoms[entry]), first[near[entry]]
            rays = (close[:, None] + members).ravel()
            rays = rays[: len(rays) - max(0, close[-1] + _BUNDLE - len(start))]
            rays = rays if asked is None else rays[asked[rays]]
            if len(rays):
                turn, from_geom = self._mat[geom], rows(start, rays) - self._pos[geom]
                way = rows(along, rays)
                if np.isfinite(self._radius[entry]):
                    offset = from_geom + (self._pos[geom] - self._centre[entry])
                    ahead, square = dot(offset, way), dot(offset, offset)
                    wide = self._radius[entry] ** 2 + _ROUNDING * square
                    kept = np.flatnonzero(square - ahead * ahead <= wide)
                    rays, from_geom, way = rays[kept], rows(from_geom, kept), rows(way, kept)
                yield geom, rays, (_turned(from_geom, turn), _turned(way, turn))

    def _hit(
        self,
        start: np.ndarray,
        along: np.ndarray,
        dist: np.ndarray,
        geoms: np.ndarray,
        faces: np.ndarray,
    ) -> tuple[Hit, np.ndarray]:
        """Normals of what rays meet, exact distances, and triangles as the model counts them."""
        s, normal = self._model.structure, np.zeros_like(start)
        for geom in np.unique(geoms[geoms >= 0]).tolist():
            rays, turn = np.flatnonzero(geoms == geom), self._mat[geom]
            at = _turned(rows(start, rays) - self._pos[geom], turn)
            way = _turned(rows(along, rays), turn)
            if geom in self._triangles:
                found = self._triangles[geom]
                corners = rows(found.vert, rows(found.face, faces[rays]))
                a, b, c = (corners[:, k] for k in range(3))
                away = triangle(at, way, (a, b, c), np.inf)
                dist[rays] = np.where(away >= 0, away, dist[rays])
                out = cross(b - a, c - a)
                is_field = self._kind[geom] == GeomType.HFIELD
                faces[rays] = -1 if is_field else faces[rays] + s.mesh_faceadr[s.geom_dataid[geom]]
            else:
                kind, size = GeomType(self._kind[geom]), self._model.geom_size[geom][None]
                out = NORMALS[kind](at + dist[rays, None] * way, size)
            normal[rays] = _turned(safe.normalize(out)[0], turn.T)
        return Hit(np.where(geoms >= 0, dist, -1), geoms, normal), faces


def _near(
    centre: np.ndarray, radius: np.ndarray, start: np.ndarray, along: np.ndarray
) -> np.ndarray:
    """Whether rays of a bundle may meet a sphere (m, n / `_BUNDLE`).

    A cone holds the rays. Its axis meets a sphere whose radius is that of the sphere and that of
    the starts together, or it passes it at less than the half angle of the cone.

    Args:
        centre: (m, 3) centres of spheres, world [m].
        radius: (m,) their radii; rays always meet endless spheres [m].
        start: (n, 3) points where rays start.
        along: (n, 3) their unit directions.
    """
    first = np.arange(0, len(start), _BUNDLE)
    size = np.diff(first, append=len(start))
    bundle = np.repeat(np.arange(len(first)), size)
    middle, way = (np.add.reduceat(x, first, axis=0) / size[:, None] for x in (start, along))
    way = safe.normalize(way)[0]
    spread = start - rows(middle, bundle)
    wide = np.sqrt(np.maximum.reduceat(dot(spread, spread), first))
    cosine = np.minimum(np.minimum.reduceat(dot(along, rows(way, bundle)), first), 1)
    sine = np.sqrt(1 - cosine * cosine)
    centre, middle, way = (x.astype(float) for x in (centre, middle, way))
    endless = np.isinf(radius)[:, None]
    radius = np.where(endless, 0, radius[:, None] + wide)
    square = dot(centre, centre)[:, None] - 2 * (centre @ middle.T) + dot(middle, middle)
    ahead = centre @ way.T - dot(middle, way)
    # The cosine of the sum of both angles, times the distance of the centre.
    limit = cosine * np.sqrt(np.maximum(square - radius * radius, 0)) - sine * radius
    passes = ahead >= limit - _SLACK * np.sqrt(np.maximum(square, 0))
    return endless | passes | (square <= radius * radius) | (cosine <= 0)


def _turned(x: Any, turn: np.ndarray) -> np.ndarray:
    """Vectors (n, 3), world, in a frame with these axes as columns; see `rows` for the layout."""
    return (turn.T @ x.T).T


def to_host(model: Model, data: Data) -> tuple[Model, Data]:
    """Model and data in NumPy."""
    return jax.device_get((model, data))


def host_scene(model: Model, data: Data, free: FreeCamera | None, sight: Sight) -> Scene:
    """What the rays of a picture share, in NumPy."""
    model, data = to_host(model, data)
    free = jax.device_get(free)
    used = textures_to_read(model.structure)
    with np.errstate(all="ignore"):
        pool = texture_pool(model.structure, used) if used else None
        return scene_of(model, data, free, sight, pool)


def on_host(scene: Scene, places: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Colours (n, 3), depths (n,) and elements (n, 2) at places (n, 2) of a picture."""
    tracer = HostTracer(scene)
    look = functools.partial(_look, scene, tracer)
    pieces = np.array_split(places, max(1, -(-len(places) // _PIECE)))
    with ThreadPoolExecutor(os.cpu_count()) as cores:
        found = list(cores.map(look, pieces))
    rgb, deep, geom = (np.concatenate(x) for x in zip(*found, strict=True))
    element = np.concatenate([scene.element, np.full((1, 2), -1, np.int32)])
    return rgb, deep, element[geom]  # entry -1 is the last


def _look(scene: Scene, tracer: HostTracer, places: np.ndarray) -> tuple[Any, Any, Any]:
    """Colours (n, 3), depths (n,) and geoms (n,) at places (n, 2) of a picture."""
    with np.errstate(all="ignore"):
        rays = view_rays(scene.view, scene.parallel, places)
        ray = first_rays(*(np.asfortranarray(x) for x in rays))
        met = meet(scene, tracer, ray)
        deep = depth(scene, ray, met.hit)
        rgb, following = surface(scene, tracer, ray, met)
        rest = np.arange(len(places))
        for _ in range(LAYERS):
            rest, ray = _taken(following.weight > 0, rest, following)
            if not len(rest):
                break
            behind = meet(scene, tracer, ray)
            # Behind everything, a mirror shows nothing.
            shows = (behind.hit.geomid >= 0) | (ray.mirrored == 0)
            rest, ray, behind = _taken(shows, rest, ray, behind)
            own, following = surface(scene, tracer, ray, behind)
            rgb[rest] += own
    return np.clip(rgb, 0, 1), deep, met.hit.geomid


def _taken(kept: Any, *trees: Any) -> Any:
    """The rows of arrays (n, ...) that are kept."""
    index = np.flatnonzero(kept)
    return jax.tree.map(lambda x: rows(x, index), trees)
