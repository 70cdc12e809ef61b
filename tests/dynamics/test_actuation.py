"""Actuators: muscles, activations, limits and flags against MuJoCo; derivatives."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import chex
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.dynamics.actuation import actuator_velocity
from mjjax.dynamics.muscle import muscle_bias, muscle_gain, muscle_gain_slope, muscle_rate
from mjjax.dynamics.tendon import tendon_velocity
from mjjax.dynamics.velocity_derivative import smooth_vel
from tests.derivatives import both_modes, derivative_errors, directions
from tests.dynamics.scenes import driven
from tests.oracle_tools import differences, load, quick, random_state, stack, to_ours


def muscles(seed: int, n: int = 200) -> dict[str, Any]:
    """Random muscles in random states, over all parts of their curves."""
    rng = np.random.default_rng(seed)
    low = [0.5, 0.95, -1, 50, 0.1, 1.1, 0.5, 0.5, 0.8]
    high = [0.9, 1.5, -1, 200, 0.9, 2, 3, 2, 2]
    prm = rng.uniform(low, high, (n, 9))
    prm[::2, 2] = rng.uniform(10, 100, n // 2)
    return {
        "length": rng.uniform(-0.5, 2, n),
        "velocity": rng.uniform(-3, 3, n),
        "lengthrange": rng.uniform([0, 0.6], [0.5, 1.2], (n, 2)),
        "acc0": rng.uniform(0, 3, n) * (np.arange(n) > 4),
        "prm": prm,
    }


@pytest.mark.feature("A193", "C15")
def test_muscle_curves() -> None:
    """Active and passive forces of muscles are MuJoCo's, with given and with derived strength."""
    x = muscles(0)
    gain = muscle_gain(**x)
    still = {name: x[name] for name in x if name != "velocity"}
    bias = muscle_bias(**still)
    rows = [{name: v[i] for name, v in x.items()} for i in range(len(gain))]
    expected = [mujoco.mju_muscleGain(*(row[k] for k in x)) for row in rows]
    np.testing.assert_allclose(gain, expected, rtol=1e-12, atol=1e-12)
    assert 0.2 < np.mean(gain != 0) < 0.8
    expected = [mujoco.mju_muscleBias(*(row[k] for k in still)) for row in rows]
    np.testing.assert_allclose(bias, expected, rtol=1e-12, atol=1e-12)
    assert 0.2 < np.mean(bias != 0) < 0.8
    moved = [muscle_gain(**dict(x, velocity=x["velocity"] + h)) for h in (-1e-6, 1e-6)]
    slope = (moved[1] - moved[0]) / 2e-6
    np.testing.assert_allclose(muscle_gain_slope(**x), slope, rtol=1e-6, atol=1e-5)


@pytest.mark.feature("A193", "C14")
def test_muscle_activation() -> None:
    """Activation and deactivation, with a hard and a smooth change between their constants."""
    rng, n = np.random.default_rng(0), 200
    prm = rng.uniform([1e-3, 1e-3, 0], [0.1, 0.1, 1], (n, 3))
    prm[::3, 2] = 0
    ctrl, act = rng.uniform(-1, 2, n), rng.uniform(-1, 2, n)
    expected = [mujoco.mju_muscleDynamics(c, a, p) for c, a, p in zip(ctrl, act, prm, strict=True)]
    np.testing.assert_allclose(muscle_rate(ctrl, act, prm), expected, rtol=1e-12)


PENDULUM = """
<mujoco><option {}>{}</option><worldbody><body gravcomp=".5"><joint name="a" axis="0 1 0"
  actuatorgravcomp="true" actuatorfrcrange="-.5 .6"/><geom size=".1" pos=".3 0 0"/></body>
</worldbody><actuator>{}</actuator></mujoco>
"""
STATEFUL = """
<general joint="a" dyntype="integrator" ctrlrange="-1 1" actrange="-.5 .5" gear="2"/>
<general joint="a" dyntype="filter" dynprm=".1" actearly="true" group="3" biastype="affine"
  biasprm="0 1 1"/>
"""


@pytest.mark.feature("C16", "C17", "C18", "C19", "C57", "A193")
@pytest.mark.parametrize(
    "option, flag", [("", 'actuation="disable"'), ('actuatorgroupdisable="3"', ""), ("", "")]
)
def test_switched_off(option: str, flag: str) -> None:
    """With actuation disabled, activations and their rates stay, even out of range."""
    both = load(PENDULUM.format(option, f"<flag {flag}/>", STATEFUL))
    d = random_state(both.reference, 0)
    d.act[:] = 2, 0.1
    data = to_ours(both.ours, d)
    d.act_dot[:] = 5, 6
    data = quick(mjjax.step)(both.ours, data.replace(act_dot=jnp.asarray(d.act_dot)))
    mujoco.mj_step(both.reference, d)
    fields = "act act_dot actuator_length actuator_velocity actuator_force qfrc_actuator qvel"
    assert not differences(data, d, dict.fromkeys(fields.split(), 1e-12))


USER = """
<general joint="a" dyntype="user" actdim="3" gaintype="user" biastype="user"/>
<motor joint="a"/>
"""


@pytest.mark.feature("C14", "C15")
def test_user_types_without_callback() -> None:
    """The last of several activations drives, with no rate, gain one and no bias, as in MuJoCo."""
    both = load(PENDULUM.format("", "", STATEFUL + USER))
    d = random_state(both.reference, 0)
    data = quick(mjjax.step)(both.ours, to_ours(both.ours, d))
    mujoco.mj_step(both.reference, d)
    fields = "act act_dot actuator_force qfrc_actuator qvel"
    assert not differences(data, d, dict.fromkeys(fields.split(), 1e-12))


# What moves together in the tests of derivatives.
GROUPS = {
    "state": ("qpos", "qvel", "act", "ctrl"),
    "gains": ("actuator_gainprm", "actuator_biasprm", "actuator_dynprm", "actuator_gear"),
    "ranges": ("actuator_lengthrange", "actuator_acc0", "tendon_actfrcrange"),
    "tendons": ("tendon_damping", "tendon_stiffness", "tendon_lengthspring"),
    "medium": ("geom_fluid", "geom_size", "body_mass", "wind", "density", "viscosity"),
}
STAGES = (
    mjjax.kinematics,
    mjjax.com_pos,
    mjjax.tendon,
    mjjax.crb,
    mjjax.collision,
    mjjax.transmission,
    tendon_velocity,
    actuator_velocity,
    mjjax.com_vel,
    mjjax.passive,
    mjjax.fwd_actuation,
)
RESULTS = (
    "ten_length ten_J actuator_length actuator_velocity act_dot actuator_force qfrc_actuator "
    "qfrc_fluid qfrc_passive"
).split()


def owners(model: mjjax.Model, data: mjjax.Data) -> dict[str, Any]:
    """The object that holds each number."""
    names = [name for group in GROUPS.values() for name in group]
    trees = (data, model, model.opt)
    fields = [{f.name for f in dataclasses.fields(tree)} for tree in trees]
    return {name: trees[next(i for i, f in enumerate(fields) if name in f)] for name in names}


def smooth(model: mjjax.Model, data: mjjax.Data, x: dict[str, jax.Array]) -> dict[str, Any]:
    """Forces up to the constraints, and their velocity derivative, with other numbers."""
    held = owners(model, data)

    def own(tree: Any) -> dict[str, jax.Array]:
        return {name: value for name, value in x.items() if held[name] is tree}

    # the tracers must not widen the structure
    opt = dataclasses.replace(model.opt, **own(model.opt))
    data = data.replace(**own(data))
    model = dataclasses.replace(model, opt=opt, **own(model))
    for stage in STAGES:
        data = stage(model, data)
    found = {name: getattr(data, name) for name in RESULTS}
    return found | {"slope": smooth_vel(model, data, bias=False)}


@pytest.fixture(scope="module")
def scene() -> tuple[mjjax.Model, list[mjjax.Data], Callable]:
    """The scene of `driven`, some states, and `smooth` as a function of numbers."""
    both = load(driven('integrator="implicit"'))
    states = [to_ours(both.ours, random_state(both.reference, i)) for i in range(2)]
    return both.ours, states, functools.partial(smooth, both.ours, states[0])


@pytest.mark.slow
@pytest.mark.feature("C09", "C11", "C12", "C13", "C14", "C15", "C56", "C59", "A199", "D02", "D05")
def test_derivatives(scene: tuple) -> None:
    """Both modes agree with differences in every force, and in the velocity derivative."""
    model, states, function = scene
    x, v = [], []
    for i, data in enumerate(states):
        start = {name: getattr(tree, name) for name, tree in owners(model, data).items()}
        start["ctrl"] = 0.1 * start["ctrl"]  # inside the range, not at a clip
        full = directions(start, i)
        for names in GROUPS.values():
            x.append(start)
            v.append({n: full[n] * (0.1 if n in names else 0.0) * length(n) for n in full})
    bad = derivative_errors(function, stack(x), stack(v), steps=(1e-6, 1e-5, 1e-4))
    assert not bad, bad


def length(name: str) -> float:
    """Sizes and fluid coefficients are small numbers."""
    return {"geom_size": 0.05, "geom_fluid": 0.01, "actuator_dynprm": 0.01}.get(name, 1.0)


@pytest.mark.slow
@pytest.mark.feature("D07", "C13", "C59", "A199")
def test_derivatives_at_rest_are_finite(scene: tuple) -> None:
    """Derivatives are finite at rest, without control or contact, with slack tendons."""
    model, _, function = scene
    data = mjjax.make_data(model)
    x = {name: getattr(tree, name) for name, tree in owners(model, data).items()}
    x["wind"] = 0 * x["wind"]
    slack = dict(x, act=0 * x["act"] + 0.6, actuator_lengthrange=0 * x["actuator_lengthrange"])
    high = dict(x, qpos=x["qpos"].at[-5].add(1.0), tendon_actfrcrange=0 * x["tendon_actfrcrange"])

    points = stack([x, slack, high] + [x] * (2 * len(GROUPS) - 3))  # a batch as large as above
    u = directions(jax.eval_shape(jax.vmap(function), points), 0)
    chex.assert_tree_all_finite(both_modes(function)(points, directions(points, 1), u))
