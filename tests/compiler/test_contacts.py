"""Contact pairs and excluded bodies: small models compared with MuJoCo field by field."""

import pytest

from tests.compiler.oracle import assert_same


@pytest.mark.feature("B56", "B57")
def test_pairs() -> None:
    """Pairs are sorted by bodies and do not inherit from their geoms."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <geom name="a" size="1"/>
            <body>
              <geom name="b" size="1"/>
            </body>
            <body>
              <geom name="c" size="1" friction="3"/>
            </body>
          </worldbody>
          <contact>
            <pair geom1="c" geom2="b" name="late" friction="2 3" solreffriction=".1 .2"
                  margin=".1"/>
            <pair geom1="c" geom2="a" condim="1"/>
            <pair geom1="a" geom2="b" gap="1" solimp=".5"/>
          </contact>
        </mujoco>
        """
    )


@pytest.mark.feature("B58")
def test_excludes() -> None:
    """Excluded bodies are sorted, names follow."""
    assert_same(
        """
        <mujoco>
          <worldbody>
            <body name="a"/>
            <body name="b"/>
          </worldbody>
          <contact>
            <exclude body1="b" body2="a" name="two"/>
            <exclude body1="a" body2="world" name="one"/>
          </contact>
        </mujoco>
        """
    )
