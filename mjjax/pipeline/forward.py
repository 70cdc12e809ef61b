"""Forward dynamics: the stages in MuJoCo's order."""

import jax.numpy as jnp

from mjjax.collision.asleep import wake_contacts
from mjjax.collision.driver import collision
from mjjax.constraint.stages import island, make_constraint, reference_constraint
from mjjax.core.enums import DisableBit, EnableBit, SensorType, Stage
from mjjax.core.profile import stage
from mjjax.dynamics.actuation import actuator_velocity, fwd_actuation
from mjjax.dynamics.camlight import camlight
from mjjax.dynamics.energy import energy_pos, energy_vel
from mjjax.dynamics.inertia import com_pos, crb
from mjjax.dynamics.jacobian import xfrc_accumulate
from mjjax.dynamics.joint_inertia import inertia_of
from mjjax.dynamics.kinematics import kinematics
from mjjax.dynamics.passive import passive
from mjjax.dynamics.tendon import tendon, tendon_bias, tendon_inertia, tendon_velocity
from mjjax.dynamics.transmission import transmission
from mjjax.dynamics.velocity import com_vel, rne
from mjjax.model.callbacks import NONE, Callbacks
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.sensor.stages import is_read_now, sensor_acc, sensor_pos, sensor_vel
from mjjax.sleep.stages import keep_smooth, wake_changed, wake_equalities, wake_tendons
from mjjax.solver.stages import fwd_constraint
from mjjax.xla.definite import solve_definite
from mjjax.xla.namespace import where


@stage
def fwd_position(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """Computes everything that depends on positions only (`mj_fwdPosition`)."""
    calls = callbacks or NONE
    if calls.collision and calls.rules != data.rules:
        raise ValueError(
            "the colliders of this call are not those of make_data: give the same callbacks to "
            "both, make_data(model, callbacks=...)"
        )
    data = wake_changed(model, data)
    data = kinematics(model, data)
    data = com_pos(model, data)
    data = camlight(model, data)
    data = tendon(model, data)
    data = wake_tendons(model, data)
    data = crb(model, data)
    data = tendon_inertia(model, data)
    data = collision(model, data, calls.contact_filter)
    data = wake_contacts(model, data)
    data = wake_equalities(model, data)
    data = make_constraint(model, data)
    data = island(model, data)
    data = transmission(model, data)
    return data.replace(
        maxuse_con=jnp.maximum(data.maxuse_con, data.ncon),
        maxuse_efc=jnp.maximum(data.maxuse_efc, data.nefc),
    )


@stage
def fwd_velocity(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """Computes everything that also depends on velocities (`mj_fwdVelocity`)."""
    opt, calls = model.opt, callbacks or NONE
    data = tendon_velocity(model, data)
    data = actuator_velocity(model, data)
    data = com_vel(model, data)
    data = passive(model, data)
    idle = opt.disabled(DisableBit.SPRING) and opt.disabled(DisableBit.DAMPER)
    if calls.passive and not idle:
        data = calls.passive(model, data)
    data = reference_constraint(model, data)
    return data.replace(qfrc_bias=rne(model, data) + tendon_bias(model, data))


@stage
def fwd_acceleration(model: Model, data: Data) -> Data:
    """Computes the total unconstrained force and its acceleration (`mj_fwdAcceleration`).

    qfrc_smooth = passive - bias + applied + actuator + J' xfrc, qacc_smooth = M^-1 qfrc_smooth.
    """
    applied = data.qfrc_applied + xfrc_accumulate(model, data)
    smooth = data.qfrc_passive - data.qfrc_bias + applied + data.qfrc_actuator
    qacc = inertia_of(model, data).solve(model.structure, solve_definite, smooth)
    new = data.replace(qfrc_smooth=smooth, qacc_smooth=qacc)
    return keep_smooth(model, data, new)


def position(model: Model, data: Data, callbacks: Callbacks, skipsensor: bool) -> Data:
    """Computes everything that depends on positions only, with sensors and energy."""
    data = fwd_position(model, data, callbacks)
    if not skipsensor:
        data = sensor_pos(model, data, callbacks)
    if model.opt.enabled(EnableBit.ENERGY):
        return energy_pos(model, data)
    return _sensed_energy(model, data, skipsensor)


def velocity(model: Model, data: Data, callbacks: Callbacks, skipsensor: bool) -> Data:
    """Computes everything that depends on velocities too, with sensors and energy."""
    data = fwd_velocity(model, data, callbacks)
    if not skipsensor:
        data = sensor_vel(model, data, callbacks)
    return energy_vel(model, data) if model.opt.enabled(EnableBit.ENERGY) else data


def _sensed_energy(model: Model, data: Data, skipsensor: bool) -> Data:
    """The energy; without the flag `energy` it is zero, unless an energy sensor computed it."""
    read = (model.structure.sensor_type == SensorType.E_POTENTIAL).any()
    if not read or skipsensor or model.opt.disabled(DisableBit.SENSOR):
        return data.replace(energy=jnp.zeros_like(data.energy))
    potential = is_read_now(model, data, SensorType.E_POTENTIAL)
    kinetic = is_read_now(model, data, SensorType.E_KINETIC)
    left = jnp.stack([potential, potential & kinetic])
    return data.replace(energy=where(left, data.energy, 0))


def control(model: Model, data: Data, callbacks: Callbacks) -> Data:
    """Controls and applied forces of the callback, if there is one."""
    if callbacks.control and not model.opt.disabled(DisableBit.ACTUATION):
        return callbacks.control(model, data)
    return data


def constraint(model: Model, data: Data, callbacks: Callbacks, skipsensor: bool) -> Data:
    """The acceleration with constraints, and the sensors that need it."""
    data = fwd_constraint(model, data)
    return data if skipsensor else sensor_acc(model, data, callbacks)


def forward(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """Forward dynamics without integration (`mj_forward`).

    It is pure, and differentiable with respect to `model` and `data`. The derivatives of every
    stage are exact; that of the constraint solver is the derivative of its optimum.
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
        data: data with the results of the stages that are skipped.
        skipstage: static; `Stage.POS` skips everything that depends on positions only, including
            the potential energy; `Stage.VEL` also skips everything that depends on velocities.
        skipsensor: static; whether to leave `sensordata` as it is.
        callbacks: your own functions.
    """
    calls = callbacks or NONE
    if skipstage < Stage.POS:
        data = position(model, data, calls, skipsensor)
    if skipstage < Stage.VEL:
        data = velocity(model, data, calls, skipsensor)
    data = control(model, data, calls)
    data = fwd_actuation(model, data, calls)
    data = fwd_acceleration(model, data)
    return constraint(model, data, calls, skipsensor)
