"""Velocities of bodies, momenta of subtrees, and the bias force: Coriolis and gravitational."""

import numpy as np

from mjjax.core.constants import MINVAL
from mjjax.core.enums import DisableBit
from mjjax.core.profile import stage
from mjjax.dynamics.objects import moved_to
from mjjax.dynamics.tree import before_sum, body_sum, dof_sum, subtree_sum
from mjjax.math import components
from mjjax.math.components import Parts, add, split
from mjjax.math.quat import cross, join
from mjjax.math.spatial import force_cross, inertia_mul, mat3, motion_cross
from mjjax.model.data import Data
from mjjax.model.dofs import dofs_of
from mjjax.model.model import Model
from mjjax.xla.layout import components_first, components_last
from mjjax.xla.linalg import matvec3, matvec3_t, stack, unstack
from mjjax.xla.namespace import Array, namespace, where


@stage
def com_vel(model: Model, data: Data) -> Data:
    """Body velocities `cvel` and the time derivative of `cdof` (`mj_comVel`).

    cvel_b is the sum of cdof_i qvel_i over the dofs that move b. cdof_dot_i is the cross product of
    the velocity before i's joint with cdof_i; it is zero for the translations of a free joint.
    """
    s = model.structure
    axes = split(data.cdof)
    moved = components_first(data.cdof) * data.qvel[None]
    still = dofs_of(s).shifts
    change = motion_cross(unstack(before_sum(s, moved)), axes)
    if still.any():
        change = tuple(where(still, 0, x) for x in change)
    return data.replace(cvel=components_last(body_sum(s, moved)), cdof_dot=join(change))


def subtree_vel(model: Model, data: Data) -> Data:
    """Velocities of subtree centres of mass, and angular momenta about them (`mj_subtreeVel`).

    It fills `subtree_linvel` and `subtree_angmom`. Derivatives are exact.
    """
    s = model.structure
    xp = namespace(data.cvel)
    velocity = moved_to(data, s, data.cvel, np.arange(s.nbody), data.xipos)
    mass = model.body_mass[:, None]
    momentum = mass * velocity[:, 3:]
    moved = components_last(subtree_sum(s, components_first(momentum)))
    linvel = moved / xp.maximum(subtree_sum(s, model.body_mass[None])[0], MINVAL)[:, None]
    turn = mat3(data.ximat)
    local = model.body_inertia * matvec3_t(turn, velocity[:, :3])
    spin = matvec3(turn, local) + cross(data.xipos, momentum)
    # Momenta about the origin add up over the tree. Then they move to the subtree's own centre.
    about = components_last(subtree_sum(s, components_first(spin)))
    angmom = about - cross(data.subtree_com, moved)
    return data.replace(subtree_linvel=linvel, subtree_angmom=angmom)


@stage
def rne(model: Model, data: Data, qacc: Array | None = None) -> Array:
    """Recursive Newton-Euler (nv,) [N or N m]: M qacc + bias, or the bias alone without `qacc`.

    The world accelerates by -gravity. The force on a body is I a + v x* (I v), projected on the
    dofs that move the body (`mj_rne`). Derivatives are exact.
    """
    s = model.structure
    force = stack(body_forces(data, body_accelerations(model, data, qacc)))
    return components.dot(split(data.cdof), unstack(dof_sum(s, force)))


def body_forces(data: Data, acc: Parts) -> Parts:
    """Components (nbody,) of the torques and forces that accelerate bodies by `acc`; see `rne`."""
    velocity, inertia = split(data.cvel), split(data.cinert)
    gyroscopic = force_cross(velocity, inertia_mul(inertia, velocity))
    return add(inertia_mul(inertia, acc), gyroscopic)


def body_accelerations(model: Model, data: Data, qacc: Array | None) -> Parts:
    """Components (nbody,) of the accelerations of bodies; the world has -gravity, see `rne`."""
    change = components_first(data.cdof_dot) * data.qvel[None]
    if qacc is not None:
        change = change + components_first(data.cdof) * qacc[None]
    acc = unstack(body_sum(model.structure, change))
    if model.opt.disabled(DisableBit.GRAVITY):
        return acc
    fall = split(model.opt.gravity)
    return (*acc[:3], *(x - g for x, g in zip(acc[3:], fall, strict=True)))
