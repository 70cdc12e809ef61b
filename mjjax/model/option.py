"""`Option` and `Statistic`: MuJoCo's `mjOption` and `mjStatistic`."""

import dataclasses
from typing import Any, ClassVar

import jax

from mjjax.core.convert import whole_number
from mjjax.core.enums import (
    ConeType,
    DisableBit,
    EnableBit,
    IntegratorType,
    JacobianType,
    SolverType,
)
from mjjax.core.struct import PyTree, array, specs, static


class Option(PyTree):
    """Physics options (`mjOption`). Real numbers are traced; the others decide the program."""

    _filled: ClassVar[bool] = True

    timestep: jax.Array = array(unit="s", doc="simulation time step")
    gravity: jax.Array = array(3, unit="m/s^2", doc="gravitational acceleration, world")
    wind: jax.Array = array(3, unit="m/s", doc="velocity of the medium, world")
    magnetic: jax.Array = array(3, doc="global magnetic flux")
    density: jax.Array = array(unit="kg/m^3", doc="density of the medium")
    viscosity: jax.Array = array(unit="kg/(m s)", doc="viscosity of the medium")
    impratio: jax.Array = array(doc="ratio of friction to normal contact impedance")
    tolerance: jax.Array = array(doc="main solver tolerance")
    ls_tolerance: jax.Array = array(doc="line-search tolerance, relative to `tolerance`")
    noslip_tolerance: jax.Array = array(doc="noslip solver tolerance")
    ccd_tolerance: jax.Array = array(doc="convex collision solver tolerance")
    sleep_tolerance: jax.Array = array(doc="velocity below which a tree may sleep")
    o_margin: jax.Array = array(unit="m", doc="contact override: margin")
    o_solref: jax.Array = array(2, doc="contact override: solref")
    o_solimp: jax.Array = array(5, doc="contact override: solimp")
    o_friction: jax.Array = array(5, doc="contact override: friction")
    iterations: int = static(100, doc="maximum number of solver iterations")
    ls_iterations: int = static(50, doc="maximum number of line-search evaluations")
    noslip_iterations: int = static(0)
    ccd_iterations: int = static(35)
    sdf_iterations: int = static(10)
    sdf_initpoints: int = static(40)
    integrator: int = static(0, doc="`IntegratorType`")
    cone: int = static(0, doc="`ConeType`")
    jacobian: int = static(2, doc="`JacobianType`; mjjax is always dense")
    solver: int = static(2, doc="`SolverType`")
    disableflags: int = static(0, doc="`DisableBit`s")
    enableflags: int = static(0, doc="`EnableBit`s")
    disableactuator: int = static(0, doc="bit i disables actuator group i")

    def replace(self, **changes: Any) -> "Option":
        """These options with some of them changed; arrays are converted as in `Model.replace`.

        Raises:
            TypeError: there is no such option, or a value has the wrong kind.
            ValueError: a value is not in its enumeration.
        """
        whole = {name: _whole(name, changes[name]) for name in _WHOLE.intersection(changes)}
        return self._replaced(changes | whole)

    def disabled(self, bits: DisableBit) -> bool:
        """Whether any of `bits` is disabled."""
        return bool(self.disableflags & bits)

    def enabled(self, bits: EnableBit) -> bool:
        """Whether any of `bits` is enabled."""
        return bool(self.enableflags & bits)


_WHOLE = frozenset(f.name for f in dataclasses.fields(Option)) - specs(Option).keys()
CHOICES = {
    "integrator": IntegratorType,
    "cone": ConeType,
    "jacobian": JacobianType,
    "solver": SolverType,
}


def _whole(name: str, value: Any) -> int:
    """The value of a static option, as a number that decides the program."""
    kind = CHOICES.get(name)
    what = f"opt.{name} is {f'a mjjax.{kind.__name__}' if kind else 'a whole number'}"
    number = whole_number(value, what)
    if kind and number not in list(kind):
        raise ValueError(f"{what}, which {number} is not")
    return number


class Statistic(PyTree):
    """Model statistics (`mjStatistic`), at qpos0."""

    _filled: ClassVar[bool] = True

    meaninertia: jax.Array = array(unit="kg m^2", doc="mean diagonal of the mass matrix")
    meanmass: jax.Array = array(unit="kg", doc="mean mass of the moving bodies")
    meansize: jax.Array = array(unit="m", doc="mean size of the bodies")
    extent: jax.Array = array(unit="m", doc="half size of the model")
    center: jax.Array = array(3, unit="m", doc="centre of the model")
