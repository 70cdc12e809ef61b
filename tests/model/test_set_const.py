"""Derived constants of changed models, many at once, against separate compilations."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from tests.compiler.oracle import DERIVED
from tests.derivatives import derivative_errors, directions
from tests.oracle_tools import quick, stack, world

XML = """
<mujoco>
  <worldbody>
    <site name="w" pos="0 0 1"/>
    <body pos=".1 .2 .3" quat="1 .2 .3 .4">
      <joint name="h" axis="0 1 0" ref="10" armature=".01"/>
      <geom size=".1" pos=".1 0 0"/>
      <site name="s" pos=".1 0 .3"/>
      <body name="b" pos="0 .1 .4" euler="20 30 40">
        <joint name="x" type="slide" pos=".1 0 0" springref=".1"/>
        <geom name="g" type="capsule" size=".1 .2"/>
        <site name="s2" pos="0 0 .2"/>
      </body>
    </body>
    <body name="f" pos="1 2 3">
      <freejoint/>
      <geom type="box" size=".1 .2 .3"/>
      <site name="e" pos=".5 0 0"/>
    </body>
  </worldbody>
  <tendon>
    <spatial name="t" armature=".2" springlength="-1"><site site="w"/><site site="s"/>
      <site site="s2"/><pulley divisor="2"/><site site="s2"/><site site="e"/></spatial>
    <fixed springlength="-1"><joint joint="h" coef="1"/><joint joint="x" coef="2"/></fixed>
  </tendon>
  <equality>
    <connect body1="b" body2="f" anchor=".1 .2 .3"/>
    <weld body1="b" body2="f" anchor=".3 .2 .1"/>
  </equality>
  <actuator>
    <motor tendon="t"/>
    <position joint="h" kp="3" dampratio=".7"/>
    <motor site="s2" refsite="e" gear="1 2 3 .1 .2 .3"/>
    <motor cranksite="s2" slidersite="w" cranklength="2"/>
  </actuator>
</mujoco>
"""
CHANGED = "body_mass body_inertia body_pos jnt_pos jnt_axis dof_armature site_pos qpos0".split()


def before() -> mjjax.Model:
    """The model as it is before its constants are computed."""
    model = mjjax.Model.from_xml_string(XML)
    data = model.eq_data.at[1, 3:10].set(0.0)
    bias = model.actuator_biasprm.at[1, 2].set(0.7)
    rest = jnp.full_like(model.tendon_lengthspring, -1.0)
    return model.replace(eq_data=data, actuator_biasprm=bias, tendon_lengthspring=rest)


def changes(model: mjjax.Model, seed: int) -> dict[str, jax.Array]:
    """Random masses, inertias, frames, armature and reference positions."""
    rng = np.random.default_rng(seed)
    found = {name: np.asarray(getattr(model, name)) for name in CHANGED}
    found = {name: x * rng.uniform(0.8, 1.2, x.shape) for name, x in found.items()}
    found["body_inertia"] = np.asarray(model.body_inertia) * rng.uniform(0.8, 1.2)
    found["jnt_axis"] /= np.maximum(np.linalg.norm(found["jnt_axis"], axis=1, keepdims=True), 1e-9)
    found["qpos0"][5:9] /= np.linalg.norm(found["qpos0"][5:9])
    return {name: jnp.asarray(x) for name, x in found.items()}


def recomputed(x: dict[str, jax.Array], model: mjjax.Model) -> dict[str, jax.Array]:
    """All derived constants of a changed model."""
    new = mjjax.set_const(model.replace(**x))
    return {name: getattr(new, name) for name in DERIVED if name != "actuator_lengthrange"}


def compiled(x: dict[str, jax.Array]) -> mujoco.MjModel:
    """MuJoCo's model with the same numbers in its description, compiled."""
    spec = mujoco.MjSpec.from_string(XML)
    reference = spec.compile()
    for name, value in x.items():
        getattr(reference, name)[:] = value
    for kind in ("body", "geom", "site"):  # frames that coincided no longer do
        getattr(reference, f"{kind}_sameframe")[:] = 0
    reference.body_simple[:] = 0
    reference.eq_data[1, 3:10] = 0
    reference.actuator_biasprm[1, 2] = 0.7
    reference.tendon_lengthspring[:] = -1
    mujoco.mj_setConst(reference, mujoco.MjData(reference))
    return reference


@pytest.mark.feature("A084", "A085", "A086", "A088", "A090", "D10")
def test_worlds_are_separate_compilations() -> None:
    """Under vmap every world has the constants of a model of its own."""
    model = before()
    x = [changes(model, seed) for seed in range(64)]
    batch = quick(jax.vmap(recomputed, in_axes=(0, None)))(stack(x), model)
    for i, one in enumerate(x):
        reference = compiled(one)
        for name, mine in world(batch, i).items():
            theirs = getattr(reference, name)
            scale = max(1, np.abs(theirs).max(initial=0))
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-9 * scale, err_msg=name)


@pytest.mark.slow
@pytest.mark.feature("D05", "A085", "A088")
def test_constants_of_tendons_and_equalities_have_exact_derivatives() -> None:
    """Masses, inertias, armature, frames and qpos0 reach every constant, in both modes."""
    model = before()
    x = changes(model, 0)
    v = [jax.tree.map(lambda a: 0.02 * a, directions(x, seed)) for seed in range(2)]
    bad = derivative_errors(lambda x: recomputed(x, model), stack([x] * 2), stack(v))
    assert not bad, bad


@pytest.mark.feature("D16")
def test_constants_are_rounded_once() -> None:
    """In float32 each derived constant is the nearest number to that computed in float64."""
    double = mjjax.Model.from_xml_string(XML)
    with jax.enable_x64(False):
        single = mjjax.Model.from_xml_string(XML)
    for name in DERIVED:
        mine, exact = (np.asarray(getattr(m, name)) for m in (single, double))
        assert mine.dtype == np.float32, name
        np.testing.assert_array_equal(mine, exact.astype(np.float32), err_msg=name)
