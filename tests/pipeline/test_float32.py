"""Robots in float32 with XLA's own options, as users run them, beside MuJoCo in float64.

Each model is measured in a process of its own: `python -m tests.pipeline.test_float32 [NAME ...]`.
"""

import json
import subprocess
import sys
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.cli import embedded

STEPS = 200
STOPS = (1, 20, STEPS)

ARM = """
<mujoco><option timestep="0.004" integrator="implicitfast"/>
<default><joint damping="1" armature="0.05" range="-160 160" limited="true"/>
  <geom type="capsule" size="0.05" density="1000" contype="0" conaffinity="0"/>
  <position kp="300" kv="10" ctrlrange="-2.8 2.8" forcerange="-150 150"/></default>
<worldbody><geom type="plane" size="0 0 1" conaffinity="1"/>
  <body pos="0 0 0.3" gravcomp="0.5"><joint name="j1" axis="0 0 1"/><geom fromto="0 0 0 0 0 0.15"/>
  <body pos="0 0 0.15"><joint name="j2" axis="0 1 0"/><geom fromto="0 0 0 0 0 0.25"/>
  <body pos="0 0 0.25"><joint name="j3" axis="0 0 1"/><geom fromto="0 0 0 0 0.03 0.2"/>
  <body pos="0 0 0.2"><joint name="j4" axis="0 -1 0"/><geom fromto="0 0 0 0 0 0.2" size="0.04"/>
  <body pos="0 0 0.2"><joint name="j5" axis="0 0 1"/><geom fromto="0 0 0 0 0 0.18" size="0.04"/>
  <body pos="0 0 0.18"><joint name="j6" axis="0 1 0" damping="0.3"/>
    <geom fromto="0 0 0 0 0 0.08" size="0.03"/>
  <body pos="0 0 0.08"><joint name="j7" axis="0 0 1" damping="0.1"/>
    <geom type="box" size="0.05 0.02 0.02" pos="0 0 0.03"/>
    <geom type="sphere" size="0.02" pos="0.05 0 0.07" contype="1"/>
    <geom type="sphere" size="0.02" pos="-0.05 0 0.07" contype="1" condim="4"/>
  </body></body></body></body></body></body></body></worldbody>
<actuator><position joint="j1"/><position joint="j2"/><position joint="j3"/>
  <position joint="j4"/><position joint="j5" kp="100"/><position joint="j6" kp="50" kv="2"/>
  <position joint="j7" kp="20" kv="1"/></actuator>
</mujoco>
"""


def finger(name: str, angle: int) -> str:
    """A finger of three joints whose tendons pass a cylinder, a sphere and a pulley."""
    return f"""
  <body name="{name}1" euler="0 0 {angle}"><site name="{name}a" pos="0.04 0 0.03"/>
   <site name="{name}e" pos="0.03 0.015 0.02"/>
   <body pos="0.06 0 0.02"><joint name="{name}abduct" axis="0 0 1" range="-20 20"/>
    <geom fromto="0 0 0 0.02 0 0.02" size="0.012"/>
   <body pos="0.02 0 0.02"><joint name="{name}base" axis="0 -1 0" range="-10 100"/>
    <geom name="{name}drum" type="cylinder" size="0.008 0.01" euler="90 0 0" class="wrap"/>
    <site name="{name}drumside" pos="-0.02 0 0.03"/><site name="{name}b" pos="-0.01 0 0.02"/>
    <site name="{name}f" pos="0.01 0.012 0.02"/>
    <geom fromto="0 0 0 0 0 0.05" size="0.01"/>
   <body pos="0 0 0.05"><joint name="{name}tip" axis="0 -1 0" range="-5 90"/>
    <geom name="{name}ball" type="sphere" size="0.007" class="wrap"/>
    <site name="{name}c" pos="-0.01 0 0.015"/>
    <geom fromto="0 0 0 -0.005 0 0.035" size="0.009"/></body></body></body></body>"""


def strings(name: str) -> str:
    """The tendons of a finger: one that bends it, one that spreads it, one of joints."""
    return f"""
  <spatial name="{name}flexor" stiffness="20" damping="0.3" springlength="0.05 0.06">
    <site site="{name}a"/><geom geom="{name}drum" sidesite="{name}drumside"/>
    <site site="{name}b"/><geom geom="{name}ball"/><site site="{name}c"/>
    <pulley divisor="2"/><site site="{name}e"/><site site="{name}f"/></spatial>
  <fixed name="{name}coupled" limited="true" range="-0.3 1.5" frictionloss="0.002">
    <joint joint="{name}base" coef="0.5"/><joint joint="{name}tip" coef="0.7"/></fixed>"""


FINGERS = {"a": 0, "b": 120, "c": 240}
HAND = f"""
<mujoco><option timestep="0.002" integrator="implicitfast" cone="elliptic" impratio="3"/>
<default><geom type="capsule" condim="4" friction="1 0.01 0.001" solref="0.01 1"/>
  <joint damping="0.01" armature="0.0005" stiffness="0.02"/>
  <default class="wrap"><geom contype="0" conaffinity="0" mass="0"/></default></default>
<worldbody><body name="palm"><geom type="cylinder" size="0.05 0.01" contype="0" conaffinity="0"/>
  {"".join(finger(name, angle) for name, angle in FINGERS.items())}</body>
  <body pos="0.005 0 0.09"><joint type="slide" axis="1 0 0" damping="1" stiffness="20"/>
    <joint type="slide" axis="0 1 0" damping="1" stiffness="20"/>
    <joint type="slide" axis="0 0 1" damping="1" stiffness="20"/><joint type="ball"
    damping="0.001"/><geom type="sphere" size="0.03" density="500"/></body></worldbody>
<tendon>{"".join(strings(name) for name in FINGERS)}</tendon>
<contact><exclude body1="a1" body2="b1"/></contact>
<actuator>
  {
    "".join(
        f'''<muscle tendon="{name}flexor" force="40" lengthrange="0.03 0.12"/>
  <position tendon="{name}coupled" kp="0.5" kv="0.01"/>
  <position joint="{name}abduct" kp="0.3"/>'''
        for name in FINGERS
    )
}
</actuator></mujoco>
"""
CHAIN = """
<mujoco><option timestep="0.002" cone="elliptic"/>
<default><geom type="capsule" size="0.02" contype="1" conaffinity="0"/>
  <joint damping="0.02" armature="0.002"/><equality solref="0.01 1"/></default>
<worldbody><geom type="plane" size="0 0 1" pos="0 0 -0.2" conaffinity="1"/>
  <body name="root"><joint name="a" axis="0 1 0"/><geom fromto="0 0 0 0.2 0 0"/>
  <body name="b" pos="0.2 0 0"><joint name="b" type="ball"/><geom fromto="0 0 0 0.2 0 0"/>
  <body name="c" pos="0.2 0 0"><joint name="c" axis="0 1 0"/><geom fromto="0 0 0 0.2 0 0"/>
  <body name="d" pos="0.2 0 0"><joint name="d" axis="0 0 1"/><geom fromto="0 0 0 0.2 0 0"/>
  <body name="e" pos="0.2 0 0"><joint name="e" type="ball"/><geom fromto="0 0 0 0.2 0 0"/>
    </body></body></body></body></body>
  <body name="bob" pos="0.6 0.15 -0.1"><freejoint/>
    <geom fromto="0 -0.1 0 0 0.1 0" size="0.03"/></body>
  <body name="tag" pos="0.5 0 0"><freejoint/><geom type="sphere" size="0.03"/></body></worldbody>
<equality><connect body1="e" anchor="0.2 0 0"/><weld body1="tag" body2="c" solref="0.02 1"/>
  <connect body1="bob" body2="d" anchor="0 -0.1 0"/>
  <joint joint1="d" joint2="c" polycoef="0 0.5 0.1 0 0"/></equality>
<actuator><motor joint="a" gear="2"/><motor joint="b" gear="0.5 0.5 0.5"/>
  <velocity joint="d" kv="0.1"/></actuator></mujoco>
"""


class Case(NamedTuple):
    """A model, its start, its controls, and the largest errors it may have.

    Attributes:
        xml: the model.
        spread: how far from qpos0 it starts.
        speed: how fast.
        control: how far the controls swing.
        single: largest errors of elements of qpos and qvel in any one of 200 single steps.
        motion: the same after 1, 20 and 200 steps that follow each other.
    """

    xml: str
    spread: float
    speed: float
    control: float
    single: tuple[float, float]
    motion: tuple[tuple[float, float], ...]


# Bounds are three times what was measured, but no less than three units in the last place of
# the largest element.
CASES = {
    # Falls and touches with hands, head, shins. Height rounded to 2e-7 m is 2e-4 of the 1 mm over
    # which `solimp` stiffens a contact, and so is the error of its acceleration (260 rad/s^2).
    "humanoid": Case(
        embedded()["humanoid"], 0.05, 0.3, 0.3, (1e-6, 2e-4),
        ((2e-7, 1.1e-5), (4e-6, 7e-5), (5e-5, 3e-4)),
    ),
    # Lands and walks: contacts as in the humanoid; MuJoCo itself drifts by (5e-6, 1e-4) where its
    # state is rounded to float32 between steps.
    "ant": Case(
        embedded()["ant"], 0.1, 0.5, 0.7, (5e-7, 1e-4),
        ((3e-7, 2e-6), (1e-6, 1.7e-5), (3e-5, 6e-4)),
    ),
    # The worst step is that in which the tip touches the plane; stiff servos forget it.
    "arm": Case(
        ARM, 0.5, 0.5, 1.2, (4e-7, 2.3e-5), ((2e-7, 1.3e-5), (4e-7, 6e-6), (2e-6, 4e-5))
    ),
    # Worst where fingers hold the ball (contacts as above); springs and damping forget it.
    "hand": Case(
        HAND, 0.1, 0.3, 0.6, (4e-7, 1.3e-5), ((3e-7, 2e-6), (3e-7, 8e-6), (7e-7, 1.7e-5))
    ),
    # Residuals of equalities are differences of positions, each rounded to 1e-7 m, and stiff at all
    # times: every step is like the worst, the first one too (its velocity was off by 1e-5 and by
    # 4e-5 with factors of the lower and of the upper half), and constraints do not let errors grow.
    # Which steps are bad is luck: the 20th of this start was off by 4e-5, of two others by 3e-4 and
    # 4e-5; with another order of operations by 2e-4, 1e-4, 5e-5, with medians half as large.
    "chain": Case(
        CHAIN, 0.0, 0.3, 0.5, (4e-7, 1.3e-4), ((2e-7, 1.3e-4), (2.3e-6, 6.5e-4), (7e-6, 3e-4))
    ),
}  # fmt: skip
INPUTS = ("qpos", "qvel", "act", "ctrl", "qacc_warmstart")


def rounded(x: Any) -> np.ndarray:
    """The nearest numbers that float32 has."""
    return np.asarray(x, np.float32).astype(float)


def start(case: Case, reference: mujoco.MjModel) -> tuple[mujoco.MjData, np.ndarray]:
    """A moving world that float32 can hold, and its controls over time."""
    rng, d = np.random.default_rng(0), mujoco.MjData(reference)
    mujoco.mj_integratePos(reference, d.qpos, rng.normal(size=reference.nv), case.spread)
    d.qpos[:], d.qvel[:] = rounded(d.qpos), rounded(case.speed * rng.normal(size=reference.nv))
    phase = rng.uniform(0, 2 * np.pi, reference.nu)
    return d, rounded(case.control * np.sin(0.05 * np.arange(STEPS)[:, None] + phase))


def difference(ours: mjjax.Data, theirs: mujoco.MjData) -> list[float]:
    """Largest errors of an element of qpos and of qvel; NaN if our result is NaN."""
    return [
        float(np.max(np.abs(np.asarray(getattr(ours, name), float) - getattr(theirs, name))))
        for name in ("qpos", "qvel")
    ]


def all_finite(tree: Any) -> bool:
    leaves = [np.asarray(x) for x in jax.tree.leaves(tree)]
    return all(np.isfinite(x).all() for x in leaves)


def measure(name: str) -> dict[str, Any]:
    """Errors of single steps from the oracle's states and of the motion, and how they came."""
    case = CASES[name]
    reference = mujoco.MjModel.from_xml_string(case.xml)
    model = mjjax.Model.from_xml_string(case.xml)
    blank, step = mjjax.make_data(model), jax.jit(mjjax.step)

    def taken(d: mujoco.MjData) -> mjjax.Data:
        return blank.replace(**{k: jnp.asarray(getattr(d, k), jnp.float32) for k in INPUTS})

    single = mujoco.MjData(reference)
    d, controls = start(case, reference)
    data = taken(d)
    found: dict[str, Any] = {"single": [], "motion": [], "finite": True, "ncon": 0, "niter": 0}
    for k, ctrl in enumerate(controls):
        d.ctrl[:] = ctrl
        for field in INPUTS:
            getattr(single, field)[:] = rounded(getattr(d, field))
        one = step(model, taken(single))
        data = step(model, data.replace(ctrl=jnp.asarray(ctrl, jnp.float32)))
        mujoco.mj_step(reference, single)
        mujoco.mj_step(reference, d)
        found["single"].append(difference(one, single))
        if k + 1 in STOPS:
            found["motion"].append(difference(data, d))
        found["finite"] &= all_finite((one, data)) and not one.warning.any()
        found["ncon"] = max(found["ncon"], d.ncon)
        found["niter"] = max(found["niter"], int(one.solver_niter), int(data.solver_niter))
    found["single"] = np.max(found["single"], axis=0).tolist()
    found["finite"] = bool(found["finite"])
    found["warnings"] = int(data.warning.sum()) + int(d.warning.number.sum())
    found["neq"] = reference.neq
    found["types"] = sorted({str(x.dtype) for x in jax.tree.leaves(data)})
    return found


@pytest.mark.slow
@pytest.mark.feature("D16")
@pytest.mark.parametrize("name", CASES)
def test_robots_in_single_precision(name: str) -> None:
    """Each step is that of float64 up to rounding, which grows no faster than it must."""
    module = "tests.pipeline.test_float32"
    done = subprocess.run([sys.executable, "-m", module, name], capture_output=True, text=True)
    assert not done.returncode, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    flags = ["bool"] if found["neq"] else []  # only those of equalities
    assert found["types"] == [*flags, "float32", "int32"]
    assert found["finite"] and not found["warnings"] and found["ncon"]
    assert (np.array(found["single"]) <= CASES[name].single).all(), found
    assert (np.array(found["motion"]) <= CASES[name].motion).all(), found
    # measured: 8; rounding must not look like progress, which would go on for all 100 iterations
    assert found["niter"] <= 12, found


if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        print(json.dumps({"name": name, **measure(name)}))
