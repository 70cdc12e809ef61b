"""Checks whether files of the mesh generator Gmsh, versions 2.2 and 4.1, can be used for a flex."""

import numpy as np

from mjjax.core.errors import Origin

_SIMPLEX = {1: 1, 2: 2, 3: 4}  # by dimension, the element type: line, triangle, tetrahedron


def count_points(content: bytes, dim: int, origin: Origin) -> int | None:
    """Number of points of a file, None for a binary one, which is not looked into.

    Args:
        content: the file.
        dim: dimension of the elements of the flex.
        origin: the element that names the file.

    Raises:
        MjcfError: the file is not one that MuJoCo reads.
    """
    header = _section(content, b"MeshFormat", origin)
    if len(header) < 3 or header[0] not in (b"2.2", b"4.1"):
        raise origin.error("the Gmsh file must have version 2.2 or 4.1", "export it as MSH 4.1")
    if header[1] != b"0":
        return None
    nodes, elements = (
        _numbers(_section(content, name, origin), origin) for name in (b"Nodes", b"Elements")
    )
    count, check = _VERSIONS[header[0]]
    npoint = count(nodes, origin)
    check(elements, npoint, dim, origin)
    return npoint


def _section(content: bytes, name: bytes, origin: Origin) -> list[bytes]:
    start, end = content.find(b"$" + name), content.find(b"$End" + name)
    if not 0 <= start < end:
        raise origin.error(f"the Gmsh file has no section {name.decode()}")
    return content[start + len(name) + 1 : end].split()


def _numbers(words: list[bytes], origin: Origin) -> np.ndarray:
    try:
        return np.array([float(word) for word in words])
    except ValueError:
        raise origin.error("the Gmsh file has words where numbers should be") from None


def _points_2(nodes: np.ndarray, origin: Origin) -> int:
    """Number of points of a list: count, then number and position of each."""
    n = int(nodes[0]) if len(nodes) else 0
    if n < 1 or len(nodes) != 1 + 4 * n:
        raise origin.error("the number of nodes in the Gmsh file is missing or wrong")
    _sequential(nodes[1::4], origin)
    return n


def _points_4(nodes: np.ndarray, origin: Origin) -> int:
    """Number of points of one block: two headers, numbers, positions."""
    if len(nodes) < 8 or nodes[0] != 1:
        raise origin.error("all nodes of the Gmsh file must be in one block")
    n = int(nodes[7])
    if nodes[1] != n or nodes[3] != n:
        raise origin.error("the numbers of nodes in the Gmsh file's headers differ")
    if len(nodes) != 8 + 4 * n:
        raise origin.error("nodes of the Gmsh file are missing")
    _sequential(nodes[8 : 8 + n], origin)
    return n


def _sequential(tags: np.ndarray, origin: Origin) -> None:
    if not np.array_equal(tags, 1 + np.arange(len(tags))):
        raise origin.error("the nodes of the Gmsh file must be numbered from one")


def _elements_2(elements: np.ndarray, npoint: int, dim: int, origin: Origin) -> None:
    """A list: count, then number, type, count of tags, tags and points of each."""
    values = [int(x) for x in elements]
    if not values or values[0] < 1:
        raise origin.error("the number of elements in the Gmsh file is missing")
    at, used = 1, []
    for _ in range(values[0]):
        if at + 2 >= len(values):
            raise origin.error("elements of the Gmsh file are missing")
        kind, first = values[at + 1], at + 3 + values[at + 2]
        size = next((d + 1 for d, k in _SIMPLEX.items() if k == kind), 1)
        if kind == _SIMPLEX[dim]:
            used.append(values[first : first + dim + 1])
        at = first + size
    if at != len(values):
        raise origin.error("the number of elements in the Gmsh file is wrong")
    _in_range([i for points in used for i in points], npoint, origin)


def _elements_4(elements: np.ndarray, npoint: int, dim: int, origin: Origin) -> None:
    """One block: two headers, then number and points of each."""
    if len(elements) < 8 or elements[0] != 1:
        raise origin.error("all elements of the Gmsh file must be in one block")
    if elements[6] != _SIMPLEX[dim]:
        raise origin.error(f"the elements of the Gmsh file must have dimension {dim}")
    n = int(elements[7])
    if elements[1] != n or len(elements) != 8 + (dim + 2) * n:
        raise origin.error("the number of elements in the Gmsh file is missing or wrong")
    _in_range(elements[8:].reshape(n, dim + 2)[:, 1:].ravel().tolist(), npoint, origin)


def _in_range(points: list[float], npoint: int, origin: Origin) -> None:
    if not points or not 1 <= min(points) <= max(points) <= npoint:
        raise origin.error("elements of the Gmsh file name nodes that do not exist")


_VERSIONS = {b"2.2": (_points_2, _elements_2), b"4.1": (_points_4, _elements_4)}
