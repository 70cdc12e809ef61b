"""Equality constraints compared with MuJoCo, and what it refuses."""

import pytest

from tests.compiler.oracle import (
    assert_same_model,
    refused,
)

SCENE = """
<default>
  <equality solref=".1 2" solimp=".3 .4"/>
  <default class="off">
    <equality active="false"/>
  </default>
</default>
<worldbody>
  <body name="a" pos=".1 .2 .3" quat="1 .2 .3 .4">
    <joint name="h" ref="10"/>
    <geom size=".1"/>
    <site name="s" pos=".1 0 0" euler="10 20 30"/>
    <body name="b" pos="0 .1 .4" euler="20 30 40">
      <joint name="x" type="slide"/>
      <joint name="q" type="ball"/>
      <geom size=".1"/>
      <site name="s2" pos="0 0 .2"/>
    </body>
  </body>
  <body name="f" pos="1 2 3">
    <freejoint/>
    <geom size=".1"/>
  </body>
</worldbody>
<tendon>
  <fixed name="t">
    <joint joint="h" coef="1"/>
  </fixed>
  <fixed name="t2">
    <joint joint="x" coef="2"/>
  </fixed>
</tendon>
"""


def model(equalities: str) -> str:
    """A model with these constraints."""
    return f"<mujoco>\n{SCENE}<equality>\n{equalities}</equality></mujoco>"


VALID = {
    "connect": '<connect name="c" body1="a" body2="f" anchor="1 2 3"/>'
    '<connect body1="b" anchor="1 0 0" class="off"/><connect site1="s" site2="s2"/>',
    "weld": '<weld body1="a"/><weld body1="a" body2="f" anchor="1 2 3" torquescale="3"/>'
    '<weld body1="a" body2="f" relpose="1 2 3 2 0 1 0"/>'
    '<weld body1="world" body2="f" relpose="1 2 3 0 0 0 0"/>'
    '<weld site1="s" site2="s2" torquescale="2"/>',
    "coupling": '<joint joint1="h" joint2="x" polycoef="1 2 3" solref="3"/><joint joint1="h"/>'
    '<tendon tendon1="t" tendon2="t2" polycoef="0 1 2 3 4" active="false"/><tendon tendon1="t"/>',
}


@pytest.mark.feature("B59", "B60", "B61", "B63")
@pytest.mark.parametrize("kind", VALID)
def test_constraints(kind: str) -> None:
    """Objects, parameters, defaults, and offsets from the reference pose are MuJoCo's."""
    assert_same_model(model(VALID[kind]))


INVALID = (
    '<connect body1="a"/>',
    '<connect anchor="0 0 0"/>',
    '<connect site1="s"/>',
    '<connect site1="s" body2="f"/>',
    '<connect site1="s" site2="s2" anchor="0 0 0"/>',
    '<connect body1="a" body2="a" anchor="0 0 0"/>',
    '<connect body1="zz" anchor="0 0 0"/>',
    '<weld body2="f"/>',
    '<weld site1="s" site2="s2" relpose="1 2 3 1 0 0 0"/>',
    '<joint joint2="h"/>',
    '<joint joint1="h" joint2="h"/>',
    '<joint joint1="q"/>',
    '<tendon tendon1="zz"/>',
    '<joint name="n" joint1="h"/><weld name="n" body1="a"/>',
)


@pytest.mark.feature("B59", "B60", "B61")
@pytest.mark.parametrize("equalities", INVALID)
def test_invalid_constraint_is_refused(equalities: str) -> None:
    """Invalid constraints that MuJoCo refuses are errors with the line of the constraint."""
    assert refused(model(equalities)).line > 2
