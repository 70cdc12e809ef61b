"""Options, flags and sizes: small models compared with MuJoCo field by field."""

import pytest

from tests.compiler.oracle import assert_same


@pytest.mark.feature("B01")
def test_sections() -> None:
    """Sections of the same name are merged in order."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <geom name="a" size="1"/>
          </worldbody>
          <worldbody>
            <site name="b"/>
          </worldbody>
        </mujoco>
        """
    )


@pytest.mark.feature("B14")
def test_medium() -> None:
    """Physical options keep their values."""
    assert_same(
        """
        <mujoco>
          <option gravity="1 2 3" wind="1 0 0" magnetic="1 1 1" density="3" viscosity="2"
                  impratio="4" timestep=".01"/>
        </mujoco>
        """
    )


@pytest.mark.feature("B15")
def test_tolerances() -> None:
    """Solver options keep their values."""
    assert_same(
        """
        <mujoco>
          <option tolerance="1e-3" ls_tolerance=".1" noslip_tolerance="1" ccd_tolerance="2"
                  sleep_tolerance="3" iterations="7" ls_iterations="8" noslip_iterations="9"
                  ccd_iterations="10" sdf_iterations="11" sdf_initpoints="12"/>
        </mujoco>
        """
    )


@pytest.mark.feature("B16")
def test_override() -> None:
    """Contact override parameters may be partly given."""
    assert_same(
        """
        <mujoco>
          <option o_margin=".1" o_solref=".1" o_solimp=".5 .6" o_friction="2"/>
        </mujoco>
        """
    )


@pytest.mark.feature("B17")
@pytest.mark.parametrize(
    "xml",
    [
        """
        <mujoco>
          <option integrator="Euler"/>
        </mujoco>
        """,
        """
        <mujoco>
          <option integrator="RK4"/>
        </mujoco>
        """,
        """
        <mujoco>
          <option integrator="implicit"/>
        </mujoco>
        """,
        """
        <mujoco>
          <option integrator="implicitfast"/>
        </mujoco>
        """,
        """
        <mujoco>
          <option solver="PGS" cone="elliptic" jacobian="dense"/>
        </mujoco>
        """,
        """
        <mujoco>
          <option solver="CG" cone="elliptic" jacobian="dense"/>
        </mujoco>
        """,
        """
        <mujoco>
          <option solver="Newton" cone="elliptic" jacobian="dense"/>
        </mujoco>
        """,
    ],
    ids=["Euler", "RK4", "implicit", "implicitfast", "PGS", "CG", "Newton"],
)
def test_algorithms(xml: str) -> None:
    """Keywords of integrators, solvers, cones and Jacobians."""
    assert_same(xml)


@pytest.mark.feature("B18")
def test_actuator_groups() -> None:
    """Disabled groups become bits."""
    assert_same(
        """
        <mujoco>
          <option actuatorgroupdisable="0 3 30"/>
        </mujoco>
        """
    )


@pytest.mark.feature("B19")
def test_disable_flags() -> None:
    """A disabled flag sets its bit, an enabled one does not."""
    assert_same(
        """
        <mujoco>
          <option>
            <flag contact="disable" island="disable" gravity="enable" spring="disable"/>
          </option>
        </mujoco>
        """
    )


@pytest.mark.feature("B20")
def test_enable_flags() -> None:
    """An enabled flag sets its bit, a disabled one does not."""
    assert_same(
        """
        <mujoco>
          <option>
            <flag energy="enable" override="enable" multiccd="disable"/>
          </option>
        </mujoco>
        """
    )


@pytest.mark.feature("B21")
def test_sizes() -> None:
    """Sizes are as given, user data as long as needed."""
    assert_same(
        """
        <mujoco>
          <size memory="10M" nkey="2" nuserdata="5" nuser_geom="3" nuser_body="2"/>
          <worldbody>
            <geom size="1" user="4 5"/>
            <site user="1 2"/>
          </worldbody>
        </mujoco>
        """
    )


@pytest.mark.feature("B23")
def test_visual() -> None:
    """Visual settings are accepted and have no effect."""
    assert_same(
        """
        <mujoco>
          <visual>
            <headlight ambient="1 1 1"/>
            <map znear=".1"/>
            <rgba haze="1 0 0 1"/>
          </visual>
        </mujoco>
        """
    )


@pytest.mark.feature("B22")
def test_statistic_holds_what_the_user_wrote() -> None:
    """Statistics that are not given are left for the computed ones."""
    ours = assert_same('<mujoco><statistic extent="3" center="1 2 3"/></mujoco>')
    assert set(ours.statistic) == {"extent", "center"}
