"""A scene with every type of geom, light, texture and camera."""

import jax
import mujoco
import numpy as np

import mjjax
from tests.oracle_tools import Both

SCENE = """
<mujoco>
  <option><flag contact="disable"/></option>
  <visual><global fovy="50"/></visual>
  <asset>
    <mesh name="m" vertex="-.3 -.2 -.1 .3 -.25 -.1 0 .3 -.1 0.05 .03 .4 .1 .1 .35"/>
    <mesh name="ball" builtin="sphere" params="2" scale=".3 .4 .3"/>
    <hfield name="h" nrow="3" ncol="4" size=".6 .8 .5 .2"
      elevation="0 1 0 .5 .2 .3 .9 .1 .5 .5 .7 0"/>
    <texture type="skybox" builtin="gradient" rgb1=".3 .5 .7" rgb2="0 0 0" width="32" height="32"/>
    <texture name="grid" type="2d" builtin="checker" rgb1=".2 .3 .4" rgb2=".6 .5 .4" width="64"
      height="64"/>
    <texture name="die" type="cube" builtin="flat" mark="edge" markrgb="1 1 1" rgb1=".7 .2 .2"
      width="16" height="16"/>
    <material name="clear" rgba="1 1 1 0"/>
    <material name="floor" texture="grid" texuniform="true" reflectance=".3"/>
    <material name="die" texture="die"/>
  </asset>
  <worldbody>
    <light pos="1 -1 4" dir="-.2 .2 -1"/>
    <light type="directional" dir="1 1 -1" castshadow="false"/>
    <geom type="plane" size="0 0 1" pos="0 0 -1" material="floor"/>
    <geom type="hfield" hfield="h" pos="-1.4 .6 -.8" euler="5 10 20"/>
    <geom size=".4" pos="0 -1 0" rgba="1 1 1 0"/>
    <geom size=".3" pos=".5 -1 0" material="clear"/>
    <geom size=".3" pos="1.5 -1.2 0" group="3"/>
    <body name="b"><freejoint/>
      <geom type="box" size=".3 .2 .1" euler="10 20 30" material="die"/>
      <geom type="sphere" size=".3" pos="1 0 0" group="1"/>
      <geom type="capsule" size=".2 .4" pos="0 1 0" euler="40 20 0" group="2"/>
      <geom type="cylinder" size=".3 .2" pos="0 0 1" euler="40 20 0"/>
      <geom type="ellipsoid" size=".3 .2 .5" pos="1 1 0" euler="40 20 0" rgba="1 0 0 .5"/>
      <geom type="mesh" mesh="m" pos="-.9 -.9 0" euler="0 20 50"/>
      <geom type="sdf" mesh="ball" pos="-.6 -.2 .7"/>
      <camera name="riding" pos="2 -2 2" mode="targetbody" target="b"/>
    </body>
    <camera name="plain" pos=".5 -4 1.5" xyaxes="1 .1 0 0 .4 1" fovy="40"/>
    <camera name="sensor" pos="0 -4 1" xyaxes="1 0 0 0 .3 1" focal=".03 .025"
      sensorsize=".04 .03" principal=".002 .003" resolution="40 30"/>
    <camera name="parallel" pos="0 -4 1" xyaxes="1 0 0 0 .3 1" projection="orthographic" fovy="3"/>
  </worldbody>
</mujoco>
"""
CAMERAS = ("riding", "plain", "sensor", "parallel", None)


@jax.jit
def posed(model: mjjax.Model, data: mjjax.Data) -> mjjax.Data:
    """The data with the poses that pictures need."""
    return mjjax.camlight(model, mjjax.com_pos(model, mjjax.kinematics(model, data)))


def oracle_rays(
    both: Both, d: mujoco.MjData, camera: str | None, width: int, height: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Starts, directions (height, width, 3) and optical axis of the camera of MuJoCo's scene."""
    scene, look = mujoco.MjvScene(both.reference, 100), mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(both.reference, look)
    if camera is not None:
        look.type, look.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, d.camera(camera).id
    everything = mujoco.mjtCatBit.mjCAT_ALL
    mujoco.mjv_updateScene(both.reference, d, mujoco.MjvOption(), None, look, everything, scene)
    left, right = scene.camera  # the two eyes
    vectors = (0.5 * (left.pos + right.pos), left.up, left.forward)
    at, up, ahead = (np.array(x, float) for x in vectors)
    aside, scale = np.cross(ahead, up), 1 if left.orthographic else 1 / left.frustum_near
    low, high = left.frustum_bottom * scale, left.frustum_top * scale
    half = left.frustum_width * scale or 0.5 * (high - low) * width / height
    x = left.frustum_center * scale + half * (2 * (np.arange(width) + 0.5) / width - 1)
    y = high - (high - low) * (np.arange(height) + 0.5) / height
    flat = x[None, :, None] * aside + y[:, None, None] * up
    if left.orthographic:
        return at + flat, np.broadcast_to(ahead, flat.shape), ahead
    along = flat + ahead
    length = np.linalg.norm(along, axis=-1, keepdims=True)
    return np.broadcast_to(at, flat.shape), along / length, ahead
