"""The constrained acceleration is the optimum that MuJoCo defines, whatever the way there."""

import copy
import functools

import chex
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from tests.oracle_tools import (
    each_world,
    forward_worlds,
    load,
    quick,
    random_state,
    stack,
    to_ours,
    world,
)
from tests.random_models import random_mjcf

pytestmark = pytest.mark.newest

WORLDS = 6
constrain = each_world(mjjax.fwd_constraint)
statistics = each_world(mjjax.solver_statistics)
zones = each_world(mjjax.constraint_state)
cones = pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])


@functools.cache
def solved(cone: str) -> tuple[mjjax.Model, mjjax.Data, list[np.ndarray]]:
    """A model, forward results in several worlds, and MuJoCo's Jacobians of the active rows."""
    both = load(random_mjcf(10, 0, option=f'cone="{cone}" jacobian="dense"'))
    theirs = [random_state(both.reference, seed) for seed in range(WORLDS)]
    data = forward_worlds(both.ours, stack([to_ours(both.ours, d) for d in theirs]))
    rows = []
    for d in theirs:
        mujoco.mj_forward(both.reference, d)
        rows.append(d.efc_J.reshape(d.nefc, -1).copy())
    return both.ours, data, rows


@pytest.mark.slow(but=1)
@pytest.mark.feature("C45", "D03")
@cones
def test_optimum_is_stationary(cone: str) -> None:
    """M qacc = qfrc_smooth + J' f, with MuJoCo's J and our row forces."""
    _, data, jacobians = solved(cone)
    for i, jac in enumerate(jacobians):
        w = world(data, i)
        force = np.asarray(w.efc_force)[np.asarray(w.efc_D) > 0]
        np.testing.assert_allclose(
            w.qfrc_constraint, jac.T @ force, atol=1e-8 * np.abs(force).max()
        )
        left = w.qM @ w.qacc - w.qfrc_smooth - w.qfrc_constraint
        assert np.abs(left).max() < 1e-8 * max(1, np.abs(w.qfrc_constraint).max())
        assert float(w.solver_gradient) < 1e-8


@pytest.mark.feature("C31", "C32", "C35", "D19")
@cones
def test_forces_are_feasible_and_complementary(cone: str) -> None:
    """Dry friction is within its loss; unilateral forces push, or are zero if rows separate."""
    _, data, jacobians = solved(cone)
    first_contact = int(data.contact.efc_address[data.contact.efc_address >= 0].min())
    both_zones = 0
    for i, jac in enumerate(jacobians):
        w = world(data, i)
        on = np.asarray(w.efc_D) > 0
        force, d, loss = (np.asarray(x)[on] for x in (w.efc_force, w.efc_D, w.efc_frictionloss))
        residual = jac @ w.qacc - np.asarray(w.efc_aref)[on]
        dry = loss > 0
        expected = np.where(dry, np.clip(-d * residual, -loss, loss), np.maximum(-d * residual, 0))
        scalar = np.flatnonzero(on) < (first_contact if cone == "elliptic" else len(on))
        error = np.abs(force - expected)[scalar].max()
        assert error < 1e-7 * max(1, np.abs(force).max())
        both_zones += bool((force[~dry & scalar] > 0).any() and (force[~dry & scalar] == 0).any())
        assert not np.any(np.asarray(w.efc_force)[~on])
    assert both_zones or cone == "elliptic"  # where only limits are scalar and one-sided


@pytest.mark.feature("C36", "C34", "C37")
def test_elliptic_forces_stay_in_the_friction_cone() -> None:
    """The friction of every contact is within the ellipse that the normal force allows."""
    _, data, _ = solved("elliptic")
    sliding = 0
    for i in range(WORLDS):
        w = world(data, i)
        for k in np.flatnonzero(np.asarray(w.contact.efc_address) >= 0):
            dim, start = int(w.contact.dim[k]), int(w.contact.efc_address[k])
            f = np.asarray(w.efc_force)[start : start + dim]
            friction = np.linalg.norm(f[1:] / np.asarray(w.contact.friction)[k, : dim - 1])
            assert f[0] >= 0 and friction <= f[0] * (1 + 1e-9) + 1e-12
            sliding += dim > 1 and f[0] > 0 and friction > 0.999 * f[0]
    assert sliding


@pytest.mark.feature("A055", "A039")
@cones
def test_warm_start_does_not_change_the_optimum(cone: str) -> None:
    """Any start leads to the same acceleration; a good start needs fewer iterations."""
    model, data, _ = solved(cone)
    rng = np.random.default_rng(0)
    far = data.replace(qacc_warmstart=jnp.asarray(100 * rng.normal(size=data.qvel.shape)))
    near = data.replace(qacc_warmstart=data.qacc)
    from_far, from_near = constrain(model, far), constrain(model, near)
    scale = np.abs(data.qacc).max()
    np.testing.assert_allclose(from_far.qacc, data.qacc, atol=1e-7 * scale)
    np.testing.assert_allclose(from_near.qacc, data.qacc, atol=1e-7 * scale)
    assert int(from_near.solver_niter.sum()) < int(from_far.solver_niter.sum())


@pytest.mark.feature("D03", "D02")
@cones
def test_derivative_is_that_of_the_optimum(cone: str) -> None:
    """The derivative is zero by the warm start, and a symmetric H^-1 by the smooth force."""
    model, data, _ = solved(cone)
    w = world(data, 0)

    def acceleration(start: jax.Array, smooth: jax.Array) -> jax.Array:
        moved = w.replace(qacc_warmstart=start, qfrc_smooth=smooth)
        moved = moved.replace(qacc_smooth=mjjax.solve_m(model, moved, smooth))
        return mjjax.fwd_constraint(model, moved).qacc

    by_start, by_force = quick(jax.jacrev(acceleration, (0, 1)))(w.qacc_warmstart, w.qfrc_smooth)
    assert not np.any(by_start)
    np.testing.assert_allclose(by_force, by_force.T, atol=1e-9)
    assert np.linalg.eigvalsh(by_force).min() > -1e-9
    free = np.linalg.inv(w.qM)
    assert np.linalg.eigvalsh(free - by_force).min() > -1e-8  # constraints only stiffen
    assert np.abs(free - by_force).max() > 1e-3


@pytest.mark.feature("A119", "D26")
def test_iterations_stop_early_and_are_counted() -> None:
    """The count is the number of iterations used: zero if none is allowed, few if few suffice."""
    model, data, _ = solved("pyramidal")
    assert 1 < int(data.solver_niter.max()) < 30
    none = model.replace(opt=model.opt.replace(iterations=0, disableflags=1 << 9))
    stopped = constrain(none, data)
    assert not np.any(stopped.solver_niter)
    np.testing.assert_array_equal(stopped.qacc, data.qacc_smooth)


@pytest.mark.feature("A119")
@cones
def test_statistics_of_the_iterations(cone: str) -> None:
    """Every iteration's progress and active rows are MuJoCo's; so is the state of each row."""
    model, data, _ = solved(cone)
    # with islands C leaves the states of the warm start
    model = model.replace(opt=model.opt.replace(disableflags=int(mjjax.DisableBit.ISLAND)))
    data = constrain(model, data)
    found = statistics(model, data)
    states = zones(model, data)
    xml = random_mjcf(10, 0, option=f'cone="{cone}" jacobian="dense"')
    reference = copy.copy(load(xml).reference)
    reference.opt.disableflags |= int(mjjax.DisableBit.ISLAND)
    compared = 0
    for i in range(WORLDS):
        d = random_state(reference, i)
        mujoco.mj_forward(reference, d)
        np.testing.assert_array_equal(states[i][np.asarray(data.efc_D[i]) > 0], d.efc_state)
        niter = int(data.solver_niter[i])
        for k in range(min(niter, d.solver_niter[0]) - 1):  # the last one may be rounding alone
            for name in ("improvement", "gradient"):
                mine, other = getattr(found, name)[i, k], getattr(d.solver[k], name)
                np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-8, err_msg=name)
            assert abs(found.lineslope[i, k]) < 1e-8 * max(1, found.gradient[i, k])
            assert found.nactive[i, k] == d.solver[k].nactive
            assert found.nchange[i, k] == d.solver[k].nchange
            assert found.neval[i, k] >= 2
            compared += 1
        # the statistics come from a program of their own, whose last iteration may be rounding too
        assert not any(np.any(x[i, niter + 1 :]) for x in found)
    assert compared >= WORLDS


@pytest.mark.feature("C53")
def test_without_rows_the_acceleration_is_smooth() -> None:
    """With constraints disabled there is no row, no force and no iteration."""
    model, data, _ = solved("pyramidal")
    off = model.replace(opt=model.opt.replace(disableflags=int(mjjax.DisableBit.CONSTRAINT)))
    free = quick(mjjax.forward)(off, mjjax.make_data(off).replace(qvel=data.qvel[0]))
    np.testing.assert_array_equal(free.qacc, free.qacc_smooth)
    chex.assert_shape((free.efc_D, mjjax.constraint_state(off, free)), (0,))
    assert not np.any(free.qfrc_constraint)
    assert int(free.nefc) == int(free.ncon) == int(free.solver_niter) == 0
    assert not any(np.any(x) for x in mjjax.solver_statistics(off, free))
