"""Contents of mesh files as triangles: OBJ, binary STL and MuJoCo's MSH.

A reader takes the bytes of a file and raises ValueError with what is wrong. Numbers are rounded
to single precision, as MuJoCo keeps them.

mjjax has its own readers, because a library like trimesh cannot give MuJoCo's `mesh_vert` and
`mesh_face`. In OBJ files, MuJoCo keeps the vertices as they are, with separate normals and texture
coordinates; a library splits and reorders vertices so that each has one of both. MuJoCo also reads
only the first group, takes the hull of vertices without faces, and cuts polygons by ears. For STL,
MuJoCo has its own limits and order of vertices and refuses text files; a library would only add the
layout of one record. MSH is MuJoCo's own format.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mjjax.mjcf import polygons

_STL_HEADER, _STL_FACE, _STL_MAX_FACES = 84, 50, 200_000
_MAX_COORDINATE, _MAX_CORNERS = 2.0**30, 2_000
_INT_MAX = np.iinfo(np.int32).max


class FileTriangles(NamedTuple):
    """A triangle mesh as it stands in a file.

    Attributes:
        vert: vertices (n, 3) [m].
        face: vertices of the faces (m, 3); none means the convex hull of the vertices.
        normal: normals (k, 3); may be none.
        texcoord: texture coordinates (k, 2); may be none.
        facenormal, facetexcoord: normals and texture coordinates of the faces (m, 3), -1 where a
            corner has none; None if they have the numbers of the vertices.
    """

    vert: np.ndarray
    face: np.ndarray
    normal: np.ndarray = np.zeros((0, 3))
    texcoord: np.ndarray = np.zeros((0, 2))
    facenormal: np.ndarray | None = None
    facetexcoord: np.ndarray | None = None

    def mirrored(self) -> "FileTriangles":
        """The faces seen from the other side."""
        turned = {
            name: faces[:, [0, 2, 1]]
            for name in ("face", "facenormal", "facetexcoord")
            if (faces := getattr(self, name)) is not None
        }
        return self._replace(**turned)


def real(data: ArrayLike, width: int) -> np.ndarray:
    """Numbers rounded to single precision, as rows of `width`."""
    with np.errstate(over="ignore"):  # too large is infinite, which `meshes` refuses
        return np.asarray(data, np.float32).astype(np.float64).reshape(-1, width)


def read_mesh(content: bytes, extension: str) -> FileTriangles:
    """The mesh in a file.

    Args:
        content: the file.
        extension: end of the file's name, with the dot, which gives the format.

    Raises:
        ValueError: the file is not a mesh in this format.
    """
    reader = READERS.get(extension.lower())
    if reader is None:
        known = ", ".join(READERS)
        raise ValueError(f"mesh files must end in one of {known}, not {extension!r}")
    return reader(content)


def read_stl(content: bytes) -> FileTriangles:
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
    return FileTriangles(vert, face.reshape(-1, 3))


def unique_vertices(vert: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices without repetition, in order of appearance, and where each one went."""
    keys = np.ascontiguousarray(vert + 0.0)  # -0 is 0
    rows = keys.view(np.dtype((np.void, keys.dtype.itemsize * 3))).ravel()
    _, first, place = np.unique(rows, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return vert[first[order]], rank[place.ravel()].astype(np.int32)


def read_msh(content: bytes) -> FileTriangles:
    """MuJoCo's own format: four counts, then vertices, normals, texture coordinates, faces."""
    if len(content) < 16:
        raise ValueError("the MSH file has no header")
    nvert, nnormal, ntexcoord, nface = (int(n) for n in np.frombuffer(content, "<i4", 4))
    sizes = nvert >= 4 and nface >= 0 and nnormal in (0, nvert) and ntexcoord in (0, nvert)
    if not sizes:
        raise ValueError("the sizes in the MSH file are wrong")
    counts = (3 * nvert, 3 * nnormal, 2 * ntexcoord)
    if len(content) != 16 + 4 * (sum(counts) + 3 * nface):
        raise ValueError("the size of the MSH file does not match its header")
    data = np.frombuffer(content, "<f4", sum(counts), 16)
    vert, normal, texcoord = np.split(data, np.cumsum(counts)[:2])
    face = np.frombuffer(content, "<i4", 3 * nface, 16 + 4 * sum(counts)).reshape(-1, 3)
    return FileTriangles(real(vert, 3), face, real(normal, 3), real(texcoord, 2))


# ---- OBJ ----------------------------------------------------------------------------------------

_LINES = {
    tag: re.compile(rb"^[ \t]*" + tag.encode() + rb"[ \t]+(.*)$", re.MULTILINE)
    for tag in ("v", "vt", "vn", "f")
}
# Which of vertex, texture coordinate, normal a corner has, by its numbers of / and //.
_LEADING = re.compile(rb"[+-]?[0-9]+")
_CORNERS = {(0, 0): (0,), (1, 0): (0, 1), (2, 0): (0, 1, 2), (2, 1): (0, 2)}
_GROUP = re.compile(rb"^[ \t]*[og][ \t]", re.MULTILINE)
_BLANK = np.isin(np.arange(256), list(b" \t\r\n\v\f"))
_NEWLINE = ord("\n")


def read_obj(content: bytes) -> FileTriangles:
    """The vertices and the first group of faces of an OBJ file; polygons become triangles."""
    vert = _coordinates(_LINES["v"].findall(content), 3)
    texcoord = _coordinates(_LINES["vt"].findall(content), 2)
    normal = _coordinates(_LINES["vn"].findall(content), 3)
    counts = (len(vert), len(texcoord), len(normal))
    first = _LINES["f"].search(content)
    group = _GROUP.search(content, first.start()) if first else None
    faces = _LINES["f"].findall(content[: group.start()] if group else content)
    corners = _corners(faces, counts, vert)
    face, facetexcoord, facenormal = (corners[:, :, i] for i in range(3))
    texcoord[:, 1] = 1 - texcoord[:, 1]  # pictures begin at the top
    return FileTriangles(
        vert,
        face,
        normal,
        texcoord,
        facenormal if len(normal) else None,
        facetexcoord if len(texcoord) else None,
    )


def _words(lines: list[bytes]) -> tuple[list[bytes], np.ndarray]:
    """All words of the lines, and how many each line has."""
    text = b"\n".join(lines)
    letters = np.frombuffer(text, np.uint8)
    blank = _BLANK[letters]
    begins = ~blank & np.append(True, blank[:-1])
    line = np.cumsum(letters == _NEWLINE)[begins]
    return text.split(), np.bincount(line, minlength=len(lines))


def _coordinates(lines: list[bytes], width: int) -> np.ndarray:
    """The first `width` numbers of each line, (n, width); 0 where there is no number."""
    words, size = _words(lines)
    place = np.cumsum(size)[:, None] - size[:, None] + np.arange(width)
    there = np.arange(width) < size[:, None]
    table = np.where(there, np.append(np.array(words, "S"), b"0")[np.where(there, place, -1)], b"0")
    try:
        return real(table.astype(np.float64), width)
    except ValueError:
        return real([_number(word) for word in table.ravel()], width)


def _number(word: bytes) -> float:
    try:
        return float(word)
    except ValueError:
        return 0.0


def _corners(lines: list[bytes], counts: tuple[int, int, int], vert: np.ndarray) -> np.ndarray:
    """Vertex, texture coordinate and normal (m, 3, 3) of the corners of the triangles."""
    words, size = _words(lines)
    flat = _indices(words)
    # Indices count from 1; negative indices count back from the end.
    flat = np.where(flat > 0, flat - 1, np.where(flat < 0, flat + np.array(counts), -1))
    start = np.cumsum(size) - size
    pieces: list[tuple[np.ndarray, np.ndarray]] = []  # (line, corners) of triangles
    for n in np.unique(size[size >= 3]):
        rows = np.flatnonzero(size == n)
        polygon = flat[start[rows][:, None] + np.arange(n)]
        if n == 3:
            pieces.append((rows, polygon))
            continue
        if n > _MAX_CORNERS:
            raise ValueError(f"a face of the OBJ file has more than {_MAX_CORNERS:,} corners")
        which, places = polygons.cut(vert[np.clip(polygon[:, :, 0], 0, len(vert) - 1)])
        pieces.append((rows[which], polygon[which[:, None], places]))
    if not pieces:
        return np.zeros((0, 3, 3), np.int32)
    order = np.argsort(np.concatenate([row for row, _ in pieces]), kind="stable")
    found = np.concatenate([corners for _, corners in pieces])[order]
    return np.clip(found, -1, _INT_MAX).astype(np.int32)


def _indices(words: list[bytes]) -> np.ndarray:
    """Corners ``v``, ``v/vt``, ``v//vn`` or ``v/vt/vn`` as (n, 3) integers; 0 where absent."""
    if not words:
        return np.zeros((0, 3), np.int64)
    text, n = b" ".join(words), len(words)
    letters = np.frombuffer(text, np.uint8)
    word, slash = np.cumsum(letters == ord(" ")), letters == ord("/")
    double = slash[:-1] & slash[1:]
    counts = (np.bincount(word[slash], minlength=n), np.bincount(word[:-1][double], minlength=n))
    forms = set(zip(*(count.tolist() for count in counts), strict=True))
    columns = _CORNERS.get(forms.pop()) if len(forms) == 1 else None
    try:
        numbers = np.array(text.replace(b"/", b" ").split(), "S").astype(np.int64)
    except (ValueError, OverflowError):
        columns = None
    if columns is None or len(numbers) != n * len(columns):  # each corner in its own form
        following = [*words[1:], b""]
        return np.array([_corner(*pair) for pair in zip(words, following, strict=True)], np.int64)
    if not numbers.all():
        raise ValueError("a face of the OBJ file has the index 0; they are counted from 1")
    table = np.zeros((n, 3), np.int64)
    table[:, columns] = numbers.reshape(n, -1)
    return table


def _corner(word: bytes, following: bytes) -> list[int]:
    """One corner as MuJoCo reads it: it skips text after a number, and reads on at an empty end."""
    parts = word.split(b"/")
    if len(parts) > 3:
        raise ValueError("a corner of a face of the OBJ file has more than three indices")
    parts[-1] = parts[-1] or following
    absent = 1 if len(parts) == 3 and not parts[1] else None
    found = [0, 0, 0]
    for i, part in enumerate(parts):
        digits = _LEADING.match(part)
        found[i] = int(digits[0]) if digits else 0
        if not found[i] and i != absent:
            raise ValueError("a face of the OBJ file is not a list of numbers counted from 1")
    return found


READERS: dict[str, Callable[[bytes], FileTriangles]] = {
    ".obj": read_obj,
    ".stl": read_stl,
    ".msh": read_msh,
}
