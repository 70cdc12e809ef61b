"""World poses of cameras and lights."""

import numpy as np

from mjjax.core.enums import CamLightType
from mjjax.core.profile import stage
from mjjax.math import quat, safe
from mjjax.math.spatial import flat9
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.xla.indexing import gather
from mjjax.xla.linalg import matmul3, matvec3
from mjjax.xla.namespace import Array, namespace, where

TARGET_MODES = (CamLightType.TARGETBODY, CamLightType.TARGETBODYCOM)


@stage
def camlight(model: Model, data: Data) -> Data:
    """Poses of cameras and lights, which may follow a body or look at one (`mj_camlight`).

    A camera or light is fixed to its body; or it follows its body's position (`track`) or subtree's
    centre of mass (`trackcom`), with its orientation at qpos0; or it moves with its body but looks
    at a body or at the centre of mass of a subtree. If it coincides with its target, the derivative
    of the direction to the target is zero.
    """
    s, n = model.structure, model.structure.ncam
    if not n + s.nlight:
        return data
    xp = namespace(data.xpos)
    mode, body, target = (
        np.concatenate([s.arrays[f"cam_{name}"], s.arrays[f"light_{name}"]])
        for name in ("mode", "bodyid", "targetbodyid")
    )
    frame = gather(xp.concatenate([data.xpos, data.xquat], axis=1), body)
    origin, turn = frame[:, :3], quat.to_mat(frame[:, 3:])
    offset = xp.concatenate([model.cam_pos, model.light_pos])
    pos = _positions(model, data, mode, body, origin, matvec3(turn, offset))
    aimed = np.isin(mode, TARGET_MODES) & (target >= 0)
    toward = _targets(data, mode, target) - pos if aimed.any() else xp.zeros_like(pos)
    if n:
        axes = matmul3(turn[:n], quat.to_mat(model.cam_quat))
        mat = _select(mode[:n], flat9(axes), model.cam_mat0)
        if aimed[:n].any():
            mat = where(aimed[:n, None], _look_at(toward[:n]), mat)
        data = data.replace(cam_xpos=pos[:n], cam_xmat=mat)
    if s.nlight:
        direction = matvec3(turn[n:], model.light_dir)
        direction = _select(mode[n:], direction, model.light_dir0)
        if aimed[n:].any():
            direction = where(aimed[n:, None], toward[n:], direction)
        data = data.replace(light_xpos=pos[n:], light_xdir=safe.normalize(direction)[0])
    return data


def _positions(
    model: Model, data: Data, mode: np.ndarray, body: np.ndarray, origin: Array, arm: Array
) -> Array:
    """World positions (n, 3) of cameras and lights, from the origins of their bodies and arms."""
    xp = namespace(data.xpos)
    pos = origin + arm
    tracking = (mode == CamLightType.TRACK)[:, None]
    following = (mode == CamLightType.TRACKCOM)[:, None]
    if tracking.any():
        offset = xp.concatenate([model.cam_pos0, model.light_pos0])
        pos = where(tracking, origin + offset, pos)
    if following.any():
        offset = xp.concatenate([model.cam_poscom0, model.light_poscom0])
        pos = where(following, gather(data.subtree_com, body) + offset, pos)
    return pos


def _select(mode: np.ndarray, attached: Array, initial: Array) -> Array:
    """The orientation of qpos0 for the modes that keep it, otherwise the attached orientation."""
    keeps = np.isin(mode, (CamLightType.TRACK, CamLightType.TRACKCOM))[:, None]
    return where(keeps, initial, attached) if keeps.any() else attached


def _targets(data: Data, mode: np.ndarray, target: np.ndarray) -> Array:
    com = (mode == CamLightType.TARGETBODYCOM)[:, None]
    body = np.maximum(target, 0)
    origin = gather(data.xpos, body)
    if not com.any():
        return origin
    return where(com, gather(data.subtree_com, body), origin)


def _look_at(direction: Array) -> Array:
    """Camera axes (..., 9) that look along `direction` (-z), with x horizontal."""
    xp = namespace(direction)
    z = safe.normalize(-direction)[0]
    up = xp.broadcast_to(xp.asarray([0.0, 0.0, 1.0], dtype=z.dtype), z.shape)
    x = safe.normalize(quat.cross(up, z))[0]
    y = safe.normalize(quat.cross(z, x))[0]
    return flat9(xp.stack([x, y, z], axis=-1))
