"""Derived constants of tendons and equality constraints."""

import functools
from collections.abc import Callable

import numpy as np
from jax.core import Tracer

from mjjax.compiler.constants.inverse_inertia import InverseInertia
from mjjax.core.enums import EqType, ObjType
from mjjax.dynamics.tendon import tendon, tendon_plan
from mjjax.math import quat
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.xla.linalg import einsum
from mjjax.xla.namespace import Array, namespace, where

_AUTO = -1.0  # if both spring lengths have this value, the length at qpos_spring counts


def tendon_constants(
    model: Model, data: Data, inverse: InverseInertia, positions: Callable[[Model, Array], Data]
) -> dict[str, Array]:
    """Length and inverse weight J M^-1 J' at `qpos0`; resting length of springs.

    Args:
        model: model.
        data: data at `qpos0`.
        inverse: inverse inertia.
        positions: kinematics at given joint positions.
    """
    if not model.structure.ntendon:
        return {}
    xp = namespace(data.ten_J)
    arms = where(listed_once(model.structure), data.ten_J, 0)
    rest = model.tendon_lengthspring
    known = not isinstance(rest, Tracer) and not np.any(np.asarray(rest) == _AUTO)
    if not known:
        length = tendon(model, positions(model, model.qpos_spring)).ten_length
        auto = xp.all(rest == _AUTO, axis=1, keepdims=True)
        rest = where(auto, length[:, None], rest)
    return {
        "tendon_length0": data.ten_length,
        "tendon_invweight0": einsum("ti,ti->t", arms, inverse.of(arms)),
        "tendon_lengthspring": rest,
    }


@functools.lru_cache(maxsize=64)
def listed_once(s: Structure) -> np.ndarray:
    """(ntendon, nv) dofs that a tendon lists only once; here MuJoCo overlooks other dofs."""
    plan = tendon_plan(s)
    count = np.zeros((s.ntendon, s.nv), int)
    np.add.at(count, (plan.owner, s.jnt_dofadr[s.wrap_objid[plan.joint]]), 1)
    return count < 2


def equality_offsets(model: Model, data: Data) -> dict[str, Array]:
    """`eq_data` with the values that follow from the poses at `qpos0`, for two bodies.

    For a connect this is the anchor in the second body. For a weld it is the pose of the second
    body's anchor in the first body, unless a relative pose with a nonzero quaternion is given. The
    quaternion of a given pose is normalized.
    """
    s = model.structure
    bodies = s.eq_objtype == ObjType.BODY
    if not bodies.any():
        return {}
    xp = namespace(data.xpos, model.eq_data)
    one, two = (np.where(bodies, ids, 0) for ids in (s.eq_obj1id, s.eq_obj2id))
    old, anchor = model.eq_data, model.eq_data[:, :3]
    pos, turn = data.xpos, data.xquat
    forth = pos[one] + quat.rotate(turn[one], anchor) - pos[two]
    back = pos[two] + quat.rotate(turn[two], anchor) - pos[one]
    own = quat.rotate(quat.conj(turn[two]), forth)
    pose = xp.concatenate(
        [
            quat.rotate(quat.conj(turn[one]), back),
            quat.mul(quat.conj(turn[one]), turn[two]),
        ],
        axis=1,
    )
    missing = xp.all(old[:, 6:10] == 0, axis=1, keepdims=True)
    given = xp.concatenate([old[:, 3:6], quat.normalize(old[:, 6:10])], axis=1)
    connect = (bodies & (s.eq_type == EqType.CONNECT))[:, None]
    weld = (bodies & (s.eq_type == EqType.WELD))[:, None]
    middle = where(weld, where(missing, pose, given), old[:, 3:10])
    first = where(connect, own, middle[:, :3])
    return {"eq_data": xp.concatenate([anchor, first, middle[:, 3:], old[:, 10:]], axis=1)}
