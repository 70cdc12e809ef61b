"""Rewrites URDF trees as MJCF trees, as MuJoCo does, so that all later code is the same.

A link becomes a body, and a joint becomes the joints of its child. Parts that simulation does not
need (mimic, transmissions, textures, velocity limits, ...) and the rotation of an inertia matrix
are ignored.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from mjjax.math.quat import rotate
from mjjax.mjcf.check import read_value
from mjjax.mjcf.element import Element
from mjjax.mjcf.orientation import from_z, normalize, orientations
from mjjax.mjcf.read import Node
from mjjax.mjcf.schema import ELEMENTS, attributes

_WORLD = "world"  # the link that is the world
_DEEPEST = 250  # links
_SETTINGS = ("compiler", "option", "size")
_DEFAULTS = {"strippath": "true", "fusestatic": "true", "discardvisual": "true"}
_ATTRIBUTES = {
    tag: attributes(text)
    for tag, text in {
        "link": "name text *",
        "joint": "name text *; type text *",
        "parent": "link text *",
        "child": "link text *",
        "origin": "xyz real[3] = 0 0 0; rpy real[3] = 0 0 0",
        "axis": "xyz real[3] *",
        "limit": "lower real; upper real; effort real = 0",
        "dynamics": "damping real = 0; friction real = 0",
        "mass": "value real *",
        "inertia": "ixx real *; iyy real *; izz real *; ixy real *; ixz real *; iyz real *",
        "material": "name text",
        "color": "rgba real[4] *",
        "box": "size real[3] *",
        "cylinder": "radius real *; length real *",
        "capsule": "radius real *; length real *",
        "sphere": "radius real *",
        "mesh": "filename text *; scale real[3] = 1 1 1",
    }.items()
}
_VISUAL = {"contype": "0", "conaffinity": "0", "group": "1", "density": "0"}
_JOINTS = {
    "revolute": "hinge",
    "continuous": "hinge",
    "prismatic": "slide",
    "floating": "free",
    "spherical": "ball",
}
Attributes = dict[str, str]  # the attributes of one MJCF element


@dataclass
class _Robot:
    """A robot being rewritten.

    Attributes:
        links: links by name.
        joints: for each link the joint that holds it.
        children: links by the link that holds them, in the order of the joints.
        colors: colours of the materials by name.
        world: node that gets the links.
        assets: node that gets the meshes.
        names: names of geoms so far.
        meshes: scales of the meshes so far, by name of the file.
        reached: links done so far.
        visuals: whether geoms that are only drawn are kept. If not, then as in MuJoCo only their
            colours are read, not even the names of their files.
        warnings: messages for the user.
    """

    links: dict[str, Node]
    joints: dict[str, Node]
    children: dict[str, list[str]]
    colors: dict[str, str]
    world: Node
    assets: Node
    visuals: bool
    warnings: list[str]
    names: set[str] = field(default_factory=set)
    meshes: dict[str, list[str]] = field(default_factory=dict)
    reached: set[str] = field(default_factory=set)


def to_mjcf(node: Node, warnings: list[str]) -> Node:
    """The MJCF tree of a URDF tree; `warnings` gets messages for the user.

    Raises:
        MjcfError: the tree is not a robot that MuJoCo reads.
        UnsupportedFeature: a chain of links is too long.
    """
    links = {}
    for link in _named(node, "link"):
        name = link.values["name"]
        if name in links:
            raise link.error(f"the name {name!r} is already used by another link")
        links[name] = link
    joints: dict[str, Node] = {}
    children: dict[str, list[str]] = {}
    for joint in _named(node, "joint"):
        parent, child = (_link(joint, tag, links) for tag in ("parent", "child"))
        if child in joints:
            raise joint.error(f"link {child!r} is already held by another joint")
        joints[child] = joint
        children.setdefault(parent, []).append(child)
    world, assets = _made(node, "worldbody"), _made(node, "asset")
    settings = _settings(node)
    visuals = settings[0].attrib["discardvisual"] != "true"
    robot = _Robot(links, joints, children, _colors(node), world, assets, visuals, warnings)
    for name in links:
        if name not in joints:
            _add_link(robot, name, world, 0)
    for name, link in links.items():
        if name not in robot.reached:
            raise link.error("the link holds itself through its joints", "remove one of them")
    root = _made(node, "mujoco", {"model": node.attrib["name"]} if "name" in node.attrib else {})
    root.children = [*settings, assets, world]
    return root


def _made(like: Node, tag: str, attrib: Attributes | None = None) -> Node:
    return Node(tag, dict(attrib or {}), like.file, like.line)


def _text(numbers: Iterable[float]) -> str:
    return " ".join(repr(float(number)) for number in numbers)


# ---- reading ------------------------------------------------------------------------------------


def _read(node: Node) -> Node:
    """Fills the values of a node; attributes that are not read are ignored."""
    for name, attribute in _ATTRIBUTES[node.tag].items():
        node.values[name] = attribute.default
        if name in node.attrib:
            node.values[name] = read_value(node, attribute, node.attrib[name])
        elif attribute.required:
            raise node.error(f"attribute {name!r} is required")
    return node


def _named(node: Node, tag: str) -> list[Node]:
    return [_read(child) for child in node.children if child.tag == tag]


def _only(node: Node, tag: str) -> Node | None:
    """The child called `tag`, read if it has attributes."""
    found = [child for child in node.children if child.tag == tag]
    if len(found) > 1:
        raise found[1].error(f"only one <{tag}> is allowed in <{node.tag}>")
    if not found:
        return None
    return _read(found[0]) if tag in _ATTRIBUTES else found[0]


def _needed(node: Node, tag: str) -> Node:
    found = _only(node, tag)
    if found is None:
        raise node.error(f"a <{tag}> is missing in <{node.tag}>")
    return found


def _link(joint: Node, tag: str, links: dict[str, Node]) -> str:
    name = _needed(joint, tag).values["link"]
    if name not in links:
        raise joint.error(f"there is no link {name!r}")
    return name


def _pose(node: Node) -> Attributes:
    """Position and orientation; roll, pitch and yaw turn about fixed axes."""
    origin = _only(node, "origin")
    if origin is None:
        return {}
    turn = Element("", {"quat": (1.0, 0.0, 0.0, 0.0), "alt": ("euler", origin.values["rpy"])})
    quat = orientations([turn], False, "XYZ")[0]
    return {"pos": _text(origin.values["xyz"]), "quat": _text(quat)}


def _settings(node: Node) -> list[Node]:
    """The MJCF sections of the extension <mujoco>; unknown sections are ignored."""
    extension, found = _only(node, "mujoco"), []
    for tag in _SETTINGS:
        given = _only(extension, tag) if extension else None
        section = _known(given or _made(node, tag), tag)
        if tag == "compiler":
            section.attrib = _DEFAULTS | section.attrib | {"angle": "radian"}
        found.append(section)
    return found


def _known(node: Node, key: str) -> Node:
    schema = ELEMENTS[key]
    found = _made(node, node.tag, {n: x for n, x in node.attrib.items() if n in schema.attributes})
    for child in node.children:
        if child.tag in schema.children:
            found.children.append(_known(child, schema.children[child.tag][0]))
    return found


def _colors(root: Node) -> dict[str, str]:
    """Colours by name of the material, wherever it stands; the first one counts."""
    found: dict[str, str] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting.extend(reversed(node.children))
        if node.tag == "material":
            name, color = node.attrib.get("name"), _only(node, "color")
            if name and color is not None:
                found.setdefault(name, _text(color.values["rgba"]))
    return found


# ---- writing ------------------------------------------------------------------------------------


def _add_link(robot: _Robot, name: str, parent: Node, depth: int) -> None:
    """Adds a link with all that it holds; the content of the link ``world`` goes into the world."""
    link, joint = robot.links[name], robot.joints.get(name)
    robot.reached.add(name)
    if depth > _DEEPEST:
        raise link.unsupported(f"more than {_DEEPEST} links hang from one another")
    body = robot.world
    if name != _WORLD:
        pose = _pose(joint) if joint else {}
        body = _made(link, "body", ({"name": name} if name else {}) | pose)
        parent.children.append(body)
        body.children += _inertial(link)
    if joint:
        body.children += _joints(joint)
    color: Attributes = {}
    for node in link.children:
        if node.tag in ("visual", "collision"):
            color = _color(robot, node) or color
            if node.tag == "collision" or robot.visuals:
                body.children.append(_geom(robot, node, color))
    for child in robot.children.get(name, ()):
        _add_link(robot, child, body, depth + 1)


def _inertial(link: Node) -> list[Node]:
    node = _only(link, "inertial")
    if node is None:
        return []
    mass, inertia = _needed(node, "mass"), _needed(node, "inertia")
    matrix = tuple(inertia.values.values())
    pose = {"pos": "0 0 0"} | _pose(node)
    if any(matrix):
        pose.pop("quat", None)
        moments = {"fullinertia": _text(matrix)}
    else:
        moments = {"diaginertia": "0 0 0"}
    return [_made(node, "inertial", pose | {"mass": _text([mass.values["value"]])} | moments)]


def _joints(node: Node) -> list[Node]:
    """The MJCF joints of a joint."""
    name, kind = node.values["name"], node.values["type"]
    found = _only(node, "axis")
    axis = np.array([found.values["xyz"] if found else (1.0, 0.0, 0.0)])
    if kind == "fixed":
        return []
    common = _dynamics(node)
    if kind == "planar":
        frame = rotate(from_z(normalize(axis)), np.eye(3)[:2])
        limits = (_limits(node), {}, {})
        return [
            _made(node, "joint", {"name": name + end, "type": type_, "axis": _text(v)} | common | x)
            for end, type_, v, x in zip(
                ("_TX", "_TY", "_RZ"),
                ("slide", "slide", "hinge"),
                (*frame, axis[0]),
                limits,
                strict=True,
            )
        ]
    if kind not in _JOINTS:
        raise node.error(f"unknown joint type {kind!r}", f"one of {', '.join(_JOINTS)}, ...")
    attrib = {"type": _JOINTS[kind], "axis": _text(axis[0])} | common | _limits(node)
    return [_made(node, "joint", attrib | ({"name": name} if name else {}))]


def _dynamics(node: Node) -> Attributes:
    dynamics = _only(node, "dynamics")
    if dynamics is None:
        return {}
    values = dynamics.values
    return {"damping": _text([values["damping"]]), "frictionloss": _text([values["friction"]])}


def _limits(node: Node) -> Attributes:
    """The limits of a joint: a range with both ends in order, and the effort of actuators."""
    limit = _only(node, "limit")
    if limit is None:
        return {}
    found, (lower, upper) = {}, (limit.values["lower"], limit.values["upper"])
    if lower is not None or upper is not None:
        found["range"] = _text((lower or 0, upper or 0))
        if lower is None or upper is None or lower > upper:
            found["limited"] = "false"
    effort = abs(limit.values["effort"])
    if effort:
        found["actuatorfrcrange"] = _text((-effort, effort))
    return found


def _color(robot: _Robot, node: Node) -> Attributes:
    """The colour that a visual gives, also to the visuals after it in the link."""
    material = _only(node, "material") if node.tag == "visual" else None
    if material is None:
        return {}
    color = _only(material, "color")
    if not color and material.values["name"] is None:
        raise material.error("attribute 'name' is required", "or give it a <color>")
    rgba = _text(color.values["rgba"]) if color else robot.colors.get(material.values["name"])
    return {"rgba": rgba} if rgba else {}


def _geom(robot: _Robot, node: Node, color: Attributes) -> Node:
    geometry, name = _needed(node, "geometry"), node.attrib.get("name")
    for tag, shape in _SHAPES.items():
        found = _only(geometry, tag)
        if found is not None:
            attrib = shape(robot, found) | _pose(node) | color
            break
    else:
        raise geometry.error("the geometry is missing", f"one of {', '.join(_SHAPES)}")
    if name in robot.names:
        robot.warnings.append(str(node.error(f"the name {name!r} is taken; the geom gets none")))
    elif name:
        robot.names.add(name)
        attrib["name"] = name
    return _made(node, "geom", attrib | (_VISUAL if node.tag == "visual" else {}))


def _round(kind: str) -> Callable[[_Robot, Node], Attributes]:
    """A shape with a radius and a length."""

    def shape(robot: _Robot, node: Node) -> Attributes:
        return {
            "type": kind,
            "size": _text((node.values["radius"], node.values["length"] / 2)),
        }

    return shape


def _mesh(robot: _Robot, node: Node) -> Attributes:
    """A mesh has the name of its file, with a number if the file occurs in another scale too.

    As in MuJoCo, a scale that occurs again gets the first mesh of the file.
    """
    path, scale = node.values["filename"], _text(node.values["scale"])
    name = path.replace("\\", "/").rpartition("/")[2]
    name = name.rpartition(".")[0] or name
    scales = robot.meshes.setdefault(name, [])
    if scale in scales:
        return {"type": "mesh", "mesh": name}
    unique = f"{name}{len(scales) or ''}"
    scales.append(scale)
    attrib = {"name": unique, "file": path, "scale": scale}
    robot.assets.children.append(_made(node, "mesh", attrib))
    return {"type": "mesh", "mesh": unique}


_SHAPES: dict[str, Callable[[_Robot, Node], Attributes]] = {
    "box": lambda robot, node: {
        "type": "box",
        "size": _text(x / 2 for x in node.values["size"]),
    },
    "cylinder": _round("cylinder"),
    "sphere": lambda robot, node: {"type": "sphere", "size": _text([node.values["radius"]])},
    "capsule": _round("capsule"),
    "mesh": _mesh,
}
