"""Jacobians of points and bodies, and forces in joint space.

Every dof moves a point p attached to the bodies below it with velocity
lin_i + ang_i x (p - r), where r is the reference point of `cdof`; a Jacobian row differs between
bodies only in which dofs take part. Jacobians are (3, nv) as in MuJoCo.
"""

import numpy as np

from mjjax.dynamics.tree import dof_sum, tree_plan
from mjjax.math.linalg import dot, matmul, rows
from mjjax.math.namespace import Array, namespace
from mjjax.math.quat import cross
from mjjax.model.data import Data
from mjjax.model.model import Model


def jac(model: Model, data: Data, point: Array, body: int) -> tuple[Array, Array]:
    """Translational and rotational Jacobians (3, nv) of a world point on a body (`mj_jac`).

    Args:
        model: model.
        data: data with `cdof` and `subtree_com`.
        point: (3,) world coordinates [m].
        body: body id; static.
    """
    jacp, jacr = point_jacobian(model, data, point[None], np.array([body]))
    return jacp[0], jacr[0]


def point_jacobian(model: Model, data: Data, point: Array, body: np.ndarray) -> tuple[Array, Array]:
    """Translational and rotational Jacobians (n, 3, nv) of world points (n, 3) on bodies (n,)."""
    s = model.structure
    xp = namespace(data.cdof)
    moves = tree_plan(s).moves[body][:, :, None]
    ang, lin = data.cdof[None, :, :3], data.cdof[None, :, 3:]
    lever = (point - rows(data.subtree_com, s.body_rootid[body]))[:, None]
    jacp, jacr = xp.where(moves, lin + cross(ang, lever), 0), xp.where(moves, ang, 0)
    return xp.swapaxes(jacp, 1, 2), xp.swapaxes(jacr, 1, 2)


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


def point_rows(
    model: Model, data: Data, point: Array, force: Array, torque: Array, body: np.ndarray
) -> Array:
    """Joint-space forces (n, nv) of unit wrenches, one row each: moment arms.

    Args:
        model: model.
        data: data with `cdof` and `subtree_com`.
        point: (n, 3) points of application, world [m].
        force: (n, 3) world axes.
        torque: (n, 3) world axes.
        body: (n,) bodies that the wrenches act on; static.
    """
    s = model.structure
    xp = namespace(force, data.cdof)
    lever = point - rows(data.subtree_com, s.body_rootid[body])
    wrench = xp.concatenate([torque + cross(lever, force), force], axis=-1)
    return xp.where(tree_plan(s).moves[body], matmul(wrench, data.cdof.T), 0)


def body_wrench(model: Model, data: Data, force: Array, torque: Array, point: Array) -> Array:
    """Joint-space force (nv,) of one wrench per body.

    Args:
        model: model.
        data: data with `cdof` and `subtree_com`.
        force: (nbody, 3) world axes [N].
        torque: (nbody, 3) world axes [N m].
        point: (nbody, 3) points of application, world [m].
    """
    s = model.structure
    xp = namespace(force)
    lever = point - rows(data.subtree_com, s.body_rootid)
    wrench = xp.concatenate([torque + cross(lever, force), force], axis=-1)
    return dot(data.cdof, dof_sum(s, wrench))
