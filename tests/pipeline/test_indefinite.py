"""Implicit integration where forces grow with velocity: M - h D is not positive definite."""

import dataclasses

import jax
import mujoco
import numpy as np
import pytest

import mjjax
from tests.oracle_tools import error, full_inertia, load, quick, random_state, to_ours

pytestmark = pytest.mark.newest

ARM = """
<mujoco>
  <option timestep="0.01" integrator="{integrator}" {option}/>
  <worldbody><body><joint name="a" axis="0 1 0" damping="0.1"/>
    <geom type="ellipsoid" size="0.1 0.02 0.3" pos="0.3 0 0" {geom}/>
    <body pos="0.3 0 0.2"><joint name="b" axis="1 1 0" {joint}/><geom size="0.1" pos="0.3 0 0"/>
    </body></body></worldbody>
  <tendon><fixed name="t" {tendon}><joint joint="a" coef="1"/><joint joint="b" coef="-2"/></fixed>
  </tendon>
  <actuator><motor joint="a"/><position joint="a" kp="2" kv="1"/><velocity joint="b" kv="2"/>
    {actuator}</actuator>
</mujoco>
"""
PUSHING = {
    "actuator": '<general joint="a" biastype="affine" biasprm="0 0 900"/>'
    '<general joint="b" gaintype="affine" gainprm="0 0 900"/>',
    "joint": 'damping="-900"',
    "tendon": 'damping="-300"',
    "geom": 'fluidshape="ellipsoid"',
}


def arm(integrator: str, **parts: str) -> str:
    """A two-link arm whose actuators, joint and tendon damp unless `parts` say otherwise."""
    names = ("actuator", "joint", "tendon", "geom", "option")
    return ARM.format(integrator=integrator, **{name: parts.get(name, "") for name in names})


@pytest.mark.feature("C20", "C24", "A199")
@pytest.mark.parametrize("integrator", ["Euler", "implicitfast"])
def test_forces_that_grow_with_velocity(integrator: str) -> None:
    """The implicit system is indefinite; it is solved as in MuJoCo."""
    pushing = PUSHING if integrator == "implicitfast" else {"joint": PUSHING["joint"]}
    both = load(arm(integrator, **pushing))
    d = random_state(both.reference, 0)
    data = quick(mjjax.step)(both.ours, to_ours(both.ours, d))
    mujoco.mj_step(both.reference, d)
    assert error(data.qvel, d.qvel) < 1e-10
    if integrator == "implicitfast":
        slope = np.zeros((2, 2))
        m = both.reference
        mujoco.mju_sparse2dense(slope, d.qDeriv, m.D_rownnz, m.D_rowadr, m.D_colind)
        assert np.linalg.eigvalsh(full_inertia(m, d) - 0.01 * slope).min() < -0.1


@pytest.mark.feature("C24", "A199")
def test_traced_actuators_may_push() -> None:
    """Parameters that are not known when the program is made get the solution for any sign."""
    both = load(arm("implicitfast"))
    d = random_state(both.reference, 0)

    def run(prm: jax.Array) -> mjjax.Data:
        model = both.ours.replace(actuator_biasprm=prm)
        return mjjax.step(model, data)

    data = to_ours(both.ours, d)
    both.reference.actuator_biasprm[2, 2] = 900
    after = quick(run)(both.reference.actuator_biasprm)
    mujoco.mj_step(both.reference, d)
    assert error(after.qvel, d.qvel) < 1e-10


def test_damping_that_is_traced_may_push() -> None:
    """`replace` with traced damping brings LU factors into Euler's program; without, none."""
    both = load(arm("Euler"))
    d = random_state(both.reference, 0)
    data = to_ours(both.ours, d)

    def run(damping: jax.Array) -> mjjax.Data:
        return mjjax.step(both.ours.replace(dof_damping=damping), data)

    both.reference.dof_damping[1] = -900
    after = quick(run)(both.reference.dof_damping)
    mujoco.mj_step(both.reference, d)
    assert error(after.qvel, d.qvel) < 1e-10
    traced = jax.jit(mjjax.step).lower(both.ours, data).as_text()
    assert "getrf" not in traced
    assert "getrf" in jax.jit(run).lower(both.reference.dof_damping).as_text()
    with pytest.raises(mjjax.AbsentTerm, match="dof_damping has values"):
        mjjax.step(
            dataclasses.replace(both.ours, dof_damping=both.reference.dof_damping), data, derived=()
        )
