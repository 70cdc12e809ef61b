"""Jacobians, applied forces, rays, contact forces and names (`mujoco.mjx._src.support`, `ray`)."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

import mjjax
from mjjax.dynamics import muscle
from mjjax.math import quat
from mjjax.mjx.stages import full_m, mul_m  # noqa: F401 MJX has them in this module
from mjjax.mjx.trees import Data, Model
from mjjax.pipeline.interop import module_of
from mjjax.xla.namespace import Array


def jac(m: Model, d: Data, point: Array, body_id: Any) -> tuple[Array, Array]:
    """Jacobians (nv, 3) of the position and rotation of a world point on a body (`mj_jac`).

    The body may be traced. MuJoCo and `mjjax.jac` have the transposes, (3, nv).
    """
    jacp, jacr = mjjax.jac(m.native, d.native, point, body_id)
    return jacp.T, jacr.T


def jac_dot(m: Model, d: Data, point: Array, body_id: Any) -> tuple[Array, Array]:
    """Time derivatives (nv, 3) of the Jacobians of a point that moves with a body (`mj_jacDot`)."""
    jacp, jacr = mjjax.jac_dot(m.native, d.native, point, body_id)
    return jacp.T, jacr.T


def apply_ft(m: Model, d: Data, force: Array, torque: Array, point: Array, body_id: Any) -> Array:
    """Joint-space force (nv,) of a world force and torque at a point of a body (`mj_applyFT`)."""
    return mjjax.apply_ft(m.native, d.native, force, torque, point, body_id)


def xfrc_accumulate(m: Model, d: Data) -> Array:
    """Joint-space force (nv,) of `xfrc_applied` (`mj_xfrcAccumulate`)."""
    return mjjax.xfrc_accumulate(m.native, d.native)


def local_to_global(
    world_pos: Array, world_quat: Array, local_pos: Array, local_quat: Array
) -> tuple[Array, Array]:
    """World position (3,) and rotation (3, 3) of a pose in a frame."""
    q = jnp.asarray(world_quat)
    pos = world_pos + quat.rotate(q, jnp.asarray(local_pos))
    return pos, quat.to_mat(quat.mul(q, jnp.asarray(local_quat)))


def ray(
    m: Model,
    d: Data,
    pnt: Array,
    vec: Array,
    geomgroup: Sequence[int] = (),
    flg_static: bool = True,
    bodyexclude: Sequence[int] | int = -1,
) -> tuple[Array, Array]:
    """Distance along a ray to the nearest visible geom, and its id; -1 for none (`mj_ray`).

    Args:
        m: model.
        d: data after `kinematics`.
        pnt: (3,) start, world [m].
        vec: (3,) direction; the distance is in units of its length.
        geomgroup: six flags, which groups of geoms are seen; all if empty.
        flg_static: whether geoms of static bodies are seen.
        bodyexclude: bodies whose geoms are not seen, -1 for none.
    """
    groups = tuple(bool(x) for x in geomgroup) or None
    hit = mjjax.ray(m.native, d.native, pnt, vec, groups, flg_static, bodyexclude)
    return hit.dist, hit.geomid


def contact_force(m: Model, d: Data, contact_id: int, to_world_frame: bool = False) -> Array:
    """Force and torque (6,) of a contact, in its frame or in world axes (`mj_contactForce`)."""
    force = mjjax.contact_force(m.native, d.native, contact_id)
    if to_world_frame:
        force = (force.reshape(2, 3) @ d.contact.frame[contact_id]).reshape(6)
    return force


def contact_force_dim(m: Model, d: Data, dim: int) -> tuple[Array, np.ndarray]:
    """Forces and torques (n, 6) of the contacts of one dimension, and their slots (n,).

    The number of contacts decides the shape, so this does not work inside of `jit`.
    """
    slots = np.flatnonzero((d.contact.efc_address >= 0) & (d.contact.dim == dim))
    forces = [contact_force(m, d, int(slot)) for slot in slots]
    return jnp.stack(forces) if forces else jnp.zeros((0, 6)), slots


def is_sparse(m: Any) -> bool:
    """Whether matrices are sparse: never."""
    del m
    return False


def id2name(m: Any, typ: Any, i: int) -> str | None:
    """Name of an element, None if it has none or does not exist (`mj_id2name`)."""
    own = m.native if isinstance(m, Model) else m
    if hasattr(own, "structure"):
        return mjjax.id2name(own, int(typ), i)
    return module_of(own).mj_id2name(own, int(typ), i)


def name2id(m: Any, typ: Any, name: str) -> int:
    """Id of an element, -1 if it does not exist (`mj_name2id`)."""
    own = m.native if isinstance(m, Model) else m
    if hasattr(own, "structure"):
        return mjjax.name2id(own, int(typ), name)
    return module_of(own).mj_name2id(own, int(typ), name)


def muscle_gain(len_: Array, vel: Array, lengthrange: Array, acc0: Array, prm: Array) -> Array:
    """Force per unit of activation of a muscle (`mju_muscleGain`) [N]."""
    one = (jnp.asarray(x)[None] for x in (len_, vel, lengthrange, acc0, prm))
    return muscle.muscle_gain(*one)[0]


def muscle_bias(len_: Array, lengthrange: Array, acc0: Array, prm: Array) -> Array:
    """Passive force of a muscle (`mju_muscleBias`) [N]."""
    return muscle.muscle_bias(*(jnp.asarray(x)[None] for x in (len_, lengthrange, acc0, prm)))[0]


def muscle_dynamics(ctrl: Array, act: Array, prm: Array) -> Array:
    """Time derivative of the activation of a muscle (`mju_muscleDynamics`) [1/s]."""
    return muscle.muscle_rate(*(jnp.asarray(x)[None] for x in (ctrl, act, prm)))[0]
