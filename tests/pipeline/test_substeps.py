"""Time steps in parts, which are equal or as short as the motion requires."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from tests.oracle_tools import quick

RATE = 40.0  # of the oscillator [rad/s]
XML = f"""
<mujoco><option timestep="0.1"/><worldbody><body>
  <joint name="x" type="slide" axis="1 0 0" stiffness="{RATE**2}"/>
  <geom size="0.1" mass="1"/></body></worldbody><actuator><motor joint="x"/></actuator></mujoco>
"""
RULE = mjjax.Adaptive(tolerance=1e-6)

# The cube toss of DiffMJX (martius-lab/diffmjx, experiments/04_time-toss, xml/cube.xml): a cube is
# thrown down with u = -2 m/s; how far it gets in 1 s, by u. The 0.1727 in its table is of another
# trajectory: MuJoCo and MJX 3.6.0 do not have that one with the same file.
TOSS = """
<mujoco><option gravity="0 0 -2" timestep="0.05" tolerance="1e-12">
    <flag refsafe="disable" eulerdamp="disable"/></option>
  <default><geom solimp="0 0.95 0.001 0.5 2" solref="0.005 1"/></default>
  <worldbody><geom type="plane" size="20 20 0.125" contype="0"/>
    <body pos="0 0 0.2"><freejoint/>
      <geom type="box" size="0.05 0.05 0.05" density="100" euler="60 0 0"/></body>
  </worldbody></mujoco>
"""
# MuJoCo's own, RK4 at 1e-5 s, centred difference over 2e-4 m/s; it is 0.5758 over 2e-3 m/s
TOSS_SLOPE = 0.5763


@functools.cache
def oscillator() -> tuple[mjjax.Model, mjjax.Data]:
    model = mjjax.Model.from_xml_string(XML)
    return model, mjjax.make_data(model)


@pytest.mark.slow
@pytest.mark.feature("D20", "A074")
def test_equal_parts_are_shorter_steps() -> None:
    """Three parts of a step are three steps of a third with its controls, derivatives too."""
    model, data = oscillator()
    short = model.replace(opt=model.opt.replace(timestep=model.opt.timestep / 3))

    def divided(ctrl: jax.Array, checkpoint: Any) -> tuple[Any, Any]:
        end, kept = mjjax.rollout(model, data, ctrl, substeps=3, checkpoint=checkpoint)
        return kept["qpos"], end.time

    def steps(ctrl: jax.Array) -> tuple[Any, Any]:
        end, kept = mjjax.rollout(short, data, jnp.repeat(ctrl, 3, axis=0))
        return kept["qpos"][2::3], end.time

    ctrl = jnp.asarray([[1.0], [-2.0]])
    expected = quick(lambda u: (steps(u), jax.jacrev(lambda u: steps(u)[0])(u)))(ctrl)
    for checkpoint in ("step", "none"):
        run = functools.partial(divided, checkpoint=checkpoint)
        found = quick(lambda u, run=run: (run(u), jax.jacrev(lambda u: run(u)[0])(u)))(ctrl)
        jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-11), found, expected)


@pytest.mark.slow
@pytest.mark.feature("D20")
def test_adaptive_parts_follow_the_motion() -> None:
    """The oscillator and its derivative are those of the continuous motion, in any batch."""
    model, data = oscillator()

    def end(start: jax.Array) -> jax.Array:
        moved = data.replace(qpos=start[None])
        return mjjax.rollout(model, moved, nstep=2, substeps=RULE, derived=())[0].qpos[0]

    start = jnp.asarray([0.0, 0.01, 2.0])
    value, slope = quick(jax.vmap(jax.value_and_grad(end)))(start)
    exact = np.cos(RATE * 0.2)
    np.testing.assert_allclose(value, exact * start, atol=1e-5)
    np.testing.assert_allclose(slope[1:], exact, rtol=1e-3)
    alone, along = quick(lambda x: jax.jvp(end, (x,), (jnp.ones(()),)))(start[1])
    np.testing.assert_allclose([alone, along], [value[1], slope[1]], rtol=1e-9)


@pytest.mark.feature("D20")
def test_too_few_parts_take_what_is_left() -> None:
    """With too few parts a step still ends at the right time, and is counted."""
    model, data = oscillator()
    data = data.replace(qpos=jnp.ones(1))
    few = mjjax.Adaptive(tolerance=1e-12, most=2)
    end = quick(lambda d: mjjax.rollout(model, d, nstep=2, substeps=few)[0])(data)
    assert float(end.time) == pytest.approx(0.2, rel=1e-12)
    assert int(end.warning[mjjax.WarningType.SUBSTEPFULL]) == 2
    enough = quick(lambda d: mjjax.rollout(model, d, nstep=2, substeps=RULE)[0])(data)
    assert not np.any(enough.warning)


def test_refusals() -> None:
    """Numbers that make no sense are errors that name what was given."""
    model, data = oscillator()
    with pytest.raises(ValueError, match="at least 1"):
        mjjax.rollout(model, data, nstep=1, substeps=0)
    with pytest.raises(ValueError, match="positive"):
        mjjax.Adaptive(tolerance=0.0)


@pytest.mark.slow
@pytest.mark.feature("D20", "D03")
def test_cube_toss() -> None:
    """The gradient through a throw and its stiff contacts is that of the motion, within 2 %."""
    model = mjjax.Model.from_xml_string(TOSS)
    data = mjjax.make_data(model)

    def distance(u: jax.Array) -> jax.Array:
        start = data.replace(qvel=data.qvel.at[1].set(-0.1).at[2].set(u))
        thrown = mjjax.rollout(
            model, start, nstep=20, substeps=RULE, derived=(), keep=(), checkpoint="none"
        )
        return thrown[0].qpos[1]

    slope = quick(jax.grad(distance))(jnp.asarray(-2.0))
    assert float(slope) == pytest.approx(TOSS_SLOPE, rel=0.02)
