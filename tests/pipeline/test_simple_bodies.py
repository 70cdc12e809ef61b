"""Bodies whose inertia MuJoCo stores as a diagonal, so that it loses couplings of dofs."""

import mujoco
import numpy as np
import pytest

import mjjax
from tests.compiler.oracle import assert_same_constants
from tests.oracle_tools import (
    STATE,
    differences,
    error,
    full_inertia,
    load,
    random_state,
    stack,
    step_worlds,
    to_ours,
    world,
)

BODY = """<body pos="{1} 0 0">
  <joint name="{0}" type="slide" axis="1 0 0"/><joint name="{0}2" type="slide" axis="0 1 0"/>
  <geom type="box" size=".1 .2 .3"/><site name="{0}"/>
</body>"""
XML = f"""
<mujoco>
  <option timestep="0.01" density="900" viscosity="5" integrator="INTEGRATOR">
    <flag contact="disable"/>
  </option>
  <worldbody>
    <site name="world" pos="1 1 1"/>
    <body><freejoint/><geom type="box" size=".1 .2 .3"/></body>
    {BODY.format("a", 1)}{BODY.format("b", 2)}{BODY.format("c", 3)}
  </worldbody>
  <tendon>
    <fixed damping="300" armature="20">
      <joint joint="a" coef="1"/><joint joint="a2" coef="1"/>
    </fixed>
    <fixed name="t"><joint joint="b" coef="1"/><joint joint="b2" coef=".7"/></fixed>
    <spatial armature="20" damping="300"><site site="world"/><site site="c"/></spatial>
  </tendon>
  <actuator><velocity tendon="t" kv="900"/></actuator>
</mujoco>
"""


@pytest.mark.feature("C07", "C24")
@pytest.mark.parametrize("integrator", ["implicit", "implicitfast"])
def test_couplings_agree(integrator: str) -> None:
    """Tendon inertia, and fluid, tendon and actuator damping, couple only where MuJoCo keeps it."""
    both = load(XML.replace("INTEGRATOR", integrator))
    np.testing.assert_array_equal(both.reference.body_simple, [0, 1, 2, 2, 0])
    states = [random_state(both.reference, seed, spread=1.0) for seed in range(4)]
    data = step_worlds(both.ours, stack([to_ours(both.ours, d) for d in states]))
    for i, d in enumerate(states):
        mujoco.mj_step(both.reference, d)
        mine, inertia = world(data, i), full_inertia(both.reference, d)
        assert error(mjjax.full_m(both.ours, mine), inertia) < 1e-10
        assert not differences(mine, d, STATE)


@pytest.mark.feature("C07", "A088")
def test_constants_agree() -> None:
    """The inverse weights of such a body ignore tendons between its own joints."""
    assert_same_constants(XML.replace("INTEGRATOR", "Euler"))
