"""The check of derivatives accepts right ones, and finds planted errors precisely."""

import functools
import importlib.resources
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from mjjax.pipeline.gradients.gradient_report import Verdict
from mjjax.pipeline.gradients.gradient_verdict import judge, other_in_reverse
from mjjax.pipeline.gradients.probe import MOVE_POINTS, Move, Outcome, differences, one_sided

ASSETS = importlib.resources.files("mjjax") / "assets"
XML = """
<mujoco model="arm"><option timestep="0.01" integrator="implicitfast"/>
  <worldbody><geom name="floor" type="plane" size="0 0 1"/>
  <body name="upper" pos="0 0 1"><joint name="shoulder" axis="0 1 0" damping="0.1"/>
    <geom name="rod" type="capsule" fromto="0 0 0 0.5 0 0" size="0.04"/>
    <body name="lower" pos="0.5 0 0"><joint name="elbow" axis="0 1 0" frictionloss="0.01"/>
      <geom name="ball" type="sphere" pos="0.3 0 0" size="0.1"/></body></body></worldbody>
  <actuator><motor name="lift" joint="shoulder"/>
    <general name="own" joint="elbow" biastype="user"/></actuator></mujoco>
"""


@functools.cache
def arm() -> mjjax.Model:
    return mjjax.Model.from_xml_string(XML)


def moving(model: mjjax.Model) -> mjjax.Data:
    """A state in which nothing is zero."""
    rng, data = np.random.default_rng(0), mjjax.make_data(model)
    away = jnp.asarray(0.1 * rng.normal(size=model.nv))
    return data.replace(
        qpos=mjjax.integrate_pos(model, data.qpos, away, 1),
        qvel=jnp.asarray(0.3 * rng.normal(size=model.nv)),
        ctrl=jnp.asarray(0.3 * rng.normal(size=model.nu)),
    )


@pytest.mark.slow
@pytest.mark.feature("D05")
def test_inertia_is_not_moved_below_zero() -> None:
    """A body that weighs nearly nothing and has no armature: differences by it do not fail."""
    model = mjjax.Model.from_xml_string(
        """<mujoco><worldbody><body><joint axis="0 1 0" damping="1e-6"/>
        <geom size="0.02" pos="0.1 0 0" mass="1e-3"/></body></worldbody></mujoco>"""
    )
    report = mjjax.check_gradients(model, moving(model))
    assert report.ok and "dof_armature" in report.checked, report


@pytest.mark.slow
@pytest.mark.feature("D02", "D04", "D05")
@pytest.mark.parametrize("name", ["double_pendulum", "ant", "humanoid"])
def test_the_models_that_come_with_it_are_right(name: str) -> None:
    """Shipped models pass, by state, inputs and all fields; missing derivatives are named."""
    model = mjjax.Model.from_xml_path(str(ASSETS / f"{name}.xml"))
    report = mjjax.check_gradients(model, moving(model))
    assert report.ok, report
    assert {"qpos", "qvel", "ctrl", "body_mass", "opt.timestep"} <= set(report.checked)
    assert "geom_rgba" in report.no_effect and "body_mass" not in report.no_effect
    off = [f for f in report.findings if f.verdict == Verdict.OFF]
    assert "body_gravcomp" in {f.field for f in off}
    assert "model.with_terms('body_gravcomp')" in str(report)


@jax.custom_jvp
def drag(qvel: jax.Array) -> jax.Array:
    return -(qvel**3)


@drag.defjvp
def _drag_jvp(primals: tuple, tangents: tuple) -> tuple:
    (v,), (dv,) = primals, tangents
    # false for the second dof
    return drag(v), -3 * v**2 * dv * jnp.array([1.0, 1.1])


def with_drag(model: mjjax.Model, data: mjjax.Data) -> mjjax.Data:
    return data.replace(qfrc_passive=data.qfrc_passive + drag(data.qvel))


def feedback(model: mjjax.Model, data: mjjax.Data) -> mjjax.Data:
    """Finite, with a finite derivative in forward mode, and none in reverse."""
    height = data.xpos[2, 2] - data.xpos[2, 2]
    root = jnp.where(height > 0, jnp.sqrt(height), data.qvel[0])
    return data.replace(ctrl=data.ctrl.at[0].set(root))


def bias(model: mjjax.Model, data: mjjax.Data, index: jax.Array) -> jax.Array:
    """Half of a velocity, with a third of it in reverse mode."""
    v = data.actuator_velocity[1:2]
    half, third = lambda _, b: b / 2, lambda _, b: b / 3
    return jax.lax.custom_linear_solve(lambda x: 2 * x, v, half, third)[0]


@pytest.mark.slow
@pytest.mark.feature("D02")
def test_three_planted_errors_are_found_where_they_are() -> None:
    """A wrong rule, a NaN in reverse mode and a wrong transpose are found by stage and field."""
    calls = mjjax.Callbacks(passive=with_drag, control=feedback, act_bias=bias)
    report = mjjax.check_gradients(arm(), moving(arm()), calls)
    found = {f.stage: f for f in report.errors}
    assert len(report.errors) == 3 and not report.ok, report
    false = found["fwd_velocity"]
    assert false.verdict == Verdict.WRONG and false.field == "qfrc_passive"
    assert false.where == "joint 'elbow'" and false.inputs[0] == "qvel of joint 'elbow'"
    v = float(moving(arm()).qvel[1])
    assert f"{-3.3 * v**2:.6g}, differences say {-3 * v**2:.6g}" in false.text
    nan = found["control"]
    assert nan.verdict == Verdict.NOT_FINITE and nan.field == "ctrl"
    assert nan.inputs == ("xpos of body 'lower' [2]",)
    transposed = found["fwd_actuation"]
    assert transposed.verdict == Verdict.WRONG and "reverse mode" in transposed.text
    assert transposed.field in ("actuator_force", "qfrc_actuator")


def test_what_is_not_finite_to_begin_with_is_named() -> None:
    """Names the field and the body, before anything is compiled."""
    model = arm().replace(body_mass=arm().body_mass.at[2].set(jnp.nan))
    (finding,) = mjjax.check_gradients(model, moving(arm())).findings
    assert finding.verdict == Verdict.NOT_FINITE
    assert (finding.field, finding.where) == ("body_mass", "body 'lower'")
    assert "body_mass of body 'lower' is nan" in str(finding)


def test_single_precision_is_refused() -> None:
    """Differences in float32 say nothing; the error says what to do."""
    single = jax.tree.map(lambda x: x.astype(jnp.float32) if x.dtype == jnp.float64 else x, arm())
    with pytest.raises(ValueError, match="jax_enable_x64"):
        mjjax.check_gradients(single, moving(arm()))


def test_a_batch_is_refused() -> None:
    """A batch is refused, because the check takes one world at a time."""
    batch = jax.tree.map(lambda x: x[None], moving(arm()))
    with pytest.raises(ValueError, match="one world"):
        mjjax.check_gradients(arm(), batch)


@pytest.mark.slow
@pytest.mark.feature("D05")
def test_no_delay_is_not_moved() -> None:
    """With any delay a reading comes from its buffer: a jump, which is not called an error."""
    model = mjjax.Model.from_xml_string(
        """<mujoco><worldbody><body><joint name="j" type="slide"/><geom size="0.1"/></body>
        </worldbody>
        <actuator><motor joint="j" delay="0.005" nsample="6" interp="linear"/></actuator>
        <sensor><jointpos joint="j" delay="0.005" interp="linear" nsample="4"/>
        <jointpos joint="j" interval="0.004" nsample="3"/></sensor></mujoco>"""
    ).with_terms("sensor_delay")
    data = moving(model)
    for _ in range(2):
        data = jax.jit(mjjax.step)(model, data)
    report = mjjax.check_gradients(model, data)
    assert report.ok and {"actuator_delay", "sensor_delay"} <= {*report.checked}, report


UNUSED: dict[str, Any] = dict.fromkeys(Outcome._fields)
EMPTY = Outcome(**UNUSED)
FUNCTIONS = {
    # result at x, the derivative that is claimed, what must be said
    "right": (lambda x: jnp.sin(3 * x), 3.0, None),
    "wrong": (lambda x: jnp.sin(3 * x), 3.00001, Verdict.WRONG),
    "kink": (lambda x: jnp.abs(x) + x, 0.0, Verdict.KINK),
    "wrong at a kink": (lambda x: jnp.abs(x) + x, -0.2, Verdict.WRONG),
    "rough": (lambda x: jnp.sin(1e6 * x), 1e6, Verdict.UNSETTLED),
    "no number": (lambda x: x, np.nan, Verdict.NOT_FINITE),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_verdicts(name: str) -> None:
    """Wrong derivatives, kinks and results that differences cannot judge are told apart."""
    function, claimed, verdict = FUNCTIONS[name]
    points, here = np.asarray(function(MOVE_POINTS))[None], np.zeros(())
    outcome = EMPTY._replace(
        value={"energy": here},
        pushed={"energy": np.full((1, 3), claimed)},
        expected={"energy": differences(points)},
        sides={"energy": one_sided(points, here)},
        settled=np.ones((1, 3), bool),
    )
    found = [x.verdict for x in judge("stage", outcome, [Move("qvel", np.ones(1))], 1e-6)]
    assert found == ([] if verdict is None else [verdict])


@pytest.mark.feature("D05")
@pytest.mark.parametrize(
    "forward, reverse, differ",
    [
        ((1.0, 0.0), (1.0, 0.0), False),
        ((1.0, 0.0), (1.0, 1e-6), True),
        ((1e-9, 0.0), (1e-9, 1e-10), True),  # small, but more than rounding leaves
        ((5e-11, 0.0), (5e-11, 7e-16), False),
        ((0.0, 0.0), (0.0, 3e-18), False),  # what is left of terms that cancel
    ],
)
def test_modes_that_differ(
    forward: tuple[float, float], reverse: tuple[float, float], differ: bool
) -> None:
    """Reverse mode is wrong if it differs by more than rounding, even if all values are small."""
    outcome = EMPTY._replace(
        cotangent={"efc_vel": np.ones(2)},
        pushed={"efc_vel": np.broadcast_to(forward, (1, 3, 2))},
        pulled={"cdof": np.ones(2), "qvel": np.zeros(1)},
        entered={"cdof": np.broadcast_to(reverse, (1, 3, 2))},
    )
    assert bool(other_in_reverse(outcome, [Move("qvel", np.ones(1))])) == differ
