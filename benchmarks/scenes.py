"""Models whose programs have limits (two come with mjjax, three are made here), and chains."""

from mjjax.cli.arguments import embedded


def quadruped() -> str:
    """A trunk on four legs with three joints each; only the spherical feet touch the floor."""
    legs = "".join(
        f"""
    <body pos="{x} {y} 0"><joint name="a{k}" axis="1 0 0" range="-45 45"/>
      <geom fromto="0 0 0 0 {1.6 * y} 0"/>
      <body pos="0 {1.6 * y} 0"><joint name="b{k}" axis="0 1 0" range="-60 120"/>
        <geom fromto="0 0 0 0 0 -.2"/>
        <body pos="0 0 -.2"><joint name="c{k}" axis="0 1 0" range="-150 -30"/>
          <geom fromto="0 0 0 0 0 -.2"/>
          <geom type="sphere" size=".02" pos="0 0 -.2" contype="1"/></body></body></body>"""
        for k, (x, y) in enumerate([(0.2, 0.05), (0.2, -0.05), (-0.2, 0.05), (-0.2, -0.05)])
    )
    motors = "".join(f'<position joint="{j}{k}"/>' for k in range(4) for j in "abc")
    return f"""
<mujoco><default><joint damping="1" armature=".01"/><position kp="40" kv="1"/>
  <geom type="capsule" size=".02" contype="0" conaffinity="0"/></default>
<worldbody><geom type="plane" size="0 0 1" conaffinity="1"/>
  <body pos="0 0 .4"><freejoint/><geom type="box" size=".25 .08 .05" mass="6"/>
    <site name="imu"/>{legs}</body></worldbody>
<actuator>{motors}</actuator>
<sensor><gyro site="imu"/><accelerometer site="imu"/></sensor></mujoco>"""


def arm() -> str:
    """An arm with seven joints, whose links and gripper are meshes, and a box on a table."""
    inner = '<geom type="mesh" mesh="hand" pos="0 0 .1"/><site name="tool" pos="0 0 .2"/>'
    for k in reversed(range(7)):
        inner = f"""
    <body pos="0 0 {0.2 if k else 0}"><joint name="j{k}" axis="{k % 2} 0 {1 - k % 2}"/>
      <geom type="mesh" mesh="link" pos="0 0 .1"/>{inner}</body>"""
    servos = "".join(f'<position joint="j{k}" kp="200" kv="20"/>' for k in range(7))
    return f"""
<mujoco><default><joint damping="1" armature=".1" range="-120 120"/></default>
<asset><mesh name="link" builtin="cone" params="8 .5" scale=".05 .05 .1"/>
  <mesh name="hand" builtin="sphere" params="1" scale=".06 .03 .06"/></asset>
<worldbody><geom type="box" size=".4 .4 .02" pos=".6 0 .2"/>{inner}
  <body pos=".6 0 .26"><freejoint/><geom type="box" size=".03 .03 .04" density="400"/></body>
</worldbody>
<actuator>{servos}</actuator><sensor><framepos objtype="site" objname="tool"/></sensor></mujoco>"""


def hand() -> str:
    """Four fingers around a ball; each has three joints and is pulled by tendons."""
    fingers, tendons, motors = "", "", ""
    for k, (x, y) in enumerate([(0.05, 0.03), (0.05, -0.03), (-0.05, 0.03), (-0.05, -0.03)]):
        way = -1 if x > 0 else 1
        sites, tip = "", ""
        for n in reversed(range(3)):
            tip = f"""
    <body pos="{0 if n else x} {0 if n else y} {0.045 if n else 0.01}">
      <joint name="f{k}{n}" axis="0 {way} 0" range="-10 90"/><geom fromto="0 0 0 0 0 .04"/>
      <site name="s{k}{n}" pos="{0.008 * way} 0 .02"/>{tip}</body>"""
            sites = f'<site site="s{k}{n}"/>' + sites
        fingers += tip
        bend = "".join(f'<joint joint="f{k}{n}" coef="1"/>' for n in range(3))
        tendons += f'<spatial name="pull{k}"><site site="palm"/>{sites}</spatial>'
        tendons += f'<fixed name="bend{k}" stiffness=".02" damping=".001">{bend}</fixed>'
        motors += f'<motor tendon="pull{k}" ctrlrange="-5 0"/>'
    return f"""
<mujoco><default><joint damping=".005" armature="1e-4"/><geom type="capsule" size=".008"/></default>
<worldbody><geom type="box" size=".08 .06 .01"/><site name="palm"/>{fingers}
  <body pos="0 0 .045"><freejoint/><geom type="sphere" size=".03" density="200"/></body>
</worldbody>
<tendon>{tendons}</tendon><actuator>{motors}</actuator></mujoco>"""


def chain(links: int) -> str:
    """A chain of links on hinges that hangs over a floor, which the links may touch."""
    inner = ""
    for k in reversed(range(links)):
        inner = f"""<body pos="0 0 {-0.1 if k else 2}">
      <joint axis="{k % 2} {1 - k % 2} 0"/><geom fromto="0 0 0 0 0 -.1"/>{inner}</body>"""
    return f"""
<mujoco><default><joint damping=".01"/>
  <geom type="capsule" size=".02" contype="0"/></default>
<worldbody><geom type="plane" size="0 0 1" contype="1"/>{inner}</worldbody></mujoco>"""


SCENES = {
    "ant": embedded()["ant"],
    "arm": arm(),
    "hand": hand(),
    "humanoid": embedded()["humanoid"],
    "quadruped": quadruped(),
}

CHAINS = {f"chain_{links}": chain(links) for links in (10, 30, 100)}
