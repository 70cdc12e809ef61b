"""Gymnasium's own tasks, step by step beside Gymnasium."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax.envs
from mjjax.envs import GYMNASIUM_TASKS, EnvState
from mjjax.xla.compiling import quick

STEPS = 12
# Those of the sample first.
NAMES = sorted(GYMNASIUM_TASKS, key=lambda name: name not in ("InvertedPendulum-v5", "Reacher-v5"))


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("name", NAMES)
def test_steps_are_those_of_gymnasium(name: str) -> None:
    """Observations, rewards, their terms and ends, from a state that Gymnasium has drawn."""
    theirs, ours = gymnasium.make(name).unwrapped, mjjax.envs.make(name)
    space = ours.action_space()
    assert (space.low, space.high) == (theirs.action_space.low[0], theirs.action_space.high[0])
    assert ours.dt == pytest.approx(theirs.dt)
    wanted, _ = theirs.reset(seed=3)
    data = mjjax.make_data(ours.model)
    data = data.replace(qpos=theirs.data.qpos, qvel=theirs.data.qvel)
    seen = quick(ours.seen)(ours.model, data)
    np.testing.assert_allclose(ours.observe(ours.model, seen), wanted, atol=1e-6)
    state = EnvState(jnp.int32(0), {name: getattr(seen, name) for name in ours.fields})
    step = quick(ours.step_env)
    rng = np.random.default_rng(0)
    for _ in range(STEPS):
        action = rng.uniform(space.low, space.high, space.shape) * 0.5
        wanted, reward, ended, _, info = theirs.step(action)
        key, params = jax.random.key(0), ours.default_params
        obs, state, found, done, more = step(key, state, action, params)
        np.testing.assert_allclose(obs, wanted, rtol=1e-5, atol=1e-5)
        assert found == pytest.approx(reward, rel=1e-5, abs=1e-5)
        assert bool(more["terminated"]) == ended == bool(done)
        for term in ours.weights.keys() & info.keys():
            value = float(ours.weights[term] * more["terms"][term])
            assert value == pytest.approx(info[term], rel=1e-5, abs=1e-5), term
        if ended:
            break


@pytest.mark.parametrize("name", ["Reacher-v5", "Pusher-v5", "Hopper-v5"])
def test_starts_have_gymnasiums_distribution(name: str) -> None:
    """Bounds and means of the first states, over many starts of both."""
    theirs, ours = gymnasium.make(name).unwrapped, mjjax.envs.make(name)
    theirs.reset(seed=0)
    drawn = []
    for _ in range(400):
        theirs.reset()
        drawn.append(np.r_[theirs.data.qpos, theirs.data.qvel])
    data = mjjax.make_data(ours.model)
    starts = jax.vmap(lambda key: ours.start(key, ours.model, data))(
        jax.random.split(jax.random.key(0), 2000)
    )
    found = np.concatenate([starts.qpos, starts.qvel], axis=1)
    spread = np.std(drawn, axis=0)
    np.testing.assert_allclose(found.mean(axis=0), np.mean(drawn, axis=0), atol=0.2 * spread.max())
    np.testing.assert_allclose(found.std(axis=0), spread, rtol=0.2, atol=1e-9)
    assert (found.max(axis=0) <= np.max(drawn, axis=0) + 0.2 * spread).all()


def test_a_task_that_does_not_exist() -> None:
    """A misspelt name is answered with names that exist, one of Gymnasium too."""
    with pytest.raises(ValueError, match="Ant-v5"):
        mjjax.envs.make("Ant-v4")
