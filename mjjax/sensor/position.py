"""Sensors of positions. Kernels take model, data and sensor ids, and return flat readings."""

import jax.numpy as jnp
import numpy as np

from mjjax.core.constants import MINVAL
from mjjax.core.enums import ObjType
from mjjax.dynamics.objects import object_frames, object_quats
from mjjax.math import quat
from mjjax.math.spatial import mat3
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.sensor.zone import inside_sites
from mjjax.xla.indexing import gather
from mjjax.xla.linalg import matmul3, matvec3
from mjjax.xla.namespace import Array, where


def measured(model: Model, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Types and ids (n,) of the objects that sensors measure."""
    s = model.structure
    return s.sensor_objtype[ids], s.sensor_objid[ids]


def reference(model: Model, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Types and ids (n,) of the frames that sensors refer to; None if it is always the world's."""
    s = model.structure
    kind, index = s.sensor_reftype[ids], s.sensor_refid[ids]
    none = index < 0
    if none.all():
        return None
    return np.where(none, ObjType.XBODY, kind), np.where(none, 0, index)


def transposed(mat: Array) -> Array:
    """Inverse rotations (..., 3, 3)."""
    return jnp.swapaxes(mat, -1, -2)


def magnetometer(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Global flux in the frames of sites."""
    mat = mat3(gather(data.site_xmat, measured(model, ids)[1]))
    return matvec3(transposed(mat), model.opt.magnetic[None]).ravel()


def camprojection(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Pixel coordinates of sites in cameras; the centre of the image counts as principal point."""
    s = model.structure
    site, cam = measured(model, ids)[1], s.sensor_refid[ids]
    turn = transposed(mat3(data.cam_xmat[cam]))
    at = matvec3(turn, data.site_xpos[site] - data.cam_xpos[cam])
    focal = focal_lengths(model, cam)
    scaled = focal * at[:, :2] * jnp.asarray([[-1.0, 1.0]], at.dtype)
    depth = at[:, 2:]
    tiny = jnp.abs(depth) < MINVAL
    depth = where(tiny, where(depth < 0, -MINVAL, MINVAL), depth)
    centre = jnp.asarray(s.cam_resolution[cam] / 2, at.dtype)
    return (scaled / depth + centre).ravel()


def focal_lengths(model: Model, cam: np.ndarray) -> Array:
    """Focal lengths (n, 2) of cameras in pixels, from the sensor if it has a size."""
    resolution = jnp.asarray(model.structure.cam_resolution[cam], model.cam_fovy.dtype)
    size = model.cam_sensorsize[cam]
    sensed = jnp.all(size != 0, axis=1, keepdims=True)
    own = model.cam_intrinsic[cam, :2] / where(sensed, size, 1) * resolution
    angle = model.cam_fovy[cam, None] * (np.pi / 360)
    return where(sensed, own, 0.5 / jnp.tan(angle) * resolution[:, 1:])


def jointpos(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Positions of slides and hinges."""
    return gather(data.qpos, model.structure.jnt_qposadr[measured(model, ids)[1]])


def tendonpos(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Lengths of tendons."""
    return gather(data.ten_length, measured(model, ids)[1])


def actuatorpos(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Lengths of actuators."""
    return gather(data.actuator_length, measured(model, ids)[1])


def ballquat(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Orientations of ball joints."""
    adr = model.structure.jnt_qposadr[measured(model, ids)[1]][:, None] + np.arange(4)
    return quat.normalize(gather(data.qpos, adr)).ravel()


def framepos(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Positions of frames."""
    s, base = model.structure, reference(model, ids)
    pos, _ = object_frames(s, data, *measured(model, ids))
    if base is None:
        return pos.ravel()
    origin, turn = object_frames(s, data, *base)
    return matvec3(transposed(turn), pos - origin).ravel()


def framequat(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Orientations of frames."""
    base = reference(model, ids)
    turn = object_quats(model, data, *measured(model, ids))
    if base is not None:
        turn = quat.mul(quat.conj(object_quats(model, data, *base)), turn)
    return turn.ravel()


def frameaxis(k: int):
    """Kernel of the k-th axes of frames."""

    def axis(model: Model, data: Data, ids: np.ndarray) -> Array:
        s, base = model.structure, reference(model, ids)
        _, mat = object_frames(s, data, *measured(model, ids))
        if base is not None:
            mat = matmul3(transposed(object_frames(s, data, *base)[1]), mat)
        return mat[:, :, k].ravel()

    return axis


def subtreecom(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Centres of mass of subtrees."""
    return gather(data.subtree_com, measured(model, ids)[1]).ravel()


def insidesite(model: Model, data: Data, ids: np.ndarray) -> Array:
    """1 where an object is within a site, else 0; derivative zero."""
    s = model.structure
    pos, _ = object_frames(s, data, *measured(model, ids))
    within = inside_sites(model, data, s.sensor_refid[ids], pos[:, None])
    return within[:, 0].astype(pos.dtype)


def e_potential(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Potential energy, also without the flag `energy`."""
    return jnp.broadcast_to(data.energy[0], ids.shape)


def e_kinetic(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Kinetic energy, also without the flag `energy`."""
    return jnp.broadcast_to(data.energy[1], ids.shape)


def clock(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Simulation time."""
    return jnp.broadcast_to(data.time, ids.shape)
