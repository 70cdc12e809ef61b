"""Keyframes and custom data: small models compared with MuJoCo field by field."""

import numpy as np
import pytest

from tests.compiler.oracle import assert_same


@pytest.mark.feature("B75")
def test_keyframes() -> None:
    """Missing parts are the reference state, quaternions are normalized."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <body>
              <freejoint/>
              <geom size=".1"/>
            </body>
            <body>
              <joint type="ball"/>
              <geom size=".1"/>
            </body>
          </worldbody>
          <keyframe>
            <key name="a" time="2" qpos="1 2 3 2 0 0 0 0 0 0 3"/>
            <key qvel="1 2 3 4 5 6 7 8 9"/>
          </keyframe>
        </mujoco>
        """
    )


@pytest.mark.feature("B75")
@pytest.mark.parametrize("seed", range(4))
def test_quaternions_of_keyframes(seed: int) -> None:
    """Quaternions of any length become unit, and zero ones the identity, as in C."""
    rng = np.random.default_rng(seed)
    joints = [rng.choice(["free", "ball", "hinge", "slide"]) for _ in range(6)]
    quats = ("0 0 0 0", "1e-9 0 0 0", "0 1e-8 0 0", "0 1e-16 0 0", "0 0 3 4", "-.6 0 0 .8",
             "1e200 0 0 1e200", "1e-5 2e-5 0 0")  # fmt: skip
    body = "<body><joint type='{}'/><geom size='.1'/></body>"
    mocap = "<body mocap='true' quat='0 0 3 4'/>" * 3
    start = {"free": "1 2 3 ", "ball": ""}
    keys = ""
    for k in range(8):
        chosen = rng.permutation(quats)
        qpos = " ".join(
            start[kind] + str(q) if kind in start else "0"
            for kind, q in zip(joints, chosen, strict=False)
        )
        keys += f"<key qpos='{qpos}' mquat='{' '.join(chosen[:3])}'/>" if k else "<key/>"
    bodies = "".join(body.format(kind) for kind in joints)
    assert_same(
        f"<mujoco><worldbody>{bodies}{mocap}</worldbody><keyframe>{keys}</keyframe></mujoco>"
    )


@pytest.mark.feature("B75")
def test_short_keyframe_is_padded() -> None:
    """Velocities, activations and controls that are left out are zero."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <body>
              <freejoint/>
              <geom size=".1"/>
              <body>
                <joint name="j"/>
                <geom size=".1"/>
              </body>
            </body>
          </worldbody>
          <actuator>
            <motor joint="j"/>
            <motor joint="j"/>
          </actuator>
          <keyframe>
            <key qvel="1 2" ctrl="3"/>
          </keyframe>
        </mujoco>
        """
    )


@pytest.mark.feature("B76")
def test_custom() -> None:
    """Numbers, texts and tuples."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <body name="b"/>
            <geom size="1" name="g"/>
          </worldbody>
          <custom>
            <numeric name="n" data="1 2 3"/>
            <numeric name="m" size="4" data="1"/>
            <text name="t" data="hello"/>
            <tuple name="u">
              <element objtype="body" objname="b"/>
              <element objtype="geom" objname="g" prm="2"/>
            </tuple>
          </custom>
        </mujoco>
        """
    )
