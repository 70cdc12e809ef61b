"""Triangles of geoms and sites, with colours and textures, for a browser."""

from typing import Any, NamedTuple

import numpy as np

from mjjax.core.enums import GeomType, TextureType
from mjjax.model.model import Model
from mjjax.render.paint import Paint, geom_textures

_FAR = 20.0  # half width of an infinite plane, in extents of the model
_OF_BOX = 12  # triangles of a box
_FINE = 2  # subdivisions of an icosahedron


class DrawnShape(NamedTuple):
    """Triangles in the frame of a geom.

    Attributes:
        vert: (n, 3) corners [m]; triangles on two sides of a sharp edge have corners of their own.
        face: (m, 3) triangles.
        st: (n, 2) places on the texture; None if a flat texture lies in the x-y plane.
    """

    vert: np.ndarray
    face: np.ndarray
    st: np.ndarray | None = None


def joined(
    model: Model, pos: np.ndarray, mat: np.ndarray, geoms: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Corners (n, 3) and triangles (m, 3) of some geoms at poses (ngeom, 3), (ngeom, 3, 3)."""
    shapes = [shape_of(model, int(i)) for i in geoms]
    first = np.cumsum([0, *(len(shape.vert) for shape in shapes)])
    placed = zip(geoms, shapes, strict=True)
    return (
        np.concatenate([shape.vert @ mat[i].T + pos[i] for i, shape in placed]),
        np.concatenate([shape.face + k for k, shape in zip(first, shapes, strict=False)]),
    )


def glb(model: Model, look: Paint, pos: np.ndarray, mat: np.ndarray, geom: int) -> bytes:
    """A geom with its texture, at a pose, as a binary glTF file."""
    import trimesh
    from trimesh.visual import TextureVisuals

    shape = shape_of(model, geom)
    mesh = trimesh.Trimesh(shape.vert @ mat[geom].T + pos[geom], shape.face, process=False)
    rgba = np.asarray(look.rgba[geom], float)
    material = _material(model, geom, rgba, float(look.shininess[geom]))
    mesh.visual = TextureVisuals(uv=_places(model, geom, shape), material=material)
    exported = mesh.export(file_type="glb", include_normals=True)
    assert isinstance(exported, bytes)
    return exported


def _material(model: Model, geom: int, rgba: np.ndarray, shininess: float) -> Any:
    from trimesh.visual.material import PBRMaterial

    return PBRMaterial(
        baseColorFactor=(255 * np.clip(rgba, 0, 1)).astype(np.uint8),
        baseColorTexture=_picture(model, geom),
        metallicFactor=0.0,
        roughnessFactor=float(np.clip(1 - 0.5 * shininess, 0, 1)),
        alphaMode="BLEND" if rgba[3] < 1 else "OPAQUE",
        doubleSided=True,
    )


def flat_texture(model: Model, geom: int) -> int:
    """The flat texture of a geom, -1 for none."""
    s = model.structure
    texture = int(geom_textures(s)[geom])
    flat = texture >= 0 and s.tex_type[texture] == TextureType.FLAT
    return texture if flat and s.tex_height[texture] * s.tex_width[texture] else -1


def _picture(model: Model, geom: int) -> Any:
    from PIL import Image

    s, texture = model.structure, flat_texture(model, geom)
    if texture < 0:
        return None
    height, width, channels = (int(x[texture]) for x in (s.tex_height, s.tex_width, s.tex_nchannel))
    start = int(s.tex_adr[texture])
    data = s.arrays["tex_data"][start : start + height * width * channels]
    pixels = data.reshape(height, width, channels)
    pixels = np.broadcast_to(pixels[..., :3], (height, width, 3)).astype(np.uint8)
    return Image.fromarray(np.ascontiguousarray(pixels))


def _places(model: Model, geom: int, shape: DrawnShape) -> np.ndarray | None:
    """Places on the texture as glTF counts them through trimesh: from the lower left corner."""
    s = model.structure
    if flat_texture(model, geom) < 0:
        return None
    st = shape.st
    if st is None:
        material = s.geom_matid[geom]
        half = np.asarray(model.geom_size[geom, :2])
        half = np.where((half <= 0) | bool(s.mat_texuniform[material]), 1, half)
        factor = 0.5 * np.asarray(model.mat_texrepeat[material]) / half
        st = 0.5 + factor * shape.vert[:, :2] * [1, -1]
    return st * [1, -1] + [0, 1]


def shape_of(model: Model, geom: int) -> DrawnShape:
    """A geom in its frame."""
    import trimesh

    s = model.structure
    kind, size = s.geom_type[geom], np.asarray(model.geom_size[geom], float)
    if kind in (GeomType.MESH, GeomType.SDF):
        return _mesh(model, int(s.geom_dataid[geom]))
    if kind == GeomType.HFIELD:
        return _field(model, int(s.geom_dataid[geom]))
    if kind == GeomType.PLANE:
        half = np.where(size[:2] > 0, size[:2], _FAR * float(model.stat.extent))
        corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half
        vert = np.pad(corners, ((0, 0), (0, 1)))
        return DrawnShape(vert, np.array([[0, 1, 2], [0, 2, 3]]))
    made = trimesh.creation
    if kind == GeomType.BOX:
        found = made.box(2 * size)
    elif kind == GeomType.CYLINDER:
        found = made.cylinder(size[0], 2 * size[1], sections=32)
    elif kind == GeomType.CAPSULE:
        found = made.capsule(2 * size[1], size[0], count=(16, 16))
        found.apply_translation(-found.bounds.mean(axis=0))
    else:
        found = made.icosphere(_FINE)
        found.apply_scale(size if kind == GeomType.ELLIPSOID else size[0])
    sharp = kind in (GeomType.BOX, GeomType.CYLINDER)
    return _creased(found) if sharp else DrawnShape(found.vertices, found.faces)


def _creased(found: Any) -> DrawnShape:
    """A box or cylinder, whose sides and ends have corners of their own."""
    normal = found.face_normals
    upright = np.abs(normal[:, 2]) > 0.5
    side = np.round(normal) if len(found.faces) == _OF_BOX else np.round(normal * [[0, 0, 1]])
    side = np.where(upright[:, None], np.sign(normal) * [0, 0, 1], side)
    _, group = np.unique(side, axis=0, return_inverse=True)
    corners = np.stack([found.faces.ravel(), np.repeat(group.ravel(), 3)], axis=1)
    unique, face = np.unique(corners, axis=0, return_inverse=True)
    return DrawnShape(found.vertices[unique[:, 0]], face.reshape(-1, 3))


def _mesh(model: Model, mesh: int) -> DrawnShape:
    """The triangles of a mesh; they share corners with equal normals and places on textures."""
    s = model.structure

    def rows(first: np.ndarray, count: np.ndarray) -> slice:
        return slice(int(first[mesh]), int(first[mesh] + count[mesh]))

    faces = rows(s.mesh_faceadr, s.mesh_facenum)
    vert = np.asarray(model.mesh_vert[rows(s.mesh_vertadr, s.mesh_vertnum)])
    index = [s.mesh_face[faces], s.mesh_facenormal[faces]]
    mapped = s.mesh_texcoordadr[mesh] >= 0
    if mapped:
        index.append(s.mesh_facetexcoord[faces])
    corners = np.stack(index, axis=-1).reshape(-1, len(index))
    unique, face = np.unique(corners, axis=0, return_inverse=True)
    st = None
    if mapped:
        flat = np.asarray(model.mesh_texcoord[rows(s.mesh_texcoordadr, s.mesh_texcoordnum)])
        st = flat[unique[:, 2]]
    return DrawnShape(vert[unique[:, 0]], face.reshape(-1, 3), st)


def _field(model: Model, field: int) -> DrawnShape:
    """The surface of a height field."""
    s = model.structure
    rows, columns = int(s.hfield_nrow[field]), int(s.hfield_ncol[field])
    size = np.asarray(model.hfield_size[field], float)
    first = int(s.hfield_adr[field])
    height = np.asarray(model.hfield_data[first : first + rows * columns]) * size[2]
    x, y = np.meshgrid(
        np.linspace(-size[0], size[0], columns), np.linspace(-size[1], size[1], rows)
    )
    at = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = (p.ravel() for p in (at[:-1, :-1], at[:-1, 1:], at[1:, 1:], at[1:, :-1]))
    face = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    return DrawnShape(np.stack([x.ravel(), y.ravel(), height], axis=1), face)
