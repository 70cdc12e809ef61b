"""A scene in which all actuators, dampers and drag forces act at once."""

SHAPES = ("sphere", "capsule", "ellipsoid", "cylinder", "box")


def bodies() -> str:
    """Two trees of mixed joints; geoms of all shapes, sites, and spheres that touch a floor."""
    text, kinds = "", ("hinge", "ball", "slide", "hinge", "hinge")
    for i, (shape, kind) in enumerate(zip(SHAPES, kinds, strict=True)):
        medium = "ellipsoid" if i < 4 else "none"
        text += f'<body name="b{i}" pos=".1 {0.1 * i} .25" quat="1 .{i} .2 -.1">'
        text += f'<joint name="j{i}" type="{kind}" axis="1 {i} .3" pos=".02 0 .01" damping=".3"/>'
        text += f'<geom type="{shape}" size=".08 .05 .06" fluidshape="{medium}" '
        text += f'fluidcoef=".5 .3 1.2 {0.4 * i} .9" pos=".05 .02 0" quat="1 .2 .{i} 0"/>'
        text += f'<geom type="capsule" size=".02 .1" fluidshape="{medium}"/>'
        text += f'<site name="s{i}" pos=".05 {0.02 * i} -.05" quat="1 .3 0 .{i}"/>'
    text += "</body>" * 3 + "</body></body>"
    text += '<body name="ball" pos=".6 0 .09"><freejoint name="free"/><geom name="wheel" '
    text += 'size=".1" condim="4" margin=".05" gap=".01" contype="1" conaffinity="1"/>'
    text += '<geom size=".05" pos=".12 0 -.02" condim="1" margin=".1" contype="1" conaffinity="1"/>'
    text += '<geom size=".05" pos="-.1 .1 -.02" margin=".2" gap=".18" contype="1" conaffinity="1"/>'
    text += '<site name="r" pos="0 .05 .1" quat="1 .2 .4 0"/></body>'
    return text


TENDONS = """
<fixed name="fixed" damping=".4" stiffness="3" springlength=".01 .02" actuatorfrclimited="true"
  actuatorfrcrange="-.3 .2"><joint joint="j0" coef="1.5"/><joint joint="j3" coef="-1"/></fixed>
<spatial name="far" damping=".5" stiffness="10"><site site="s0"/><site site="r"/>
  <pulley divisor="2"/><site site="s1"/><site site="s4"/></spatial>
<spatial name="around" damping=".7" stiffness="20" springlength=".1"><site site="s2"/>
  <geom geom="wheel" sidesite="r"/><site site="r"/></spatial>
"""
ACTUATORS = """
<muscle tendon="around" lengthrange=".1 .9" ctrlrange="0 1"/>
<general joint="j3" dyntype="muscle" gaintype="muscle" biastype="muscle" dynprm=".01 .04 .4"
  gainprm=".7 1.1 8 200 .4 1.7 1.5 1.3 1.2" biasprm=".7 1.1 -1 2 .4 1.7 1.5 1.3 1.2"
  lengthrange="-1 1" actearly="true" actrange="0 .6"/>
<general tendon="fixed" gaintype="affine" gainprm="1 .3 -.4" biastype="affine" biasprm="0 -.5 -.3"/>
<general tendon="fixed" dyntype="filterexact" dynprm=".05" gaintype="affine" gainprm="2 0 .1"/>
<general tendon="far" dyntype="integrator" actlimited="true" actrange="-.4 .4" actearly="true"
  biastype="affine" biasprm="0 -1 -.2"/>
<general site="s4" gear="1 2 3 .1 .2 .3" biastype="affine" biasprm=".1 0 -.6" forcerange="-9 .11"/>
<general site="s4" refsite="r" gear="1 -2 .3 .1 .2 .3" biastype="affine" biasprm="0 -.2 -.6"/>
<general cranksite="s3" slidersite="r" cranklength="2" biastype="affine" biasprm="0 -.2 -.3"/>
<general jointinparent="j1" gear="1 .2 -.5" dyntype="filter" dynprm=".1" biastype="affine"
  biasprm="0 0 -.4" group="2"/>
<general joint="free" gear="0 .2 -.5 .1 0 .1" ctrlrange="-.2 .3" gaintype="affine"
  gainprm="1 0 -.5"/>
<adhesion body="ball" gain="2" ctrlrange="0 1"/>
"""


def driven(options: str = "", flags: str = "") -> str:
    """The scene in a moving medium; `options` are attributes of `<option>`, `flags` of `<flag>`."""
    return f"""
<mujoco><compiler autolimits="true"/>
<option density="80" viscosity=".3" wind=".2 -.4 .1" tolerance="1e-13" timestep=".004" {options}>
  <flag energy="enable" {flags}/></option>
<default><geom contype="0" conaffinity="0"/></default>
<worldbody><geom type="plane" size="0 0 1" contype="1" conaffinity="1" friction=".7"/>
{bodies()}</worldbody><tendon>{TENDONS}</tendon><actuator>{ACTUATORS}</actuator></mujoco>"""
