"""Velocities of bodies, momenta of subtrees, and the bias force: Coriolis and gravitational."""

import numpy as np

from mjjax.core.constants import MINVAL
from mjjax.core.enums import DisableBit, JointType
from mjjax.core.profile import stage
from mjjax.dynamics.objects import moved_to
from mjjax.dynamics.tree import before_sum, body_sum, dof_sum, subtree_sum
from mjjax.math.linalg import dot, matvec3, matvec3_t
from mjjax.math.namespace import Array, namespace
from mjjax.math.quat import cross
from mjjax.math.spatial import force_cross, inertia_mul, mat3, motion_cross
from mjjax.model.data import Data
from mjjax.model.model import Model


@stage
def com_vel(model: Model, data: Data) -> Data:
    """Body velocities `cvel` and the time derivative of `cdof` (`mj_comVel`).

    cvel_b is the sum of cdof_i qvel_i over the dofs that move b; cdof_dot_i is the velocity before
    the joint of i crossed with cdof_i, and zero for the translations of a free joint.
    """
    s = model.structure
    xp = namespace(data.qvel)
    moved = data.cdof * data.qvel[:, None]
    within = range(s.nv) - s.jnt_dofadr[s.dof_jntid]
    still = (s.jnt_type[s.dof_jntid] == JointType.FREE) & (within < 3)
    cdof_dot = motion_cross(before_sum(s, moved), data.cdof)
    if still.any():
        cdof_dot = xp.where(still[:, None], 0, cdof_dot)
    return data.replace(cvel=body_sum(s, moved), cdof_dot=cdof_dot)


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
    local = model.body_inertia * matvec3_t(turn, velocity[:, :3])
    spin = matvec3(turn, local) + cross(data.xipos, momentum)
    # about the origin first, which adds up over the tree; then about the subtree's own centre
    angmom = subtree_sum(s, spin) - cross(data.subtree_com, total[:, :3])
    return data.replace(subtree_linvel=linvel, subtree_angmom=angmom)


@stage
def rne(model: Model, data: Data, qacc: Array | None = None) -> Array:
    """Recursive Newton-Euler (nv,) [N or N m]: M qacc + bias; the bias alone without `qacc`.

    The world accelerates by -gravity; body force = I a + v x* (I v), projected on the dofs that
    move the body (`mj_rne`). Exact derivatives.
    """
    s = model.structure
    xp = namespace(data.qvel)
    acc = data.cdof_dot * data.qvel[:, None]
    if qacc is not None:
        acc = acc + data.cdof * qacc[:, None]
    cacc = body_sum(s, acc)
    if not model.opt.disabled(DisableBit.GRAVITY):
        zero = xp.zeros_like(model.opt.gravity)
        cacc = cacc - xp.concatenate([zero, model.opt.gravity])[None]
    force = inertia_mul(data.cinert, cacc)
    momentum = inertia_mul(data.cinert, data.cvel)
    force = force + force_cross(data.cvel, momentum)
    return dot(data.cdof, dof_sum(s, force))
