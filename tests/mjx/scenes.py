"""A scene with all that the trees of `mjjax.mjx` show in another shape."""

ROBOT = """
<mujoco model="robot">
  <option timestep="0.004"/>
  <worldbody>
    <light name="sun" pos="0 0 3"/><camera name="eye" pos="0 -2 1"/>
    <geom name="floor" type="plane" size="2 2 .1"/>
    <body name="torso" pos="0 0 .19"><freejoint name="root"/>
      <geom name="trunk" type="box" size=".1 .1 .1"/><site name="imu"/>
      <body name="leg" pos=".2 0 0"><joint name="hip" axis="0 1 0" range="-1 1" limited="true"/>
        <geom name="shin" type="capsule" size=".03" fromto="0 0 0 .2 0 -.12"/></body></body>
    <body name="hand" mocap="true" pos="1 0 1"/>
  </worldbody>
  <actuator><motor name="knee" joint="hip" gear="3"/></actuator>
  <sensor><framepos name="where" objtype="site" objname="imu"/><jointpos name="bend" joint="hip"/>
  </sensor>
  <keyframe><key name="high" qpos="0 0 1 1 0 0 0 .2"/></keyframe>
</mujoco>
"""
