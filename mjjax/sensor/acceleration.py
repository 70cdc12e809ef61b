"""Sensors of accelerations and forces."""

import jax.numpy as jnp
import numpy as np

from mjjax.constraint.reaction import contact_forces
from mjjax.core.enums import TrnType
from mjjax.dynamics.objects import object_motion
from mjjax.math.quat import cross
from mjjax.math.spatial import mat3
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.sensor.position import measured, transposed
from mjjax.sensor.velocity import LINEAR
from mjjax.sensor.zone import sites_ahead
from mjjax.xla.indexing import gather
from mjjax.xla.linalg import matmul, matvec3
from mjjax.xla.namespace import Array, where


def touch(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Sum of the normal forces of contacts in zones of bodies.

    A contact counts if its point is in the zone, or if the line from the point along the force
    meets the zone. The derivative is that of the forces for a fixed set of contacts.
    """
    s, contact = model.structure, data.contact
    if not contact.dist.shape[0]:
        return jnp.zeros(len(ids), data.qpos.dtype)
    site = measured(model, ids)[1]
    force = contact_forces(model, data)[None, :, 0]
    body = jnp.asarray(s.geom_bodyid, jnp.int32)[jnp.maximum(contact.geom, 0)]
    own = s.site_bodyid[site][:, None].astype(np.int32)
    first, second = own == body[None, :, 0], own == body[None, :, 1]
    on = (contact.geom[None, :, 0] >= 0) & (first | second) & (force > 0)
    direction = where(second[:, :, None], -1.0, 1.0) * contact.frame[None, :, :3]
    hits = sites_ahead(model, data, site, contact.pos[None], direction)
    return jnp.sum(where(on & hits, force, 0), axis=1)


def frame_acceleration(part: slice):
    """Kernel of the acceleration of frames, world axes."""

    def acceleration(model: Model, data: Data, ids: np.ndarray) -> Array:
        return object_motion(model, data, *measured(model, ids), True)[:, part].ravel()

    return acceleration


def interaction(part: slice):
    """Kernel of the force or torque between bodies and their parents, in the frames of sites."""

    def force(model: Model, data: Data, ids: np.ndarray) -> Array:
        s, site = model.structure, measured(model, ids)[1]
        body = s.site_bodyid[site]
        wrench = gather(data.cfrc_int, body)
        if part is not LINEAR:
            arm = gather(data.site_xpos, site) - gather(data.subtree_com, s.body_rootid[body])
            wrench = wrench[:, :3] - cross(arm, wrench[:, 3:])
        else:
            wrench = wrench[:, LINEAR]
        return matvec3(transposed(mat3(gather(data.site_xmat, site))), wrench).ravel()

    return force


def actuatorfrc(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Forces of actuators."""
    return gather(data.actuator_force, measured(model, ids)[1])


def jointactuatorfrc(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Total actuator forces at slides and hinges."""
    return gather(data.qfrc_actuator, model.structure.jnt_dofadr[measured(model, ids)[1]])


def tendonactuatorfrc(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Total actuator forces at tendons."""
    s, tendon = model.structure, measured(model, ids)[1]
    pulls = s.actuator_trntype == TrnType.TENDON
    mine = pulls[None] & (s.actuator_trnid[:, 0][None] == tendon[:, None])
    return matmul(mine, data.actuator_force)
