"""Forward dynamics: the stages in MuJoCo's order."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp

from mjjax.collision.driver import collision
from mjjax.constraint.assemble import make_constraint, reference_constraint
from mjjax.core.enums import EnableBit
from mjjax.dynamics.actuation import actuator_velocity, fwd_actuation
from mjjax.dynamics.camlight import camlight
from mjjax.dynamics.energy import energy_pos, energy_vel
from mjjax.dynamics.inertia import com_pos, crb, solve_m
from mjjax.dynamics.jacobian import body_wrench
from mjjax.dynamics.kinematics import kinematics
from mjjax.dynamics.passive import passive
from mjjax.dynamics.tendon import tendon, tendon_bias, tendon_inertia, tendon_velocity
from mjjax.dynamics.transmission import transmission
from mjjax.dynamics.velocity import com_vel, rne
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.solver.constraint import fwd_constraint

Stage = Callable[[Model, Data], Data]


def stage(function: Stage) -> Stage:
    """Names a stage in profiles."""

    @functools.wraps(function)
    def named(model: Model, data: Data) -> Data:
        with jax.named_scope(function.__name__):
            return function(model, data)

    return named


POSITION = tuple(
    stage(f)
    for f in (
        kinematics,
        com_pos,
        camlight,
        tendon,
        crb,
        tendon_inertia,
        collision,
        make_constraint,
        transmission,
    )
)


@stage
def fwd_position(model: Model, data: Data) -> Data:
    """Everything that depends on positions only (`mj_fwdPosition`)."""
    for part in POSITION:
        data = part(model, data)
    return data


@stage
def fwd_velocity(model: Model, data: Data) -> Data:
    """Everything that depends on velocities too (`mj_fwdVelocity`)."""
    s = model.structure
    if s.ntendon:
        data = data.replace(ten_velocity=tendon_velocity(data))
    if s.nu:
        data = data.replace(actuator_velocity=actuator_velocity(model, data))
    for part in (com_vel, passive, reference_constraint):
        data = stage(part)(model, data)
    bias = rne(model, data)
    if s.nonzero["tendon_armature"].any():
        bias = bias + tendon_bias(model, data)
    return data.replace(qfrc_bias=bias)


@stage
def fwd_acceleration(model: Model, data: Data) -> Data:
    """Total force without constraints and its acceleration (`mj_fwdAcceleration`).

    qfrc_smooth = passive - bias + applied + actuator + J' xfrc, qacc_smooth = M^-1 qfrc_smooth.
    """
    force, torque = data.xfrc_applied[:, :3], data.xfrc_applied[:, 3:]
    applied = data.qfrc_applied + body_wrench(model, data, force, torque, data.xipos)
    smooth = data.qfrc_passive - data.qfrc_bias + applied + data.qfrc_actuator
    return data.replace(qfrc_smooth=smooth, qacc_smooth=solve_m(model, data, smooth))


@stage
def energy(model: Model, data: Data) -> Data:
    """Energies if the `energy` flag is set, zero otherwise."""
    if not model.opt.enabled(EnableBit.ENERGY):
        return data.replace(energy=jnp.zeros_like(data.energy))
    return energy_vel(model, energy_pos(model, data))


def forward(model: Model, data: Data) -> Data:
    """Forward dynamics without integration (`mj_forward`).

    Pure and differentiable in `model` and `data`: exact derivatives of every stage, that of the
    constraint solver at its optimum.
    """
    for part in (fwd_position, fwd_velocity, energy, fwd_actuation, fwd_acceleration):
        data = part(model, data)
    return stage(fwd_constraint)(model, data)
