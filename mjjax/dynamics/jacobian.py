"""Jacobians of points and bodies, and forces in joint space.

Every dof moves a point p of the bodies below it with the velocity lin_i + ang_i x (p - r), where r
is the reference point of `cdof`. Between bodies, a Jacobian row differs only in which dofs take
part. Jacobians are (3, nv) as in MuJoCo.
"""

import jax.numpy as jnp
import numpy as np

from mjjax.core.constants import MINVAL
from mjjax.dynamics.tree import ancestors, dof_sum, tree_plan
from mjjax.math import components, quat
from mjjax.math.components import Parts, split
from mjjax.math.quat import cross
from mjjax.math.spatial import flat9, mat3, motion_cross
from mjjax.model.data import Contact, Data
from mjjax.model.dofs import dofs_of
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.xla.indexing import gather
from mjjax.xla.linalg import einsum, matmul, matmul3_t, slabs, stack, total, unstack
from mjjax.xla.namespace import Array, namespace, where


def jac(model: Model, data: Data, point: Array, body: Array | int) -> tuple[Array, Array]:
    """Translational and rotational Jacobians (3, nv) of a world point on a body (`mj_jac`).

    Args:
        model: model.
        data: data with `cdof` and `subtree_com`.
        point: (3,) world coordinates [m].
        body: body id; it may be traced.
    """
    s = model.structure
    root = _row(data.subtree_com, _row(s.body_rootid, body))
    jacp, jacr = _jacobians(data, _row(tree_plan(s).moves, body)[None], (point - root)[None])
    return jacp[0], jacr[0]


def point_jacobian(model: Model, data: Data, point: Array, body: np.ndarray) -> tuple[Array, Array]:
    """Translational and rotational Jacobians (n, 3, nv) of world points (n, 3) on bodies (n,)."""
    s = model.structure
    lever = point - gather(data.subtree_com, s.body_rootid[body])
    return _jacobians(data, tree_plan(s).moves[body], lever)


def _jacobians(data: Data, moves: Array, lever: Array) -> tuple[Array, Array]:
    """The same from the dofs that move the bodies (n, nv), and the points from their roots' com."""
    xp, moves = namespace(data.cdof), moves[:, :, None]
    ang, lin = data.cdof[None, :, :3], data.cdof[None, :, 3:]
    jacp, jacr = where(moves, lin + cross(ang, lever[:, None]), 0), where(moves, ang, 0)
    return xp.swapaxes(jacp, 1, 2), xp.swapaxes(jacr, 1, 2)


def _row(table: Array, index: Array | int) -> Array:
    """A row of a table; the index may be traced, also if the table is NumPy's."""
    return table[index] if isinstance(index, int | np.integer) else jnp.asarray(table)[index]


def jac_body(model: Model, data: Data, body: int) -> tuple[Array, Array]:
    """Jacobians (3, nv) of the origin of a body frame (`mj_jacBody`)."""
    return jac(model, data, data.xpos[body], body)


def jac_body_com(model: Model, data: Data, body: int) -> tuple[Array, Array]:
    """Jacobians (3, nv) of the centre of mass of a body (`mj_jacBodyCom`)."""
    return jac(model, data, data.xipos[body], body)


def jac_geom(model: Model, data: Data, geom: int) -> tuple[Array, Array]:
    """Jacobians (3, nv) of the centre of a geom (`mj_jacGeom`)."""
    return jac(model, data, data.geom_xpos[geom], int(model.structure.geom_bodyid[geom]))


def jac_site(model: Model, data: Data, site: int) -> tuple[Array, Array]:
    """Jacobians (3, nv) of a site (`mj_jacSite`)."""
    return jac(model, data, data.site_xpos[site], int(model.structure.site_bodyid[site]))


def jac_subtree_com(model: Model, data: Data, body: int) -> Array:
    """Jacobian (3, nv) of the centre of mass of a body's subtree (`mj_jacSubtreeCom`)."""
    ids = _subtree(model, body)
    jacp, _ = point_jacobian(model, data, data.xipos[ids], ids)
    mass = model.body_mass[ids]
    return einsum("b,biv->iv", mass, jacp) / namespace(mass).maximum(MINVAL, mass.sum())


def jac_point_axis(
    model: Model, data: Data, point: Array, axis: Array, body: int
) -> tuple[Array, Array]:
    """Jacobians (3, nv) of a world point and a world axis fixed to a body (`mj_jacPointAxis`)."""
    jacp, jacr = jac(model, data, point, body)
    columns = namespace(jacr).broadcast_to(axis, (jacr.shape[1], 3))
    return jacp, cross(jacr.T, columns).T


def jac_dot(model: Model, data: Data, point: Array, body: Array | int) -> tuple[Array, Array]:
    """Time derivatives (3, nv) of the Jacobians of a point that moves with a body (`mj_jacDot`).

    Args:
        model: model.
        data: data with `cdof`, `cdof_dot` and `cvel`.
        point: (3,) world coordinates [m].
        body: body id; it may be traced.
    """
    s = model.structure
    xp = namespace(data.cdof)
    moves = _row(tree_plan(s).moves, body)
    # The axes of balls turn with the body, also by its own joint, which `cdof_dot` leaves out.
    dofs = dofs_of(s)
    change = data.cdof_dot
    if dofs.turns.any():
        same = dofs.same_joint & dofs.turns[:, None] & dofs.turns
        own = matmul(same.astype(data.qvel.dtype), data.cdof * data.qvel[:, None])
        change = change + quat.join(motion_cross(split(own), split(data.cdof)))
    lever = point - _row(data.subtree_com, _row(s.body_rootid, body))
    velocity = data.cvel[body, 3:] + cross(data.cvel[body, :3], lever)
    ang, lin = change[:, :3], change[:, 3:]

    def spread(v: Array) -> Array:
        return xp.broadcast_to(v, ang.shape)

    jacp = lin + cross(ang, spread(lever)) + cross(data.cdof[:, :3], spread(velocity))
    mask = moves[:, None]
    return where(mask, jacp, 0).T, where(mask, ang, 0).T


def angmom_mat(model: Model, data: Data, body: int) -> Array:
    """Matrix (3, nv) that maps `qvel` to a subtree's angular momentum (`mj_angmomMat`).

    The angular momentum is taken about the centre of mass of the subtree, in world axes.
    """
    ids = _subtree(model, body)
    xp = namespace(data.xipos)
    jacp, jacr = (xp.swapaxes(j, 1, 2) for j in point_jacobian(model, data, data.xipos[ids], ids))
    turn = mat3(data.ximat[ids])
    inertia = matmul3_t(turn * model.body_inertia[ids][:, None], turn)
    spin = matmul(jacr, xp.swapaxes(inertia, 1, 2))
    lever = (data.xipos[ids] - data.subtree_com[body][None])[:, None]
    momentum = model.body_mass[ids][:, None, None] * jacp
    orbit = cross(xp.broadcast_to(lever, momentum.shape), momentum)
    return (spin + orbit).sum(axis=0).T


def _subtree(model: Model, body: int) -> np.ndarray:
    """Bodies of a subtree."""
    return np.flatnonzero(ancestors(model.structure.body_parentid)[:, body])


def apply_ft(
    model: Model, data: Data, force: Array, torque: Array, point: Array, body: Array | int
) -> Array:
    """Joint-space force (nv,) of a world force and torque at a point of a body (`mj_applyFT`).

    The body may be traced.
    """
    jacp, jacr = jac(model, data, point, body)
    return matmul(force, jacp) + matmul(torque, jacr)


def xfrc_accumulate(model: Model, data: Data) -> Array:
    """Joint-space force (nv,) of `xfrc_applied` (`mj_xfrcAccumulate`)."""
    force, torque = data.xfrc_applied[:, :3], data.xfrc_applied[:, 3:]
    return body_wrench(model, data, force, torque, data.xipos)


def local_to_global(data: Data, pos: Array, q: Array, body: int) -> tuple[Array, Array]:
    """World position (3,) and orientation (9,) of a pose in a body frame (`mj_local2Global`)."""
    xpos = data.xpos[body] + quat.rotate(data.xquat[body], pos)
    return xpos, flat9(quat.to_mat(quat.mul(data.xquat[body], q)))


def point_rows(
    model: Model, data: Data, point: Array, force: Array, torque: Array, body: np.ndarray
) -> Array:
    """Joint-space forces (n, nv) of unit wrenches, that is their moment arms, one row each.

    Args:
        model: model.
        data: data with `cdof` and `subtree_com`.
        point: (n, 3) points of application, world [m].
        force: (n, 3) forces, world axes.
        torque: (n, 3) torques, world axes.
        body: (n,) bodies that the wrenches act on; static.
    """
    s = model.structure
    xp = namespace(force, data.cdof)
    lever = point - gather(data.subtree_com, s.body_rootid[body])
    wrench = xp.concatenate([torque + cross(lever, force), force], axis=-1)
    return where(tree_plan(s).moves[body], matmul(wrench, data.cdof.T), 0)


def body_wrench(model: Model, data: Data, force: Array, torque: Array, point: Array) -> Array:
    """Joint-space force (nv,) of one wrench per body.

    Args:
        model: model.
        data: data with `cdof` and `subtree_com`.
        force: (nbody, 3) forces, world axes [N].
        torque: (nbody, 3) torques, world axes [N m].
        point: (nbody, 3) points of application, world [m].
    """
    s = model.structure
    lever, push = split(point - gather(data.subtree_com, s.body_rootid)), split(force)
    wrench = (*components.add(split(torque), components.cross(lever, push)), *push)
    return components.dot(split(data.cdof), unstack(dof_sum(s, stack(wrench))))


def contact_wrenches(
    s: Structure, data: Data, contact: Contact, geoms: np.ndarray | None, width: int
) -> tuple[Parts, Array, Array]:
    """Factors of the Jacobian of relative motion in the contact frames (ncontact, width, nv).

    The rows are normal, two tangential, torsional and two rolling. A dof gives the contact point
    the same velocity on either body that it moves. So an entry is the wrench of the row times the
    motion axis of the dof, times (moves body 2) - (moves body 1).

    Args:
        s: structure.
        data: data with `cdof`, `subtree_com`.
        contact: contact slots.
        geoms: (ncontact, 2) static geoms of the slots, or None to take those in `contact`.
        width: number of rows.

    Returns:
        Six components (ncontact, width) of wrenches, motion axes (6, nv) about the same point, and
        the sides (ncontact, nv): 1, -1 or 0.
    """
    table = tree_plan(s).moves.astype(np.int8)
    if geoms is None:
        body = jnp.asarray(s.geom_bodyid)[jnp.maximum(contact.geom, 0)]
        side = jnp.asarray(table)[body[:, 1]] - jnp.asarray(table)[body[:, 0]]
        side = where(contact.geom[:, :1] >= 0, side, 0).astype(data.cdof.dtype)
    else:
        body = s.geom_bodyid[geoms]
        # This is computed while tracing. In the program, every reader would have an array of its
        # own, taken out of its loop.
        side = (table[body[:, 1]] - table[body[:, 0]]).astype(data.cdof.dtype)
    axis, center = _common_axes(s, data)
    force = split(mat3(contact.frame))
    arm = split((contact.pos - center)[:, None])
    wrench = row_wrenches(arm, force, force if width > 3 else None)
    return tuple(x[:, :width] for x in wrench), axis.T, side


def row_wrenches(arm: Parts, push: Parts, turn: Parts | None) -> Parts:
    """Components of wrenches, torque first: of forces along axes at an arm, then of pure torques.

    Args:
        arm: (..., 1) arm of the forces.
        push: (..., m) axes of the forces.
        turn: (..., k) axes of the torques, if there are any.

    Returns:
        Six components (..., m + k).
    """
    wrench = (*components.cross(arm, push), *push)
    if turn is None:
        return wrench
    pure = (*turn, *[jnp.zeros_like(turn[0])] * 3)
    return tuple(jnp.concatenate(both, axis=-1) for both in zip(wrench, pure, strict=True))


def wrench_rows(wrench: Parts, axis: Array, side: Array) -> Array:
    """The Jacobian (ncontact, width, nv) from its factors; see `contact_wrenches`."""
    rows = total(w[:, :, None] * x[None] for w, x in zip(wrench, slabs(axis, 0), strict=True))
    return rows * side[:, None]


def _common_axes(s: Structure, data: Data) -> tuple[Array, Array]:
    """Motion axes (nv, 6) about one point (1, 3); for a single root, its centre of mass."""
    roots = np.unique(s.body_rootid[s.dof_bodyid])
    if len(roots) == 1:
        return data.cdof, gather(data.subtree_com, roots)
    center = jnp.mean(gather(data.subtree_com, roots), axis=0, keepdims=True)
    shift = center - gather(data.subtree_com, s.body_rootid[s.dof_bodyid])
    ang, lin = data.cdof[:, :3], data.cdof[:, 3:]
    return jnp.concatenate([ang, lin + cross(ang, shift)], axis=-1), center
