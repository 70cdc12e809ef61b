"""Tendon lengths and moment arms.

A spatial tendon is a sum of straight segments and of arcs around geoms. A segment along the unit
vector u moves with u . (velocity of its end - velocity of its start); an arc has constant length
to first order in the motion of its ends.
"""

import dataclasses
import functools

import numpy as np

from mjjax.core.enums import WrapType
from mjjax.core.profile import stage
from mjjax.dynamics.by_tree import block_of
from mjjax.dynamics.inertia import dof_plan
from mjjax.dynamics.jacobian import point_rows
from mjjax.dynamics.tree import body_sum, tree_plan
from mjjax.dynamics.wrap import wrap
from mjjax.math import safe
from mjjax.math.quat import cross
from mjjax.math.spatial import mat3
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.model.terms import with_slope
from mjjax.model.trees import join_blocks
from mjjax.xla.layout import components_first, components_last
from mjjax.xla.linalg import dot, einsum, matmul
from mjjax.xla.namespace import Array, namespace, where


@dataclasses.dataclass(frozen=True)
class TendonPlan:
    """Static parts of all tendons. The straight segments come first, then those around geoms.

    Attributes:
        joint: wrap ids of the joints of fixed tendons.
        owner: (njoint,) tendon of each joint.
        start, end: (nsegment,) site ids.
        tendon: (nsegment,) tendon of each segment.
        pulley: (nsegment,) wrap id of the pulley before each segment, -1 for none.
        around: wrap ids of the geoms of the last segments.
    """

    joint: np.ndarray
    owner: np.ndarray
    start: np.ndarray
    end: np.ndarray
    tendon: np.ndarray
    pulley: np.ndarray
    around: np.ndarray


@functools.lru_cache(maxsize=64)
def tendon_plan(s: Structure) -> TendonPlan:
    """Segments of the tendons of a structure."""
    owner = np.repeat(np.arange(s.ntendon), s.tendon_num)
    joint = np.flatnonzero(s.wrap_type == WrapType.JOINT)
    straight: list[tuple[int, int, int, int]] = []
    bent: list[tuple[int, int, int, int]] = []
    around: list[int] = []
    pulley, last = -1, -1
    for i, kind in enumerate(s.wrap_type):
        if i == 0 or owner[i] != owner[i - 1]:
            pulley, last = -1, -1
        if kind == WrapType.PULLEY:
            pulley, last = i, -1
        if kind != WrapType.SITE:
            continue
        if last >= 0:
            row = (s.wrap_objid[last], s.wrap_objid[i], owner[i], pulley)
            if i - last > 1:
                bent.append(row)
                around.append(i - 1)
            else:
                straight.append(row)
        last = i
    start, end, tendon, before = np.array(straight + bent, int).reshape(-1, 4).T
    return TendonPlan(joint, owner[joint], start, end, tendon, before, np.array(around, int))


@stage
def tendon(model: Model, data: Data) -> Data:
    """Tendon lengths and moment arms (`mj_tendon`): `ten_length`, `ten_J`.

    The length of a fixed tendon is the sum of coef q. The length of a spatial tendon is the sum of
    segments and arcs, divided by the pulleys' divisors. The derivative is exact, except where a
    tendon starts or stops wrapping.
    """
    s = model.structure
    if not s.ntendon:
        return data
    xp = namespace(data.qpos, data.site_xpos)
    plan = tendon_plan(s)
    length = xp.zeros(s.ntendon, data.qpos.dtype)
    arm = xp.zeros((s.ntendon, s.nv), data.qpos.dtype)
    if len(plan.joint):
        coef, joint = model.wrap_prm[plan.joint], s.wrap_objid[plan.joint]
        mine = plan.owner == np.arange(s.ntendon)[:, None]
        length = length + matmul(mine, coef * data.qpos[s.jnt_qposadr[joint]])
        dofs = s.jnt_dofadr[joint][:, None] == np.arange(s.nv)
        arm = arm + einsum("tj,j,jv->tv", mine, coef, dofs)
    if len(plan.tendon):
        far, moved = _spatial(model, data, plan)
        length, arm = length + far, arm + moved
    return data.replace(ten_length=length, ten_J=arm)


def _spatial(model: Model, data: Data, plan: TendonPlan) -> tuple[Array, Array]:
    """Lengths (ntendon,) and moment arms (ntendon, nv) of the spatial tendons."""
    s = model.structure
    xp = namespace(data.site_xpos)
    share = _shares(model, plan)
    one, two = data.site_xpos[plan.start], data.site_xpos[plan.end]
    bodies = [s.site_bodyid[plan.start], s.site_bodyid[plan.end]]
    n, m = len(plan.tendon), len(plan.around)
    pieces: list[tuple[Array, ...]] = [(one, two, *bodies)]
    weight, arcs, owner = xp.ones(n, one.dtype), 0.0, plan.tendon
    if m:
        on, first, last, arc = wrapped(model, data, plan, one[n - m :], two[n - m :])
        geom = s.geom_bodyid[s.wrap_objid[plan.around]]
        pieces.append((one[n - m :], first, bodies[0][n - m :], geom))
        pieces.append((last, two[n - m :], geom, bodies[1][n - m :]))
        bent = on.astype(one.dtype)
        weight = xp.concatenate([weight[: n - m], 1 - bent, bent, bent])
        share = xp.concatenate([share, share[n - m :], share[n - m :]])
        owner = np.concatenate([owner, owner[n - m :], owner[n - m :]])
        arcs = xp.concatenate([xp.zeros(n, one.dtype), where(on, arc, 0), 0 * arc])
    a, b = (xp.concatenate([p[i] for p in pieces]) for i in (0, 1))
    start, end = (np.concatenate([p[i] for p in pieces]) for i in (2, 3))
    along, reach = safe.normalize(b - a)
    mine = owner == np.arange(s.ntendon)[:, None]
    length = matmul(mine, share * (weight * reach[:, 0] + arcs))
    pull = (share * weight)[:, None] * along
    none = xp.zeros_like(pull)
    row = point_rows(model, data, b, pull, none, end)
    row = row - point_rows(model, data, a, pull, none, start)
    row = where((start == end)[:, None], 0, row)
    return length, einsum("tk,kv->tv", mine, row)


def tendon_velocity(model: Model, data: Data) -> Data:
    """Writes the rates of the lengths, moment arms times `qvel`, to `ten_velocity`."""
    if not model.structure.ntendon:
        return data
    return data.replace(ten_velocity=matmul(data.ten_J, data.qvel))


def tendon_bias(model: Model, data: Data) -> Array:
    """Force (nv,) of tendon armature at zero acceleration: J' armature (dJ/dt) qvel.

    The length of a straight segment between moving points accelerates by u . a + |v_across|^2 / r,
    where a and v are the differences of the points' accelerations and velocities. MuJoCo allows no
    armature on tendons that wrap around geoms. Needs `cvel` and `cdof_dot` (`mj_tendonBias`).
    """
    if not model.structure.terms["tendon_armature"].any():
        none = namespace(data.qvel).zeros_like(data.qvel)
        return with_slope(model, "tendon_armature", none, _armature_bias, (model, data))
    return _armature_bias({"tendon_armature": model.tendon_armature}, model, data)


def _armature_bias(coefficients: dict[str, Array], model: Model, data: Data) -> Array:
    """`tendon_bias` for a given armature."""
    s, plan = model.structure, tendon_plan(model.structure)
    moving = components_last(body_sum(s, components_first(data.cdof_dot) * data.qvel[None]))
    ends = []
    for site in (plan.start, plan.end):
        body = s.site_bodyid[site]
        lever = data.site_xpos[site] - data.subtree_com[s.body_rootid[body]]
        spin, swing = data.cvel[body, :3], moving[body, :3]
        velocity = data.cvel[body, 3:] + cross(spin, lever)
        acceleration = moving[body, 3:] + cross(swing, lever) + cross(spin, velocity)
        ends.append((data.site_xpos[site], velocity, acceleration))
    line, velocity, acceleration = (b - a for a, b in zip(*ends, strict=True))
    along, reach = safe.normalize(line)
    rate = dot(along, velocity)
    across = safe.divide(dot(velocity, velocity) - rate * rate, reach[:, 0])
    share = _shares(model, plan)
    mine = plan.tendon == np.arange(s.ntendon)[:, None]
    second = matmul(mine, share * (dot(along, acceleration) + across))
    return matmul(coefficients["tendon_armature"] * second, data.ten_J)


def _shares(model: Model, plan: TendonPlan) -> Array:
    """Part (nsegment,) of each segment's length that counts: one over the last divisor."""
    divisor = model.wrap_prm[plan.pulley]
    return where(plan.pulley >= 0, safe.divide(1.0, divisor, np.inf), 1)


def wrapped(
    model: Model, data: Data, plan: TendonPlan, one: Array, two: Array
) -> tuple[Array, Array, Array, Array]:
    """`wrap` in world coordinates."""
    s = model.structure
    geom, side = s.wrap_objid[plan.around], s.wrap_sideid[plan.around]
    pos, mat = data.geom_xpos[geom], mat3(data.geom_xmat[geom])
    near = data.site_xpos[np.maximum(side, 0)]
    start, end, beside = (einsum("nji,nj->ni", mat, x - pos) for x in (one, two, near))
    sphere = s.wrap_type[plan.around] == WrapType.SPHERE
    on, first, last, arc = wrap(start, end, beside, side >= 0, model.geom_size[geom, 0], sphere)
    first, last = (pos + einsum("nij,nj->ni", mat, x) for x in (first, last))
    return on, first, last, arc


@stage
def tendon_inertia(model: Model, data: Data) -> Data:
    """Adds J' armature J to the joint-space inertia (`mj_tendonArmature`).

    As in MuJoCo, it adds only to entries that are stored, so a tendon does not couple branches.
    """
    s = model.structure
    if not s.terms["tendon_armature"].any():
        arms = (data.ten_J,)
        same = with_slope(model, "tendon_armature", data.armature, _on_the_diagonal, arms)
        return data.replace(armature=same)
    more = join_blocks(tendon_blocks(s, model.tendon_armature, data.ten_J), data.armature)
    return data.replace(armature=data.armature + more)


def _on_the_diagonal(coefficients: dict[str, Array], arms: Array) -> Array:
    """Inertia (nv,) that tendons add on the diagonal; `armature` has no room for other entries."""
    return matmul(coefficients["tendon_armature"], arms * arms)


def tendon_blocks(s: Structure, armature: Array, ten_J: Array) -> list[Array]:
    """Inertia (T, d, d) that tendons with `armature` (ntendon,) add to the trees of each block."""
    kept, found = dof_plan(s).kept, []
    for block in tree_plan(s).blocks:
        arms = ten_J[:, block.dofs]
        added = einsum("nti,n,ntj->tij", arms, armature, arms)
        found.append(where(block_of(kept, block.dofs), added, 0))
    return found
