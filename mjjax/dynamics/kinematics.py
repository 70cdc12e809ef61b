"""Forward kinematics: world poses of bodies, joints, inertial frames, geoms and sites.

A joint is one link of a chain, and a body is the last link of its joints. World poses come from
pointer doubling: in round r, the pose of every link is expressed in the link 2^r above it. So the
number of operations grows with the logarithm of the depth.
"""

import dataclasses
import functools

import numpy as np

from mjjax.core.enums import JointType
from mjjax.core.profile import stage
from mjjax.math import quat
from mjjax.math.components import (
    Parts,
    add,
    compose,
    cross,
    dot,
    mul,
    mul_vector,
    rotate,
    split,
    to_mat,
)
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.xla.indexing import gather, gather_columns, gather_tables, gather_traced
from mjjax.xla.layout import components_last, matrix_first, matrix_last, whole_vectors
from mjjax.xla.linalg import stack, unstack
from mjjax.xla.loops import scan
from mjjax.xla.namespace import Array, namespace, where
from mjjax.xla.polynomials import constant_bilinear, constant_quadratic

PLACES = ("qpos", "mocap_pos", "mocap_quat")  # fields of `Data` that decide where everything is
FEW_ROUNDS = 2  # up to so many rounds of pointer doubling need no loop


@dataclasses.dataclass(frozen=True)
class LinkPlan:
    """Links in the order: bodies without joints (the world first), free, ball, scalar joints.

    Attributes:
        fixed: ids of the bodies without joints.
        free, ball, scalar: joint ids of these kinds; scalar is slide and hinge.
        parents: per round, the link to compose with.
        body_link: (nbody,) last link of each body.
        joint_link: (njnt,) link of each joint.
        first: (nball + nscalar,) whether the joint is the first of its body.
        above: (nball,) link above each ball joint.
    """

    fixed: np.ndarray
    free: np.ndarray
    ball: np.ndarray
    scalar: np.ndarray
    parents: tuple[np.ndarray, ...]
    body_link: np.ndarray
    joint_link: np.ndarray
    first: np.ndarray
    above: np.ndarray


@functools.lru_cache(maxsize=64)
def link_plan(s: Structure) -> LinkPlan:
    """Links of a structure."""
    kind = s.jnt_type
    fixed = np.flatnonzero(s.body_jntnum == 0)
    free, ball = np.flatnonzero(kind == JointType.FREE), np.flatnonzero(kind == JointType.BALL)
    scalar = np.flatnonzero(kind >= JointType.SLIDE)
    joint_link = np.empty(s.njnt, int)
    joint_link[np.concatenate([free, ball, scalar]).astype(int)] = len(fixed) + np.arange(s.njnt)
    body_link = np.empty(s.nbody, int)
    body_link[fixed] = np.arange(len(fixed))
    jointed = np.flatnonzero(s.body_jntnum > 0)
    body_link[jointed] = joint_link[(s.body_jntadr + s.body_jntnum - 1)[jointed]]

    first = np.array([j == s.body_jntadr[s.jnt_bodyid[j]] for j in range(s.njnt)], bool)
    parent = np.zeros(len(fixed) + s.njnt, int)
    parent[: len(fixed)] = body_link[s.body_parentid[fixed]]
    for j in range(s.njnt):
        up = body_link[s.body_parentid[s.jnt_bodyid[j]]] if first[j] else joint_link[j - 1]
        parent[joint_link[j]] = 0 if kind[j] == JointType.FREE else up
    above = parent[joint_link[ball]] if len(ball) else np.zeros(0, int)
    rounds = []
    while np.any(parent):
        rounds.append(parent)
        parent = parent[parent]
    moving = np.concatenate([ball, scalar]).astype(int)
    return LinkPlan(
        fixed, free, ball, scalar, tuple(rounds), body_link, joint_link, first[moving], above
    )


@stage
def kinematics(model: Model, data: Data) -> Data:
    """World poses of everything attached to bodies (`mj_kinematics`).

    The poses are differentiable everywhere. Quaternions in `qpos` are normalized when they are
    read, so the derivative along their length is zero.
    """
    s, plan = model.structure, link_plan(model.structure)
    xp = namespace(data.qpos)
    body = body_frames(model, data)
    links = world_links(s, local_links(model, data.qpos, body))
    xanchor, xaxis = joint_frames(model, data.qpos, links, body)

    poses = gather_columns(links, plan.body_link)
    turned = to_mat(tuple(poses[3:]))
    attached = attached_frames(model, xp.concatenate([poses[:3], matrix_first(turned)]))
    ends = np.cumsum([s.nbody, s.ngeom])
    xipos, geom_xpos, site_xpos = xp.split(quat.join(attached[:3]), ends)
    ximat, geom_xmat, site_xmat = xp.split(matrix_last(attached[3:]), ends)
    return data.replace(
        xpos=components_last(poses[:3]),
        xquat=components_last(poses[3:]),
        xanchor=xanchor,
        xaxis=xaxis,
        xipos=xipos,
        ximat=ximat,
        geom_xpos=geom_xpos,
        geom_xmat=geom_xmat,
        site_xpos=site_xpos,
        site_xmat=site_xmat,
    )


def attached_frames(model: Model, bodies: Array) -> Parts:
    """World positions and rotations of inertial frames, geoms and sites, one after the other.

    The result has twelve arrays, positions and then matrices, as do the rows of `bodies`
    (12, nbody), which are the frames of the bodies themselves.
    """
    s, xp = model.structure, namespace(bodies)
    owner = np.concatenate([np.arange(s.nbody), s.geom_bodyid, s.site_bodyid]).astype(int)
    above = unstack(gather_columns(bodies, owner))
    offset = split(xp.concatenate([model.body_ipos, model.geom_pos, model.site_pos]))
    local = xp.concatenate([model.body_iquat, model.geom_quat, model.site_quat])
    turn = unstack(constant_quadratic(to_mat, local))
    rows, columns = (above[3:6], above[6:9], above[9:]), (turn[::3], turn[1::3], turn[2::3])
    pos = (x + dot(row, offset) for x, row in zip(above[:3], rows, strict=True))
    return (*pos, *(dot(row, column) for row in rows for column in columns))


def body_frames(model: Model, data: Data) -> Array:
    """Body frames (7, nbody) in their parents; mocap bodies have their mocap poses."""
    s = model.structure
    xp = namespace(data.mocap_pos)
    pos, ori = model.body_pos, model.body_quat
    if s.nmocap:
        mocap, index = (s.body_mocapid >= 0)[:, None], np.maximum(s.body_mocapid, 0)
        pos = where(mocap, gather(data.mocap_pos, index), pos)
        ori = where(mocap, gather(data.mocap_quat, index), ori)
    return xp.concatenate([pos, quat.normalize(ori)], axis=1).T


def displacement(model: Model, qpos: Array) -> Array:
    """`qpos - qpos0` of the scalar joints, in the order of the link plan [m or rad]."""
    adr = model.structure.jnt_qposadr[link_plan(model.structure).scalar]
    return gather(qpos, adr) - gather(model.qpos0, adr)


def local_links(model: Model, qpos: Array, body: Array) -> Array:
    """Frames (7, nlink) of the links in the links above them; free joints are in the world."""
    s, plan = model.structure, link_plan(model.structure)
    xp = namespace(qpos)
    moving = np.concatenate([plan.ball, plan.scalar]).astype(int)
    identity = xp.asarray([0.0, 0, 0, 1, 0, 0, 0], dtype=body.dtype)[:, None]
    base = where(plan.first, gather_columns(body, s.jnt_bodyid[moving]), identity)
    links = [gather_columns(body, plan.fixed)]
    if len(plan.free):
        adr = s.jnt_qposadr[plan.free]
        pos = (gather(qpos, adr + k) for k in range(3))
        links.append(stack((*pos, *split(_turn(qpos, adr + 3)))))
    if nball := len(plan.ball):
        turn = split(_turn(qpos, s.jnt_qposadr[plan.ball]))
        anchor = split(gather(model.jnt_pos, plan.ball))
        # A rotation about an anchor c moves the frame by c - R c.
        shift = tuple(c - r for c, r in zip(anchor, rotate(turn, anchor), strict=True))
        links.append(stack(compose(tuple(base[:, :nball]), (*shift, *turn))))
    if len(plan.scalar):
        links.append(_scalar_links(model, qpos, base[:, nball:]))
    return xp.concatenate(links, axis=1)


def _turn(qpos: Array, adr: np.ndarray) -> Array:
    """Unit quaternions (n, 4), in a form that springs and integrators share and compute once."""
    return quat.normalize(gather(qpos, adr[:, None] + np.arange(4)))


def _scalar_links(model: Model, qpos: Array, base: Array) -> Array:
    """`local_links` (7, n) of slides and hinges, with the frames `base` (7, n) before the joints.

    Let c and s be the cosine and sine of half the angle of a hinge. The hinge turns about the axis
    u by q = (c, s u), and moves a frame with the anchor at p by -2 c s u x p - 2 s^2 u x (u x p).
    So sines are computed once, and their factors depend on the model alone.
    """
    s, plan = model.structure, link_plan(model.structure)
    xp, offset = namespace(qpos), displacement(model, qpos)
    hinge = s.jnt_type[plan.scalar] == JointType.HINGE
    axis = gather(model.jnt_axis, plan.scalar)
    half = 0.5 * (offset if hinge.all() else where(hinge, offset, 0))
    cosine, sine = xp.cos(half), xp.sin(half)
    ori = base[3:].T
    rows = constant_quadratic(to_mat, ori).reshape(3, 3, -1)
    turned = constant_bilinear(mul_vector, ori, axis)

    def rotated(x: Array) -> Array:
        return xp.sum(rows * x[None], axis=1)

    u = split(axis)
    aside = stack(cross(u, split(gather(model.jnt_pos, plan.scalar))))
    near, far = rotated(aside), rotated(stack(cross(u, tuple(aside))))
    pos = base[:3] - near * (2 * cosine * sine)[None] - far * (2 * sine * sine)[None]
    if not hinge.all():
        pos = pos + rotated(axis.T) * where(hinge, 0, offset)[None]
    return xp.concatenate([pos, base[3:] * cosine[None] + turned * sine[None]])


def world_links(s: Structure, frames: Array) -> Array:
    """World frames (7, nlink) of the links by pointer doubling."""
    parents = link_plan(s).parents
    if namespace(frames) is np or len(parents) <= FEW_ROUNDS:
        for parent in parents:
            frames = stack(compose(tuple(gather_columns(frames, parent)), tuple(frames)))
        return frames

    n, padded = frames.shape[1], whole_vectors(frames)
    spare = padded.shape[1] - n
    tables = gather_tables([np.pad(parent, (0, spare)) for parent in parents], padded)

    def double(frames: Array, pick: Array) -> tuple[Array, None]:
        return stack(compose(tuple(gather_traced(frames, pick)), tuple(frames))), None

    # This is a loop, so that the size of the program does not grow with the depth of the tree.
    return scan(double, padded, tables)[0][:, :n]


def joint_frames(model: Model, qpos: Array, links: Array, body: Array) -> tuple[Array, Array]:
    """World anchors and axes (njnt, 3) of the joints, before each joint's own motion."""
    s, plan = model.structure, link_plan(model.structure)
    xp = namespace(qpos)
    frames = links[:, len(plan.fixed) :]
    kinds = np.concatenate([plan.free, plan.ball, plan.scalar]).astype(int)
    nfree, nball = len(plan.free), len(plan.ball)
    first = nfree + nball
    anchor = add(tuple(frames[:3]), rotate(tuple(frames[3:]), split(gather(model.jnt_pos, kinds))))
    # A hinge turns about its axis and a slide moves along it, so the motion does not change the
    # axis.
    local = split(gather(model.jnt_axis, plan.scalar))
    axis = rotate(tuple(frames[3:, first:]), local)
    slide = s.jnt_type[plan.scalar] == JointType.SLIDE
    if slide.any():
        back = where(slide, displacement(model, qpos), 0)
        anchor = tuple(
            xp.concatenate([c[:first], c[first:] - a * back])
            for c, a in zip(anchor, axis, strict=True)
        )
    parts = [split(gather(model.jnt_axis, plan.free)), axis]
    if nball:
        before = gather_columns(links[3:], plan.above)
        own = mul(tuple(before), tuple(gather_columns(body[3:], s.jnt_bodyid[plan.ball])))
        pick = plan.first[:nball]
        before = tuple(where(pick, a, b) for a, b in zip(own, before, strict=True))
        parts.insert(1, rotate(before, split(gather(model.jnt_axis, plan.ball))))
    # A free joint is anchored at the origin of its body.
    anchor = tuple(
        xp.concatenate([x[:nfree], c[nfree:]]) for x, c in zip(frames[:3], anchor, strict=True)
    )
    order = plan.joint_link - len(plan.fixed)
    both = gather(quat.join((*anchor, *_joined(*parts))), order)
    return both[:, :3], both[:, 3:]


def _joined(*frames: Parts) -> Parts:
    """Joins tuples of component arrays, one after the other; empty ones are left out."""
    xp = namespace(*(x for f in frames for x in f))
    some = [f for f in frames if f[0].shape[0]]
    if len(some) <= 1:
        return (some or list(frames[-1:]))[0]
    return tuple(xp.concatenate(c) for c in zip(*some, strict=True))
