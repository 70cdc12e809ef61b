"""Derived constants (`mj_setConst`), which follow from the parameters at `qpos0`.

The kernels are those of the simulation. They run on numpy arrays when a model is loaded, and on JAX
arrays in `set_const`, which is pure and differentiable and works under `vmap`.
"""

from typing import Any, cast

import numpy as np

from mjjax.compiler.assets.hfields import hfield_box
from mjjax.compiler.constants.inverse_inertia import (
    InverseInertia,
    inverse_inertia,
    tree_blocks,
    with_tendons,
)
from mjjax.compiler.constants.tendons_and_equalities import (
    equality_offsets,
    listed_once,
    tendon_constants,
)
from mjjax.compiler.elements.bodies import mass_scale
from mjjax.core.constants import MINVAL
from mjjax.core.enums import GeomType, JointType, TrnType
from mjjax.core.struct import specs
from mjjax.dynamics.by_tree import diagonal_by_tree
from mjjax.dynamics.inertia import com_pos
from mjjax.dynamics.kinematics import kinematics
from mjjax.dynamics.tendon import tendon
from mjjax.dynamics.transmission import moment, transmission
from mjjax.dynamics.tree import in_body_order, subtree_sum, tree_plan
from mjjax.math import quat, safe
from mjjax.math.quat import cross
from mjjax.math.spatial import flat9
from mjjax.model.data import CollisionRules, Data
from mjjax.model.dofs import dofs_of
from mjjax.model.model import Model
from mjjax.model.option import Statistic
from mjjax.model.rows import RowSlots
from mjjax.model.structure import Structure
from mjjax.xla.linalg import largest, matmul, smallest
from mjjax.xla.namespace import Array, namespace, where

_DATA = tuple(specs(Data))


def set_const(model: Model) -> Model:
    """The model with all derived constants recomputed at `qpos0` (`mj_setConst`).

    Call it after you change masses, inertias, frames, armature, `qpos0`, `eq_data` or
    `hfield_size`. (MuJoCo does not update the geoms of a height field; there the model must be
    compiled again.) The function is pure and differentiable, and works under `vmap`. It recomputes
    the statistics even if the model file gives them. As in MuJoCo, it computes the resting length
    of a tendon's spring if both of its lengths are -1, and the pose of a weld if its quaternion is
    zero. The length ranges of actuators are not updated.
    """
    model = model.replace(**hfield_bounds(model))
    data = reference_data(model)
    blocks = tree_blocks(model, data)
    total = with_tendons(model, data, blocks)
    inverse = inverse_inertia(model.structure, total)
    model = model.replace(
        body_subtreemass=subtree_sum(model.structure, model.body_mass[None])[0],
        dof_M0=diagonal_by_tree(model.structure, blocks),
        dof_invweight0=dof_invweight(model, inverse),
        body_invweight0=body_invweight(model, data, inverse),
        **camera_offsets(model, data),
        **light_offsets(model, data),
        **equality_offsets(model, data),
        **tendon_constants(model, data, inverse, positions),
    )
    model = model.replace(**actuator_constants(model, data, inverse))
    return statistics(model, data, diagonal_by_tree(model.structure, total))


def reference_data(model: Model) -> Data:
    """Positions, centres of mass, tendons and actuator lengths at `qpos0`."""
    return transmission(model, tendon(model, positions(model, model.qpos0)))


def positions(model: Model, qpos: Array) -> Data:
    """Kinematics and centres of mass at some joint positions."""
    s = model.structure
    xp = namespace(qpos)
    empty = cast(dict[str, Any], dict.fromkeys(_DATA))
    mocap = np.flatnonzero(s.body_mocapid >= 0)
    mocap = mocap[np.argsort(s.body_mocapid[mocap])]
    blank: Any = Data(structure=s, rules=CollisionRules(), slots=RowSlots(), **empty).replace(
        time=xp.zeros((), qpos.dtype),  # says of which library and precision the data are
        qpos=qpos,
        mocap_pos=model.body_pos[mocap],
        mocap_quat=model.body_quat[mocap],
        actuator_length=xp.zeros(s.nu),
    )
    return com_pos(model, kinematics(model, blank))


def dof_invweight(model: Model, inverse: InverseInertia) -> Array:
    """Diagonal of the inverse inertia (nv,), averaged over a ball and over halves of a free joint.

    For a body that only slides along its own axes, it is the inverse of the mass.
    """
    s = model.structure
    spread = diagonal_by_tree(s, inverse.blocks)
    order, dofs = np.arange(s.nv), dofs_of(s)
    scalar = dofs.kind >= JointType.SLIDE
    group = (order - dofs.place % 3)[:, None] + np.arange(3)
    mean = spread[np.where(scalar[:, None], order[:, None], group)].mean(axis=1)
    point = s.body_simple[s.dof_bodyid] == 2
    mass = where(point, model.body_mass[s.dof_bodyid], 1)
    return where(point, 1 / mass, mean)


def body_invweight(model: Model, data: Data, inverse: InverseInertia) -> Array:
    """Mean inverse weights (nbody, 2) at the centres of mass: translation, rotation.

    A weight is the mean diagonal of J M^-1 J' over three axes. If one of the two weights vanishes,
    it takes the value of the other. Bodies welded to the world have weight zero. A body that only
    slides along its own axes counts as a point, with the inverse of its mass.
    """
    s = model.structure
    xp = namespace(data.cdof)
    static = tree_plan(s).static_bodies
    parts = [xp.zeros((2, len(static)), data.cdof.dtype)]
    for block, matrix in zip(tree_plan(s).blocks, inverse.blocks, strict=True):
        axes = data.cdof[block.dofs][:, None]
        ang, lin = axes[..., :3], axes[..., 3:]
        lever = (data.xipos - data.subtree_com[s.body_rootid])[block.bodies][:, :, None]
        moves = block.above[..., None]
        jacobians = (lin + cross(ang + 0 * lever, lever + 0 * ang), ang + 0 * lever)
        weights = []
        for jac in (xp.swapaxes(where(moves, j, 0), -1, -2) for j in jacobians):
            weights.append(xp.sum(matmul(jac, matrix[:, None]) * jac, axis=(-1, -2)) / 3)
        parts.append(xp.stack(weights).reshape(2, -1))
    t, r = in_body_order(s, parts)
    copied = xp.stack(
        [where((t < MINVAL) & (r > MINVAL), r, t), where((r < MINVAL) & (t > MINVAL), t, r)],
        axis=-1,
    )
    point = s.body_simple == 2
    mass = where(point, model.body_mass, 1)
    alone = xp.stack([1 / mass, xp.zeros_like(mass)], axis=-1)
    copied = where(point[:, None], alone, copied)
    return where((s.body_weldid == 0)[:, None], 0, copied)


def actuator_constants(model: Model, data: Data, inverse: InverseInertia) -> dict[str, Array]:
    """Lengths and accelerations from unit force at `qpos0`, and damping from a damping ratio.

    A position servo has a damping ratio in `biasprm[2]` if that is positive. The ratio becomes
    -2 ratio sqrt(kp m), where m is the inertia that the actuator moves.
    """
    s = model.structure
    if not s.nu:
        return {}
    xp = namespace(model.qpos0, model.actuator_gear)
    arm = moment(model, data)
    response = inverse.of(arm if not s.ntendon else where(_felt(s), arm, 0))
    square = arm * arm
    felt = square > MINVAL
    reflected = xp.sum(where(felt, model.dof_M0[None] / where(felt, square, 1), 0), axis=-1)
    kp, bias = model.actuator_gainprm[:, 0], model.actuator_biasprm
    ratio = (kp == -bias[:, 1]) & (bias[:, 2] > 0)
    damping = -2 * bias[:, 2] * safe.sqrt(kp * reflected)
    changed = where(ratio, damping, bias[:, 2])
    return {
        "actuator_length0": data.actuator_length,
        "actuator_acc0": safe.norm(response),
        "actuator_biasprm": xp.concatenate([bias[:, :2], changed[:, None], bias[:, 3:]], axis=1),
    }


def hfield_bounds(model: Model) -> dict[str, Array]:
    """Size and bounds of the geoms that are height fields."""
    s = model.structure
    is_hfield = s.geom_type == GeomType.HFIELD
    if not is_hfield.any():
        return {}
    found = hfield_box(model.hfield_size[np.where(is_hfield, s.geom_dataid, 0)])
    return {
        name: where(is_hfield.reshape(-1, *[1] * (new.ndim - 1)), new, getattr(model, name))
        for name, new in zip(("geom_size", "geom_rbound", "geom_aabb"), found, strict=True)
    }


def _felt(s: Structure) -> np.ndarray:
    """(nu, nv) mask of dofs: all, but for tendons only the dofs that they list once."""
    driven = s.actuator_trntype == TrnType.TENDON
    return listed_once(s)[np.where(driven, s.actuator_trnid[:, 0], 0)] | ~driven[:, None]


def camera_offsets(model: Model, data: Data) -> dict[str, Array]:
    """Camera offsets at `qpos0`, for the modes that follow a body."""
    s = model.structure
    if not s.ncam:
        return {}
    body = s.cam_bodyid
    pos = data.xpos[body] + quat.rotate(data.xquat[body], model.cam_pos)
    mat = flat9(quat.to_mat(quat.mul(data.xquat[body], model.cam_quat)))
    com = data.subtree_com[_watched(s.cam_targetbodyid, body)]
    return {"cam_pos0": pos - data.xpos[body], "cam_poscom0": pos - com, "cam_mat0": mat}


def light_offsets(model: Model, data: Data) -> dict[str, Array]:
    """Light offsets at `qpos0`, for the modes that follow a body."""
    s = model.structure
    if not s.nlight:
        return {}
    body = s.light_bodyid
    pos = data.xpos[body] + quat.rotate(data.xquat[body], model.light_pos)
    direction = quat.rotate(data.xquat[body], model.light_dir)
    com = data.subtree_com[_watched(s.light_targetbodyid, body)]
    return {
        "light_pos0": pos - data.xpos[body],
        "light_poscom0": pos - com,
        "light_dir0": direction,
    }


def _watched(target: np.ndarray, body: np.ndarray) -> np.ndarray:
    """The body whose centre of mass counts: the target if there is one, else the body itself."""
    return np.where(target >= 0, target, body)


def statistics(model: Model, data: Data, inertia: Array) -> Model:
    """Model statistics and the length scale of the dofs (`mj_setStat`).

    If a model has nothing to average over, the statistic keeps MuJoCo's default.
    """
    s = model.structure
    xp = namespace(data.xpos)
    points = [data.xpos[1:], data.xipos[1:], data.xanchor, data.site_xpos, data.geom_xpos]
    cloud = xp.concatenate(points)
    reach = xp.concatenate([xp.zeros(len(cloud) - s.ngeom), display_radius(model)])[:, None]
    far = xp.full((1, 3), 1e10)
    low = smallest(xp.concatenate([cloud - reach, far]), axis=0)
    high = largest(xp.concatenate([cloud + reach, -far]), axis=0)
    size = body_sizes(model, data)
    alone = s.nbody == 1
    meansize = xp.asarray(0.2) if alone else xp.mean(size[1:])
    extent = where(high[0] > low[0], xp.maximum(1e-5, largest(high - low)), 2.0)
    stat = Statistic(
        meaninertia=xp.mean(inertia) if s.nv else xp.asarray(1.0),
        meanmass=xp.asarray(1.0) if alone else xp.mean(model.body_mass[1:]),
        meansize=meansize,
        extent=xp.maximum(extent, 2 * meansize),
        center=0.5 * (low + high),
    )
    length = where(dofs_of(model.structure).rotates, size[s.dof_bodyid], 1)
    return model.replace(stat=stat, dof_length=length)


def display_radius(model: Model) -> Array:
    """Extent (ngeom,) of each geom in pictures [m]; planes count with a tenth of their size."""
    xp = namespace(model.geom_size)
    side = xp.maximum(model.geom_size[:, 0], model.geom_size[:, 1])
    plane = where(side > 0, 0.1 * side, 1)
    is_plane = model.structure.geom_type == GeomType.PLANE
    return where(model.geom_rbound > 0, model.geom_rbound, where(is_plane, plane, 0))


def body_sizes(model: Model, data: Data) -> Array:
    """Size (nbody,) of each body: its farthest joint, child joint or geom from its mass centre."""
    s = model.structure
    xp = namespace(data.xpos)
    child, geoms = s.jnt_bodyid, s.geom_bodyid
    owner = np.concatenate([child, s.body_parentid[child], geoms]).astype(int)
    other = xp.concatenate([data.xanchor, data.xanchor, data.geom_xpos])
    distance = safe.norm(data.xipos[owner] - other)
    bound = model.geom_rbound
    extra = xp.concatenate([xp.zeros(2 * s.njnt), bound])
    counted = xp.concatenate([xp.ones(2 * s.njnt, bool), bound > 0])
    counted = counted & (distance >= 0)  # NaN does not count
    mine = (owner[None] == np.arange(s.nbody)[:, None]) & counted[None]
    none = xp.full((s.nbody, 1), 1e-5)
    return largest(xp.concatenate([where(mine, (distance + extra)[None], 0), none], axis=1))


def get_total_mass(model: Model) -> Array:
    """Sum of the masses of all bodies [kg] (`mj_getTotalmass`)."""
    return model.body_mass.sum()


def set_total_mass(model: Model, mass: Array | float) -> Model:
    """The model with masses and inertias scaled to a total mass (`mj_setTotalmass`).

    Derived constants are not updated; call `set_const` to do so.
    """
    scale = mass_scale(model.body_mass, mass)
    return model.replace(body_mass=scale * model.body_mass, body_inertia=scale * model.body_inertia)
