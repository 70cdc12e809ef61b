"""Sensors of velocities."""

import jax.numpy as jnp
import numpy as np

from mjjax.dynamics.objects import object_frames, object_motion
from mjjax.math.quat import cross
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.sensor.position import measured, reference, transposed
from mjjax.xla.indexing import gather
from mjjax.xla.linalg import matvec3
from mjjax.xla.namespace import Array

LINEAR, ANGULAR = slice(3, 6), slice(0, 3)


def local_motion(part: slice, acceleration: bool = False):
    """Kernel of the velocity or acceleration of sites in their own frames."""

    def motion(model: Model, data: Data, ids: np.ndarray) -> Array:
        of = measured(model, ids)
        _, mat = object_frames(model.structure, data, *of)
        moved = object_motion(model, data, *of, acceleration)
        return matvec3(transposed(mat), moved[:, part]).ravel()

    return motion


def frame_velocity(part: slice):
    """Kernel of the velocity of frames, relative to and along the axes of another frame."""

    def velocity(model: Model, data: Data, ids: np.ndarray) -> Array:
        s, of, base = model.structure, measured(model, ids), reference(model, ids)
        moved = object_motion(model, data, *of)
        if base is None:
            return moved[:, part].ravel()
        pos, _ = object_frames(s, data, *of)
        origin, mat = object_frames(s, data, *base)
        frame = object_motion(model, data, *base)
        relative = moved - frame
        # The reference turns, so a point at rest in the world moves in the reference.
        turning = cross(pos - origin, frame[:, ANGULAR])
        relative = jnp.concatenate([relative[:, :3], relative[:, 3:] + turning], axis=1)
        return matvec3(transposed(mat), relative[:, part]).ravel()

    return velocity


def jointvel(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Velocities of slides and hinges."""
    return gather(data.qvel, model.structure.jnt_dofadr[measured(model, ids)[1]])


def ballangvel(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Angular velocities of ball joints."""
    dof = model.structure.jnt_dofadr[measured(model, ids)[1]]
    return gather(data.qvel, dof[:, None] + np.arange(3)).ravel()


def tendonvel(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Velocities of tendons."""
    return gather(data.ten_velocity, measured(model, ids)[1])


def actuatorvel(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Velocities of actuators."""
    return gather(data.actuator_velocity, measured(model, ids)[1])


def subtreelinvel(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Velocities of the centres of mass of subtrees."""
    return gather(data.subtree_linvel, measured(model, ids)[1]).ravel()


def subtreeangmom(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Angular momenta of subtrees about their centres of mass."""
    return gather(data.subtree_angmom, measured(model, ids)[1]).ravel()
