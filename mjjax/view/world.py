"""Worlds that a user watches and pulls on."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.constraint.reaction import contact_forces
from mjjax.core.enums import ObjType
from mjjax.dynamics.camlight import camlight
from mjjax.dynamics.inertia import com_pos
from mjjax.dynamics.kinematics import kinematics
from mjjax.math import quat
from mjjax.math.quat import cross
from mjjax.math.spatial import mat3
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.pipeline.step import step
from mjjax.render.drawn import Groups, Shown, drawn, elements
from mjjax.xla.namespace import Array, where

EVERY: Groups = (True,) * 6
_TENDONS = Shown(tendons=EVERY)
_LEAST = 1e-12  # inverse weight of a body that cannot move [1/kg]


class Pull(NamedTuple):
    """A hand that pulls on a point of a body, by a spring.

    Attributes:
        world: () which world, -1 for none.
        body: () which body.
        point: (3,) point of the body that the hand holds, in the frame of the body [m].
        target: (3,) point to which the hand pulls, world [m].
    """

    world: Array
    body: Array
    point: Array
    target: Array


NO_PULL = Pull(np.array(-1, np.int32), np.array(0, np.int32), np.zeros(3), np.zeros(3))


class Frame(NamedTuple):
    """The visible state of a world at one time.

    Attributes:
        time: () [s].
        xpos, xquat: (nbody, 3), (nbody, 4) poses of bodies, world.
        subtree_com: (nbody, 3) centres of mass of subtrees, world.
        cam_xpos, cam_xmat: (ncam, 3), (ncam, 9) poses of cameras, world.
        tendon: (n, 2, 3) ends of the segments of tendons; equal for segments that are not seen.
        contact: (nconmax, 3) positions of contacts.
        force: (nconmax, 3) forces of contacts on the second geom, world [N].
        touching: (nconmax,) which contact slots are in use.
    """

    time: Array
    xpos: Array
    xquat: Array
    subtree_com: Array
    cam_xpos: Array
    cam_xmat: Array
    tendon: Array
    contact: Array
    force: Array
    touching: Array


def frame(model: Model, data: Data) -> Frame:
    """The visible state of a world."""
    data = camlight(model, com_pos(model, kinematics(model, data)))
    all_ = drawn(model, data, _TENDONS)
    lines = np.flatnonzero(all_.element[:, 1] == ObjType.TENDON)
    middle, half = all_.data.geom_xpos[lines], all_.model.geom_size[lines, 1]
    along = mat3(all_.data.geom_xmat[lines])[:, :, 2]
    seen = (all_.model.geom_rgba[lines, 3] > 0).astype(half.dtype)
    reach = (half * seen)[:, None] * along
    forces = contact_forces(model, data)[:, :3]
    # the rows of a contact's frame are its axes
    turn = mat3(data.contact.frame.reshape(-1, 9))
    return Frame(
        data.time,
        data.xpos,
        data.xquat,
        data.subtree_com,
        data.cam_xpos,
        data.cam_xmat,
        jnp.stack([middle - reach, middle + reach], axis=1),
        data.contact.pos,
        jnp.sum(turn * forces[:, :, None], axis=1),
        data.contact.geom[:, 0] >= 0,
    )


def owners(model: Model) -> np.ndarray:
    """The tendon of each segment in `Frame.tendon`."""
    element = elements(model.structure, _TENDONS)
    return element[element[:, 1] == ObjType.TENDON, 0]


def pulled(model: Model, data: Data, pull: Pull, mine: Array) -> Data:
    """The world with the force of a hand in `xfrc_applied` (`mjv_applyPerturbForce`).

    The force m (k d - 2 sqrt(k) v) is that of a critically damped spring of stiffness
    k = `vis.map.stiffness`. The mass m with which the body resists comes from `body_invweight0`.
    """
    body = pull.body
    mass = 1 / jnp.maximum(model.body_invweight0[body, 0], _LEAST)
    mass = where(model.body_invweight0[body, 0] > 0, mass, 0)
    at = data.xpos[body] + quat.rotate(data.xquat[body], jnp.asarray(pull.point, mass.dtype))
    root = jnp.asarray(model.structure.body_rootid, jnp.int32)[body]
    spin, swing = data.cvel[body, :3], data.cvel[body, 3:]
    velocity = swing + cross(spin, at - data.subtree_com[root])
    stiffness = model.vis.map.stiffness
    away = jnp.asarray(pull.target, mass.dtype) - at
    force = mass * (stiffness * away - 2 * jnp.sqrt(stiffness) * velocity)
    torque = cross(at - data.xipos[body], force)
    wrench = where(mine, jnp.concatenate([force, torque]), 0)
    return data.replace(xfrc_applied=jnp.zeros_like(data.xfrc_applied).at[body].set(wrench))


@jax.jit
def advance(model: Model, batch: Data, ctrl: Array, pull: Pull, nstep: Array) -> tuple[Data, Frame]:
    """`nstep` steps of every world with these controls, and the visible state after them.

    Args:
        model: model.
        batch: worlds.
        ctrl: (nworld, nu) controls.
        pull: hand that pulls on one of the worlds.
        nstep: () number of steps.
    """
    worlds = jnp.arange(batch.time.shape[0], dtype=jnp.int32)
    batch = batch.replace(ctrl=ctrl)

    def one(data: Data, world: Array) -> Data:
        return step(model, pulled(model, data, pull, world == pull.world))

    def body(_: Array, batch: Data) -> Data:
        return jax.vmap(one)(batch, worlds)

    batch = jax.lax.fori_loop(0, nstep, body, batch)
    return batch, jax.vmap(functools.partial(frame, model))(batch)
