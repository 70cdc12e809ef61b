"""A scene with every kind of row, ready for the solver, which has not found accelerations yet."""

import functools
from typing import Any, NamedTuple

import jax.numpy as jnp
import mujoco
import numpy as np

import mjjax
from tests.oracle_tools import Both, each_world, forward_worlds, load, random_state, stack, to_ours

WORLDS = 4
# A chain with friction, limits and tendons that lies on the floor, coupled joints, and balls of all
# contact dimensions, one of them held by a connect.
XML = """
<mujoco><option cone="{cone}" timestep="0.004" impratio="2"/>
<default><geom friction="0.7 0.02 0.003" solref="0.01 1"/></default>
<worldbody>
  <geom type="plane" size="0 0 1" condim="1"/>
  <body pos="0 0 0.08"><freejoint/><geom type="capsule" size="0.1 0.2" euler="0 85 0" condim="3"/>
    <body pos="0.25 0 0.02"><joint name="a" axis="0 1 0" range="-3 3" frictionloss="0.4"/>
      <geom type="capsule" size="0.05" fromto="0 0 0 0.25 0 -0.06" condim="4"/>
      <body pos="0.25 0 -0.06"><joint name="b" axis="1 1 0" range="-4 20" frictionloss="0.05"/>
        <geom type="capsule" size="0.05" fromto="0 0 0 0.2 0 0" condim="3"/></body></body></body>
  <body pos="0.5 0.5 0.095"><freejoint/><geom size="0.1" condim="6" mass="2"/></body>
  <body pos="0.69 0.5 0.092"><freejoint/><geom size="0.1" condim="4"/></body>
  <body name="held" pos="0.6 0.65 0.09"><freejoint/><geom size="0.1" condim="1"/></body>
</worldbody>
<equality><connect body1="held" anchor="0 0.1 0.1"/><joint joint1="a" joint2="b"/></equality>
<tendon><fixed limited="true" range="-0.1 0.02" frictionloss="0.2">
  <joint joint="a" coef="1"/><joint joint="b" coef="-0.6"/></fixed></tendon>
</mujoco>
"""


class Ready(NamedTuple):
    """The scene in some states: solved in MuJoCo, and in ours with all stages before the solver."""

    both: Both
    theirs: list[mujoco.MjData]
    data: mjjax.Data


constrain_worlds = each_world(mjjax.fwd_constraint)


@functools.cache
def ready(cone: str) -> Ready:
    """Random states of the scene; every other warm start is near the solution."""
    return ready_scene(XML.format(cone=cone))


def ready_scene(xml: str) -> Ready:
    """Random states of a scene; every other warm start is near the solution."""
    both = load(xml)
    theirs = [random_state(both.reference, seed, spread=0.03) for seed in range(WORLDS)]
    rng = np.random.default_rng(0)
    for d in theirs[::2]:
        mujoco.mj_forward(both.reference, d)
        d.qacc_warmstart[:] = d.qacc + 0.3 * rng.normal(size=both.reference.nv)
    start = stack([to_ours(both.ours, d) for d in theirs])
    return Ready(both, theirs, forward_worlds(both.ours, start))


def with_options(scene: Ready, **options: Any) -> mjjax.Model:
    """Our model without islands and with other options, which MuJoCo's model gets as well."""
    chosen = {
        "solver": mjjax.SolverType.NEWTON,
        "iterations": 100,
        "tolerance": 1e-8,
        "ls_tolerance": 0.01,
        "noslip_iterations": 0,
        "noslip_tolerance": 1e-6,
        "disableflags": mjjax.DisableBit.ISLAND,
    } | options
    for name, value in chosen.items():
        setattr(scene.both.reference.opt, name, value)
    real = {k: jnp.asarray(v) if isinstance(v, float) else int(v) for k, v in chosen.items()}
    return scene.both.ours.replace(opt=scene.both.ours.opt.replace(**real))


def solve_theirs(scene: Ready) -> list[mujoco.MjData]:
    """MuJoCo's results with its present options."""
    for d in scene.theirs:
        mujoco.mj_forward(scene.both.reference, d)
    return scene.theirs
