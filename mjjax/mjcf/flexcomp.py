"""Checks soft bodies from `<flexcomp>`. mjjax compiles none of them."""

import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from mjjax.mjcf import defaults, gmsh
from mjjax.mjcf.read import Files, Node

Values = dict[str, Any]
_TINY = 1e-15
_GRID, _MESH, _GMSH, _DIRECT = 0, 7, 8, 9


def check_flexcomps(root: Node, files: Files) -> None:
    """Refuses soft bodies that MuJoCo refuses.

    Raises:
        MjcfError: a soft body is wrong; the message names the element.
    """
    for node, body in _found(root, "world"):
        _check(node, body, files)


def _found(node: Node, body: str) -> Iterator[tuple[Node, str]]:
    """All `<flexcomp>` with the name of the body that each is in."""
    for child in node.children:
        if child.tag == "flexcomp":
            yield child, body
        yield from _found(child, child.values.get("name", "") if child.tag == "body" else body)


def _check(node: Node, body: str, files: Files) -> None:
    values = defaults.overlay(defaults.builtin(node.key), node)
    if not body:
        raise node.error("the body that holds it needs a name", "give the body a name")
    if not 1 <= values["dim"] <= 3:
        raise node.error(f"dim must be 1, 2 or 3, not {values['dim']}")
    if min(values["count"]) < 1:
        raise node.error("count must be positive")
    if min(values["spacing"]) < 2 * values["radius"]:
        raise node.error("spacing must not be less than twice the radius", "reduce the radius")
    if min(values["mass"], values["inertiabox"]) < _TINY:
        raise node.error("mass and inertiabox must be positive")
    if min(abs(x) for x in values["scale"]) < _TINY:
        raise node.error("scale must not be zero")
    npoint = FLEX_POINTS.get(values["type"], _any)(node, values, files)
    for pin in node.children:
        if pin.tag == "pin" and npoint is not None:
            _check_pin(pin, values, npoint)


def _any(node: Node, values: Values, files: Files) -> None:
    """Accepts shapes whose points are not counted before they are built."""


def _grid(node: Node, values: Values, files: Files) -> int:
    dim, count = values["dim"], values["count"]
    if min(count[:dim]) < 2:
        raise node.error(f"a grid of dimension {dim} needs a count of 2 or more in each")
    if dim == 2 and count[2] > 1:
        raise node.error("a grid of dimension 2 needs a third count of 1", "set dim='3'")
    return math.prod(count[:dim])


def _mesh(node: Node, values: Values, files: Files) -> None:
    if not values["file"]:
        raise node.error("this type needs a file")


def _gmsh(node: Node, values: Values, files: Files) -> int | None:
    _mesh(node, values, files)
    name = values["file"]
    found = files.find(name, os.path.dirname(node.file), node.origin)
    if found is None:
        raise node.error(f"there is no file {name!r}")
    return gmsh.count_points(found[1], values["dim"], node.origin)


def _direct(node: Node, values: Values, files: Files) -> int:
    point, element, dim = (values[k] for k in ("point", "element", "dim"))
    if not point or not element:
        raise node.error("type 'direct' needs point and element")
    if len(point) % 3:
        raise node.error("point needs three numbers for each point")
    if len(element) % (dim + 1):
        raise node.error(f"element needs {dim + 1} points for each element of dimension {dim}")
    npoint = len(point) // 3
    wrong = [i for i in element if not 0 <= i < npoint]
    if wrong:
        raise node.error(f"element has point {wrong[0]}, but there are {npoint} points")
    return npoint


FLEX_POINTS = {_GRID: _grid, _MESH: _mesh, _GMSH: _gmsh, _DIRECT: _direct}


def _check_pin(pin: Node, values: Values, npoint: int) -> None:
    groups = {"id": 1, "range": 2, "grid": values["dim"], "gridrange": 2 * values["dim"]}
    for name, size in groups.items():
        numbers = pin.values.get(name) or ()
        if len(numbers) % size:
            raise pin.error(f"{name} needs a multiple of {size} numbers")
        if not numbers:
            continue
        if name in ("grid", "gridrange"):
            if values["type"] != _GRID:
                raise pin.error(f"{name} goes with type 'grid' only", "use id or range")
            most = np.array(values["count"][: values["dim"]])
            inside = (np.reshape(numbers, (-1, len(most))) < most).all()
        else:
            inside = max(numbers) < npoint
        if not inside or min(numbers) < 0:
            raise pin.error(f"{name} names a point that does not exist")
