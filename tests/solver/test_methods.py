"""CG, PGS and noslip have MuJoCo's iterations, results and statistics."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from mjjax import DisableBit, SolverType
from tests.oracle_tools import assert_same_step, each_world, load, quick, row_differences, world
from tests.solver.scenes import WORLDS, constrain_worlds, ready, solve_theirs, with_options

cones = pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
statistics = each_world(mjjax.solver_statistics)
COLD = DisableBit.ISLAND | DisableBit.WARMSTART
NOSLIP = {"noslip_iterations": 3, "noslip_tolerance": 1e-6}


def largest_difference(mine: Any, theirs: Any) -> float:
    return float(np.abs(np.asarray(mine) - theirs).max() / max(1, np.abs(theirs).max()))


@pytest.mark.slow(but=1)
@pytest.mark.feature("C30", "C31", "C32", "C33")
@cones
def test_the_scene_has_every_kind_of_row(cone: str) -> None:
    """The scene has rows of all kinds, the same as C's, as the other tests need."""
    scene = ready(cone)
    kinds, dims = set(), set()
    with_options(scene)
    for i, d in enumerate(solve_theirs(scene)):
        assert not row_differences(world(scene.data, i), d, 1e-7)
        kinds |= set(d.efc_type)
        dims |= set(d.contact.dim)
    contact = {"pyramidal": {5, 6}, "elliptic": {5, 7}}[cone]
    assert kinds == {0, 1, 2, 3, 4} | contact and dims == {1, 3, 4, 6}


@pytest.mark.slow(but=3)
@pytest.mark.feature("C45", "C46", "C47", "A055", "C50")
@cones
@pytest.mark.parametrize(
    "options",
    [
        {"solver": SolverType.CG, "iterations": 4},
        {"solver": SolverType.PGS, "iterations": 1},
        {"solver": SolverType.PGS, "iterations": 5},
        {"solver": SolverType.PGS, "iterations": 2, "disableflags": COLD},
        {"noslip_iterations": 1},
        {"noslip_iterations": 10},
        {"solver": SolverType.PGS, "iterations": 4} | NOSLIP,
    ],
    ids=str,
)
def test_iterations(cone: str, options: dict[str, Any]) -> None:
    """After a few iterations, far from convergence, accelerations, forces and counts are C's."""
    scene = ready(cone)
    data = constrain_worlds(with_options(scene, **options), scene.data)
    if "noslip_iterations" not in options:
        assert np.max(data.solver_gradient) > 1e-2  # the data say that it is far
    for i, d in enumerate(solve_theirs(scene)):
        mine = world(data, i)
        on = np.asarray(mine.efc_D) > 0
        assert largest_difference(mine.qacc, d.qacc) < 1e-9
        assert largest_difference(mine.qfrc_constraint, d.qfrc_constraint) < 1e-9
        assert largest_difference(np.asarray(mine.efc_force)[on], d.efc_force) < 1e-9
        assert mine.solver_niter == d.solver_niter[0]


@pytest.mark.slow(but=1)
@pytest.mark.feature("C45", "C46")
@cones
def test_all_end_at_the_same_optimum(cone: str) -> None:
    """With enough iterations CG and PGS find Newton's accelerations and forces."""
    scene = ready(cone)
    enough = {"iterations": 20000, "tolerance": 1e-15, "ls_tolerance": 1e-6}
    newton = constrain_worlds(with_options(scene, **enough), scene.data)
    for solver in (SolverType.CG, SolverType.PGS):
        data = constrain_worlds(with_options(scene, **enough, solver=solver), scene.data)
        for i in range(WORLDS):
            mine, best = world(data, i), world(newton, i)
            assert largest_difference(mine.qacc, np.asarray(best.qacc)) < 1e-6
            assert largest_difference(mine.efc_force, np.asarray(best.efc_force)) < 1e-6
            assert 0 < mine.solver_niter < 20000 and float(mine.solver_gradient) < 1e-4


NO_ISLANDS = '<option><flag island="disable"/></option><worldbody>'
SLOPE = """
<mujoco><option gravity="2 0 -9.81" cone="{cone}"/><worldbody><geom type="plane" size="0 0 1"/>
  <body pos="0 0 0.099"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
    <joint type="slide" axis="0 0 1"/><geom size="0.1"/></body>
  <body pos="0 0 1"><joint type="slide" axis="1 0 0" frictionloss="20"/><geom size="0.1"/></body>
</worldbody></mujoco>
"""


@pytest.mark.slow(but=1)
@pytest.mark.feature("C47")
@cones
def test_noslip_stops_creep(cone: str) -> None:
    """Noslip holds bodies that would creep down a slope, without a change of normal forces."""
    both = load(SLOPE.format(cone=cone))
    creeping = quick(mjjax.forward)(both.ours, mjjax.make_data(both.ours))
    opt = both.ours.opt.replace(noslip_iterations=5)
    model = both.ours.replace(opt=opt)
    held = quick(mjjax.fwd_constraint)(model, creeping)
    assert np.all(np.asarray(creeping.qacc)[[0, 3]] > 1e-3)
    assert np.abs(np.asarray(held.qacc)[[0, 3]]).max() < 1e-12
    np.testing.assert_allclose(held.qacc[2], creeping.qacc[2], rtol=1e-9)


@pytest.mark.slow(but=1)
@pytest.mark.feature("C46", "C47", "B17", "B15")
@pytest.mark.parametrize(
    "option",
    [
        'cone="pyramidal" solver="PGS" iterations="5"',
        'cone="elliptic" solver="CG" iterations="5" noslip_iterations="3" noslip_tolerance="1e-4"',
    ],
)
def test_a_file_gets_its_solver(option: str) -> None:
    """Unfinished iterations, warm started step by step, move the scene as in MuJoCo."""
    xml = SLOPE.replace('cone="{cone}"', option).replace("<worldbody>", NO_ISLANDS)
    assert_same_step(xml, seeds=range(2), steps=15)


@pytest.mark.feature("A119")
@pytest.mark.parametrize(
    "options", [{}, {"solver": SolverType.CG}, {"solver": SolverType.PGS} | NOSLIP], ids=str
)
def test_statistics(options: dict[str, Any]) -> None:
    """Every iteration's improvement, rows and evaluations are MuJoCo's; noslip's come last."""
    scene = ready("pyramidal")
    model = with_options(scene, **options, iterations=6)
    found = statistics(model, scene.data)
    for i, d in enumerate(solve_theirs(scene)):
        n = d.solver_niter[0]
        assert n >= (6 if options else 1)
        for name in ("improvement", "nactive", "nchange", "neval"):
            mine, other = getattr(found, name)[i], [getattr(d.solver[k], name) for k in range(n)]
            np.testing.assert_allclose(mine[:n], other, rtol=1e-6, atol=1e-9, err_msg=name)
            assert not np.any(mine[n + 1 :])
        if "noslip_iterations" not in options:
            other = [d.solver[k].gradient for k in range(n)]
            np.testing.assert_allclose(found.gradient[i, :n], other, rtol=1e-6, atol=1e-8)


@pytest.mark.slow(but=1)
@pytest.mark.feature("D16")
@pytest.mark.parametrize(
    "cone, solver", [("pyramidal", SolverType.CG), ("elliptic", SolverType.PGS)]
)
def test_single_precision(cone: str, solver: SolverType) -> None:
    """float32 stays float32 and comes near float64, noslip included."""
    scene = ready(cone)
    model = with_options(scene, solver=solver, **NOSLIP)
    exact = constrain_worlds(model, scene.data)
    single = constrain_worlds(*jax.tree.map(_single, (model, scene.data)))
    assert single.qacc.dtype == single.efc_force.dtype == jnp.float32
    for i in range(WORLDS):
        assert largest_difference(single.qacc[i], np.asarray(exact.qacc[i])) < 2e-3


def _single(x: jax.Array) -> jax.Array:
    return x.astype(jnp.float32) if jnp.issubdtype(x.dtype, jnp.floating) else x


@pytest.mark.slow(but=1)
@cones
@pytest.mark.parametrize("solver", [SolverType.NEWTON, SolverType.CG])
def test_side_by_side_as_in_one_kernel(
    solver: SolverType, cone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Worlds that iterate in groups, as on other platforms, have the results of one kernel each."""
    scene = ready(cone)
    model = with_options(scene, solver=solver, disableflags=0)
    many = jax.tree.map(lambda x: jnp.tile(x, (24, *(1,) * (x.ndim - 1))), scene.data)

    def solved() -> mjjax.Data:
        return quick(jax.vmap(mjjax.fwd_constraint, in_axes=(None, 0)))(model, many)

    kernel = solved()
    monkeypatch.setattr(jax, "default_backend", lambda: "tpu")
    groups = solved()
    np.testing.assert_array_equal(kernel.solver_niter, groups.solver_niter)
    np.testing.assert_allclose(kernel.qacc, groups.qacc, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(kernel.efc_force, groups.efc_force, rtol=1e-8, atol=1e-7)


@pytest.mark.slow(but=1)
@pytest.mark.feature("D26")
@cones
def test_many_worlds(cone: str) -> None:
    """In a batch that finishes in groups every world has the result that it has alone."""
    scene = ready(cone)
    model = with_options(scene, solver=SolverType.PGS, **NOSLIP, tolerance=1e-3)
    few = constrain_worlds(model, scene.data)
    many = jax.tree.map(lambda x: jnp.tile(x, (24, *(1,) * (x.ndim - 1))), scene.data)
    data = constrain_worlds(model, many)
    assert len(np.unique(few.solver_niter)) > 1
    np.testing.assert_array_equal(data.solver_niter, np.tile(few.solver_niter, 24))
    np.testing.assert_allclose(data.qacc, np.tile(few.qacc, (24, 1)), rtol=1e-9, atol=1e-9)
