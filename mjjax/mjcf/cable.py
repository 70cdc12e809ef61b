"""The composite of type cable: a chain of bodies along a curve."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from mjjax.core.enums import GeomType, JointType
from mjjax.math.quat import conj, from_axis_angle, rotate
from mjjax.mjcf.budget import Budget
from mjjax.mjcf.cable_skin import cable_skin
from mjjax.mjcf.defaults import builtin, overlay
from mjjax.mjcf.element import Element
from mjjax.mjcf.orientation import EPS, IDENTITY, from_axes, mul, normalize
from mjjax.mjcf.read import Node
from mjjax.mjcf.spec import Spec

_TYPES = (GeomType.CAPSULE, GeomType.CYLINDER, GeomType.BOX)
_INSTEAD = {
    "particle": "replicate",
    "grid": "flexcomp",
    "rope": "composite type='cable'",
    "loop": "flexcomp",
    "cloth": "flexcomp",
}
_SHAPES: dict[str, Callable[[np.ndarray, Any], np.ndarray]] = {
    "s": lambda s, size: size[0] * s,
    "cos(s)": lambda s, size: size[1] * np.cos(np.pi * size[2] * s),
    "sin(s)": lambda s, size: size[1] * np.sin(np.pi * size[2] * s),
    "0": lambda s, size: np.zeros_like(s),
}
_INITIAL = {"free": JointType.FREE, "none": None}  # joint of the first body; otherwise a ball
_PARTS = 3  # elements of a segment: body, joint, geom
_GROUP = 3  # group of joints and sites, unless one is given


def composite(spec: Spec, budget: Budget, parent: Element, node: Node) -> None:
    """Adds the bodies of a cable, the exclusions between neighbours and MuJoCo's custom text.

    Raises:
        MjcfError: the composite has another type, or the cable is not a curve.
    """
    type_, prefix = node.values.get("type"), node.values.get("prefix", "")
    if type_ != "cable":
        hint = f"use <{_INSTEAD[type_]}>" if type_ in _INSTEAD else "use type='cable'"
        raise node.error(f"there is no composite of type {type_!r}", hint)
    parts = {child.tag: child for child in node.children}
    if sum(child.tag == "joint" for child in node.children) > 1:
        raise node.error("a cable can have only one kind of joint")
    if "joint" in parts and parts["joint"].values.get("kind") != "main":
        raise parts["joint"].error("the kind of the joint must be 'main'")
    budget.make(node.origin, _PARTS * max(node.values.get("count", (0,))[0], 0))
    points = _points(node)
    lengths, quats = _frames(points)
    bodies = _bodies(node, parts, len(lengths), lengths)
    start = points[0] + np.array(node.values.get("offset", (0, 0, 0)))
    for i, body in enumerate(bodies):
        pos = np.array([lengths[i - 1], 0, 0]) if i else start
        turn = mul(conj(quats[i - 1]), quats[i]) if i else quats[0]
        body.values.update(pos=tuple(pos.tolist()), quat=tuple(turn.tolist()))
        parent = parent.add(body)
    for first, second in itertools.pairwise(bodies):
        names = {"body1": first.name, "body2": second.name}
        spec.append(_element(node, "exclude", names))
    geom = _geom(parts)
    if geom["type"] == GeomType.BOX:
        skin = cable_skin(node, parts.get("skin"), geom["size"], bodies, spec.warnings)
        spec.append(skin)
    data = {"name": f"composite_{prefix}", "data": f"rope_{prefix}"}
    spec.append(_element(node, "text", data))


def _element(node: Node, kind: str, values: dict[str, Any]) -> Element:
    """An element of a composite, which starts from MuJoCo's own defaults."""
    return Element(kind, builtin(kind) | values, node.origin, key=kind)


def _points(node: Node) -> np.ndarray:
    """The points (n, 3) through which the cable runs, in single precision as in MuJoCo."""
    vertex, count = node.values.get("vertex"), node.values.get("count", ())
    if vertex:
        if count:
            raise node.error("vertex and count cannot both be given")
        points = np.array(vertex[: len(vertex) // 3 * 3], np.float64).reshape(-1, 3)
    else:
        if not count or count[0] < 2 or any(n != 1 for n in count[1:]):
            raise node.error("a cable must be one-dimensional", "set count='n 1 1'")
        shapes = [*node.values.get("curve", "").split(), "0", "0", "0"][:3]
        given = node.values.get("size", ())
        size = [*given, *(1.0, 0.0, 0.0)[len(given) :]]
        for shape in shapes:
            if shape not in _SHAPES:
                hint = f"one of {', '.join(_SHAPES)}"
                raise node.error(f"unknown shape {shape!r} in curve", hint)
        s = np.arange(count[0]) / (count[0] - 1)
        points = np.stack([_SHAPES[shape](s, size) for shape in shapes], axis=1)
        quat = np.array(node.values.get("quat", IDENTITY), np.float64)  # as given, as in MuJoCo
        points = rotate(np.tile(quat, (len(points), 1)), points)
    if len(points) < 2:
        raise node.error("a cable must be one-dimensional", "it needs two points or more")
    if len(points) == 3:
        raise node.error("a cable cannot have two bodies", "use two points, or more than three")
    return points.astype(np.float32).astype(np.float64)


def _frames(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Length of each segment, and a frame along it, with the least twist from one to the next."""
    edges = np.diff(points, axis=0)
    lengths = np.sqrt(np.sum(edges * edges, axis=1))
    x = normalize(edges)
    turns = np.vstack([np.cross(x[:-1], x[1:]), np.zeros(3)])
    sines = np.sqrt(np.sum(turns * turns, axis=1))
    straight = sines[:, None] < EPS
    axes = np.where(straight, [1.0, 0.0, 0.0], normalize(turns))
    side = _side(x[0]) if straight[0, 0] else axes[0]
    normal = normalize(np.cross(side, x[0]))
    quats = []
    for i, edge in enumerate(x):
        if i:
            angle = np.arctan2(sines[i - 1], x[i - 1] @ edge)
            normal = normalize(rotate(from_axis_angle(axes[i - 1], angle), normal))
        y = normal[None]
        quats.append(from_axes(edge[None], y, np.cross(edge[None], y))[0])
    return lengths, np.array(quats)


def _side(edge: np.ndarray) -> np.ndarray:
    """A direction orthogonal to an edge: z after the least rotation from x or -x to the edge."""
    start = np.array([1.0 if edge[0] > 0 else -1.0, 0.0, 0.0])
    return np.array([0.0, 0.0, 1.0]) - edge[2] / (1 + start @ edge) * (start + edge)


def _bodies(node: Node, parts: dict[str, Node], count: int, lengths: np.ndarray) -> list[Element]:
    """The bodies with their elements, before they are placed."""
    prefix = node.values.get("prefix", "")
    free = _INITIAL.get(node.values.get("initial", "ball"), JointType.BALL)
    geom = _geom(parts)
    if geom["type"] not in _TYPES:
        raise node.error("the geom of a cable must be a capsule, cylinder or box")
    joint = dict(builtin("joint"), group=_GROUP)
    joint = overlay(joint, parts["joint"]) if "joint" in parts else joint
    site = dict(builtin("site"), group=_GROUP)
    site = overlay(site, parts["site"]) if "site" in parts else site
    bodies = []
    for i in range(count):
        label = "first" if i == 0 else "last" if i == count - 1 else str(i)
        body = _element(node, "body", {"name": f"{prefix}B_{label}"})
        kind = JointType.BALL if i else free
        if kind is not None:
            values = dict(joint, name=f"{prefix}J_{label}", type=int(kind))
            if kind == JointType.FREE:
                values = dict(builtin("joint"), name=values["name"], type=0, group=values["group"])
            body.add(_element(node, "joint", values))
        body.add(_element(node, "geom", _stretched(dict(geom, name=f"{prefix}G{i}"), lengths[i])))
        if i in (0, count - 1):
            at = (lengths[i] if i == count - 1 else 0.0, 0.0, 0.0)
            body.add(_element(node, "site", dict(site, name=f"{prefix}S_{label}", pos=at)))
        bodies.append(body)
    return bodies


def _geom(parts: dict[str, Node]) -> dict[str, Any]:
    """The values of the geoms, before they are stretched."""
    start = builtin("geom")
    return overlay(start, parts["geom"]) if "geom" in parts else dict(start)


def _stretched(geom: dict[str, Any], length: float) -> dict[str, Any]:
    """The geom along a segment of the cable."""
    if geom["type"] == GeomType.BOX:
        size = (length / 2, *geom["size"][1:])
        return geom | {"size": size, "pos": (length / 2, 0.0, 0.0)}
    return geom | {"fromto": (0.0, 0.0, 0.0, float(length), 0.0, 0.0)}
