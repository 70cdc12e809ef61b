"""Sites, cameras and lights: small models compared with MuJoCo field by field."""

import pytest

from tests.compiler.oracle import assert_same


@pytest.mark.feature("B53")
def test_sites() -> None:
    """Sites of all shapes."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <site/>
            <site type="box" size="1 2 3" user="1" group="2"/>
            <site type="capsule" fromto="0 0 0 1 1 1" size=".1"/>
            <site type="ellipsoid" size="1 2 3" zaxis="1 0 1"/>
          </worldbody>
        </mujoco>
        """
    )


@pytest.mark.feature("B54")
def test_cameras() -> None:
    """Lens from fovy or from the sensor, mode and target."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <body name="t"/>
            <camera fovy="30" mode="targetbody" target="t" user="3"/>
            <camera sensorsize="1 2" focalpixel="3 4" resolution="10 20"/>
            <camera sensorsize="1 2" focal="3 4" principal="1 1" resolution="10 20"
                    projection="orthographic" output="rgb depth"/>
          </worldbody>
        </mujoco>
        """
    )


@pytest.mark.feature("B55")
def test_lights() -> None:
    """Lights keep their pose, type and target."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <body name="t"/>
            <light mode="targetbody" target="t" dir="1 1 1"/>
            <light directional="true"/>
            <light type="point" castshadow="false" active="false" range="3"/>
          </worldbody>
        </mujoco>
        """
    )
