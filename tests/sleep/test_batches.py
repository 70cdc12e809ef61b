"""Sleeping under `vmap`, `grad` and `rollout`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from tests.oracle_tools import quick
from tests.sleep.worlds import Pair, scene, step

BALLS = scene(
    '<body pos="0 0 .0999"><freejoint/><geom size=".1"/><site name="one"/></body>'
    '<body pos="0 0 .2996"><joint type="slide" axis="0 0 1"/><geom size=".1"/></body>'
    '<body pos="2 0 1"><joint type="slide" damping="3"/><geom size=".1"/></body>',
    '<sensor><accelerometer site="one"/><framelinvel objtype="site" objname="one"/></sensor>',
)


@pytest.fixture(scope="module")
def start() -> tuple[mjjax.Model, mjjax.Data]:
    """Three balls, two of them on each other, about to fall asleep."""
    pair = Pair.of(BALLS)
    for _ in range(300):
        before = pair.data
        pair.go(1, tolerance=1e-7)
        if pair.d.tree_asleep[0] >= 0:
            return pair.ours, before
    raise AssertionError("the balls stay awake")


@pytest.mark.slow
def test_worlds_sleep_one_by_one(start: tuple[mjjax.Model, mjjax.Data]) -> None:
    """In a batch a sleeping, a pushed and a hit world each move as they do alone."""
    model, one = start
    batch = jax.tree.map(lambda x: jnp.stack([x] * 3), one)
    batch = batch.replace(
        qfrc_applied=batch.qfrc_applied.at[1, 0].set(0.1), qvel=batch.qvel.at[2, 6].set(-1.0)
    )
    alone = [jax.tree.map(lambda x, i=i: x[i], batch) for i in range(3)]
    many = quick(jax.vmap(mjjax.step, in_axes=(None, 0)))
    for _ in range(3):
        batch = many(model, batch)
        alone = [step(model, x) for x in alone]
        for i, mine in enumerate(alone):
            assert np.array_equal(batch.tree_asleep[i], mine.tree_asleep)
            for name in ("qpos", "qvel", "sensordata", "qacc"):
                error = jnp.max(jnp.abs(getattr(batch, name)[i] - getattr(mine, name)))
                assert error < 1e-9, (name, i)
    asleep = np.asarray(batch.tree_asleep)
    assert asleep[:, :2].tolist() == [[1, 0], [-11, -1], [-11, -11]]
    assert np.asarray(batch.body_awake)[0, :3].tolist() == [-1, 0, 0]


@pytest.mark.slow
def test_derivatives_where_trees_sleep(start: tuple[mjjax.Model, mjjax.Data]) -> None:
    """Velocities of sleeping trees have no derivative, others keep theirs, in both modes."""
    model, one = start
    asleep = step(model, one)
    assert asleep.tree_asleep[:2].tolist() == [1, 0]

    def after(force: jax.Array) -> jax.Array:
        end = mjjax.step(model, asleep.replace(ctrl=asleep.ctrl, qvel=asleep.qvel.at[7].add(force)))
        return jnp.concatenate([end.qvel, end.qpos, end.sensordata])

    def falls(speed: jax.Array) -> jax.Array:
        """The step in which the two fall asleep."""
        end = mjjax.step(model, one.replace(qvel=one.qvel.at[2].add(speed)))
        return jnp.concatenate([end.qvel, end.qpos, end.sensordata])

    for function in (after, falls):
        forward = jax.jit(jax.jacfwd(function))(jnp.array(0.0))
        reverse = jax.jit(jax.jacrev(function))(jnp.array(0.0))
        assert np.isfinite(forward).all() and np.allclose(forward, reverse, atol=1e-9)
        assert not forward[:7].any()  # velocities of what sleeps
    h, d = 1e-6, jax.jit(jax.jacfwd(after))(jnp.array(0.0))
    run = jax.jit(after)
    assert np.allclose((run(2 * h) - run(h)) / h, d, atol=1e-5)


def test_a_reset_wakes(start: tuple[mjjax.Model, mjjax.Data]) -> None:
    """A reset starts the counters again; a world that diverges is awake after its reset."""
    model, one = start
    assert mjjax.reset_data(model, one).tree_asleep.tolist() == [-11] * 3
    lost = step(model, one.replace(qvel=one.qvel.at[0].set(jnp.nan)))
    assert lost.tree_asleep.tolist() == [-10, -10, -10]  # it has made its first step again
    assert int(lost.warning[mjjax.WarningType.BADQVEL]) == 1


@pytest.mark.feature("A147")
def test_without_the_flag_there_is_nothing(start: tuple[mjjax.Model, mjjax.Data]) -> None:
    """A model without the flag has no leaf and no operation for it."""
    xml = BALLS.replace('sleep="enable"', "")
    model = mjjax.Model.from_xml_string(xml)
    data = mjjax.make_data(model)
    leaves = jax.tree_util.tree_flatten_with_path(data)[0]
    assert not [path for path, _ in leaves if "sleep" in str(path)]
    with_flag, without = (str(jax.make_jaxpr(mjjax.step)(*each)) for each in (start, (model, data)))
    assert "bitcast_convert_type" in with_flag and "bitcast_convert_type" not in without
