"""Bodies, frames and inertia: small models compared with MuJoCo field by field."""

import pytest

from tests.compiler.oracle import assert_same


@pytest.mark.feature("B05")
@pytest.mark.parametrize(
    "xml",
    [
        """
        <mujoco>
          <compiler boundmass="2" boundinertia=".3"/>
          <worldbody>
            <body/>
            <body>
              <freejoint/>
              <geom size=".1"/>
            </body>
          </worldbody>
        </mujoco>
        """,
        """
        <mujoco>
          <compiler balanceinertia="true"/>
          <worldbody>
            <body>
              <inertial pos="0 0 0" mass="1" diaginertia="1 2 5"/>
              <freejoint/>
            </body>
          </worldbody>
        </mujoco>
        """,
    ],
    ids=["bounds", "balance"],
)
def test_mass_bounds(xml: str) -> None:
    """Lower bounds of mass and inertia, and balancing of impossible inertias."""
    assert_same(xml)


@pytest.mark.feature("B06")
def test_total_mass() -> None:
    """All masses are scaled to the wanted total."""
    assert_same(
        """
        <mujoco>
          <compiler settotalmass="7"/>
          <worldbody>
            <body>
              <freejoint/>
              <geom size=".1"/>
            </body>
            <body>
              <freejoint/>
              <geom size=".1"/>
            </body>
          </worldbody>
        </mujoco>
        """
    )


@pytest.mark.feature("B07")
@pytest.mark.parametrize(
    "xml",
    [
        """
        <mujoco>
          <compiler inertiafromgeom="false" inertiagrouprange="0 1"/>
          <worldbody>
            <body pos="1 2 3">
              <inertial pos="0 1 0" mass="2" diaginertia="1 1 1"/>
              <geom type="box" size=".1 .2 .3"/>
              <geom size=".1" pos="1 0 0" group="2"/>
            </body>
            <body pos="3 2 1">
              <geom size=".1 .2" type="capsule" pos="1 0 0"/>
            </body>
            <frame pos="1 1 1">
              <body pos="3 3 3" euler="10 20 30"/>
            </frame>
          </worldbody>
        </mujoco>
        """,
        """
        <mujoco>
          <compiler inertiafromgeom="auto" inertiagrouprange="0 1"/>
          <worldbody>
            <body pos="1 2 3">
              <inertial pos="0 1 0" mass="2" diaginertia="1 1 1"/>
              <geom type="box" size=".1 .2 .3"/>
              <geom size=".1" pos="1 0 0" group="2"/>
            </body>
            <body pos="3 2 1">
              <geom size=".1 .2" type="capsule" pos="1 0 0"/>
            </body>
            <frame pos="1 1 1">
              <body pos="3 3 3" euler="10 20 30"/>
            </frame>
          </worldbody>
        </mujoco>
        """,
        """
        <mujoco>
          <compiler inertiafromgeom="true" inertiagrouprange="0 1"/>
          <worldbody>
            <body pos="1 2 3">
              <inertial pos="0 1 0" mass="2" diaginertia="1 1 1"/>
              <geom type="box" size=".1 .2 .3"/>
              <geom size=".1" pos="1 0 0" group="2"/>
            </body>
            <body pos="3 2 1">
              <geom size=".1 .2" type="capsule" pos="1 0 0"/>
            </body>
            <frame pos="1 1 1">
              <body pos="3 3 3" euler="10 20 30"/>
            </frame>
          </worldbody>
        </mujoco>
        """,
    ],
    ids=["false", "auto", "true"],
)
def test_inertia_source(xml: str) -> None:
    """Inertia comes from <inertial>, from geoms in the group range, or is undefined."""
    assert_same(xml)


@pytest.mark.feature("B11")
def test_align_free() -> None:
    """The frame of a lone free body can be moved to its centre of mass."""
    assert_same(
        """
        <mujoco>
          <compiler alignfree="true"/>
          <worldbody>
            <body pos="1 2 3" euler="10 20 30">
              <freejoint/>
              <geom type="box" size=".1 .2 .3" pos="1 0 0"/>
              <geom size=".2" pos="0 1 1"/>
              <site pos="1 1 1"/>
              <camera pos="1 0 0"/>
              <light pos="1 2 3" dir="1 1 -1"/>
            </body>
            <body>
              <freejoint align="false"/>
              <geom size=".1" pos="1 0 0"/>
            </body>
          </worldbody>
        </mujoco>
        """
    )


@pytest.mark.feature("B38")
def test_orientations() -> None:
    """All ways to write an orientation."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <body pos="1 2 3" quat="2 0 0 1">
              <freejoint/>
              <geom size=".1"/>
            </body>
            <body pos="1 2 3" axisangle="1 2 3 40">
              <freejoint/>
              <geom size=".1"/>
            </body>
            <body pos="1 2 3" xyaxes="1 1 0 0 1 1">
              <freejoint/>
              <geom size=".1"/>
            </body>
            <body pos="1 2 3" zaxis="1 2 -3">
              <freejoint/>
              <geom size=".1"/>
            </body>
            <body pos="1 2 3" zaxis="0 0 -1">
              <freejoint/>
              <geom size=".1"/>
            </body>
            <body pos="1 2 3" zaxis="0 0 2">
              <freejoint/>
              <geom size=".1"/>
            </body>
            <body pos="1 2 3" euler="10 20 30">
              <freejoint/>
              <geom size=".1"/>
            </body>
          </worldbody>
        </mujoco>
        """
    )


@pytest.mark.feature("B86")
@pytest.mark.parametrize(
    "xml",
    [
        """
        <mujoco>
          <compiler eulerseq="xyz"/>
          <worldbody>
            <geom size="1" euler="10 20 30"/>
          </worldbody>
        </mujoco>
        """,
        """
        <mujoco>
          <compiler eulerseq="XYZ"/>
          <worldbody>
            <geom size="1" euler="10 20 30"/>
          </worldbody>
        </mujoco>
        """,
        """
        <mujoco>
          <compiler eulerseq="zYx"/>
          <worldbody>
            <geom size="1" euler="10 20 30"/>
          </worldbody>
        </mujoco>
        """,
        """
        <mujoco>
          <compiler eulerseq="zxz"/>
          <worldbody>
            <geom size="1" euler="10 20 30"/>
          </worldbody>
        </mujoco>
        """,
    ],
    ids=["euler-xyz", "euler-XYZ", "euler-zYx", "euler-zxz"],
)
def test_euler_sequences(xml: str) -> None:
    """Lower case turns about moving axes, upper case about fixed ones."""
    assert_same(xml)


@pytest.mark.feature("B39")
def test_frames() -> None:
    """Frames are merged into the poses of their elements."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <frame pos="1 2 3" euler="10 20 30" name="outer">
              <geom size=".1" pos="1 0 0" euler="5 6 7"/>
              <frame zaxis="1 1 1" pos="0 1 0">
                <body pos="1 0 0" quat="1 1 0 0">
                  <frame euler="0 90 0" pos="1 1 1">
                    <joint axis="1 2 3" pos="1 0 0"/>
                    <geom type="capsule" fromto="0 0 0 1 2 3" size=".1"/>
                    <site pos="1 2 3"/>
                    <camera pos="1 2 3" euler="1 2 3"/>
                    <light dir="1 2 3" pos="0 1 0"/>
                  </frame>
                  <geom size=".2"/>
                </body>
              </frame>
            </frame>
          </worldbody>
        </mujoco>
        """
    )


@pytest.mark.feature("B41")
def test_mocap() -> None:
    """Mocap bodies are counted and have poses in keyframes."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <body mocap="true" pos="1 2 3"/>
            <body/>
            <body mocap="true" name="m" quat="0 1 0 0"/>
          </worldbody>
          <keyframe>
            <key mpos="1 2 3 4 5 6"/>
          </keyframe>
        </mujoco>
        """
    )


@pytest.mark.feature("B42")
def test_body_attributes() -> None:
    """Gravity compensation and user data."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <body gravcomp=".5" user="1 2 3">
              <freejoint/>
              <geom size=".1"/>
            </body>
            <body user="7"/>
          </worldbody>
        </mujoco>
        """
    )


@pytest.mark.feature("B43")
def test_explicit_inertia() -> None:
    """Full inertia is diagonalized with MuJoCo's order and signs."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <body>
              <inertial pos="1 2 3" mass="2" fullinertia="3 4 5 .1 -.2 .3"/>
              <freejoint/>
            </body>
            <body>
              <inertial pos="1 2 3" mass="2" diaginertia="1 2 2" euler="10 20 30"/>
              <freejoint/>
            </body>
            <body>
              <inertial pos="1 2 3" mass="2" fullinertia="3 4 5 0 0 0"/>
              <freejoint/>
            </body>
          </worldbody>
        </mujoco>
        """
    )


@pytest.mark.feature("B85")
def test_ids() -> None:
    """Bodies are numbered depth first, everything else by body."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <body name="a">
              <body name="b">
                <geom size="1"/>
              </body>
              <geom name="ga" size="1"/>
            </body>
            <geom name="w" size="1"/>
            <frame>
              <body name="c"/>
              <geom size="1" name="x"/>
            </frame>
            <body name="d"/>
          </worldbody>
        </mujoco>
        """
    )


@pytest.mark.feature("B92")
@pytest.mark.parametrize(
    "xml",
    [
        """
        <mujoco/>
        """,
        """
        <mujoco>
          <worldbody>
            <body pos="1 2 3">
              <geom size="1"/>
            </body>
          </worldbody>
        </mujoco>
        """,
    ],
    ids=["empty", "static"],
)
def test_tiny_models(xml: str) -> None:
    """Models without joints, without bodies, without anything."""
    assert_same(xml)


@pytest.mark.feature("B05")
@pytest.mark.parametrize("number", ["inf", "nan"])
@pytest.mark.parametrize(
    "body",
    [
        '<geom size="1" pos="{} 2 3"/>',
        '<geom size="1" pos="1 {} 3"/><geom size="1"/>',
        '<geom size="1" pos="{} 2 3"/><geom size="1"/>',
        '<geom size="1" mass="{}"/><geom size="1" pos="1 0 0"/>',
        '<geom size="1" quat="{} 0 0 0"/>',
        '<geom size="1" quat="{} 0 0 0"/><geom size="1"/>',
        '<inertial pos="{} 1 1" mass="1" diaginertia="1 1 1"/>',
        '<inertial pos="0 0 0" mass="1" fullinertia="{} 1 1 0 0 0"/>',
        '<inertial pos="0 0 0" mass="1" fullinertia="1 1 {} 0 0 0"/>',
    ],
)
def test_what_is_no_number_stays_so(body: str, number: str) -> None:
    """Infinity and nan in a file give the same inertia as in MuJoCo."""
    body = body.format(number)
    assert_same(f"<mujoco><worldbody><body>{body}</body></worldbody></mujoco>")
