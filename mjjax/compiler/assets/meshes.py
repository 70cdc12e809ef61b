"""Mesh assets: read or made, moved to their centre of mass and principal axes."""

from pathlib import PurePath
from typing import NamedTuple

import numpy as np

from mjjax.compiler.assets import (
    builtin_meshes,
    face_tree,
    mesh_inertia,
    mesh_surface,
    mesh_tree,
    octree,
    polygons,
)
from mjjax.compiler.common.context import Context
from mjjax.compiler.common.fields import reals
from mjjax.core.enums import GeomType
from mjjax.mjcf import assets
from mjjax.mjcf import orientation as poses
from mjjax.mjcf.element import Element
from mjjax.mjcf.meshfile import FileTriangles, read_mesh, real

MESH_TYPES = (GeomType.MESH, GeomType.SDF)
_MIN_VERTICES = 4
# Arrays with an address for each mesh: shape of an empty one and type.
_PACKED: dict[str, tuple[tuple[int, ...], type]] = {
    "vert": ((0, 3), np.float64),
    "normal": ((0, 3), np.float64),
    "texcoord": ((0, 2), np.float64),
    "face": ((0, 3), np.int32),
    "hull": ((0,), np.int32),
}


class Mesh(NamedTuple):
    """A compiled mesh.

    Attributes:
        vert, normal: vertices and normals in the mesh frame.
        texcoord: texture coordinates; may be none.
        face, facenormal, facetexcoord: vertices, normals, texture coordinates of triangles (m, 3).
        hull: convex hull in the layout of `mesh_graph`, empty if nothing needs it.
        polygons: flat faces of the hull.
        solid: mass properties; centre and axes are the mesh frame in coordinates of the file.
    """

    vert: np.ndarray
    normal: np.ndarray
    texcoord: np.ndarray
    face: np.ndarray
    facenormal: np.ndarray
    facetexcoord: np.ndarray
    hull: np.ndarray
    polygons: polygons.FacePolygons
    solid: mesh_inertia.Solid


def compile_meshes(ctx: Context) -> None:
    """Adds the fields `mesh_*`; `mesh_volume`, `mesh_inertia`, `mesh_aabb` are for the geoms only.

    Raises:
        MjcfError: a file is missing or is not a mesh, or the mesh has no volume.
    """
    elements, f = ctx.spec.elements["mesh"], ctx.fields
    files = assets.files_of(ctx.spec)
    colliding = _colliding(ctx)
    meshes = []
    for element in elements:
        if not element.name:
            raise element.origin.error("a mesh needs a name or a file")
        content = assets.contents(element, files) if element.values["file"] else b""
        try:
            meshes.append(_compile(element, content, element.name in colliding))
        except ValueError as error:
            raise element.origin.error(str(error)) from None
    for name, (shape, dtype) in _PACKED.items():
        _pack(ctx, name, np.zeros(shape, dtype), [getattr(mesh, name) for mesh in meshes])
    for name, width in (("vert", 3), ("normal", 3), ("texcoord", 2)):  # single in MuJoCo, too
        f[f"mesh_{name}"] = real(f[f"mesh_{name}"], width)
    for name in ("facenormal", "facetexcoord"):
        parts = [getattr(mesh, name) for mesh in meshes]
        f[f"mesh_{name}"] = np.concatenate([np.zeros((0, 3), np.int32), *parts])
    sides = polygons.tables([m.polygons for m in meshes], [len(m.vert) for m in meshes])
    f.update(sides)
    f.update(mesh_tree.tables([mesh_tree.tree(m.vert, m.face) for m in meshes]))
    ctx.sizes["nmeshbox"] = len(f["mesh_boxskip"])
    _fields(ctx, [element.name for element in elements], meshes)
    for name in ("poly", "polyvert", "polymap"):
        rows = sides["mesh_polynormal" if name == "poly" else f"mesh_{name}"]
        ctx.sizes[f"nmesh{name}"] = len(rows)
    f["mesh_texcoordadr"][f["mesh_texcoordnum"] == 0] = -1
    f["mesh_hulladr"][f.pop("mesh_hullnum") == 0] = -1
    ctx.sizes["nmesh"] = len(elements)
    f["mesh_scale"] = reals(elements, "scale", 3)
    f["mesh_pos"] = np.array([m.solid.center for m in meshes]).reshape(-1, 3)
    f["mesh_quat"] = np.array([m.solid.quat for m in meshes]).reshape(-1, 4)
    f["mesh_volume"] = np.array([m.solid.volume for m in meshes])
    f["mesh_inertia"] = np.array([m.solid.inertia for m in meshes]).reshape(-1, 3)
    f["mesh_aabb"] = np.array([_box(m.vert) for m in meshes]).reshape(-1, 6)


def _fields(ctx: Context, names: list[str], meshes: list[Mesh]) -> None:
    """Adds the octrees of meshes of SDF geoms, and the trees of meshes of geoms beside these."""
    geoms = [g.values for g in ctx.members("geom").elements]
    fields = {g["mesh"] for g in geoms if g["type"] == GeomType.SDF}
    touching = {g["mesh"] for g in geoms if fields and g["type"] == GeomType.MESH}
    trees = [
        face_tree.face_tree(m.vert, m.face) if name in fields | touching else None
        for name, m in zip(names, meshes, strict=True)
    ]
    octrees = [
        octree.octree(m.vert, m.face, tree) if tree is not None and name in fields else None
        for name, m, tree in zip(names, meshes, trees, strict=True)
    ]
    shown = [t if name in touching else None for name, t in zip(names, trees, strict=True)]
    ctx.fields.update(octree.tables(octrees) | face_tree.tables(shown))
    ctx.sizes["noct"] = len(ctx.fields["oct_depth"])
    ctx.sizes["nmeshnode"] = len(ctx.fields["mesh_nodeface"])


def _colliding(ctx: Context) -> set[str]:
    """Names of the meshes that need their hull, because geoms with their shape may collide."""
    explicit = {e.values[f"geom{i}"] for e in ctx.spec.elements["pair"] for i in (1, 2)}
    return {
        geom.values["mesh"]
        for geom in ctx.members("geom").elements
        if geom.values["type"] in MESH_TYPES
        and (geom.values["contype"] or geom.values["conaffinity"] or geom.name in explicit)
    }


def _compile(element: Element, content: bytes, colliding: bool) -> Mesh:
    """One mesh; raises ValueError if it is not a mesh."""
    values = element.values
    source = _source(element, content)
    vert, face = source.vert, source.face
    _check(vert, face)
    kind = mesh_inertia.SHELL if _is_flat(element) else values["inertia"]
    hull = None
    if colliding or kind == mesh_inertia.CONVEX or not len(face):
        hull = mesh_surface.convex_hull(vert, values["maxhullvert"])
    if hull is not None and not len(face):
        face = hull.face
    inside = hull.face if hull is not None and kind == mesh_inertia.CONVEX else face
    normal = source.normal
    if not len(normal):
        normal = mesh_surface.vertex_normals(vert, face, bool(values["smoothnormal"]))
    if kind == mesh_inertia.EXACT:  # areas before scaling tell which faces count
        mesh_inertia.check_orientation(face, mesh_inertia.faces_of(vert, face).area)
    vert = _rescaled(vert - values["refpos"], values)
    normal = mesh_surface.unit(_rescaled(normal, values))
    solid = mesh_inertia.measure(vert, face, inside, kind)
    frame = poses.matrix(solid.quat).T
    vert = _turned(vert - solid.center, frame)
    return Mesh(
        vert=vert,
        normal=_turned(normal, frame),
        texcoord=source.texcoord,
        face=face,
        facenormal=_numbered(source.facenormal, face, len(normal), len(vert)),
        facetexcoord=_numbered(source.facetexcoord, face, len(source.texcoord), len(vert)),
        hull=mesh_surface.graph(hull) if hull is not None else np.zeros(0, np.int32),
        polygons=polygons.merge(source.vert, vert, hull.face)
        if hull is not None
        else polygons.NO_POLYGONS,
        solid=solid,
    )


def _rescaled(vectors: np.ndarray, values: dict) -> np.ndarray:
    """Vectors (n, 3) of the source in the reference frame of the asset, scaled."""
    if not any(values["refquat"]):
        raise ValueError("refquat is zero")
    frame = poses.matrix(poses.normalize(np.array(values["refquat"])))
    return _turned(vectors, frame.T) * values["scale"]


def _turned(vectors: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """Vectors (n, 3) multiplied by a matrix, summed from left to right as in MuJoCo."""
    x, y, z = (vectors[:, i : i + 1] * frame[:, i] for i in range(3))
    return x + y + z


def _numbered(given: np.ndarray | None, face: np.ndarray, count: int, nvert: int) -> np.ndarray:
    """The numbers that the corners of faces have, if each vertex has its own (or its own three)."""
    if given is not None:
        return given
    each = 3 if count == 3 * nvert else int(count >= nvert)
    return each * face


def _is_flat(element: Element) -> bool:
    kind = element.values["builtin"]
    return bool(kind) and builtin_meshes.BUILTIN[kind].flat


def _source(element: Element, content: bytes) -> FileTriangles:
    """The mesh as it is written; faces of files follow a mirroring scale."""
    values = element.values
    if values["file"]:
        found = _from_file(values["file"], content)
        return found.mirrored() if np.prod(values["scale"]) < 0 else found
    if values["builtin"]:
        return builtin_meshes.make(values["builtin"], values["params"])
    vert, face, normal, texcoord = (
        values[name] or () for name in ("vertex", "face", "normal", "texcoord")
    )
    for what, numbers in (("vertex", vert), ("face", face), ("normal", normal)):
        if len(numbers) % 3:
            raise ValueError(f"the number of values in {what!r} is not a multiple of 3")
    faces = np.array(face, np.int32).reshape(-1, 3)
    if texcoord and len(texcoord) * 3 != len(vert) * 2:
        raise ValueError(f"texcoord has {len(texcoord)} values, not 2 for each vertex")
    return FileTriangles(real(vert, 3), faces, real(normal, 3), real(texcoord, 2))


def _from_file(name: str, content: bytes) -> FileTriangles:
    try:
        return read_mesh(content, PurePath(name).suffix)
    except ValueError as error:
        raise ValueError(f"{name!r}: {error}") from None


def _check(vert: np.ndarray, face: np.ndarray) -> None:
    if len(vert) < _MIN_VERTICES:
        raise ValueError(f"a mesh needs at least {_MIN_VERTICES} vertices")
    finite = np.isfinite(vert).all(axis=1)
    if not finite.all():
        raise ValueError(f"vertex {np.argmin(finite)} is not finite")
    wrong = (face < 0) | (face >= len(vert))
    if wrong.any():
        row = int(np.argmax(wrong.any(axis=1)))
        missing = face[row][wrong[row]][0]
        raise ValueError(f"face {row} has the vertex {missing}, which does not exist")


def _box(vert: np.ndarray) -> np.ndarray:
    """Bounding box (6,): centre and half sizes."""
    low, high = vert.min(axis=0), vert.max(axis=0)
    return np.concatenate([(high + low) / 2, (high - low) / 2])


def _pack(ctx: Context, name: str, empty: np.ndarray, parts: list[np.ndarray]) -> None:
    """Joins the arrays of all meshes to one, and adds numbers of rows and addresses."""
    rows = np.array([len(part) for part in parts], np.int32)
    ctx.sizes[f"nmesh{name}"] = int(rows.sum())
    ctx.fields[f"mesh_{name}num"] = rows
    ctx.fields[f"mesh_{name}adr"] = (np.cumsum(rows) - rows).astype(np.int32)
    ctx.fields[f"mesh_{name}"] = np.concatenate([empty, *parts])
