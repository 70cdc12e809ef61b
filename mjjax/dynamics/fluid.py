"""Forces of a resting or moving medium on the bodies: inertia boxes and ellipsoids."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mjjax.core.constants import MINVAL
from mjjax.core.enums import IntegratorType
from mjjax.dynamics.ellipsoid import ellipsoid_derivative, ellipsoid_wrench
from mjjax.dynamics.jacobian import body_wrench
from mjjax.dynamics.tree import tree_plan
from mjjax.math import safe
from mjjax.math.quat import cross
from mjjax.math.spatial import mat3
from mjjax.model.bounds import half_sizes
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.model.terms import with_slope
from mjjax.xla.linalg import einsum, matmul, matvec3, matvec3_t
from mjjax.xla.namespace import Array, namespace, where


class Place(NamedTuple):
    """Points of bodies: body ids (n,), world positions (n, 3) and local axes (n, 3, 3)."""

    body: np.ndarray
    pos: Array
    mat: Array


@functools.lru_cache(maxsize=64)
def fluid_geoms(s: Structure) -> np.ndarray:
    """Geoms that may feel the medium as ellipsoids."""
    return np.flatnonzero(s.terms["geom_fluid"])


def inertia_box(model: Model) -> Array:
    """Full side lengths (nbody, 3) [m] of the box with each body's mass and inertia."""
    xp = namespace(model.body_mass)
    i = model.body_inertia
    total = xp.sum(i, axis=-1, keepdims=True) - 2 * i
    massless = model.body_mass < MINVAL
    mass = where(massless, 1, model.body_mass)[:, None]
    return safe.sqrt(6 * xp.maximum(MINVAL, total) / mass)


def local_velocity(model: Model, data: Data, place: Place) -> Array:
    """Velocity (n, 6) of points of bodies relative to the medium, in their local axes."""
    xp = namespace(data.cvel)
    ang, lin = data.cvel[place.body, :3], data.cvel[place.body, 3:]
    lever = place.pos - data.subtree_com[model.structure.body_rootid[place.body]]
    lin = lin + cross(ang, lever) - model.opt.wind[None]
    return xp.concatenate([matvec3_t(place.mat, ang), matvec3_t(place.mat, lin)], axis=-1)


def box_coefficients(model: Model) -> tuple[Array, Array]:
    """Linear and quadratic drag (nbody, 6), rotation first: f = -linear v - quadratic |v| v.

    The linear, viscous drag is pi D^3 beta about each axis and 3 pi D beta along it, where D is the
    mean side. The quadratic, inertial drag is rho b_i (b_j^4 + b_k^4) / 64 about axis i and
    rho b_j b_k / 2 along it.
    """
    xp = namespace(model.body_mass)
    box = inertia_box(model)
    diameter = xp.mean(box, axis=-1, keepdims=True)
    present = ((model.body_mass >= MINVAL) & ~_has_ellipsoids(model))[:, None]
    beta = model.opt.viscosity * xp.ones_like(box)
    linear = xp.concatenate([xp.pi * diameter**3 * beta, 3 * xp.pi * diameter * beta], axis=-1)
    fourth = box**4
    others = xp.sum(fourth, axis=-1, keepdims=True) - fourth
    sides = xp.stack([box[:, 1] * box[:, 2], box[:, 0] * box[:, 2], box[:, 0] * box[:, 1]], axis=-1)
    quadratic = model.opt.density * xp.concatenate([box * others / 64, sides / 2], axis=-1)
    return where(present, linear, 0), where(present, quadratic, 0)


def _has_ellipsoids(model: Model) -> Array:
    """(nbody,) whether one of the body's geoms feels the medium as an ellipsoid."""
    s = model.structure
    xp = namespace(model.geom_fluid, model.body_mass)
    geoms = fluid_geoms(s)
    mine = s.geom_bodyid[geoms] == np.arange(s.nbody)[:, None]
    return xp.any(mine & (model.geom_fluid[geoms, 0] > 0)[None], axis=1)


def _inertial(model: Model, data: Data) -> Place:
    """Centres of mass and inertial axes of all bodies."""
    return Place(np.arange(model.structure.nbody), data.xipos, mat3(data.ximat))


def fluid(model: Model, data: Data) -> Array:
    """Fluid force in joint space (nv,) [N or N m].

    A body with a geom of fluid shape `ellipsoid` feels the medium through its ellipsoids. Other
    bodies feel it through the box of their inertia. The derivative of |v| v is 2 |v|, zero at rest.
    """
    if not model.terms["fluid"].any():
        none = namespace(data.qvel).zeros_like(data.qvel)
        return with_slope(model, "fluid", none, _of_medium(_fluid), (model, data))
    return _fluid(model, data)


@functools.cache
def _of_medium(function: Callable[[Model, Data], Array]) -> Callable[..., Array]:
    """A function of a model and data, as a function whose first argument is the medium."""

    def change(medium: dict[str, Array], model: Model, data: Data) -> Array:
        opt = model.opt.replace(**{name.removeprefix("opt."): x for name, x in medium.items()})
        return function(model.replace(opt=opt), data)

    return change


def _fluid(model: Model, data: Data) -> Array:
    place = _inertial(model, data)
    linear, quadratic = box_coefficients(model)
    v = local_velocity(model, data, place)
    wrench = _world(place.mat, -(linear + quadratic * namespace(v).abs(v)) * v)
    geoms = fluid_geoms(model.structure)
    if len(geoms):
        own = _ellipsoids(model, data, geoms)
        pull = _world(own.mat, ellipsoid_wrench(*_ellipsoid_operands(model, data, geoms, own)))
        lever = own.pos - data.xipos[own.body]
        torque = pull[:, :3] + cross(lever, pull[:, 3:])
        pull = namespace(v).concatenate([torque, pull[:, 3:]], axis=1)
        wrench = wrench + matmul(own.body == np.arange(len(wrench))[:, None], pull)
    return body_wrench(model, data, wrench[:, 3:], wrench[:, :3], data.xipos)


def fluid_derivative(model: Model, data: Data) -> Array:
    """Derivative (nv, nv) of the fluid force with respect to `qvel`.

    The derivative of the ellipsoids is not symmetric; `implicitfast` takes its symmetric part.
    """
    if not model.terms["fluid"].any():
        xp = namespace(data.qvel)
        none = xp.zeros((model.structure.nv, model.structure.nv), data.qvel.dtype)
        return with_slope(model, "fluid", none, _of_medium(_fluid_derivative), (model, data))
    return _fluid_derivative(model, data)


def _fluid_derivative(model: Model, data: Data) -> Array:
    place = _inertial(model, data)
    linear, quadratic = box_coefficients(model)
    v = local_velocity(model, data, place)
    gain = linear + 2 * quadratic * namespace(v).abs(v)
    motion = _motion(model, data, place)
    total = -einsum("bvi,bi,bwi->vw", motion, gain, motion)
    geoms = fluid_geoms(model.structure)
    if len(geoms):
        own = _ellipsoids(model, data, geoms)
        slope = ellipsoid_derivative(*_ellipsoid_operands(model, data, geoms, own))
        if model.opt.integrator == IntegratorType.IMPLICITFAST:
            slope = 0.5 * (slope + namespace(slope).swapaxes(slope, 1, 2))
        motion = _motion(model, data, own)
        total = total + einsum("bvi,bij,bwj->vw", motion, slope, motion)
    return total


def _ellipsoids(model: Model, data: Data, geoms: np.ndarray) -> Place:
    body = model.structure.geom_bodyid[geoms]
    return Place(body, data.geom_xpos[geoms], mat3(data.geom_xmat[geoms]))


def _ellipsoid_operands(
    model: Model, data: Data, geoms: np.ndarray, place: Place
) -> tuple[Array, Array, Array, Array, Array]:
    """Arguments of the kernels of the ellipsoid model; massless bodies feel no medium."""
    opt = model.opt
    axes = half_sizes(model.structure.geom_type[geoms], model.geom_size[geoms])
    present = (model.body_mass[place.body] >= MINVAL)[:, None]
    prm = where(present, model.geom_fluid[geoms], 0)
    return local_velocity(model, data, place), axes, prm, opt.density, opt.viscosity


def _motion(model: Model, data: Data, place: Place) -> Array:
    """Velocity (n, nv, 6) that each dof gives to points of bodies, in their local axes."""
    s = model.structure
    xp = namespace(data.cdof)
    lever = place.pos - data.subtree_com[s.body_rootid[place.body]]
    moves = tree_plan(s).moves[place.body][:, :, None]
    ang = where(moves, data.cdof[None, :, :3], 0)
    lin = where(moves, data.cdof[None, :, 3:], 0) + cross(ang, lever[:, None])
    return xp.concatenate([einsum("bji,bvj->bvi", place.mat, x) for x in (ang, lin)], axis=-1)


def _world(mat: Array, v: Array) -> Array:
    """Wrenches (n, 6) in world axes."""
    return namespace(v).concatenate([matvec3(mat, v[:, :3]), matvec3(mat, v[:, 3:])], axis=-1)
