"""Geoms: small models compared with MuJoCo field by field."""

import pytest

from tests.compiler.oracle import assert_same


@pytest.mark.feature("B48")
def test_types() -> None:
    """Mass, inertia and bounding volume of every primitive."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <geom type="plane" size="0 0 1"/>
            <body>
              <freejoint/>
              <geom type="sphere" size=".1 .2 .3"/>
            </body>
            <body>
              <freejoint/>
              <geom type="capsule" size=".1 .2 .3"/>
            </body>
            <body>
              <freejoint/>
              <geom type="ellipsoid" size=".1 .2 .3"/>
            </body>
            <body>
              <freejoint/>
              <geom type="cylinder" size=".1 .2 .3"/>
            </body>
            <body>
              <freejoint/>
              <geom type="box" size=".1 .2 .3"/>
            </body>
          </worldbody>
        </mujoco>
        """
    )


@pytest.mark.feature("B49")
def test_fromto() -> None:
    """A shape between two points; z points to the first."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <body>
              <freejoint/>
              <geom type="capsule" size=".1" fromto="0 0 0 1 2 3"/>
            </body>
            <body>
              <freejoint/>
              <geom type="capsule" size=".1" fromto="0 0 1 0 0 0"/>
            </body>
            <body>
              <freejoint/>
              <geom type="capsule" size=".1" fromto="0 0 0 0 0 1"/>
            </body>
            <body>
              <freejoint/>
              <geom type="ellipsoid" size=".1" fromto="0 0 0 1 2 3"/>
            </body>
            <body>
              <freejoint/>
              <geom type="ellipsoid" size=".1" fromto="0 0 1 0 0 0"/>
            </body>
            <body>
              <freejoint/>
              <geom type="ellipsoid" size=".1" fromto="0 0 0 0 0 1"/>
            </body>
            <body>
              <freejoint/>
              <geom type="cylinder" size=".1" fromto="0 0 0 1 2 3"/>
            </body>
            <body>
              <freejoint/>
              <geom type="cylinder" size=".1" fromto="0 0 1 0 0 0"/>
            </body>
            <body>
              <freejoint/>
              <geom type="cylinder" size=".1" fromto="0 0 0 0 0 1"/>
            </body>
            <body>
              <freejoint/>
              <geom type="box" size=".1" fromto="0 0 0 1 2 3"/>
            </body>
            <body>
              <freejoint/>
              <geom type="box" size=".1" fromto="0 0 1 0 0 0"/>
            </body>
            <body>
              <freejoint/>
              <geom type="box" size=".1" fromto="0 0 0 0 0 1"/>
            </body>
          </worldbody>
        </mujoco>
        """
    )


@pytest.mark.feature("B50")
@pytest.mark.parametrize(
    "mass", ['mass="3"', 'density="7"', 'shellinertia="true"', 'shellinertia="true" mass="2"']
)
def test_masses(mass: str) -> None:
    """Mass wins over density; shells have their own inertia."""
    types = ("sphere", "capsule", "ellipsoid", "cylinder", "box")
    bodies = "".join(
        f'<body><freejoint/><geom type="{t}" size=".1 .2 .3" {mass}/></body>' for t in types
    )
    massless = '<geom type="box" size="1 1 1" mass="0"/>'
    xml = f"<mujoco><worldbody>{bodies}{massless}</worldbody></mujoco>"
    # the shell of an ellipsoid is a difference over 1e-6: its rounding errors are so much larger
    assert_same(xml, tolerance=1e-10 if "shell" in mass else 1e-12)


@pytest.mark.feature("B51")
def test_contact_parameters() -> None:
    """Contact parameters, partly given vectors included."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <geom size="1" contype="2" conaffinity="4" condim="6" priority="3" friction="2 .1"
                  solmix=".5" solref=".1" solimp=".5 .6 .7" margin=".1" gap=".05"/>
          </worldbody>
        </mujoco>
        """
    )


@pytest.mark.feature("B52")
def test_fluid() -> None:
    """Added mass and inertia of the ellipsoid fluid model."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <geom type="sphere" size=".1 .2 .3" fluidshape="ellipsoid" fluidcoef="1 2"/>
            <geom type="capsule" size=".1 .2 .3" fluidshape="ellipsoid" fluidcoef="1 2"/>
            <geom type="ellipsoid" size=".1 .2 .3" fluidshape="ellipsoid" fluidcoef="1 2"/>
            <geom type="cylinder" size=".1 .2 .3" fluidshape="ellipsoid" fluidcoef="1 2"/>
            <geom type="box" size=".1 .2 .3" fluidshape="ellipsoid" fluidcoef="1 2"/>
          </worldbody>
        </mujoco>
        """
    )


@pytest.mark.feature("B88")
def test_short_vectors() -> None:
    """A vector that is shorter than its maximum keeps the rest of its class."""
    assert_same(
        """
        <mujoco>
          <default>
            <geom size=".1 .2 .3" friction="5 6 7" solimp=".1 .2 .3 .4 5"/>
          </default>
          <worldbody>
            <geom type="box" size="1" friction="2" solimp=".9"/>
          </worldbody>
        </mujoco>
        """
    )
