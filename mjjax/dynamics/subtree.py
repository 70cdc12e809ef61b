"""Momentum of subtrees."""

import numpy as np

from mjjax.core.constants import MINVAL
from mjjax.dynamics.objects import moved_to
from mjjax.dynamics.tree import subtree_sum
from mjjax.math.linalg import matvec3
from mjjax.math.namespace import namespace
from mjjax.math.quat import cross
from mjjax.math.spatial import mat3
from mjjax.model.data import Data
from mjjax.model.model import Model


def subtree_vel(model: Model, data: Data) -> Data:
    """Velocities and angular momenta of the subtrees about their centres (`mj_subtreeVel`).

    Fills `subtree_linvel` and `subtree_angmom`; exact derivatives.
    """
    s = model.structure
    xp = namespace(data.cvel)
    velocity = moved_to(data, s, data.cvel, np.arange(s.nbody), data.xipos)
    mass = model.body_mass[:, None]
    momentum = mass * velocity[:, 3:]
    total = subtree_sum(s, xp.concatenate([momentum, mass], axis=1))
    linvel = total[:, :3] / xp.maximum(total[:, 3:], MINVAL)
    turn = mat3(data.ximat)
    local = model.body_inertia * matvec3(xp.swapaxes(turn, 1, 2), velocity[:, :3])
    spin = matvec3(turn, local) + cross(data.xipos, momentum)
    # about the origin first, which adds up over the tree; then about the subtree's own centre
    angmom = subtree_sum(s, spin) - cross(data.subtree_com, total[:, :3])
    return data.replace(subtree_linvel=linvel, subtree_angmom=angmom)
