"""The compiler settings fusestatic and discardvisual: a smaller model with the same inertia."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mjjax.compiler.common.context import Context
from mjjax.compiler.common.names import Names
from mjjax.compiler.common.principal_axes import principal_axes
from mjjax.compiler.elements.bodies import combine
from mjjax.core.constants import MINVAL
from mjjax.mjcf import orientation as poses
from mjjax.mjcf.defaults import builtin
from mjjax.mjcf.element import Element
from mjjax.mjcf.order import settle
from mjjax.mjcf.references import references
from mjjax.mjcf.spec import Spec

_DRAWN = ("material", "texture")
_UNPAINTED = ("geom", "mesh", "material")  # for other kinds MuJoCo looks up the material
_INERTIAL = ("ipos", "iquat", "mass", "inertia")
_SOLID = ("geom", "site")
_ON_BODY = ("sensor.force", "sensor.torque")  # measure between a body and its parent


def simplify(spec: Spec, measured: Context) -> Spec:
    """The model that its compiler settings ask for; each remaining body gets an explicit inertia.

    Args:
        spec: the model; it is not changed.
        measured: this model, compiled up to the inertia of its bodies.
    """
    copies: dict[Element, Element] = {}
    small = spec.copy(copies)
    if small.turns:
        settle(small)
    bodies = [copies[e] for e in measured.tree.bodies.elements]
    inertia = {name: measured.fields[f"body_{name}"].copy() for name in _INERTIAL}
    fused = _fuse(small, bodies, measured, inertia) if spec.compiler["fusestatic"] else set()
    for i, body in enumerate(bodies):
        if i and i not in fused:
            _write_inertia(body, i, inertia)
    if spec.compiler["discardvisual"]:
        _discard_geoms(small)
    small.compiler.update(fusestatic=0, discardvisual=0, inertiafromgeom=0)
    small.size.update({n: x for n, x in measured.sizes.items() if n.startswith("nuser_")})
    return small


def _named(spec: Spec, kind: str) -> set[str]:
    """Names of the elements of a kind that something refers to."""
    return {r.name for e in spec.everything() for r in references(e) if r.kind == kind}


def _fuse(
    spec: Spec, bodies: Sequence[Element], measured: Context, inertia: dict[str, np.ndarray]
) -> set[int]:
    """Turns bodies without joints that nothing refers to into frames of their parents.

    Returns:
        The ids of these bodies. The `inertia` of the bodies that stay includes theirs.
    """
    f = measured.fields
    keep = _named(spec, "body")
    sites = measured.members("site")
    owner = {e.name: body for e, body in zip(sites.elements, sites.body, strict=True)}
    needed = {
        owner.get(r.name)
        for e in spec.elements.get("sensor", ())
        if e.key in _ON_BODY
        for r in references(e)
    }
    parent, pos, quat = (f[f"body_{name}"].copy() for name in ("parentid", "pos", "quat"))
    fused = set()
    for i, body in enumerate(bodies):
        if not i or f["body_jntnum"][i] or body.values["mocap"] or i in needed:
            continue
        if body.name in keep:
            continue
        fused.add(i)
        children = np.flatnonzero(parent == i)
        up = parent[i]
        pos[children], quat[children] = poses.compose(
            pos[i], quat[i], pos[children], quat[children]
        )
        parent[children] = up
        if up and inertia["mass"][i] >= MINVAL:
            _add_inertia(inertia, up, i, pos[i], quat[i])
        _dissolve(body, bodies[up], pos[i], quat[i])
    return fused


def _add_inertia(
    inertia: dict[str, np.ndarray], up: int, i: int, pos: np.ndarray, quat: np.ndarray
) -> None:
    """Adds the inertia of body i, at a pose in body `up`, to the inertia of `up`.

    MuJoCo composes the pose of the body and that of its inertia in the opposite order.
    """
    centre, turn = poses.compose(inertia["ipos"][i], inertia["iquat"][i], pos, quat)
    mass, centre, matrix = combine(
        inertia["mass"][None, [up, i]],
        np.stack([inertia["ipos"][up], centre])[None],
        np.stack([inertia["iquat"][up], turn])[None],
        inertia["inertia"][None, [up, i]],
    )
    moments, axes = principal_axes(matrix)
    for name, value in zip(_INERTIAL, (centre, axes, mass, moments), strict=True):
        inertia[name][up] = value[0]


def _dissolve(body: Element, up: Element, pos: np.ndarray, quat: np.ndarray) -> None:
    """Leaves the bodies inside `body` where they are and moves the rest to the end of `up`.

    MuJoCo moves cameras and lights without their place in the world.
    """
    inner, members, unmoved = (
        list(_part(body.children, kinds)) for kinds in (("body",), _SOLID, ("camera", "light"))
    )
    written = {name: body.values[name] for name in ("pos", "quat", "alt")}
    frame = _frame(body, written, inner)
    holder = body.parent or up
    holder.children[holder.children.index(body)] = frame
    frame.parent = holder
    numbers = {"pos": tuple(pos.tolist()), "quat": tuple(quat.tolist()), "alt": None}
    up.add(_frame(body, numbers, members))
    up.add(_frame(body, {}, unmoved))


def _frame(like: Element, pose: dict[str, Any], children: Sequence[Element]) -> Element:
    values = builtin("frame") | pose
    frame = Element("frame", values, like.origin, like.classname, key="frame")
    for child in children:
        frame.add(child)
    return frame


def _part(children: Sequence[Element], kinds: Sequence[str]) -> Iterator[Element]:
    """The children of the given kinds, each in copies of its frames."""
    for child in children:
        if child.kind == "frame":
            pose = {name: child.values[name] for name in ("pos", "quat", "alt")}
            yield _frame(child, pose, list(_part(child.children, kinds)))
        elif child.kind in kinds:
            yield child


def _write_inertia(body: Element, i: int, inertia: dict[str, np.ndarray]) -> None:
    """Replaces the inertial of a body by the numbers of its row; a body without mass has none."""
    for element in list(_inertials(body)):
        if element.parent is not None:
            element.parent.remove(element)
    pos, quat, mass, moments = (inertia[name][i].tolist() for name in _INERTIAL)
    if mass or any(moments):
        values = {"pos": tuple(pos), "quat": tuple(quat), "mass": mass}
        values = builtin("inertial") | values | {"diaginertia": tuple(moments)}
        body.add(Element("inertial", values, body.origin, key="inertial"))


def _inertials(parent: Element) -> Iterator[Element]:
    for child in parent.children:
        if child.kind == "inertial":
            yield child
        elif child.kind == "frame":
            yield from _inertials(child)


def without_paint(spec: Spec) -> Spec:
    """A copy without materials and textures, so that their files and contents do not matter.

    Raises:
        MjcfError: a material or texture has no name, or the name of another one, or an element
            whose material MuJoCo looks up names it.
    """
    small = spec.copy()
    for kind in _DRAWN:
        Names().add(kind, small.elements[kind])
        for element in small.elements[kind]:
            if not element.name:
                raise element.origin.error(f"a {kind} needs a name")
    for element in small.everything():
        for r in [r for r in references(element) if r.kind in _DRAWN]:
            if element.kind not in _UNPAINTED:
                raise element.origin.error(
                    f"discardvisual removes the {r.kind} {r.name!r}", "remove the reference to it"
                )
            r.holder.values[r.attribute] = None
    small.elements |= {kind: [] for kind in _DRAWN}
    return small


def _discard_geoms(spec: Spec) -> None:
    """Removes geoms that touch nothing and that nothing refers to, and meshes without use."""
    keep = _named(spec, "geom")
    for geom in [e for e in spec.worldbody.walk() if e.kind == "geom"]:
        touches = geom.values["contype"] or geom.values["conaffinity"]
        if not touches and geom.name not in keep and geom.parent is not None:
            geom.parent.remove(geom)
    used = _named(spec, "mesh")
    spec.elements["mesh"] = [e for e in spec.elements.get("mesh", ()) if e.name in used]
