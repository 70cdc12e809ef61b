"""Which kernel reads which type of sensor.

A kernel takes model, data and the ids of the sensors of its type, and returns their readings one
after the other. To add a type, write a kernel and add a line here.
"""

from collections.abc import Callable

import numpy as np

from mjjax.constraint.reaction import rne_postconstraint
from mjjax.core.enums import ConstraintType, SensorType, Stage
from mjjax.dynamics.energy import energy_pos, energy_vel
from mjjax.dynamics.velocity import subtree_vel
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.sensor import (
    acceleration,
    contact,
    limit,
    position,
    rangefinder,
    separation,
    tactile,
    velocity,
)
from mjjax.sensor.velocity import ANGULAR, LINEAR
from mjjax.xla.namespace import Array

Kernel = Callable[[Model, Data, np.ndarray], Array]

_JOINT, _TENDON = ConstraintType.LIMIT_JOINT, ConstraintType.LIMIT_TENDON
KERNELS: dict[SensorType, Kernel] = {
    SensorType.TOUCH: acceleration.touch,
    SensorType.ACCELEROMETER: velocity.local_motion(LINEAR, acceleration=True),
    SensorType.VELOCIMETER: velocity.local_motion(LINEAR),
    SensorType.GYRO: velocity.local_motion(ANGULAR),
    SensorType.FORCE: acceleration.interaction(LINEAR),
    SensorType.TORQUE: acceleration.interaction(ANGULAR),
    SensorType.MAGNETOMETER: position.magnetometer,
    SensorType.RANGEFINDER: rangefinder.rangefinder,
    SensorType.CAMPROJECTION: position.camprojection,
    SensorType.JOINTPOS: position.jointpos,
    SensorType.JOINTVEL: velocity.jointvel,
    SensorType.TENDONPOS: position.tendonpos,
    SensorType.TENDONVEL: velocity.tendonvel,
    SensorType.ACTUATORPOS: position.actuatorpos,
    SensorType.ACTUATORVEL: velocity.actuatorvel,
    SensorType.ACTUATORFRC: acceleration.actuatorfrc,
    SensorType.JOINTACTFRC: acceleration.jointactuatorfrc,
    SensorType.TENDONACTFRC: acceleration.tendonactuatorfrc,
    SensorType.BALLQUAT: position.ballquat,
    SensorType.BALLANGVEL: velocity.ballangvel,
    SensorType.JOINTLIMITPOS: limit.limit(_JOINT, limit.distance),
    SensorType.JOINTLIMITVEL: limit.limit(_JOINT, limit.velocity),
    SensorType.JOINTLIMITFRC: limit.limit(_JOINT, limit.force),
    SensorType.TENDONLIMITPOS: limit.limit(_TENDON, limit.distance),
    SensorType.TENDONLIMITVEL: limit.limit(_TENDON, limit.velocity),
    SensorType.TENDONLIMITFRC: limit.limit(_TENDON, limit.force),
    SensorType.FRAMEPOS: position.framepos,
    SensorType.FRAMEQUAT: position.framequat,
    SensorType.FRAMEXAXIS: position.frameaxis(0),
    SensorType.FRAMEYAXIS: position.frameaxis(1),
    SensorType.FRAMEZAXIS: position.frameaxis(2),
    SensorType.FRAMELINVEL: velocity.frame_velocity(LINEAR),
    SensorType.FRAMEANGVEL: velocity.frame_velocity(ANGULAR),
    SensorType.FRAMELINACC: acceleration.frame_acceleration(LINEAR),
    SensorType.FRAMEANGACC: acceleration.frame_acceleration(ANGULAR),
    SensorType.SUBTREECOM: position.subtreecom,
    SensorType.SUBTREELINVEL: velocity.subtreelinvel,
    SensorType.SUBTREEANGMOM: velocity.subtreeangmom,
    SensorType.INSIDESITE: position.insidesite,
    SensorType.GEOMDIST: separation.distance,
    SensorType.GEOMNORMAL: separation.normal,
    SensorType.GEOMFROMTO: separation.fromto,
    SensorType.CONTACT: contact.contact,
    SensorType.E_POTENTIAL: position.e_potential,
    SensorType.E_KINETIC: position.e_kinetic,
    SensorType.CLOCK: position.clock,
    SensorType.TACTILE: tactile.tactile,
}

# Functions that must run before sensors of some types are read.
BEFORE: tuple[tuple[Callable[[Model, Data], Data], tuple[SensorType, ...]], ...] = (
    (energy_pos, (SensorType.E_POTENTIAL,)),
    (energy_vel, (SensorType.E_KINETIC,)),
    (subtree_vel, (SensorType.SUBTREELINVEL, SensorType.SUBTREEANGMOM)),
    (
        rne_postconstraint,
        (
            SensorType.ACCELEROMETER,
            SensorType.FORCE,
            SensorType.TORQUE,
            SensorType.FRAMELINACC,
            SensorType.FRAMEANGACC,
        ),
    ),
)

# Real-valued readings that the cutoff does not limit.
UNLIMITED = (SensorType.CONTACT, SensorType.GEOMFROMTO)


def rows_needed(s: Structure) -> dict[str, int]:
    """Number of bodies for which `Data` has subtree momenta and reactions, by the size's name."""
    user = ~np.isin(s.sensor_type, list(KERNELS))
    found = {}
    for size, function, stage in (
        ("nmomentum", subtree_vel, Stage.VEL),
        ("nreaction", rne_postconstraint, Stage.ACC),
    ):
        read = np.isin(s.sensor_type, dict(BEFORE)[function])
        found[size] = s.nbody if (read | (user & (s.sensor_needstage >= stage))).any() else 0
    return found
