"""A description with an element of every kind, and functions that change its attributes."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from mjjax.compiler.parameters import Parameter, assign, find_all
from mjjax.mjcf.edit import attributes_of
from mjjax.mjcf.schema import ELEMENTS
from mjjax.mjcf.spec import Spec
from mjjax.model.model import Model

SCENE = """
<mujoco>
  <compiler boundmass="0.01" boundinertia="1e-5" eulerseq="XYz"/>
  <option density="1.2" viscosity="1e-3" wind="1 0 0.2"/>
  <statistic meansize="0.3"/>
  <asset>
    <mesh name="tetra" vertex="0 0 0 1 0 0 0 1.1 0 0 0 1.2" scale="0.1 0.1 0.1"/>
    <hfield name="hills" nrow="2" ncol="3" elevation="0 1 0 1 0 0.5" size="1 1 0.2 0.1"/>
    <material name="paint" rgba="0.1 0.2 0.3 1"/>
  </asset>
  <worldbody>
    <light name="lamp" pos="0.1 0 3" dir="0.1 0.1 -1"/>
    <camera name="eye" pos="1 0.2 1" xyaxes="0 1 0.1 -0.1 0.2 1"/>
    <geom name="floor" type="plane" size="2 2 0.1"/>
    <geom name="land" type="hfield" hfield="hills" pos="5 0 0"/>
    <body name="torso" pos="0 0.1 1" quat="1 0.1 0.2 0.3" gravcomp="0.2">
      <freejoint name="root"/>
      <geom name="trunk" type="capsule" fromto="0 0 0.1 0.1 0.2 0.4" size="0.05" density="800"/>
      <geom name="chest" type="box" size="0.1 0.2 0.05" pos="0.2 0 0.1" euler="10 20 30"
            fluidshape="ellipsoid" mass="0.7"/>
      <geom name="shell" type="ellipsoid" size="0.1 0.15 0.05" pos="0 -0.3 0.1" shellinertia="true"
            zaxis="0.1 0.2 1"/>
      <site name="imu" pos="0.1 0 0" axisangle="0 1 0.2 30"/>
      <frame name="hip" pos="0.1 0 -0.2" euler="0 10 0">
        <frame name="socket" pos="0 0.05 0" quat="1 0.1 0 0">
          <body name="leg" pos="0.1 0 0">
            <joint name="knee" axis="0 1 0.1" pos="0 0 0.02" damping="1" stiffness="2" ref="5"
                   springref="10" range="-90 80" armature="0.01" frictionloss="0.2"/>
            <geom name="shin" type="cylinder" size="0.04 0.2" pos="0 0 -0.2"
                  friction="0.9 0.01 0.001"/>
            <site name="foot" pos="0 0 -0.4" size="0.01"/>
          </body>
        </frame>
      </frame>
      <body name="tail" pos="-0.2 0 0">
        <joint name="wag" type="ball" damping="0.2"/>
        <inertial pos="-0.1 0 0.02" mass="0.4" fullinertia="0.02 0.025 0.03 0.001 0.002 0.0005"/>
        <geom name="tip" type="mesh" mesh="tetra"/>
      </body>
    </body>
    <body name="cart" pos="2 0 0.5">
      <joint name="rail" type="slide" axis="1 0 0" springdamper="0.5 0.9"/>
      <geom name="ball" type="sphere" size="0.1" density="500" pos="0 0 0.01"/>
      <body name="arm" pos="0 0 0.2">
        <joint name="elbow" axis="0 1 0"/>
        <inertial pos="0 0 0.1" mass="0.3" diaginertia="0.01 0.02 0.015" euler="5 0 0"/>
        <site name="hand" pos="0 0 0.3"/>
      </body>
    </body>
  </worldbody>
  <contact><pair name="touch" geom1="floor" geom2="shin" friction="1 1 0.01 0.001 0.001"/></contact>
  <equality>
    <connect name="pin" body1="cart" body2="leg" anchor="0.1 0 0.1" active="false"/>
    <weld name="glue" body1="arm" body2="torso" torquescale="0.8" active="false"/>
    <joint name="couple" joint1="elbow" joint2="rail" polycoef="0.1 0.5 0 0 0" active="false"/>
  </equality>
  <tendon>
    <spatial name="rope" stiffness="3" damping="0.1"><site site="imu"/><site site="foot"/></spatial>
    <fixed name="gear" frictionloss="0.1">
      <joint joint="elbow" coef="0.5"/><joint joint="rail" coef="2"/>
    </fixed>
  </tendon>
  <actuator>
    <position name="servo" joint="knee" kp="10" kv="1"/>
    <position name="damped" joint="elbow" kp="20" dampratio="0.7"/>
    <motor name="motor" joint="rail" gear="3"/>
    <velocity name="speed" joint="elbow" kv="2"/>
    <cylinder name="piston" tendon="rope" area="0.3" timeconst="0.2" bias="0.1 0 0"/>
    <muscle name="muscle" joint="knee" lengthrange="-2 2" force="100" tausmooth="0.1"/>
    <position name="follower" joint="knee" inheritrange="0.9" kp="4"/>
  </actuator>
  <sensor>
    <jointpos name="angle" joint="knee" cutoff="3" noise="0.1"/>
  </sensor>
  <custom><numeric name="gain" data="1 2 3"/></custom>
  <keyframe><key name="home" time="1" ctrl="1 0 0 0 0 0 0"/></keyframe>
</mujoco>
"""


# Attributes without effect on this model, or other names of attributes that are changed already.
_IDLE = re.compile(
    r"compiler:.*|camera:.*:(focal|principal).*|geom:.*:fitscale|geom:(?!chest).*:fluidcoef"
    r"|actuator:(?!follower).*:inheritrange|actuator:.*:(dyn|gain|bias)prm|actuator:piston:area"
    r"|actuator:(follower|servo):(dampratio|timeconst)|actuator:damped:timeconst|joint:.*:springdamper"
    r"|(mesh|hfield):.*:(?!size).*"
)
# Attributes that are zero here; another value would switch something on, or be refused.
_SWITCHES = re.compile(
    r".*:((ctrl|force|act|actuatorfrc)range|delay|interval|sensorsize|cranklength)"
    r"|(tendon|joint:(?!knee)).*:range|actuator:(?!muscle).*:lengthrange"
)


def references(spec: Spec) -> list[str]:
    """All attributes of named elements that have a value and are real numbers."""
    found = [f"{section}:{name}" for section in ("option", "statistic") for name in spec.option]
    for element in spec.everything():
        owner = element.owner if element.kind == "inertial" else element
        if owner and owner.name and element is not spec.worldbody:
            names = attributes_of(element.kind, element.key) | ELEMENTS[element.key].attributes
            found += [f"{element.kind}:{owner.name}:{name}" for name in names]
    return [r for r in dict.fromkeys(found) if _is_wanted(spec, r)]


def _is_wanted(spec: Spec, reference: str) -> bool:
    if _IDLE.fullmatch(reference) or _SWITCHES.fullmatch(reference):
        return False
    try:
        find_all(spec, [reference])
    except ValueError:
        return False
    return True


def recompiled(spec: Spec, references: Any, values: Mapping[str, Any]) -> Spec:
    """A copy of a description with other numbers in its attributes."""
    copies: dict = {}
    parameters: dict[str, Parameter] = find_all(spec, references)
    other = spec.copy(copies)
    for name, parameter in parameters.items():
        assign(parameter.moved(other, copies), np.array(values[name], float))
    return other


def compiled(spec: Spec, references: Any, values: Mapping[str, Any]) -> Model:
    """The model of a description with other numbers in its attributes."""
    return recompiled(spec, references, values).compile()
