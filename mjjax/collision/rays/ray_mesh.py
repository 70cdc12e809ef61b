"""Rays against meshes, searched by trees of bounding boxes.

A search visits the nodes of a tree in their order. It enters a box if the ray meets the box before
the nearest hit so far, and skips any other box. The meshes of the scene are searched one after the
other, each in the frame of its geom. The choice of the triangle has no derivative, but the place of
the hit has one.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.collision.rays.ray_shapes import triangle
from mjjax.core.constants import MINVAL
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.xla.loops import while_loop
from mjjax.xla.namespace import Array, where


class MeshHit(NamedTuple):
    """Nearest triangles of n rays.

    Attributes:
        dist: (n,) distance in units of the ray's direction, -1 if nothing is met.
        which: (n,) index into the list of geoms.
        face: (n,) triangle in `mesh_face`, -1 if nothing is met.
        corners: (n, 3, 3) the triangle, in the frame of the geom [m].
    """

    dist: Array
    which: Array
    face: Array
    corners: Array


class _BoxWalk(NamedTuple):
    """State of n searches: geom, node, nearest hit, its triangle (-1: none) and its geom."""

    geom: Array
    node: Array
    dist: Array
    face: Array
    owner: Array


class _Nodes(NamedTuple):
    """Trees of the geoms' meshes: first node and end of each geom, and tables of the nodes."""

    first: Array
    end: Array
    vertex: Array
    skip: Array
    face: Array


def mesh_hits(
    model: Model, geoms: np.ndarray, start: Array, along: Array, seen: Array, limit: Array
) -> MeshHit:
    """First hits of rays with meshes.

    Args:
        model: model.
        geoms: (m,) geoms, all with meshes.
        start: (n, m, 3) points where the rays start, in the frames of the geoms [m].
        along: (n, m, 3) directions of the rays.
        seen: (n, m) whether a ray can meet a geom.
        limit: (n,) distance beyond which nothing is sought.
    """
    s = model.structure
    nodes = _nodes(s, geoms)
    fixed = lax.stop_gradient((model.mesh_vert, model.mesh_box, start, along, limit))
    face, owner = _search(nodes, s, *fixed, seen)
    met = face >= 0
    corners = _corners(s, model.mesh_vert, nodes, face, owner)
    row = np.arange(len(limit), dtype=np.int32)
    dist = triangle(
        start[row, owner], along[row, owner], (corners[:, 0], corners[:, 1], corners[:, 2])
    )
    return MeshHit(where(met, dist, -1), owner, face, corners)


def _nodes(s: Structure, geoms: np.ndarray) -> _Nodes:
    mesh = s.geom_dataid[geoms]
    first = s.mesh_boxadr[mesh]
    columns = first, first + s.mesh_boxnum[mesh], s.mesh_vertadr[mesh], s.mesh_boxskip
    # In the tables of the nodes, triangles count within a mesh; here, over all meshes.
    shift = np.repeat(s.mesh_faceadr, s.mesh_boxnum)[:, None]
    face = np.where(s.mesh_boxface < 0, -1, s.mesh_boxface + shift)
    return _Nodes(*(jnp.asarray(x, jnp.int32) for x in (*columns, face)))


def _corners(s: Structure, vert: Array, nodes: _Nodes, face: Array, owner: Array) -> Array:
    """Corners (..., 3, 3) of triangles of geoms."""
    ids = jnp.asarray(s.mesh_face, jnp.int32)[jnp.maximum(face, 0)]
    return vert[ids + nodes.vertex[owner][..., None]]


def _search(
    nodes: _Nodes,
    s: Structure,
    vert: Array,
    box: Array,
    start: Array,
    along: Array,
    limit: Array,
    seen: Array,
) -> tuple[Array, Array]:
    """Triangles (n,) that rays hit first, -1 for none, and their geoms."""
    n, m = seen.shape
    row = np.arange(n, dtype=np.int32)
    after_this = _following(seen & _enters(start, along, box[nodes.first][None], limit[:, None]))

    def step(walk: _BoxWalk) -> _BoxWalk:
        going = walk.geom < m
        geom = jnp.minimum(walk.geom, m - 1)
        node = where(going, walk.node, nodes.first[geom])
        point, way = start[row, geom], along[row, geom]
        enters = going & _enters(point, way, box[node], walk.dist)
        faces = nodes.face[node]
        corners = _corners(s, vert, nodes, faces, jnp.broadcast_to(geom[:, None], faces.shape))
        parts = (corners[:, :, 0], corners[:, :, 1], corners[:, :, 2])
        hit = triangle(point[:, None], way[:, None], parts)
        hit = where((hit >= 0) & (faces >= 0) & enters[:, None], hit, jnp.inf)
        place = jnp.argmin(hit, axis=1)
        best = hit[row, place]
        nearer = best < walk.dist
        inner = faces[:, 0] < 0
        after = where(enters & inner, node + 1, nodes.skip[node])
        over = after >= nodes.end[geom]
        following = where(over, after_this[row, geom + 1], geom)
        after = where(over, nodes.first[jnp.minimum(following, m - 1)], after)
        new = _BoxWalk(
            following,
            after,
            where(nearer, best, walk.dist),
            where(nearer, faces[row, place], walk.face),
            where(nearer, geom, walk.owner),
        )
        return jax.tree.map(lambda a, b: where(going, a, b), new, walk)

    no, begin = jnp.zeros(n, jnp.int32), after_this[:, 0]
    first = _BoxWalk(begin, nodes.first[jnp.minimum(begin, m - 1)], limit, no - 1, no)
    last = while_loop(lambda w: jnp.any(w.geom < m), step, first)
    return last.face, last.owner


def _following(wanted: Array) -> Array:
    """For every geom (n, m + 1) the first wanted one from there on, m if there is none."""
    n, m = wanted.shape
    index = where(wanted, jnp.arange(m, dtype=jnp.int32)[None], m)
    index = jnp.concatenate([index, jnp.full((n, 1), m, jnp.int32)], axis=1)
    return lax.cummin(index, axis=1, reverse=True)


def _enters(point: Array, way: Array, box: Array, limit: Array) -> Array:
    """Whether rays (..., 3) meet boxes (..., 6) before `limit` (...,)."""
    moves = jnp.abs(way) > MINVAL
    speed = where(moves, way, 1)
    one, two = (box[..., :3] - point) / speed, (box[..., 3:] - point) / speed
    within = (box[..., :3] <= point) & (point <= box[..., 3:])
    enter = where(moves, jnp.minimum(one, two), where(within, -jnp.inf, jnp.inf))
    leave = where(moves, jnp.maximum(one, two), jnp.inf)
    begin, end = jnp.max(enter, axis=-1), jnp.min(leave, axis=-1)
    return (begin <= end) & (end >= 0) & (begin < limit)
