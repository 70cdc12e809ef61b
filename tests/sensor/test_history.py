"""Delayed controls, delayed and periodic sensors, and their buffers, compared with MuJoCo's."""

import functools

import chex
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from tests.derivatives import derivative_errors
from tests.oracle_tools import Both, load, quick, to_ours

XML = """
<mujoco><option timestep=".01" integrator="{integrator}"/><worldbody>
  <body name="b"><joint name="j" type="slide"/><geom size=".1"/><site name="s"/></body></worldbody>
<actuator>
  <motor name="m" joint="j" delay=".025" nsample="4" interp="linear"/>
  <motor joint="j" nsample="3"/>
  <motor joint="j" delay=".02" nsample="4" ctrllimited="true" ctrlrange="-.5 .5"/>
  <motor joint="j" delay=".022" nsample="5" interp="cubic"/><motor joint="j"/>
  <motor joint="j" delay=".001" nsample="2"/>
</actuator>
<sensor>
  <clock delay=".025" nsample="4" interp="linear"/><clock interval=".025" nsample="3"/>
  <clock interval=".025 -.01" nsample="3"/><clock nsample="3"/><clock/>
  <clock interval=".025" delay=".02" nsample="3"/><clock interval=".025"/>
  <clock delay=".025" nsample="3" interp="cubic"/><clock interval=".004" nsample="4"/>
  <jointpos joint="j" delay=".02" nsample="3" cutoff=".002"/>
  <framepos objtype="body" objname="b" nsample="2" delay=".01"/>
  <framelinvel objtype="site" objname="s" nsample="5" delay=".035" interp="cubic"/>
  <accelerometer site="s" nsample="5" delay=".03" interval=".02 -.005" interp="linear"/>
  <subtreelinvel body="b" nsample="2" delay=".02"/>
  <actuatorfrc actuator="m" interval=".03" nsample="2"/>
</sensor></mujoco>
"""
step_quickly = quick(mjjax.step)
forward_quickly = quick(mjjax.forward)


@functools.cache
def both_engines(integrator: str = "Euler") -> Both:
    return load(XML.format(integrator=integrator))


def stepped(both: Both, steps: int, start: int = 0) -> tuple[mujoco.MjData, mjjax.Data]:
    """Both engines after some steps with controls that change."""
    d, rng = mujoco.MjData(both.reference), np.random.default_rng(0)
    data = to_ours(both.ours, d)
    for _ in range(steps):
        d.ctrl[:] = rng.normal(size=both.reference.nu)
        data = step_quickly(both.ours, data.replace(ctrl=jnp.array(d.ctrl)))
        mujoco.mj_step(both.reference, d)
        compare(d, data)
    return d, data


def compare(d: mujoco.MjData, data: mjjax.Data) -> None:
    for name in ("history", "sensordata", "actuator_force", "qvel"):
        np.testing.assert_allclose(getattr(data, name), getattr(d, name), atol=1e-10, err_msg=name)


@pytest.mark.feature("A056", "A057", "A058", "A059", "A060", "A061", "A063", "A038", "B71", "B74")
@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
def test_steps(integrator: str) -> None:
    """Buffers after a reset are MuJoCo's, and so are readings and forces in later steps."""
    both = both_engines(integrator)
    data, d = mjjax.make_data(both.ours), mujoco.MjData(both.reference)
    np.testing.assert_allclose(data.history, d.history, atol=1e-15)
    d, data = stepped(both, 25)
    mujoco.mj_resetData(both.reference, d)
    np.testing.assert_allclose(mjjax.reset_data(both.ours, data).history, d.history, atol=1e-15)


@pytest.mark.feature("A034", "A059")
def test_energies_of_late_sensors() -> None:
    """Without the flag, energy is computed only if a sensor measures it now, as in MuJoCo."""
    both = load(
        """<mujoco><option timestep=".01"/><worldbody><body pos="0 0 1"><joint axis="0 1 0"/>
        <geom size=".1" pos=".3 0 0"/></body></worldbody><sensor><e_kinetic/>
        <e_potential interval=".025" nsample="2"/><e_potential delay=".01" nsample="2"/>
        </sensor></mujoco>"""
    )
    d, seen = mujoco.MjData(both.reference), set()
    for _ in range(6):
        mujoco.mj_forward(both.reference, d)
        start = to_ours(both.ours, d).replace(history=jnp.array(d.history))
        data = forward_quickly(both.ours, start)
        np.testing.assert_allclose(data.energy, d.energy, atol=1e-12)
        seen.add(bool(d.energy.any()))
        mujoco.mj_step(both.reference, d)
    assert seen == {True, False}


@pytest.mark.feature("A062")
def test_times_that_jump() -> None:
    """Samples stay in order of time; equal times replace, and old ones replace the oldest."""
    both = both_engines()
    d, data = stepped(both, 8)
    for time in (0.05, 0.053, 0.0712, -5.0, -4.0, 0.5, -4.0, 0.55, 0.52):
        d.time, d.ctrl[:] = time, time
        data = data.replace(time=jnp.asarray(time), ctrl=jnp.full_like(data.ctrl, time))
        # what the engines divide by may be a tiny difference of times: only buffers agree
        mujoco.mj_step(both.reference, d)
        data = step_quickly(both.ours, data)
        np.testing.assert_allclose(data.history, d.history, atol=1e-9, err_msg=str(time))


@pytest.mark.feature("A064", "A060", "A061")
def test_reading_and_filling() -> None:
    """`read_ctrl`, `read_sensor` and the `init_*_history` functions, inside and outside."""
    both = both_engines()
    m, d = both.reference, mujoco.MjData(both.reference)
    model, data = both.ours, mjjax.make_data(both.ours)
    times, rng = np.array([0.0, 0.1, 0.25, 0.3]), np.random.default_rng(0)
    values = rng.normal(size=(5, 3))
    mujoco.mj_initCtrlHistory(m, d, 0, times, values[:4, 0])
    mujoco.mj_initCtrlHistory(m, d, 3, None, values[:, 1])
    mujoco.mj_initSensorHistory(m, d, 11, np.arange(5.0), values, 0.7)
    data = mjjax.init_ctrl_history(model, data, 0, times, values[:4, 0])
    data = mjjax.init_ctrl_history(model, data, 3, None, values[:, 1])
    data = mjjax.init_sensor_history(model, data, 11, jnp.arange(5.0), values, 0.7)
    np.testing.assert_allclose(data.history, d.history, atol=1e-15)
    for time in (-1, 0.025, 0.1, 0.125, 0.26, 0.3, 0.325, 2.5, 9):
        for interp in (0, 1, 2):
            mine = mjjax.read_ctrl(model, data, 0, time, interp)
            assert np.isclose(mine, mujoco.mj_readCtrl(m, d, 0, time, interp), atol=1e-12)
            found = np.zeros(3)
            found = mujoco.mj_readSensor(m, d, 11, time, found, interp)
            mine = mjjax.read_sensor(model, data, 11, time, interp)
            np.testing.assert_allclose(mine, found, atol=1e-12)
    assert mjjax.read_ctrl(model, data, 4, 1.0) == data.ctrl[4]
    chex.assert_shape(mjjax.read_sensor(model, data, 4, 1.0), (1,))
    with pytest.raises(ValueError, match="increase"):
        mjjax.init_ctrl_history(model, data, 0, times[::-1], values[:4, 0])
    with pytest.raises(ValueError, match="needs 4"):
        mjjax.init_ctrl_history(model, data, 0, None, values[:3, 0])
    with pytest.raises(ValueError, match="nsample"):
        mjjax.init_ctrl_history(model, data, 4, times, values[:4, 0])


@pytest.mark.feature("A060", "D05")
def test_derivatives() -> None:
    """Readings between samples follow values, times and the time of reading."""
    model = both_engines().ours
    start = mjjax.make_data(model)

    def reading(x: dict[str, jax.Array]) -> jax.Array:
        data = mjjax.init_ctrl_history(model, start, 3, x["times"], x["values"])
        return jnp.stack([mjjax.read_ctrl(model, data, 3, x["time"], k) for k in (1, 2)])

    rng = np.random.default_rng(0)
    x = {"times": jnp.tile(jnp.arange(5.0), (6, 1)), "values": jnp.array(rng.normal(size=(6, 5)))}
    x["time"] = jnp.array([-1.0, 0.3, 1.4, 2.5, 3.6, 4.7])
    v = jax.tree.map(lambda a: jnp.array(rng.normal(size=a.shape)), x)
    assert not derivative_errors(reading, x, v)
