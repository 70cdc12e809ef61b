"""The step and its stages (`mjx.step`, `mjx.kinematics`, ...) for MJX's trees."""

from collections.abc import Callable

import mjjax
from mjjax.core.enums import IntegratorType
from mjjax.dynamics.tendon import tendon_bias as _tendon_bias
from mjjax.dynamics.tendon import tendon_inertia
from mjjax.dynamics.velocity_derivative import smooth_vel
from mjjax.mjx.trees import Data, Model
from mjjax.xla.namespace import Array


def _stage(name: str, native: str = "") -> Callable[[Model, Data], Data]:
    """A stage of mjjax under MJX's name."""
    native = native or name

    def call(m: Model, d: Data) -> Data:
        return Data(getattr(mjjax, native)(m.native, d.native))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`mjjax.{native}` for MJX's trees."
    return call


step = _stage("step")
forward = _stage("forward")
inverse = _stage("inverse")
fwd_position = _stage("fwd_position")
fwd_velocity = _stage("fwd_velocity")
fwd_actuation = _stage("fwd_actuation")
fwd_acceleration = _stage("fwd_acceleration")
euler = _stage("euler")
rungekutta4 = _stage("rungekutta4")
kinematics = _stage("kinematics")
com_pos = _stage("com_pos")
com_vel = _stage("com_vel")
camlight = _stage("camlight")
crb = _stage("crb")
tendon = _stage("tendon")
transmission = _stage("transmission")
collision = _stage("collision")
make_constraint = _stage("make_constraint")
passive = _stage("passive")
solve = _stage("solve", "fwd_constraint")
rne_postconstraint = _stage("rne_postconstraint")
subtree_vel = _stage("subtree_vel")
sensor_pos = _stage("sensor_pos")
sensor_vel = _stage("sensor_vel")
sensor_acc = _stage("sensor_acc")


def implicit(m: Model, d: Data) -> Data:
    """`mjjax.implicit`; as in MJX, the one without Coriolis forces if the model has Euler's."""
    opt = m.native.opt
    if opt.integrator != IntegratorType.IMPLICIT:
        opt = opt.replace(integrator=IntegratorType.IMPLICITFAST)
    return Data(mjjax.implicit(m.native.replace(opt=opt), d.native))


def rne(m: Model, d: Data, flg_acc: bool = False) -> Data:
    """The data with `qfrc_bias` by recursive Newton-Euler, with M `qacc` if `flg_acc`."""
    force = mjjax.rne(m.native, d.native, d.qacc if flg_acc else None)
    return d.replace(qfrc_bias=force)


def tendon_bias(m: Model, d: Data) -> Data:
    """The data with the bias force of tendons with armature added to `qfrc_bias`."""
    return d.replace(qfrc_bias=d.qfrc_bias + _tendon_bias(m.native, d.native))


def factor_m(m: Model, d: Data) -> Data:
    """The data as they are: mjjax keeps no factor of the inertia, `solve_m` makes it."""
    del m
    return d


def tendon_armature(m: Model, d: Data) -> Data:
    """The data with the armature of tendons in the inertia."""
    return Data(tendon_inertia(m.native, d.native))


def solve_m(m: Model, d: Data, x: Array) -> Array:
    """Solution of M y = x, (nv,)."""
    return mjjax.solve_m(m.native, d.native, x)


def mul_m(m: Model, d: Data, vec: Array) -> Array:
    """Product of the inertia with a vector, (nv,)."""
    return mjjax.mul_m(m.native, d.native, vec)


def full_m(m: Model, d: Data) -> Array:
    """The dense inertia, (nv, nv)."""
    return mjjax.full_m(m.native, d.native)


def deriv_smooth_vel(m: Model, d: Data) -> Array:
    """Derivative (nv, nv) of the smooth forces by `qvel`, as `implicitfast` takes it."""
    return smooth_vel(m.native, d.native, bias=False)
