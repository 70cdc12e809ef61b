"""Islands of one tree are solved as worlds of their own, in one queue for all worlds."""

import functools
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from mjjax.constraint.layout import layout_of
from mjjax.solver import alone
from mjjax.solver.alone import kind_of
from mjjax.solver.newton import Newton
from mjjax.solver.primal import Primal
from mjjax.solver.problem import problem_of
from mjjax.solver.stages import rules_of, start_of
from mjjax.xla.namespace import Array
from tests.oracle_tools import each_world, quick, world
from tests.solver.scenes import Ready, ready_scene, solve_theirs, with_options
from tests.solver.test_islands import ON, islands_of
from tests.solver.test_many_trees import BALL, CHAIN

cones = pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
FIELDS = ("qacc", "qfrc_constraint", "efc_force", "solver_niter", "solver_gradient")
FLYING = 2
AT = (0, 0.72, 2.4, 4, 5.6, 7.2, 8.8)  # [m]; the first two touch


@functools.cache
def states(cone: str) -> Ready:
    """Chains: two that touch, one in the air, one with a ball on it, three by themselves."""
    chains = [CHAIN.format(k=k, x=x) for k, x in enumerate(AT)]
    chains[FLYING] = chains[FLYING].replace(" 0.08", " 3")
    balls = [BALL.format(k=0, x=AT[3], dim=3).replace("0.5 0.095", "0 0.24")]
    return ready_scene(f"""
<mujoco><option cone="{cone}" timestep="0.004" impratio="2"/>
<default><geom friction="0.7 0.02 0.003" solref="0.01 1"/></default>
<worldbody><geom type="plane" size="0 0 1" condim="1"/>{"".join(chains + balls)}</worldbody>
</mujoco>""")


@pytest.fixture
def side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns the queue off: all islands of a world iterate until the last one is done."""
    monkeypatch.setattr(Newton, "ahead", Primal.ahead)


@pytest.fixture
def few_contacts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Room for fewer contacts than some chains have."""
    kind_of.cache_clear()
    monkeypatch.setattr(alone, "MOST_CONTACTS", 2)
    yield
    kind_of.cache_clear()


def constrained(cone: str) -> mjjax.Data:
    """The four worlds, one after the other."""
    at = states(cone)
    return each_world(mjjax.fwd_constraint)(with_options(at, **ON), at.data)


@functools.cache
def queued(cone: str) -> mjjax.Data:
    return constrained(cone)


def assert_close(a: mjjax.Data, b: mjjax.Data) -> None:
    for name in FIELDS:
        one, two = np.asarray(getattr(a, name)), np.asarray(getattr(b, name))
        scale = np.abs(two).max() if name != "solver_gradient" else 1
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-7 * scale, err_msg=name)


@pytest.mark.slow(but=1)
@pytest.mark.feature("C48", "A119")
@cones
def test_iterates_are_mujocos(cone: str) -> None:
    """Accelerations, forces and iterations, of islands of one tree and of several."""
    at, ours = states(cone), queued(cone)
    with_options(at, **ON)
    sizes = set()
    for k, d in enumerate(solve_theirs(at)):
        mine, island = world(ours, k), islands_of(d)
        sizes |= set(np.bincount(island[island >= 0]).tolist())
        assert np.array_equal(mine.tree_island, island)
        assert int(mine.solver_niter) == d.solver_niter[: d.nisland].max()
        for field in ("qacc", "qfrc_constraint"):
            expected = getattr(d, field)
            error = np.abs(getattr(mine, field) - expected).max() / np.abs(expected).max()
            assert error < 1e-6, (field, k, error)
    assert {1, 2} <= sizes
    kind = kind_of(layout_of(at.both.ours, world(at.data, 0)))
    assert kind is not None and len(kind.tree) == len(AT)


@cones
def test_islands_of_one_tree_are_done_first(cone: str) -> None:
    """All islands of one tree are finished alone, and no others."""
    at = states(cone)
    model, data = with_options(at, **ON), world(at.data, 1)
    layout, method = layout_of(model, data), Newton()

    @quick
    def done(data: mjjax.Data) -> tuple[Array, Array]:
        problem = problem_of(model, data, layout)
        rules = rules_of(model, problem)
        start = method.initial(problem, (), start_of(model, data), rules)
        return start.done, method.ahead(problem, rules, start).done

    island = np.asarray(data.tree_island)
    alone = np.bincount(island[island >= 0], minlength=layout.structure.ntree) == 1
    before, after = map(np.asarray, done(data))
    used = np.arange(len(alone)) < int(data.nisland)
    assert not before[used].any() and np.array_equal(after[used], alone[used])
    assert 0 < alone[used].sum() < used.sum()


@cones
def test_equals_side_by_side(cone: str, side_by_side: None) -> None:
    """The queue changes neither results nor how many iterations they take."""
    assert_close(constrained(cone), queued(cone))


@cones
def test_trees_with_too_many_contacts_stay(cone: str, few_contacts: None) -> None:
    """Nothing is lost where a tree has more contacts than there is room for."""
    at = states(cone)
    layout = layout_of(at.both.ours, world(at.data, 0))
    kind = kind_of(layout)
    assert kind is not None and kind.layout.ncontact == 2 < max(layout.own)
    assert_close(constrained(cone), queued(cone))


def test_a_batch_goes_through_one_queue() -> None:
    """A batch has the results of its worlds one by one."""
    at, one = states("pyramidal"), queued("pyramidal")
    every = jax.tree.map(lambda x: jnp.concatenate([x] * 8), at.data)
    run = quick(jax.vmap(mjjax.fwd_constraint, in_axes=(None, 0)))
    many = run(with_options(at, **ON), every)
    assert_close(many, jax.tree.map(lambda x: jnp.concatenate([x] * 8), one))
