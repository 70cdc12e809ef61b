"""Equality constraints: residuals and Jacobians of connect, weld, joint and tendon."""

from collections.abc import Callable, Sequence

import numpy as np

from mjjax.constraint.layout import EQUALITY_ROWS
from mjjax.core.enums import EqType, ObjType
from mjjax.dynamics.jacobian import point_jacobian
from mjjax.math import quat, safe
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.xla.linalg import einsum
from mjjax.xla.namespace import Array, namespace, where

Equality = tuple[Array, Array, Array, Array]  # residual, violation, inverse weight, Jacobian


def equalities(model: Model, data: Data) -> Equality:
    """Rows of all equality constraints in the order of their ids, whether active or not.

    Derivatives are exact. Where the violation of a weld or connect is zero, its derivative is zero.

    Returns:
        Residual (n,) [m or rad]; violation (n,), which is the norm over a constraint's rows and
        determines the impedance; inverse weights (n,); Jacobian (n, nv).
    """
    s = model.structure
    parts, rows = [], []
    first = np.cumsum([0, *(EQUALITY_ROWS[kind] for kind in s.eq_type)])
    for kind, rows_of in EQUALITIES.items():
        ids = np.flatnonzero(s.eq_type == kind)
        if len(ids):
            parts.append(rows_of(model, data, ids))
            rows.append((first[ids][:, None] + np.arange(EQUALITY_ROWS[kind])).ravel())
    if len(parts) == 1:
        return parts[0]
    order = np.argsort(np.concatenate(rows))
    xp = namespace(data.qpos)
    joined = (xp.concatenate(column)[order] for column in zip(*parts, strict=True))
    residual, violation, weight, jacobian = joined
    return residual, violation, weight, jacobian


def _connect(model: Model, data: Data, ids: np.ndarray) -> Equality:
    """Position of anchor 1 minus that of anchor 2."""
    (one, two), bodies = anchors(model, data, EqType.CONNECT, ids)
    residual = one - two
    moved = [point_jacobian(model, data, *at)[0] for at in zip((one, two), bodies, strict=True)]
    weight = _weights(model, bodies)[:, :1]
    return _flat(residual, weight + 0 * residual, moved[0] - moved[1])


def _weld(model: Model, data: Data, ids: np.ndarray) -> Equality:
    """Difference of anchors, and torquescale times the vector part of q2^-1 q1 relpose."""
    s = model.structure
    xp = namespace(data.qpos)
    (one, two), bodies = anchors(model, data, EqType.WELD, ids)
    scale = model.eq_data[ids, 10:]
    turn, other = (data.xquat[b] for b in bodies)
    site = s.eq_objtype[ids] == ObjType.SITE
    pose = model.eq_data[ids, 6:10]
    if site.any():
        own = [model.site_quat[np.where(site, i[ids], 0)] for i in (s.eq_obj1id, s.eq_obj2id)]
        pose = where(site[:, None], own[0], pose)
        other = where(site[:, None], quat.mul(other, own[1]), other)
    turn, back = quat.mul(turn, pose), quat.conj(other)
    residual = xp.concatenate([one - two, scale * quat.mul(back, turn)[:, 1:]], axis=-1)
    (moved1, turned1), (moved2, turned2) = (
        point_jacobian(model, data, *at) for at in zip((one, two), bodies, strict=True)
    )
    # An angular velocity w changes the residual at the rate of the vector part of
    # q2^-1 (0, w) q1 / 2.
    axes = np.eye(4, dtype=turn.dtype)[1:]
    change = [quat.mul(back, quat.mul(0 * turn + axis[None], turn))[:, 1:] for axis in axes]
    spin = einsum("nik,nkv->niv", xp.stack(change, axis=-1), turned1 - turned2)
    spin = 0.5 * scale[:, :, None] * spin
    weight = _weights(model, bodies)[:, np.repeat([0, 1], 3)]
    return _flat(residual, weight, xp.concatenate([moved1 - moved2, spin], axis=1))


def _joint(model: Model, data: Data, ids: np.ndarray) -> Equality:
    """q1 - polynomial(q2), both relative to qpos0; without a second joint q2 is zero."""
    s = model.structure
    joints = [s.eq_obj1id[ids], s.eq_obj2id[ids]]
    coupled = joints[1] >= 0
    adr = [s.jnt_qposadr[j] for j in joints]
    y, x = (data.qpos[a] - model.qpos0[a] for a in adr)
    dofs = [s.jnt_dofadr[j] for j in joints]
    unit = np.eye(s.nv, dtype=y.dtype)
    weight = [model.dof_invweight0[d] for d in dofs]
    return _polynomial(
        model, ids, coupled, where(coupled, x, 0), y, [unit[d] for d in dofs], weight
    )


def _tendon(model: Model, data: Data, ids: np.ndarray) -> Equality:
    """length1 - polynomial(length2), both relative to the lengths at qpos0; see `_joint`."""
    s = model.structure
    tendons = [s.eq_obj1id[ids], s.eq_obj2id[ids]]
    coupled = tendons[1] >= 0
    y, x = (data.ten_length[t] - model.tendon_length0[t] for t in tendons)
    weight = [model.tendon_invweight0[t] for t in tendons]
    return _polynomial(
        model, ids, coupled, where(coupled, x, 0), y, [data.ten_J[t] for t in tendons], weight
    )


def _polynomial(
    model: Model,
    ids: np.ndarray,
    coupled: np.ndarray,
    x: Array,
    y: Array,
    jacobians: Sequence[Array],
    weights: Sequence[Array],
) -> Equality:
    c, on = model.eq_data[ids, :5].T, coupled.astype(x.dtype)
    value = c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * c[4])))
    slope = on * (c[1] + x * (2 * c[2] + x * (3 * c[3] + x * 4 * c[4])))
    jacobian = jacobians[0] - slope[:, None] * jacobians[1]
    residual = y - value
    return residual, residual, weights[0] + on * weights[1], jacobian


# Places of the anchors of the two sides in `eq_data`.
_ANCHORS = {EqType.CONNECT: (0, 3), EqType.WELD: (3, 0)}


def anchors(
    model: Model, data: Data, kind: EqType, ids: np.ndarray
) -> tuple[list[Array], tuple[np.ndarray, np.ndarray]]:
    """World anchors (n, 3) and bodies (n,) of both sides of connects or welds."""
    return _points(model, data, ids, _ANCHORS[kind]), _bodies(model, ids)


def _bodies(model: Model, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bodies (n,) that the two sides act on."""
    s = model.structure
    site = s.eq_objtype[ids] == ObjType.SITE
    both = (s.eq_obj1id[ids], s.eq_obj2id[ids])
    if not site.any():
        return both
    one, two = (np.where(site, s.site_bodyid[np.where(site, i, 0)], i) for i in both)
    return one, two


def _points(model: Model, data: Data, ids: np.ndarray, start: tuple[int, int]) -> list[Array]:
    """World anchors (n, 3) of the two sides: sites, or points of bodies from `eq_data`."""
    s = model.structure
    site = s.eq_objtype[ids] == ObjType.SITE
    points = []
    for body, objid, k in zip(_bodies(model, ids), (s.eq_obj1id, s.eq_obj2id), start, strict=True):
        local = model.eq_data[ids, k : k + 3]
        point = data.xpos[body] + quat.rotate(data.xquat[body], local)
        if site.any():
            point = where(site[:, None], data.site_xpos[np.where(site, objid[ids], 0)], point)
        points.append(point)
    return points


def _weights(model: Model, bodies: tuple[np.ndarray, np.ndarray]) -> Array:
    """Sum of both bodies' inverse weights (n, 2): translation, rotation."""
    return model.body_invweight0[bodies[0]] + model.body_invweight0[bodies[1]]


def _flat(residual: Array, weight: Array, jacobian: Array) -> Equality:
    violation = safe.norm(residual, keepdims=True) + 0 * residual
    flat = (x.reshape(-1) for x in (residual, violation, weight))
    residual, violation, weight = flat
    return residual, violation, weight, jacobian.reshape(residual.size, jacobian.shape[-1])


EQUALITIES: dict[EqType, Callable[[Model, Data, np.ndarray], Equality]] = {
    EqType.CONNECT: _connect,
    EqType.WELD: _weld,
    EqType.JOINT: _joint,
    EqType.TENDON: _tendon,
}
