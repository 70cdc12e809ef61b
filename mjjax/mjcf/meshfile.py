"""Contents of mesh files as triangles: OBJ, binary STL and MuJoCo's MSH.

A reader takes the bytes of a file and raises ValueError with what is wrong. Numbers are rounded
to single precision, as MuJoCo keeps them.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

_STL_HEADER, _STL_FACE, _STL_MAX_FACES = 84, 50, 200_000
_MAX_COORDINATE = 2.0**30


class Triangles(NamedTuple):
    """A triangle mesh as it stands in a file.

    Attributes:
        vert: vertices (n, 3) [m].
        face: vertices of the faces (m, 3); none means the convex hull of the vertices.
        normal: normals (k, 3); may be none.
        texcoord: texture coordinates (k, 2); may be none.
        facenormal, facetexcoord: normals and texture coordinates of the faces (m, 3), -1 where a
            corner has none; None where they have the numbers of the vertices.
    """

    vert: np.ndarray
    face: np.ndarray
    normal: np.ndarray = np.zeros((0, 3))
    texcoord: np.ndarray = np.zeros((0, 2))
    facenormal: np.ndarray | None = None
    facetexcoord: np.ndarray | None = None

    def mirrored(self) -> "Triangles":
        """The faces seen from the other side."""
        turned = {
            name: faces[:, [0, 2, 1]]
            for name in ("face", "facenormal", "facetexcoord")
            if (faces := getattr(self, name)) is not None
        }
        return self._replace(**turned)


def real(data: ArrayLike, width: int) -> np.ndarray:
    """Numbers rounded to single precision, as rows of `width`."""
    return np.asarray(data, np.float32).astype(np.float64).reshape(-1, width)


def read_mesh(content: bytes, extension: str) -> Triangles:
    """The mesh in a file.

    Args:
        content: the file.
        extension: of its name, with the dot; says which format it is.

    Raises:
        ValueError: the file is not a mesh in this format.
    """
    reader = READERS.get(extension.lower())
    if reader is None:
        known = ", ".join(READERS)
        raise ValueError(f"mesh files end in one of {known}, not {extension!r}")
    return reader(content)


def read_stl(content: bytes) -> Triangles:
    """Binary STL; corners with the same coordinates become one vertex, in order of appearance."""
    if len(content) < _STL_HEADER:
        raise ValueError("the STL file has no header")
    (n,) = np.frombuffer(content, "<i4", 1, _STL_HEADER - 4)
    if not 1 <= n <= _STL_MAX_FACES or len(content) != _STL_HEADER + n * _STL_FACE:
        raise ValueError(
            f"the STL file should have between 1 and {_STL_MAX_FACES} faces and their size; "
            "is it in text form?"
        )
    layout = np.dtype([("normal", "<f4", 3), ("corner", "<f4", (3, 3)), ("attribute", "<u2")])
    corners = real(np.frombuffer(content, layout, n, _STL_HEADER)["corner"].ravel(), 3)
    if np.any(np.abs(corners) > _MAX_COORDINATE):
        raise ValueError("a vertex in the STL file is too far from the origin")
    vert, face = unique_vertices(corners)
    return Triangles(vert, face.reshape(-1, 3))


def unique_vertices(vert: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices without repetition, in order of appearance, and where each one went."""
    keys = np.ascontiguousarray(vert + 0.0)  # -0 is 0
    rows = keys.view(np.dtype((np.void, keys.dtype.itemsize * 3))).ravel()
    _, first, place = np.unique(rows, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return vert[first[order]], rank[place.ravel()].astype(np.int32)


def read_msh(content: bytes) -> Triangles:
    """MuJoCo's own format: four counts, then vertices, normals, texture coordinates, faces."""
    if len(content) < 16:
        raise ValueError("the MSH file has no header")
    nvert, nnormal, ntexcoord, nface = (int(n) for n in np.frombuffer(content, "<i4", 4))
    sizes = nvert >= 4 and nface >= 0 and nnormal in (0, nvert) and ntexcoord in (0, nvert)
    if not sizes:
        raise ValueError("the sizes in the MSH file are wrong")
    counts = (3 * nvert, 3 * nnormal, 2 * ntexcoord)
    if len(content) != 16 + 4 * (sum(counts) + 3 * nface):
        raise ValueError("the MSH file has not the size that its header says")
    data = np.frombuffer(content, "<f4", sum(counts), 16)
    vert, normal, texcoord = np.split(data, np.cumsum(counts)[:2])
    face = np.frombuffer(content, "<i4", 3 * nface, 16 + 4 * sum(counts)).reshape(-1, 3)
    return Triangles(real(vert, 3), face, real(normal, 3), real(texcoord, 2))


# ---- OBJ ----------------------------------------------------------------------------------------


def read_obj(content: bytes) -> Triangles:
    """The vertices and the first group of faces of an OBJ file; polygons become triangles."""
    lines = [line for line in map(bytes.strip, content.splitlines()) if line]
    rows = {tag: list(_lines(lines, tag)) for tag in (b"v", b"vt", b"vn")}
    vert = _coordinates(rows[b"v"], 3)
    texcoord, normal = _coordinates(rows[b"vt"], 2), _coordinates(rows[b"vn"], 3)
    counts = (len(vert), len(texcoord), len(normal))
    corners = _corners(_faces(lines), counts, vert)
    face, facetexcoord, facenormal = (corners[:, :, i] for i in range(3))
    texcoord[:, 1] = 1 - texcoord[:, 1]  # pictures begin at the top
    return Triangles(
        vert,
        face,
        normal,
        texcoord,
        facenormal if len(normal) else None,
        facetexcoord if len(texcoord) else None,
    )


def _lines(lines: list[bytes], tag: bytes) -> Iterator[bytes]:
    starts = (tag + b" ", tag + b"\t")
    return (line[len(tag) + 1 :] for line in lines if line.startswith(starts))


def _faces(lines: list[bytes]) -> list[bytes]:
    """The lines with faces, up to the next object or group."""
    found: list[bytes] = []
    for line in lines:
        if line.startswith((b"f ", b"f\t")):
            found.append(line[2:])
        elif found and line.startswith((b"o ", b"g ", b"o\t", b"g\t")):
            break
    return found


def _coordinates(lines: list[bytes], width: int) -> np.ndarray:
    """The first `width` numbers of each line, (n, width); what is not a number is 0."""
    words = [line.split() for line in lines]
    flat = [word for row in words for word in row[:width]]
    if len(flat) == width * len(lines):
        try:
            return real(np.array(flat, "S").astype(np.float64) if flat else np.zeros(0), width)
        except ValueError:
            pass
    rows = [[_number(w) for w in row[:width]] + [0.0] * (width - len(row)) for row in words]
    return real(np.array(rows), width)


def _number(word: bytes) -> float:
    try:
        return float(word)
    except ValueError:
        return 0.0


def _corners(lines: list[bytes], counts: tuple[int, int, int], vert: np.ndarray) -> np.ndarray:
    """Vertex, texture coordinate and normal (m, 3, 3) of the corners of the triangles."""
    words = [line.split() for line in lines]
    size = np.array([len(row) for row in words], np.int64)
    flat = _indices([word for row in words for word in row])
    if np.any(flat[:, 0] == 0):
        raise ValueError("a face of the OBJ file has the vertex 0; they are counted from 1")
    # indices count from 1; negative ones count back from the end
    flat = np.where(flat > 0, flat - 1, np.where(flat < 0, flat + np.array(counts), -1))
    start = np.cumsum(size) - size
    pieces: list[tuple[np.ndarray, np.ndarray]] = []  # (line, corners) of triangles
    for n in np.unique(size[size >= 3]):
        rows = np.flatnonzero(size == n)
        polygon = flat[start[rows][:, None] + np.arange(n)]
        if n <= 4:
            cut = np.array([[0, 1, 2], [0, 2, 3]][: n - 2])
            pieces.append((np.repeat(rows, n - 2), polygon[:, cut].reshape(-1, 3, 3)))
            continue
        for row, one in zip(rows, polygon, strict=True):
            cut = np.array(_cut(vert[np.clip(one[:, 0], 0, len(vert) - 1)])).reshape(-1, 3)
            pieces.append((np.full(len(cut), row), one[cut]))
    if not pieces:
        return np.zeros((0, 3, 3), np.int32)
    order = np.argsort(np.concatenate([row for row, _ in pieces]), kind="stable")
    return np.concatenate([corners for _, corners in pieces])[order].astype(np.int32)


def _indices(words: list[bytes]) -> np.ndarray:
    """Corners ``v``, ``v/vt``, ``v//vn`` or ``v/vt/vn`` as (n, 3) integers; 0 where absent."""
    if not words:
        return np.zeros((0, 3), np.int64)
    text = b" ".join(words)
    slashes, double, n = text.count(b"/"), text.count(b"//"), len(words)
    shapes = {(0, 0): (0,), (n, 0): (0, 1), (2 * n, 0): (0, 1, 2), (2 * n, n): (0, 2)}
    columns = shapes.get((slashes, double))
    try:
        if columns is None:  # each corner in its own form
            rows = [[*word.split(b"/"), b"", b""][:3] for word in words]
            return np.array([[int(part or 0) for part in row] for row in rows])
        numbers = np.array(text.replace(b"/", b" ").split(), "S").astype(np.int64)
    except ValueError:
        raise ValueError("a face of the OBJ file is not a list of numbers") from None
    if len(numbers) != n * len(columns):
        raise ValueError("a face of the OBJ file is not a list of numbers")
    table = np.zeros((n, 3), np.int64)
    table[:, columns] = numbers.reshape(n, -1)
    return table


def _cut(polygon: np.ndarray) -> list[list[int]]:
    """Triangles of a polygon (n, 3): its ears are cut off one after the other."""
    normal = np.sum(np.cross(polygon, np.roll(polygon, -1, axis=0)), axis=0)
    flat = np.delete(polygon, np.argmax(np.abs(normal)), axis=1)
    round_ = np.sign(np.sum(_area(flat[0], flat[:-1], flat[1:])))
    rest, found, at, missed = list(range(len(polygon))), [], 0, 0
    while len(rest) > 3 and missed <= len(rest):
        ring = rest[at % len(rest) :] + rest[: at % len(rest)]
        ear, others = ring[:3], flat[ring[3:]]
        a, b, c = flat[ear]
        sides = np.stack([round_ * _area(*side, others) for side in ((a, b), (b, c), (c, a))])
        if round_ * _area(a, b, c) < 0 or np.any(np.all(sides > 0, axis=0)):
            at, missed = at + 1, missed + 1
            continue
        found.append(ear)
        rest.remove(ear[1])
        missed = 0
    return [*found, rest] if len(rest) == 3 else found


def _area(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Twice the signed area of triangles in the plane; points (..., 2)."""
    u, v = b - a, c - a
    return u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]


READERS: dict[str, Callable[[bytes], Triangles]] = {
    ".obj": read_obj,
    ".stl": read_stl,
    ".msh": read_msh,
}
