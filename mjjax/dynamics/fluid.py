"""Forces of a resting or moving medium on the bodies: the inertia-box model."""

from mjjax.core.constants import MINVAL
from mjjax.dynamics.jacobian import body_wrench
from mjjax.dynamics.tree import tree_plan
from mjjax.math import safe
from mjjax.math.linalg import einsum, matvec3
from mjjax.math.namespace import Array, namespace
from mjjax.math.quat import cross
from mjjax.math.spatial import mat3
from mjjax.model.data import Data
from mjjax.model.model import Model


def inertia_box(model: Model) -> Array:
    """Full side lengths (nbody, 3) [m] of the box with each body's mass and inertia."""
    xp = namespace(model.body_mass)
    i = model.body_inertia
    total = xp.sum(i, axis=-1, keepdims=True) - 2 * i
    massless = model.body_mass < MINVAL
    mass = xp.where(massless, 1, model.body_mass)[:, None]
    return safe.sqrt(6 * xp.maximum(MINVAL, total) / mass)


def local_velocity(model: Model, data: Data) -> Array:
    """Velocity (nbody, 6) of each centre of mass relative to the medium, in inertial axes."""
    xp = namespace(data.cvel)
    ang, lin = data.cvel[:, :3], data.cvel[:, 3:]
    lever = data.xipos - data.subtree_com[model.structure.body_rootid]
    lin = lin + cross(ang, lever) - model.opt.wind[None]
    mat = mat3(data.ximat)
    return xp.concatenate([_local(mat, ang), _local(mat, lin)], axis=-1)


def box_coefficients(model: Model) -> tuple[Array, Array]:
    """Linear and quadratic drag (nbody, 6), rotation first: f = -linear v - quadratic |v| v.

    Viscous: pi D^3 beta about each axis, 3 pi D beta along it, with D the mean side. Inertial:
    rho b_i (b_j^4 + b_k^4) / 64 about axis i, rho b_j b_k / 2 along it.
    """
    xp = namespace(model.body_mass)
    box = inertia_box(model)
    diameter = xp.mean(box, axis=-1, keepdims=True)
    present = (model.body_mass >= MINVAL)[:, None]
    beta = model.opt.viscosity * xp.ones_like(box)
    linear = xp.concatenate([xp.pi * diameter**3 * beta, 3 * xp.pi * diameter * beta], axis=-1)
    fourth = box**4
    others = xp.sum(fourth, axis=-1, keepdims=True) - fourth
    sides = xp.stack([box[:, 1] * box[:, 2], box[:, 0] * box[:, 2], box[:, 0] * box[:, 1]], axis=-1)
    quadratic = model.opt.density * xp.concatenate([box * others / 64, sides / 2], axis=-1)
    return xp.where(present, linear, 0), xp.where(present, quadratic, 0)


def fluid(model: Model, data: Data) -> Array:
    """Fluid force in joint space (nv,) [N or N m] by the inertia-box model.

    The derivative of |v| v is 2 |v|, zero at rest.
    """
    xp = namespace(data.cvel)
    linear, quadratic = box_coefficients(model)
    v = local_velocity(model, data)
    local = -(linear + quadratic * xp.abs(v)) * v
    mat = mat3(data.ximat)
    force, torque = _world(mat, local[:, 3:]), _world(mat, local[:, :3])
    return body_wrench(model, data, force, torque, data.xipos)


def fluid_derivative(model: Model, data: Data) -> Array:
    """Derivative (nv, nv) of the fluid force with respect to `qvel`, symmetric."""
    s = model.structure
    xp = namespace(data.cvel)
    linear, quadratic = box_coefficients(model)
    gain = linear + 2 * quadratic * xp.abs(local_velocity(model, data))
    lever = data.xipos - data.subtree_com[s.body_rootid]
    moves = tree_plan(s).moves[:, :, None]
    ang = xp.where(moves, data.cdof[None, :, :3], 0)
    lin = xp.where(moves, data.cdof[None, :, 3:], 0) + cross(ang, lever[:, None])
    mat = mat3(data.ximat)
    motion = xp.concatenate(
        [einsum("bji,bvj->bvi", mat, ang), einsum("bji,bvj->bvi", mat, lin)], axis=-1
    )
    return -einsum("bvi,bi,bwi->vw", motion, gain, motion)


def _local(mat: Array, v: Array) -> Array:
    return matvec3(namespace(mat).swapaxes(mat, -1, -2), v)


def _world(mat: Array, v: Array) -> Array:
    return matvec3(mat, v)
