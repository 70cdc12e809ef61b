"""Islands: trees that rows connect are solved apart from others, as in MuJoCo."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax import DisableBit, SolverType
from tests.derivatives import derivative_errors
from tests.oracle_tools import world
from tests.solver.scenes import (
    WORLDS,
    Ready,
    constrain_worlds,
    ready,
    ready_scene,
    solve_theirs,
    with_options,
)
from tests.solver.test_many_trees import scene
from tests.solver.test_method_derivatives import inputs, solved

cones = pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
ON = {"disableflags": DisableBit(0)}
OPTIONS: list[dict[str, Any]] = [
    {"iterations": 1},
    {"iterations": 2},
    {"solver": SolverType.CG, "iterations": 4},
    {"solver": SolverType.CG, "iterations": 15, "tolerance": 1e-2},
    {"disableflags": DisableBit.WARMSTART},
]
# Scenes and cones of every other entry of `OPTIONS`; each of the four meets every solver.
CASES = (
    [("few", "elliptic"), ("many", "pyramidal")],
    [("few", "pyramidal"), ("many", "elliptic")],
)


@functools.cache
def states(name: str, cone: str) -> Ready:
    """A chain and balls, or many of both; one of the trees is in the air."""
    if name == "few":
        return ready(cone)
    xml = scene(cone)
    flying = '<body pos="0 2 3"><freejoint/><geom size="0.1"/></body></worldbody>'
    return ready_scene(xml.replace("</worldbody>", flying))


def islands_of(d: mujoco.MjData) -> np.ndarray:
    return d.tree_island if d.nisland else np.full(d.model.ntree, -1)


@pytest.mark.slow(but=3)
@pytest.mark.feature("C48", "A119")
@pytest.mark.parametrize(
    ("options", "name", "cone"),
    [(options, *case) for k, options in enumerate(OPTIONS) for case in CASES[k % 2]],
    ids=str,
)
def test_islands_iterate_as_mujocos(options: dict[str, Any], name: str, cone: str) -> None:
    """Islands, iterations and accelerations are C's, also where few iterations are allowed.

    In a scene of many trees a direction is found to the root of the rounding, 1.5e-8.
    """
    at = states(name, cone)
    ours = constrain_worlds(with_options(at, **ON | options), at.data)
    alone = False
    for k, d in enumerate(solve_theirs(at)):
        mine = world(ours, k)
        assert np.array_equal(mine.tree_island, islands_of(d)) and int(mine.nisland) == d.nisland
        assert int(mine.solver_niter) == d.solver_niter[: d.nisland].max()
        for field in ("qacc", "qfrc_constraint"):
            expected = getattr(d, field)
            error = np.abs(getattr(mine, field) - expected).max() / np.abs(expected).max()
            assert error < (1e-6 if name == "many" else 1e-8), (field, k, error)
        lonely = np.isin(at.both.reference.dof_treeid, np.flatnonzero(islands_of(d) < 0))
        assert np.array_equal(mine.qacc[lonely], mine.qacc_smooth[lonely])
        alone |= bool(lonely.any())
    assert alone or name == "few"


@pytest.mark.slow(but=1)
@pytest.mark.feature("C48")
@cones
@pytest.mark.parametrize("name", ["few", "many"])
def test_islands_have_the_solution_of_the_whole(name: str, cone: str) -> None:
    """With and without islands the converged acceleration is the same."""
    at = states(name, cone)
    model, exact = at.both.ours, {"tolerance": 1e-14, "solver": SolverType.NEWTON}
    apart = constrain_worlds(with_options(at, **exact | ON), at.data)
    whole = constrain_worlds(with_options(at, **exact), at.data)
    error = np.abs(apart.qacc - whole.qacc).max() / np.abs(whole.qacc).max()
    assert error < 1e-8
    off = model.replace(opt=model.opt.replace(disableflags=int(DisableBit.ISLAND)))
    found = mjjax.island(off, world(at.data, 0))
    assert int(found.nisland) == 0 and bool(jnp.all(found.tree_island == -1))


@pytest.mark.slow(but=1)
@cones
def test_an_island_does_not_know_of_others(cone: str) -> None:
    """An island's acceleration after a few iterations does not change if another is pushed."""
    at = states("many", cone)
    model = with_options(at, **ON | {"iterations": 3, "disableflags": DisableBit.WARMSTART})
    base, trees = constrain_worlds(model, at.data), np.asarray(model.structure.dof_treeid)
    island = np.asarray(base.tree_island)[:, trees]
    first = island == island[:, :1]
    assert (~first).any(axis=1).all()
    push = jnp.where(first, 40.0, 0)
    pushed = at.data.replace(
        qfrc_smooth=at.data.qfrc_smooth + push,
        qacc_smooth=at.data.qacc_smooth
        + jax.vmap(mjjax.solve_m, (None, 0, 0))(model, at.data, push),
    )
    change = np.abs(np.asarray(constrain_worlds(model, pushed).qacc - base.qacc))
    assert change[first].max() > 1
    assert change[~first].max() < 1e-9 * np.abs(np.asarray(base.qacc)).max()


@pytest.mark.slow
@pytest.mark.feature("D02", "D03", "D04")
@cones
@pytest.mark.parametrize("name", ["few", "many"])
def test_derivatives(name: str, cone: str) -> None:
    """Derivatives are those of the whole problem, by all inputs, in both modes."""
    at = states(name, cone)
    model, data = at.both.ours, world(at.data, 0)
    point = inputs(data)
    x, v = (jax.tree.map(lambda a: a[None], point[k]) for k in ("x", "v"))
    model = model.replace(opt=model.opt.replace(tolerance=jnp.asarray(1e-17)))
    assert not derivative_errors(lambda x: solved(model, data, x), x, v, 1e-5, (1e-5, 1e-4))


def test_the_scenes_have_islands_of_several_trees() -> None:
    """The scenes have islands of one tree and of several, as the other tests need."""
    sizes = set()
    for cone in ("pyramidal", "elliptic"):
        for k in range(WORLDS):
            island = np.asarray(world(states("many", cone).data, k).tree_island)
            sizes |= set(np.bincount(island[island >= 0]).tolist())
    assert 1 in sizes and max(sizes) >= 3
