"""World poses of cameras and lights."""

import numpy as np

from mjjax.core.enums import CamLightType
from mjjax.math import quat, safe
from mjjax.math.namespace import Array, namespace
from mjjax.math.spatial import flat9
from mjjax.model.data import Data
from mjjax.model.model import Model

TARGETS = (CamLightType.TARGETBODY, CamLightType.TARGETBODYCOM)


def camlight(model: Model, data: Data) -> Data:
    """Poses of cameras and lights, which may follow a body or look at one (`mj_camlight`).

    Modes: fixed to the body; following its position (`track`) or its subtree's centre of mass
    (`trackcom`) with the orientation of qpos0; attached and looking at a body or at its subtree's
    centre of mass. The direction to a target has derivative zero where camera and target coincide.
    """
    s = model.structure
    xp = namespace(data.xpos)
    if s.ncam:
        rotation = quat.to_mat(quat.mul(data.xquat[s.cam_bodyid], model.cam_quat))
        pos = _positions(
            data, s.cam_mode, s.cam_bodyid, model.cam_pos, model.cam_pos0, model.cam_poscom0
        )
        mat = _select(s.cam_mode, flat9(rotation), model.cam_mat0)
        aimed = np.isin(s.cam_mode, TARGETS) & (s.cam_targetbodyid >= 0)
        if aimed.any():
            look = _look_at(_targets(data, s.cam_mode, s.cam_targetbodyid) - pos)
            mat = xp.where(aimed[:, None], look, mat)
        data = data.replace(cam_xpos=pos, cam_xmat=mat)
    if s.nlight:
        pos = _positions(
            data,
            s.light_mode,
            s.light_bodyid,
            model.light_pos,
            model.light_pos0,
            model.light_poscom0,
        )
        rotated = quat.rotate(data.xquat[s.light_bodyid], model.light_dir)
        direction = _select(s.light_mode, rotated, model.light_dir0)
        aimed = np.isin(s.light_mode, TARGETS) & (s.light_targetbodyid >= 0)
        if aimed.any():
            toward = _targets(data, s.light_mode, s.light_targetbodyid) - pos
            direction = xp.where(aimed[:, None], toward, direction)
        data = data.replace(light_xpos=pos, light_xdir=safe.normalize(direction)[0])
    return data


def _positions(
    data: Data, mode: np.ndarray, body: np.ndarray, pos: Array, pos0: Array, poscom0: Array
) -> Array:
    xp = namespace(data.xpos)
    fixed = data.xpos[body] + quat.rotate(data.xquat[body], pos)
    tracking = (mode == CamLightType.TRACK)[:, None]
    following = (mode == CamLightType.TRACKCOM)[:, None]
    fixed = xp.where(tracking, data.xpos[body] + pos0, fixed) if tracking.any() else fixed
    return (
        xp.where(following, data.subtree_com[body] + poscom0, fixed) if following.any() else fixed
    )


def _select(mode: np.ndarray, attached: Array, initial: Array) -> Array:
    """The orientation of qpos0 for the modes that keep it, the attached one otherwise."""
    keeps = np.isin(mode, (CamLightType.TRACK, CamLightType.TRACKCOM))[:, None]
    return namespace(attached).where(keeps, initial, attached) if keeps.any() else attached


def _targets(data: Data, mode: np.ndarray, target: np.ndarray) -> Array:
    com = (mode == CamLightType.TARGETBODYCOM)[:, None]
    body = np.maximum(target, 0)
    return namespace(data.xpos).where(com, data.subtree_com[body], data.xpos[body])


def _look_at(direction: Array) -> Array:
    """Camera axes (..., 9) that look along `direction` (-z), with x horizontal."""
    xp = namespace(direction)
    z = safe.normalize(-direction)[0]
    up = xp.broadcast_to(xp.asarray([0.0, 0.0, 1.0], dtype=z.dtype), z.shape)
    x = safe.normalize(quat.cross(up, z))[0]
    y = safe.normalize(quat.cross(z, x))[0]
    return flat9(xp.stack([x, y, z], axis=-1))
