"""Flattens the kinematic tree into lists in MuJoCo's order, which gives the ids."""

from dataclasses import dataclass, field

import numpy as np

from mjjax.math import quat as q
from mjjax.math.tracked import real_array, together
from mjjax.mjcf import orientation as poses
from mjjax.mjcf.element import Element

MEMBER_KINDS = ("joint", "geom", "site", "camera", "light")


@dataclass
class BodyMembers:
    """The elements of one kind with the body and the frame they belong to."""

    elements: list[Element] = field(default_factory=list)
    body: list[int] = field(default_factory=list)
    frame: list[int] = field(default_factory=list)

    def add(self, element: Element, body: int, frame: int) -> None:
        """Appends one element."""
        self.elements.append(element)
        self.body.append(body)
        self.frame.append(frame)


@dataclass
class BodyTree:
    """The flattened world body.

    Attributes:
        bodies: all bodies, depth first; `body` of a body is its parent (0 for the world).
        members: joints, geoms, sites, cameras, lights, in the order of their bodies.
        inertials: the explicit inertia of a body, by body id.
        frames: all frames; `frame` of a frame is the frame around it, or -1 for the body itself.
        children: number of child bodies of each body.
    """

    bodies: BodyMembers = field(default_factory=BodyMembers)
    members: dict[str, BodyMembers] = field(
        default_factory=lambda: {k: BodyMembers() for k in MEMBER_KINDS}
    )
    inertials: dict[int, Element] = field(default_factory=dict)
    frames: BodyMembers = field(default_factory=BodyMembers)
    children: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))


def flatten(world: Element) -> BodyTree:
    """Bodies depth first, everything else in the order of its body, frames dissolved."""
    tree = BodyTree()
    waiting = [(world, 0, -1)]
    while waiting:
        body, parent, frame = waiting.pop()
        index = len(tree.bodies.elements)
        tree.bodies.add(body, parent, frame)
        waiting.extend(reversed(_collect(tree, body, index)))
    parents = np.array(tree.bodies.body[1:], np.int64)
    tree.children = np.bincount(parents, minlength=len(tree.bodies.elements)).astype(np.int32)
    return tree


def _collect(tree: BodyTree, holder: Element, body: int) -> list[tuple[Element, int, int]]:
    """Adds the content of a body; returns its child bodies, with the body and frame they are in."""
    inside: list[tuple[Element, int, int]] = []
    frames: dict[Element | None, int] = {holder: -1}
    for child in holder.members():
        frame = frames[child.parent]
        if child.kind == "body":
            inside.append((child, body, frame))
        elif child.kind == "frame":
            frames[child] = len(tree.frames.elements)
            tree.frames.add(child, body, frame)
        elif child.kind == "inertial":
            tree.inertials[body] = child
        else:
            tree.members[child.kind].add(child, body, frame)
    return inside


class Frames:
    """Poses of the frames relative to their body."""

    def __init__(self, frames: BodyMembers, degree: bool, sequence: str):
        n = len(frames.elements)
        pos = real_array([e.values["pos"] for e in frames.elements]).reshape(n, 3).copy()
        pos, quat = together(pos, poses.orientations(frames.elements, degree, sequence))
        for rows in _by_depth(frames.frame):
            outer = np.array(frames.frame)[rows]
            pos[rows], quat[rows] = poses.compose(pos[outer], quat[outer], pos[rows], quat[rows])
        # The body itself is the last row, which index -1 finds.
        self.pos = np.vstack([pos, np.zeros(3)])
        self.quat = np.vstack([quat, poses.IDENTITY])

    def to_body(
        self, members: BodyMembers, pos: np.ndarray, quat: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Poses given in the frames of `members`, in body coordinates."""
        if len(self.pos) == 1:
            return pos, quat
        frame = np.array(members.frame, np.int64)
        inside = frame >= 0
        rows = frame[inside]
        pos, quat, *_ = together(pos.copy(), quat.copy(), self.pos)
        pos[inside], quat[inside] = poses.compose(
            self.pos[rows], self.quat[rows], pos[inside], quat[inside]
        )
        return pos, quat

    def rotate(self, members: BodyMembers, vectors: np.ndarray) -> np.ndarray:
        """Directions given in the frames of `members`, in body coordinates."""
        identity = np.tile(poses.IDENTITY, (len(vectors), 1))
        zero = np.zeros_like(vectors)
        _, turn = self.to_body(members, zero, identity)
        return q.rotate(turn, vectors)


def _by_depth(outer: list[int]) -> list[np.ndarray]:
    """Frames inside other frames, grouped by depth, so that outer frames come before inner ones."""
    depth = np.zeros(len(outer), int)
    for i, up in enumerate(outer):
        depth[i] = depth[up] + 1 if up >= 0 else 0
    return [np.flatnonzero(depth == level) for level in range(1, depth.max(initial=0) + 1)]
