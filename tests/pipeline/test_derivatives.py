"""Derivatives of every stage with respect to state, inputs and model, on random models."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from tests.derivatives import derivative_errors, directions
from tests.oracle_tools import load, random_state, stack, to_ours
from tests.random_models import random_mjcf

# What moves together: one direction per group, so that an error names its cause.
GROUPS: dict[str, tuple[str, ...]] = {
    "state": ("qpos", "qvel", "act"),
    "inputs": ("ctrl", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat"),
    "bodies": ("body_pos", "body_quat", "body_ipos", "body_iquat", "body_gravcomp"),
    "inertia": ("body_mass", "body_inertia", "dof_armature", "body_invweight0", "dof_invweight0"),
    "joints": ("jnt_pos", "jnt_axis", "jnt_range", "qpos0", "qpos_spring"),
    "passive": ("dof_damping", "jnt_stiffness", "dof_frictionloss"),
    "geoms": ("geom_pos", "geom_quat", "geom_size", "geom_friction"),
    "rows": ("jnt_solref", "jnt_solimp", "dof_solref", "dof_solimp", "pair_solref"),
    "contacts": ("geom_solref", "geom_solimp", "geom_solmix", "pair_friction", "pair_solimp"),
    "actuators": ("actuator_gear", "actuator_gainprm", "actuator_biasprm", "actuator_dynprm"),
    "medium": ("timestep", "gravity", "wind", "density", "viscosity", "impratio"),
}
# Directions are this long, so that no clip or contact is crossed on the way.
LENGTH = dict.fromkeys(("geoms", "bodies", "joints"), 0.1) | {"inertia": 0.01, "rows": 0.01}
RESULTS = (
    "xpos xmat xipos ximat xanchor xaxis geom_xpos site_xpos cam_xpos cam_xmat light_xdir "
    "subtree_com cdof cinert qM actuator_length cvel cdof_dot actuator_velocity qfrc_bias "
    "qfrc_spring qfrc_damper qfrc_gravcomp qfrc_fluid qfrc_passive actuator_force qfrc_actuator "
    "act_dot qfrc_smooth qacc_smooth efc_pos efc_D efc_vel efc_aref qfrc_constraint qacc energy "
    "qpos qvel act"
).split()
SHAPES = {
    1: 'cone="elliptic" integrator="implicit"',
    5: 'cone="pyramidal"',
}


def parameters(model: mjjax.Model, data: mjjax.Data) -> dict[str, jax.Array]:
    """All real numbers that the groups name, from wherever they live."""
    owners = (data, model, model.opt)
    fields = [{f.name for f in dataclasses.fields(o)} for o in owners]
    return {
        name: next(getattr(o, name) for o, f in zip(owners, fields, strict=True) if name in f)
        for group in GROUPS.values()
        for name in group
    }


def run(model: mjjax.Model, data: mjjax.Data, x: dict[str, jax.Array]) -> dict[str, jax.Array]:
    """Results of one step with other numbers."""

    def own(tree: Any) -> dict[str, jax.Array]:
        return {name: x[name] for name in x if name in {f.name for f in dataclasses.fields(tree)}}

    # the tracers must not widen the structure
    opt = dataclasses.replace(model.opt, **own(model.opt))
    model = dataclasses.replace(model, opt=opt, **own(model))
    after = mjjax.step(model, data.replace(**own(data)))
    return {name: getattr(after, name) for name in RESULTS}


def group_directions(like: dict[str, jax.Array], seed: int) -> list[dict[str, jax.Array]]:
    """One random direction per group, zero in the others."""
    full = directions(like, seed)
    return [
        {n: full[n] * (LENGTH.get(group, 0.3) if n in names else 0.0) for n in like}
        for group, names in GROUPS.items()
    ]


@pytest.mark.slow
@pytest.mark.feature("D02", "D04", "D05", "D03", "C58", "A185")
@pytest.mark.parametrize("shape", SHAPES)
def test_every_stage_has_exact_derivatives(shape: int) -> None:
    """State, inputs and model parameters: both modes agree with differences in all fields."""
    both = load(random_mjcf(shape, 0, option=SHAPES[shape]))
    model = both.ours.with_terms("all")
    states = [to_ours(model, random_state(both.reference, seed)) for seed in range(2)]
    x, v = [], []
    for seed, data in enumerate(states):
        start = parameters(model, data)
        # inside the control range, where the derivative is not that of a clip
        start["ctrl"] = 0.1 * start["ctrl"]
        for direction in group_directions(start, seed):
            # without dry friction there is a derivative from above only
            loss = direction["dof_frictionloss"]
            direction["dof_frictionloss"] = jnp.where(start["dof_frictionloss"] > 0, loss, 0)
            x.append(start)
            v.append(direction)
    function = functools.partial(run, model, states[0])
    # row forces are stiff: a small step drowns in the rounding of D (J a - aref)
    bad = derivative_errors(function, stack(x), stack(v), steps=(4e-6, 2e-5, 6e-5, 4e-4, 2e-3))
    names = [*GROUPS, *GROUPS]
    named = {
        key: {names[i]: e[i] for i in np.flatnonzero(~(e <= 1e-6))} if key != "reverse" else e
        for key, e in bad.items()
    }
    assert not named, named


RUNGE_KUTTA = """
<mujoco><option integrator="RK4" timestep="0.01" tolerance="1e-13" cone="elliptic"/><worldbody>
  <geom type="plane" size="0 0 1"/>
  <body pos="0 0 0.09"><joint type="slide" axis="0 0 1"/><joint axis="0 1 0" damping="0.1"/>
    <joint type="slide" axis="1 0 0" frictionloss="0.1"/><geom size="0.1" pos="0.02 0 0"/></body>
  </worldbody></mujoco>
"""


@pytest.mark.slow
@pytest.mark.feature("D02", "D04", "C22")
def test_runge_kutta_has_exact_derivatives() -> None:
    """All four stages of the integrator are differentiated, with a contact in each."""
    both = load(RUNGE_KUTTA)
    data = to_ours(both.ours, random_state(both.reference, 0, spread=0.01))
    x = {name: getattr(data, name) for name in ("qpos", "qvel", "qfrc_applied")}

    def after(x: dict[str, jax.Array]) -> dict[str, jax.Array]:
        end = mjjax.step(both.ours, data.replace(**x))
        return {name: getattr(end, name) for name in ("qpos", "qvel", "qacc")}

    v = [jax.tree.map(lambda a: 0.1 * a, directions(x, seed)) for seed in range(3)]
    assert not derivative_errors(after, stack([x] * 3), stack(v))
    assert int(jax.jit(mjjax.step)(both.ours, data).ncon) == 1


@pytest.mark.slow
def test_groups_reach_every_result() -> None:
    """Each field's derivative is really compared: some group moves it."""
    both = load(random_mjcf(1, 0, option=SHAPES[1]))
    data = to_ours(both.ours, random_state(both.reference, 0))
    x = parameters(both.ours, data)
    function = jax.jit(functools.partial(run, both.ours, data))
    before, after = function(x), function(jax.tree.map(lambda a: a * 1.001 + 1e-4, x))
    still = [n for n in RESULTS if before[n].size and bool(jnp.all(before[n] == after[n]))]
    assert not still
