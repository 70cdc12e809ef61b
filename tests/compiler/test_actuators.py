"""Actuators: small models compared with MuJoCo field by field."""

import pytest

from tests.compiler.oracle import assert_same


@pytest.mark.feature("B67")
def test_general() -> None:
    """All parameters of the general actuator, activation states included."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <body>
              <joint name="s" type="slide"/>
              <joint name="h" range="-10 20"/>
              <geom size=".1"/>
              <body>
                <joint name="b" type="ball"/>
                <geom size=".1"/>
              </body>
            </body>
          </worldbody>
          <actuator>
            <general joint="h" dyntype="filter" gaintype="affine" biastype="affine" dynprm="1 2"
                     gainprm="3 4 5" biasprm="6" gear="2 3" actrange="-1 1" actearly="true"/>
            <general jointinparent="b" dyntype="user" actdim="3" user="1 2"/>
            <general joint="s" dyntype="integrator" actlimited="false"/>
          </actuator>
        </mujoco>
        """
    )


@pytest.mark.feature("B68")
def test_shortcuts() -> None:
    """What the shortcuts stand for."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <body>
              <joint name="s" type="slide"/>
              <joint name="h" range="-10 20"/>
              <geom size=".1"/>
              <body>
                <joint name="b" type="ball"/>
                <geom size=".1"/>
              </body>
            </body>
          </worldbody>
          <actuator>
            <motor joint="h" ctrlrange="-1 1" name="m"/>
            <position joint="h" kp="3" kv="2" timeconst=".1"/>
            <position joint="h" inheritrange=".5" forcerange="-2 2"/>
            <velocity joint="s" kv="4"/>
            <intvelocity joint="h" kp="2" actrange="-1 1"/>
            <intvelocity joint="h" inheritrange="1"/>
            <damper joint="h" kv="3" ctrlrange="0 1"/>
          </actuator>
        </mujoco>
        """
    )


@pytest.mark.feature("B69")
def test_cylinder() -> None:
    """A cylinder is a filtered affine actuator."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <body>
              <joint name="s" type="slide"/>
              <joint name="h" range="-10 20"/>
              <geom size=".1"/>
              <body>
                <joint name="b" type="ball"/>
                <geom size=".1"/>
              </body>
            </body>
          </worldbody>
          <actuator>
            <cylinder joint="s" timeconst=".1" diameter=".3" bias="1 2 3"/>
            <cylinder joint="h" area="2"/>
          </actuator>
        </mujoco>
        """
    )


@pytest.mark.feature("B71")
def test_ranges() -> None:
    """Ranges, gear, group and length range."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <body>
              <joint name="s" type="slide"/>
              <joint name="h" range="-10 20"/>
              <geom size=".1"/>
              <body>
                <joint name="b" type="ball"/>
                <geom size=".1"/>
              </body>
            </body>
          </worldbody>
          <actuator>
            <motor joint="h" gear="1 2 3 4 5 6" forcerange="-3 4" group="2"/>
            <motor joint="b" ctrllimited="false" ctrlrange="-1 1" lengthrange="0 1"/>
          </actuator>
        </mujoco>
        """
    )


@pytest.mark.feature("B68")
def test_dampratio_stays_positive() -> None:
    """A damping ratio is marked by its sign until the masses are known."""
    ours = assert_same(
        """
        <mujoco>
          <worldbody>
            <body>
              <joint name="h"/>
              <geom size=".1"/>
            </body>
          </worldbody>
          <actuator>
            <position joint="h" kp="3" dampratio=".7"/>
          </actuator>
        </mujoco>
        """,
        ignore=("actuator_biasprm",),
    )
    assert ours.fields["actuator_biasprm"][0, :3].tolist() == [0.0, -3.0, 0.7]
