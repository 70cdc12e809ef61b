"""A model without degrees of freedom, with all elements that do not need them."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from tests.oracle_tools import Both, differences, load, quick, to_ours

XML = """
<mujoco><option integrator="{integrator}" cone="{cone}"><flag energy="enable"/></option>
  <worldbody><geom name="floor" type="plane" size="1 1 1"/>
  <site name="a"/><site name="b" pos="1 0 0" size="0.2"/><camera pos="0 0 1"/>
  <body name="hand" mocap="true" pos="0 0 0.05"><geom name="ball" size="0.1"/><site name="c"/>
  </body>
  <body name="post" pos="1 0 0"><geom size="0.1" mass="1"/></body></worldbody>
  <tendon>
    <spatial limited="true" range="0.99 1.01" margin="0.1" stiffness="1" frictionloss="0.1">
      <site site="a"/><site site="b"/></spatial>
    <spatial name="free"><site site="a"/><site site="c"/></spatial></tendon>
  <equality><weld body1="post" body2="hand"/><connect body1="post" anchor="0 0 0"/>
    <tendon tendon1="free"/></equality>
  <actuator><motor tendon="free"/><adhesion body="post" ctrlrange="0 1"/>
    <general name="slow" site="a" dyntype="filter" dynprm="0.1" gear="0 0 1 0 0 0"/></actuator>
  <sensor><framepos objtype="site" objname="c"/><tendonpos tendon="free"/>
    <tendonvel tendon="free"/><actuatorfrc actuator="slow"/><touch site="b"/>
    <rangefinder site="c"/><accelerometer site="c"/><subtreecom body="hand"/><clock/>
    <distance geom1="floor" geom2="ball" cutoff="1"/></sensor></mujoco>
"""
NAMES = ("sensordata", "act", "actuator_force", "ten_length", "energy")
RESULTS: dict[str, float] = dict.fromkeys(NAMES, 1e-9)


@functools.cache
def start(integrator: str, cone: str) -> tuple[Both, mujoco.MjData, mjjax.Data]:
    """The model with its hand elsewhere and some controls."""
    both = load(XML.format(integrator=integrator, cone=cone))
    d = mujoco.MjData(both.reference)
    d.ctrl[:], d.mocap_pos[:] = [0.3, 0.5, 0.2], [0.1, 0.2, 0.3]
    return both, d, to_ours(both.ours, d)


@pytest.mark.feature("A018", "A028")
@pytest.mark.parametrize(
    "integrator, cone", [("Euler", "pyramidal"), ("implicitfast", "elliptic"), ("RK4", "pyramidal")]
)
def test_steps_are_mujocos(integrator: str, cone: str) -> None:
    """Rows, islands, actuators and sensors do without dofs, as in MuJoCo."""
    both, d, data = start(integrator, cone)
    step = quick(mjjax.step)
    for _ in range(3):
        mujoco.mj_step(both.reference, d)
        data = step(both.ours, data)
    assert not differences(data, d, RESULTS)
    assert (int(data.nefc), int(data.nisland)) == (d.nefc, d.nisland) == (0, 0)


@pytest.mark.slow
def test_every_entry_takes_it() -> None:
    """Matrices, inverse dynamics, derivatives, batches and rollouts do not need dofs either."""
    both, _, data = start("implicit", "pyramidal")
    model = both.ours
    jacobian = quick(mjjax.transition_jacobian)(model, data)
    assert jacobian.A.shape == (1, 1) and 0 < jacobian.A[0, 0] < 1
    assert quick(mjjax.inverse)(model, data).qfrc_inverse.shape == (0,)
    assert quick(mjjax.inverse_jacobian)(model, data).DfDq.shape == (0, 0)
    slope = quick(jax.grad(lambda u: mjjax.step(model, data.replace(ctrl=u)).act.sum()))(data.ctrl)
    np.testing.assert_allclose(slope, jacobian.B[0])
    many = jax.tree.map(lambda x: jnp.broadcast_to(x, (128, *x.shape)), data)
    after = quick(jax.vmap(mjjax.step, (None, 0)))(model, many)
    assert np.ptp(after.act) == 0 and after.qpos.shape == (128, 0)
    end, kept = mjjax.rollout(model, data, nstep=3, keep=("act",))
    assert kept["act"].shape == (3, 1) and end.time == pytest.approx(3 * 0.002)
