"""Potential and kinetic energy."""

from mjjax.core.enums import DisableBit
from mjjax.core.profile import stage
from mjjax.dynamics.inertia import mul_m
from mjjax.dynamics.passive import slack, spring_stretch
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.xla.linalg import matmul
from mjjax.xla.namespace import Array, namespace


def potential_energy(model: Model, data: Data) -> Array:
    """Energy of gravity, joint and tendon springs [J]: -sum m g . xipos + sum k stretch^2 / 2."""
    xp = namespace(data.xipos)
    total = xp.zeros((), data.xipos.dtype)
    if not model.opt.disabled(DisableBit.GRAVITY):
        total = total - xp.sum(model.body_mass[1:] * matmul(data.xipos[1:], model.opt.gravity))
    if not model.opt.disabled(DisableBit.SPRING):
        stiffness = model.jnt_stiffness[model.structure.dof_jntid]
        total = total + xp.sum(0.5 * stiffness * spring_stretch(model, data.qpos) ** 2)
        if model.structure.ntendon:
            stretch = slack(model, data.ten_length)
            total = total + xp.sum(0.5 * model.tendon_stiffness * stretch**2)
    return total


@stage
def energy_pos(model: Model, data: Data) -> Data:
    """Writes the potential energy to `energy[0]` (`mj_energyPos`); its derivative is exact."""
    xp = namespace(data.xipos)
    return data.replace(energy=xp.stack([potential_energy(model, data), data.energy[1]]))


@stage
def energy_vel(model: Model, data: Data) -> Data:
    """Writes the kinetic energy v' M v / 2 to `energy[1]` (`mj_energyVel`).

    Its derivative is exact.
    """
    xp = namespace(data.qvel)
    kinetic = 0.5 * xp.sum(data.qvel * mul_m(model, data, data.qvel))
    return data.replace(energy=xp.stack([data.energy[0], kinetic]))
