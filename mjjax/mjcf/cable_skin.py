"""The skin of a cable of boxes: a flat strip that follows them."""

from typing import Any

import numpy as np

from mjjax.mjcf.defaults import builtin
from mjjax.mjcf.element import Element
from mjjax.mjcf.read import Node

_WHITE = (1.0, 1.0, 1.0, 1.0)


def cable_skin(
    node: Node, given: Node | None, size: tuple[float, ...], bodies: list[Element], warnings: list
) -> Element:
    """The skin that MuJoCo gives to the bodies of a cable.

    Args:
        node: the composite.
        given: the attributes of the skin in the composite.
        size: size of the boxes before they are stretched along the cable.
        bodies: bodies of the cable.
        warnings: gets messages for the user.
    """
    values = builtin("skin") | {"name": f"{node.values.get('prefix', '')}Skin", "rgba": _WHITE}
    n = len(bodies) + 1
    if given is not None:
        own = given.values
        values |= {name: own[name] for name in ("rgba", "group", "material") if name in own}
        if own.get("subgrid", 0) > 0:
            warnings.append(str(given.error("subgrid is ignored; the skin is drawn without it")))
        if own.get("texcoord"):
            values["texcoord"] = _texcoord(n)
    face = tuple(int(i) for i in _faces(n).ravel())
    values |= {"vertex": (0.0,) * 12 * n, "face": face, "inflate": 2 * size[2]}
    skin = Element("skin", values, node.origin, key="skin")
    for i in range(n):
        body = bodies[i].name if i < n - 2 else f"{node.values.get('prefix', '')}B_last"
        x = 0.0 if i < n - 1 else -2 * size[0]
        for side in (0, 1):
            bone: dict[str, Any] = {
                "body": body,
                "bindpos": (x, (2 * side - 1) * size[1], 0.0),
                "bindquat": (1.0, 0.0, 0.0, 0.0),
                "vertid": (2 * i + side, 2 * (n + i) + side),
                "vertweight": (1.0, 1.0),
            }
            skin.add(Element("bone", bone, node.origin, key="bone"))
    return skin


def _texcoord(n: int) -> tuple[float, ...]:
    """Texture coordinates along and across the strip, for its upper and its lower side."""
    along, across = np.meshgrid(np.arange(n) / (n - 1), [0.0, 1.0], indexing="ij")
    return tuple(np.tile(np.stack([along, across], axis=-1).ravel(), 2).tolist())


def _faces(n: int) -> np.ndarray:
    """Triangles between pairs of vertices: upper side, lower side, left, right, the two ends."""
    i, m = 2 * np.arange(n - 1)[:, None], 2 * n
    last = 2 * (n - 1)
    quads = (
        ([0, 2, 3], [0, 3, 1]),
        ([m, m + 3, m + 2], [m, m + 1, m + 3]),
        ([0, m + 2, 2], [0, m, m + 2]),
        ([1, 3, m + 3], [1, m + 3, m + 1]),
    )
    sides = [np.stack([i + one, i + two], axis=1).reshape(-1, 3) for one, two in quads]
    ends = [[0, 1, m + 1], [0, m + 1, m]]
    ends += [[last, m + last + 1, last + 1], [last, m + last, m + last + 1]]
    return np.concatenate([*sides, ends])
