"""Every integrator with all actuators, dampers and drag forces, against MuJoCo."""

import copy
from typing import Any

import jax
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.dynamics.velocity_derivative import smooth_vel
from mjjax.pipeline.integrate import INTEGRATORS
from tests.dynamics.scenes import driven
from tests.oracle_tools import (
    FORCE,
    SMOOTH,
    SOLVED,
    STATE,
    contact_differences,
    differences,
    load,
    quick,
    random_state,
    row_differences,
    stack,
    to_ours,
    world,
)

# What differs between the worlds: numbers of the model.
CHANGED = ("actuator_gear", "actuator_gainprm", "tendon_damping", "geom_fluid", "dof_damping")


def with_integrator(model: mjjax.Model, kind: mjjax.IntegratorType) -> mjjax.Model:
    return model.replace(opt=model.opt.replace(integrator=int(kind)))


def all_steps(model: mjjax.Model, data: mjjax.Data) -> tuple:
    """Forward results, their velocity derivative, and the new state by every integrator."""
    data = mjjax.forward(model, data)
    found = {}
    for kind, integrate in INTEGRATORS.items():
        mine = with_integrator(model, kind)
        slope = smooth_vel(mine, data, kind == mjjax.IntegratorType.IMPLICIT)
        after = integrate(mine, data, None)
        found[kind] = slope, {name: getattr(after, name) for name in STATE}
    return data, found


def variants() -> list[tuple[mujoco.MjModel, mjjax.Model, mujoco.MjData]]:
    """Three worlds with different numbers."""
    both, found = load(driven()), []
    for i in range(3):
        reference, scale = copy.deepcopy(both.reference), 1 + 0.2 * i
        new = {name: scale * np.asarray(getattr(reference, name)) for name in CHANGED}
        for name, value in new.items():
            getattr(reference, name)[:] = value
        ours = both.ours.replace(**{name: jax.numpy.asarray(v) for name, v in new.items()})
        d = random_state(reference, i)
        found.append((reference, ours, d))
    return found


def derivative(model: mujoco.MjModel, d: mujoco.MjData) -> np.ndarray:
    """MuJoCo's velocity derivative of the smooth forces after a step, dense."""
    full = np.zeros((model.nv, model.nv))
    mujoco.mju_sparse2dense(full, d.qDeriv, model.D_rownnz, model.D_rowadr, model.D_colind)
    return full


@pytest.mark.slow
@pytest.mark.feature("C07", "C09", "C10", "C11", "C12", "C13", "C14", "C15", "C16", "C17")
@pytest.mark.feature("C18", "C20", "C21", "C22", "C23", "C24", "C25", "C56", "C58", "C59", "C60")
@pytest.mark.feature("A199", "D10", "D11")
def test_every_integrator() -> None:
    """Steps agree with all transmissions, activations, gains, tendons, media; a model per world."""
    runs = variants()
    models, data = stack([ours for _, ours, _ in runs]), stack([to_ours(o, d) for _, o, d in runs])
    after, found = quick(jax.vmap(all_steps))(models, data)
    touched = 0
    for i, (reference, _, start) in enumerate(runs):
        bad: Any = {}
        for kind, (slope, state) in found.items():
            d, mine = copy.copy(start), world(after, i)
            reference.opt.integrator = kind
            mujoco.mj_step(reference, d)
            if kind == mjjax.IntegratorType.EULER:
                bad = differences(mine, d, SMOOTH | SOLVED | FORCE)
                assert not bad and not contact_differences(mine, d), (i, bad)
                assert not row_differences(mine, d)
                touched += d.ncon
            elif kind != mjjax.IntegratorType.RK4:
                np.testing.assert_allclose(slope[i], derivative(reference, d), atol=1e-11)
            for name, tolerance in STATE.items():
                np.testing.assert_allclose(
                    state[name][i], getattr(d, name), rtol=0, atol=tolerance, err_msg=f"{kind!r}"
                )
    assert touched > 4
