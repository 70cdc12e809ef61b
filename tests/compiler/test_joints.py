"""Joints and degrees of freedom: small models compared with MuJoCo field by field."""

import pytest

from tests.compiler.oracle import assert_same


@pytest.mark.feature("B03")
@pytest.mark.parametrize(
    "xml",
    [
        """
        <mujoco>
          <compiler angle="radian"/>
          <worldbody>
            <body>
              <joint name="j"/>
              <geom size=".1"/>
              <geom size="1" euler=".1 .2 3"/>
            </body>
          </worldbody>
        </mujoco>
        """,
        """
        <mujoco>
          <worldbody>
            <body>
              <joint type="ball" range="0 30"/>
              <geom size=".1"/>
              <body>
                <joint range="-20 40" ref="7" springref="9"/>
                <geom size=".1"/>
                <body>
                  <joint type="slide" range="-2 3" ref="4" springref="5"/>
                  <geom size=".1"/>
                </body>
              </body>
            </body>
          </worldbody>
        </mujoco>
        """,
    ],
    ids=["radian", "degree"],
)
def test_angles(xml: str) -> None:
    """Angles are degrees unless the compiler says radian; slide joints have lengths."""
    assert_same(xml)


@pytest.mark.feature("B04")
def test_autolimits() -> None:
    """A range limits the joint unless it is empty or reversed."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <body>
              <joint range="0 0"/>
              <geom size=".1"/>
              <body>
                <joint range="-1 1"/>
                <geom size=".1"/>
                <body>
                  <joint range="2 1"/>
                  <geom size=".1"/>
                  <body>
                    <joint limited="false" range="0 1"/>
                    <geom size=".1"/>
                  </body>
                </body>
              </body>
            </body>
          </worldbody>
        </mujoco>
        """
    )


@pytest.mark.feature("B44")
def test_joint_types() -> None:
    """Addresses, trees, parents and reference positions of all joint types."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <body pos="1 2 3" quat="1 1 0 0">
              <freejoint/>
              <geom size=".1"/>
              <body>
                <joint type="ball" pos="1 0 0"/>
                <geom size=".1"/>
                <body>
                  <joint type="slide" axis="1 1 0"/>
                  <joint axis="0 2 0" pos="1 2 3" group="3"/>
                  <geom size=".1"/>
                </body>
              </body>
            </body>
            <body>
              <geom size=".1"/>
              <body>
                <joint name="x"/>
                <geom size=".1"/>
              </body>
            </body>
          </worldbody>
        </mujoco>
        """
    )


@pytest.mark.feature("B45")
def test_passive_parameters() -> None:
    """Each degree of freedom gets the parameters of its joint."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <body>
              <joint stiffness="1" damping="2" armature="3" frictionloss="4" margin=".1"
                     solreflimit=".1" solimpfriction=".1 .2" solreffriction=".3 .4"
                     solimplimit=".5"/>
              <joint type="ball" damping="5"/>
              <geom size=".1"/>
            </body>
          </worldbody>
        </mujoco>
        """
    )


@pytest.mark.feature("B47")
def test_actuator_force_range() -> None:
    """Only slide and hinge joints limit the actuator force."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <body>
              <joint actuatorfrcrange="-1 2" actuatorgravcomp="true"/>
              <joint type="ball" actuatorfrcrange="-1 1"/>
              <geom size=".1"/>
            </body>
          </worldbody>
        </mujoco>
        """
    )


@pytest.mark.feature("B46")
def test_springdamper_is_kept_for_later() -> None:
    """The attribute reaches the phase that turns it into stiffness and damping."""
    ours = assert_same(
        """
        <mujoco>
          <worldbody>
            <body>
              <joint springdamper=".1 1" stiffness="3"/>
              <geom size=".1"/>
            </body>
          </worldbody>
        </mujoco>
        """,
        ignore=("dof_damping", "jnt_stiffness"),
    )
    assert ours.fields["jnt_springdamper"].tolist() == [[0.1, 1.0]]
