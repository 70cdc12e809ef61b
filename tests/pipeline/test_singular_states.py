"""Derivatives are finite where textbook formulas divide by zero."""

import chex
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.xla.namespace import Array
from tests.oracle_tools import load, quick, stack

REST = """
<mujoco><option density="1000" viscosity="1" cone="{cone}" {option}><flag energy="enable"/></option>
<worldbody>
  <geom type="plane" size="0 0 1" condim="6"/>
  <body pos="0 0 0.1"><freejoint/><geom size="0.1" condim="6"/><site name="s"/></body>
  <body pos="0 0 0.1"><freejoint/><geom size="0.1" condim="4"/></body>
  <body pos="1 0 0.1"><freejoint/><geom type="capsule" size="0.1 0.2"/></body>
  <body pos="1 0 0.1"><freejoint/><geom type="capsule" size="0.1 0.2"/></body>
  <body pos="2 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body>
  <body pos="2 0 0.1"><freejoint/><geom size="0.05"/></body>
  <body pos="3 0 1"><joint name="ball" type="ball" range="0 0.001" margin="0.1" stiffness="1"
    damping="1" frictionloss="1"/><geom size="0.1"/>
    <camera mode="targetbody" target="aim"/>
    <body name="aim"><joint name="hinge" range="0 1" margin="0.1" frictionloss="1" stiffness="1"/>
      <geom size="0.1" pos="0 0 0.1"/><light mode="targetbody" target="aim"/></body></body>
</worldbody>
<actuator><motor joint="ball" gear="1 1 1"/><general jointinparent="ball" gear="1 0 1"
  biastype="affine" biasprm="0 -1 -1" forcerange="0 1"/></actuator></mujoco>
"""


@pytest.mark.slow
@pytest.mark.feature("D07", "D19", "D02", "D04")
@pytest.mark.parametrize("cone, integrator", [("pyramidal", "implicitfast"), ("elliptic", "Euler")])
def test_rest_on_rest(cone: str, integrator: str) -> None:
    """Coincident centres, grazing contacts, zero rotations and zero velocities in a fluid."""
    both = load(REST.format(cone=cone, option=f'integrator="{integrator}"'))
    model, data = both.ours, mjjax.make_data(both.ours)

    def objective(x: tuple) -> jax.Array:
        qpos, qvel, ctrl, mass, size = x
        moved = model.replace(body_mass=mass, geom_size=size)
        after = mjjax.step(moved, data.replace(qpos=qpos, qvel=qvel, ctrl=ctrl))
        fields = (after.qpos, after.qvel, after.cam_xmat, after.light_xdir, after.energy)
        return sum(jnp.sum(jnp.cos(f)) for f in fields) + jnp.sum(after.actuator_length)

    def derivatives(x: tuple) -> tuple:
        v = jax.tree.map(jnp.ones_like, x)
        return jax.jvp(jax.grad(objective), (x,), (v,))

    x = (data.qpos, data.qvel, data.ctrl, model.body_mass, model.geom_size)
    deeper = (data.qpos.at[2::7].add(-1e-3), *x[1:])
    sunk = (data.qpos.at[2::7].add(-0.1), *x[1:])
    found = quick(jax.vmap(derivatives))(stack([x, deeper, sunk]))
    chex.assert_tree_all_finite(found)
    d = mujoco.MjData(both.reference)
    mujoco.mj_forward(both.reference, d)
    assert d.ncon > 4  # the centres really coincide


def test_integrate_and_differentiate_at_zero() -> None:
    """Moving by nothing, and the way from a state to itself, have exact derivatives."""
    model = load(REST.format(cone="pyramidal", option="")).ours
    q, v = model.qpos0, jnp.zeros(model.nv)

    def there_and_back(v: jax.Array) -> Array:
        h = jnp.asarray(0.1)
        return mjjax.differentiate_pos(model, h, q, mjjax.integrate_pos(model, q, v, h))

    for mode in (jax.jacfwd, jax.jacrev):
        np.testing.assert_allclose(jax.jit(mode(there_and_back))(v), np.eye(model.nv), atol=1e-12)
