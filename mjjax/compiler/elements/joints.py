"""Joints and degrees of freedom, and the reference configuration."""

import numpy as np

from mjjax.compiler.common.context import Context
from mjjax.compiler.common.fields import bools, check_autolimits, ints, limited, reals, user
from mjjax.compiler.elements.bodies import DOFS
from mjjax.core.enums import JointType
from mjjax.math.tracked import numbers
from mjjax.mjcf.orientation import EPS, normalize

_COORDINATES = np.array([7, 4, 1, 1])  # by joint type


def compile_joints(ctx: Context) -> None:
    """Adds the fields `jnt_*`, `dof_*`, `qpos0` and `qpos_spring`."""
    members, f = ctx.members("joint"), ctx.fields
    elements = members.elements
    kind = ints(elements, "type")
    nq, nv = _COORDINATES[kind], DOFS[kind]
    f["jnt_type"] = kind
    f["jnt_bodyid"] = np.array(members.body, np.int32)
    f["jnt_qposadr"] = (np.cumsum(nq) - nq).astype(np.int32)
    f["jnt_dofadr"] = (np.cumsum(nv) - nv).astype(np.int32)
    f["jnt_group"] = ints(elements, "group")
    f["jnt_actgravcomp"] = bools(elements, "actuatorgravcomp")
    f["jnt_solref"] = reals(elements, "solreflimit", 2)
    f["jnt_solimp"] = reals(elements, "solimplimit", 5)
    f["jnt_stiffness"] = reals(elements, "stiffness")
    f["jnt_margin"] = reals(elements, "margin")
    f["jnt_user"] = user(elements, ctx.nuser("jnt", elements))
    f["jnt_springdamper"] = reals(elements, "springdamper", 2)
    for element, pair in zip(elements, numbers(f["jnt_springdamper"]), strict=True):
        if pair.any() and not (pair > 0).all():
            raise element.origin.error("both values of springdamper must be positive")
    _axes(ctx, kind)
    _limits(ctx, kind)
    _dofs(ctx, nv)
    _reference(ctx, kind, int(nq.sum()))
    ctx.sizes.update(njnt=len(elements), nq=int(nq.sum()), nv=int(nv.sum()))


def _axes(ctx: Context, kind: np.ndarray) -> None:
    """Axis and anchor in body coordinates; free and ball joints have a fixed axis."""
    members, f = ctx.members("joint"), ctx.fields
    axis, pos = reals(members.elements, "axis", 3), reals(members.elements, "pos", 3)
    scalar = (kind == JointType.SLIDE) | (kind == JointType.HINGE)
    axis = np.where(scalar[:, None], ctx.frames.rotate(members, axis), [0.0, 0.0, 1.0])
    for i in np.flatnonzero(~(np.sum(axis * axis, axis=1) >= EPS)):
        raise members.elements[i].origin.error("the axis has zero length")
    identity = np.tile([1.0, 0.0, 0.0, 0.0], (len(pos), 1))
    pos, _ = ctx.frames.to_body(members, pos, identity)
    f["jnt_axis"] = normalize(axis)
    f["jnt_pos"] = np.where((kind == JointType.FREE)[:, None], 0.0, pos)


def _limits(ctx: Context, kind: np.ndarray) -> None:
    """Ranges of the joints and of the total actuator force on them."""
    elements, f = ctx.members("joint").elements, ctx.fields
    auto = bool(ctx.spec.compiler["autolimits"])
    range_, force = reals(elements, "range", 2), reals(elements, "actuatorfrcrange", 2)
    bounded = [e for e, k in zip(elements, kind, strict=True) if k != JointType.FREE]
    check_autolimits(bounded, "", range_[kind != JointType.FREE], auto)
    scalar = (kind == JointType.SLIDE) | (kind == JointType.HINGE)
    scalars = [e for e, s in zip(elements, scalar, strict=True) if s]
    check_autolimits(scalars, "actuatorfrc", force[scalar], auto)
    limits = limited(elements, "limited", range_) & (kind != JointType.FREE)
    forces = limited(elements, "actuatorfrclimited", force) & scalar
    for i in np.flatnonzero(limits | forces):
        origin = elements[i].origin
        if limits[i] and kind[i] == JointType.BALL and range_[i, 0]:
            raise origin.error("the range of a ball joint must start at 0")
        if limits[i] and kind[i] != JointType.BALL and range_[i, 0] >= range_[i, 1]:
            raise origin.error(
                "range[0] must be smaller than range[1]",
                f"range is {range_[i, 0]:g} {range_[i, 1]:g}; set limited='false' for no limit",
            )
        if forces[i] and force[i, 0] >= force[i, 1]:
            raise origin.error("actuatorfrcrange[0] must be smaller than actuatorfrcrange[1]")
    angular = limits & ((kind == JointType.HINGE) | (kind == JointType.BALL)) & ctx.degree
    f["jnt_range"] = np.where(angular[:, None], range_ * (np.pi / 180), range_)
    f["jnt_limited"], f["jnt_actfrclimited"], f["jnt_actfrcrange"] = limits, forces, force


def _dofs(ctx: Context, nv: np.ndarray) -> None:
    """Adds the values that a joint gives to each of its degrees of freedom."""
    elements, f = ctx.members("joint").elements, ctx.fields
    joint = np.repeat(np.arange(len(nv), dtype=np.int32), nv)
    f["dof_jntid"] = joint
    f["dof_bodyid"] = f["jnt_bodyid"][joint]
    f["dof_treeid"] = f["body_treeid"][f["dof_bodyid"]]
    f["dof_solref"] = reals(elements, "solreffriction", 2)[joint]
    f["dof_solimp"] = reals(elements, "solimpfriction", 5)[joint]
    for name in ("frictionloss", "armature", "damping"):
        f[f"dof_{name}"] = reals(elements, name)[joint]
    # This is the last dof at or above each body; the dofs of a body form a chain below it.
    last = np.full(ctx.sizes["nbody"], -1, np.int32)
    for body in range(1, len(last)):
        number = f["body_dofnum"][body]
        last[body] = (
            f["body_dofadr"][body] + number - 1 if number else last[f["body_parentid"][body]]
        )
    first = np.array([adr for adr in f["body_dofadr"] if adr >= 0], np.int64)
    parent = np.arange(-1, len(joint) - 1, dtype=np.int32)
    parent[first] = last[f["body_parentid"][f["dof_bodyid"][first]]]
    f["dof_parentid"] = parent


def _reference(ctx: Context, kind: np.ndarray, nq: int) -> None:
    """Adds the reference configuration, and the configuration in which springs are at rest."""
    elements, f = ctx.members("joint").elements, ctx.fields
    unit = np.where((kind == JointType.HINGE) & ctx.degree, np.pi / 180, 1.0)
    adr, body = f["jnt_qposadr"], f["jnt_bodyid"]
    free = np.flatnonzero(kind == JointType.FREE)
    scalar = np.flatnonzero(kind >= JointType.SLIDE)
    for field, name in (("qpos0", "ref"), ("qpos_spring", "springref")):
        f[field] = np.zeros(nq)
        f[field][adr[kind == JointType.BALL]] = 1.0
        f[field][adr[scalar]] = (reals(elements, name) * unit)[scalar]
        f[field][adr[free][:, None] + np.arange(3)] = f["body_pos"][body[free]]
        f[field][adr[free][:, None] + np.arange(3, 7)] = f["body_quat"][body[free]]
