"""Models whose steps read results of the step before, each in its own way."""

from typing import NamedTuple

import jax.numpy as jnp

import mjjax


class Scene(NamedTuple):
    """A model, its callbacks, and derived fields that its next step reads."""

    xml: str
    callbacks: mjjax.Callbacks | None = None
    reads: tuple[str, ...] = ()


def _xml(option: str = "", flag: str = "", actuator: str = "", sensor: str = "") -> str:
    return f"""
<mujoco><option timestep="0.01" {option}><flag energy="enable" {flag}/></option>
<worldbody><geom type="plane" size="0 0 1"/><light pos="0 0 2"/><camera name="c" pos="0 -1 1"/>
  <body name="box" pos="0 0 0.15"><freejoint/><geom type="capsule" size="0.1 0.1"
    euler="0 90 0"/><site name="s" pos="0.1 0 0"/></body>
  <body name="arm" pos="1 0 1"><joint name="turn" axis="0 1 0" damping="0.1"/>
    <geom size="0.05" fromto="0 0 0 0.3 0 0" type="capsule"/></body>
  <body name="guide" mocap="true" pos="1 2 3"/></worldbody>
<equality><joint joint1="turn" polycoef="0.1" active="false"/></equality>
<actuator><motor joint="turn"/><general joint="turn" dyntype="filter" dynprm="0.1"/>{actuator}
</actuator>
<sensor><accelerometer site="s"/><framepos objtype="body" objname="arm"/><velocimeter site="s"/>
  <touch site="s"/><e_kinetic/>{sensor}</sensor>
<size nuserdata="2"/></mujoco>"""


PENDULUM = """<mujoco><worldbody><body><joint axis="0 1 0"/><geom size="0.1" pos="0 0 0.3"/></body>
</worldbody></mujoco>"""

SLEEPING = """
<mujoco><option timestep="0.01" sleep_tolerance="0.05"><flag sleep="enable"/></option>
<worldbody><geom type="plane" size="0 0 1"/>
  <body name="a" pos="0 0 0.1"><freejoint/><geom size="0.1 0.1 0.1" type="box"/>
    <site name="s"/></body>
  <body name="b" pos="1 0 0.4"><freejoint/><geom size="0.1"/></body>
</worldbody>
<sensor><accelerometer site="s"/><framepos objtype="body" objname="b"/></sensor></mujoco>"""

DELAYS = """<motor joint="turn" delay=".025" nsample="4" interp="linear"/>"""
SAMPLES = """<clock delay=".025" nsample="4" interp="linear"/><clock interval=".025" nsample="3"/>
<accelerometer site="s" nsample="5" delay=".03" interval=".02 -.005" interp="linear"/>"""


def _by_accelerometer(model: mjjax.Model, data: mjjax.Data) -> mjjax.Data:
    """A controller that reads the accelerometer of the step before, and counts its calls."""
    ctrl = data.ctrl + 0.1 * jnp.tanh(data.sensordata[0])
    return data.replace(ctrl=ctrl, userdata=data.userdata + 1)


def _remembering(model: mjjax.Model, data: mjjax.Data) -> mjjax.Data:
    """A force that is kept in a field which no stage of the model computes."""
    kept = 0.5 * data.qfrc_inverse + data.qvel
    return data.replace(qfrc_inverse=kept, qfrc_passive=data.qfrc_passive - 0.01 * kept)


SCENES = {
    "contact": Scene(_xml()),
    "pendulum": Scene(PENDULUM),
    "implicit, unread sensors": Scene(_xml('integrator="implicit"', 'sensor="disable"')),
    "implicitfast, fwdinv": Scene(
        _xml('integrator="implicitfast" cone="elliptic"', 'fwdinv="enable"')
    ),
    "delays": Scene(_xml(actuator=DELAYS, sensor=SAMPLES)),
    "sleep": Scene(SLEEPING, reads=("qacc_smooth", "sensordata")),
    "policy, rk4": Scene(
        _xml('integrator="RK4"'), mjjax.Callbacks(control=_by_accelerometer), ("sensordata",)
    ),
    "memory": Scene(_xml(), mjjax.Callbacks(passive=_remembering), reads=("qfrc_inverse",)),
}
