"""Forward dynamics: the stages in MuJoCo's order."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from mjjax.collision.driver import collision
from mjjax.constraint.assemble import make_constraint, reference_constraint
from mjjax.core.enums import DisableBit, EnableBit, SensorType, Stage
from mjjax.dynamics.actuation import actuator_velocity, fwd_actuation
from mjjax.dynamics.camlight import camlight
from mjjax.dynamics.energy import energy_pos, energy_vel
from mjjax.dynamics.inertia import com_pos, crb, solve_m
from mjjax.dynamics.jacobian import xfrc_accumulate
from mjjax.dynamics.kinematics import kinematics
from mjjax.dynamics.passive import passive
from mjjax.dynamics.tendon import tendon, tendon_bias, tendon_inertia, tendon_velocity
from mjjax.dynamics.transmission import transmission
from mjjax.dynamics.velocity import com_vel, rne
from mjjax.model.callbacks import NONE, Callbacks
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.sensor.stages import is_read_now, sensor_stage
from mjjax.solver.constraint import fwd_constraint

Part = Callable[..., Data]


def stage(function: Part) -> Part:
    """Names a stage in profiles."""

    @functools.wraps(function)
    def named(*args: Any, **kwargs: Any) -> Data:
        with jax.named_scope(function.__name__):
            return function(*args, **kwargs)

    return named


POSITION = (
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


@stage
def fwd_position(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """Everything that depends on positions only (`mj_fwdPosition`)."""
    calls = callbacks or NONE
    if calls.collision and calls.rules != data.rules:
        raise ValueError(
            "the colliders of this call are not those of make_data: give the same callbacks to "
            "both, make_data(model, callbacks=...)"
        )
    for part in POSITION:
        extra = (calls.contact_filter,) if part is collision else ()
        data = stage(part)(model, data, *extra)
    return data.replace(
        maxuse_con=jnp.maximum(data.maxuse_con, data.ncon),
        maxuse_efc=jnp.maximum(data.maxuse_efc, data.nefc),
    )


@stage
def fwd_velocity(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """Everything that depends on velocities too (`mj_fwdVelocity`)."""
    s, opt, calls = model.structure, model.opt, callbacks or NONE
    if s.ntendon:
        data = data.replace(ten_velocity=tendon_velocity(data))
    if s.nu:
        data = data.replace(actuator_velocity=actuator_velocity(model, data))
    for part in (com_vel, passive):
        data = stage(part)(model, data)
    idle = opt.disabled(DisableBit.SPRING) and opt.disabled(DisableBit.DAMPER)
    if calls.passive and not idle:
        data = calls.passive(model, data)
    data = stage(reference_constraint)(model, data)
    bias = rne(model, data)
    if s.terms["tendon_armature"].any():
        bias = bias + tendon_bias(model, data)
    return data.replace(qfrc_bias=bias)


@stage
def fwd_acceleration(model: Model, data: Data) -> Data:
    """Total force without constraints and its acceleration (`mj_fwdAcceleration`).

    qfrc_smooth = passive - bias + applied + actuator + J' xfrc, qacc_smooth = M^-1 qfrc_smooth.
    """
    applied = data.qfrc_applied + xfrc_accumulate(model, data)
    smooth = data.qfrc_passive - data.qfrc_bias + applied + data.qfrc_actuator
    return data.replace(qfrc_smooth=smooth, qacc_smooth=solve_m(model, data, smooth))


def sensors(model: Model, data: Data, part: Stage, callbacks: Callbacks) -> Data:
    """Sensor readings of a stage."""
    return stage(sensor_stage)(model, data, part, callbacks) if model.structure.nsensor else data


def position_stage(model: Model, data: Data, callbacks: Callbacks, skipsensor: bool) -> Data:
    """Everything that depends on positions only, with sensors and potential energy."""
    data = fwd_position(model, data, callbacks)
    if not skipsensor:
        data = sensors(model, data, Stage.POS, callbacks)
    if model.opt.enabled(EnableBit.ENERGY):
        return stage(energy_pos)(model, data)
    # a sensor of the potential energy leaves what sensors have computed
    read = (model.structure.sensor_type == SensorType.E_POTENTIAL).any()
    if not read or skipsensor or model.opt.disabled(DisableBit.SENSOR):
        return data.replace(energy=jnp.zeros_like(data.energy))
    potential = is_read_now(model, data, SensorType.E_POTENTIAL)
    kinetic = is_read_now(model, data, SensorType.E_KINETIC)
    left = jnp.stack([potential, potential & kinetic])
    return data.replace(energy=jnp.where(left, data.energy, 0))


def velocity_stage(model: Model, data: Data, callbacks: Callbacks, skipsensor: bool) -> Data:
    """Everything that depends on velocities too, with sensors and kinetic energy."""
    data = fwd_velocity(model, data, callbacks)
    if not skipsensor:
        data = sensors(model, data, Stage.VEL, callbacks)
    return stage(energy_vel)(model, data) if model.opt.enabled(EnableBit.ENERGY) else data


def motion_stages(
    model: Model, data: Data, callbacks: Callbacks, skipstage: Stage | int, skipsensor: bool
) -> Data:
    """The stages of positions and velocities, from the first that is not skipped."""
    if skipstage < Stage.POS:
        data = position_stage(model, data, callbacks, skipsensor)
    if skipstage < Stage.VEL:
        data = velocity_stage(model, data, callbacks, skipsensor)
    return data


def acceleration_stage(model: Model, data: Data, callbacks: Callbacks, skipsensor: bool) -> Data:
    """Forces and accelerations from the inputs, with sensors."""
    data = stage(fwd_actuation)(model, data, callbacks)
    data = fwd_acceleration(model, data)
    data = stage(fwd_constraint)(model, data)
    return data if skipsensor else sensors(model, data, Stage.ACC, callbacks)


def forward(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """Forward dynamics without integration (`mj_forward`).

    Pure and differentiable in `model` and `data`: exact derivatives of every stage, that of the
    constraint solver at its optimum.
    """
    return forward_skip(model, data, callbacks=callbacks)


def forward_skip(
    model: Model,
    data: Data,
    skipstage: Stage | int = Stage.NONE,
    skipsensor: bool = False,
    *,
    callbacks: Callbacks | None = None,
) -> Data:
    """Forward dynamics that takes the results of earlier stages from `data` (`mj_forwardSkip`).

    Args:
        model: model.
        data: data; holds the results of the stages that are skipped.
        skipstage: static; `Stage.POS` skips what depends on positions only, with the energies,
            `Stage.VEL` also what depends on velocities.
        skipsensor: static; whether to leave `sensordata` as it is.
        callbacks: functions of the user's.
    """
    calls = callbacks or NONE
    data = motion_stages(model, data, calls, skipstage, skipsensor)
    if calls.control and not model.opt.disabled(DisableBit.ACTUATION):
        data = calls.control(model, data)
    return acceleration_stage(model, data, calls, skipsensor)
