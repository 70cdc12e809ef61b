"""Gymnasium's own tasks, step by step beside Gymnasium."""

from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax.envs
from mjjax.envs import GYMNASIUM_TASKS, EnvState
from mjjax.xla.compiling import quick

STEPS = 12


def states_of(env: Any) -> dict[str, np.ndarray]:
    """Fields of `Data` that our state has, from Gymnasium's simulator."""
    data = env.unwrapped.data
    names = "qpos qvel qacc_warmstart xpos xipos ctrl".split()
    return {name: np.array(getattr(data, name)) for name in names}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow(but=3)) for n in GYMNASIUM_TASKS]
)
def test_steps_are_those_of_gymnasium(name: str) -> None:
    """Observations, rewards, their terms and ends, from a state that Gymnasium has drawn."""
    theirs, ours = gymnasium.make(name).unwrapped, mjjax.envs.make(name)
    space = ours.action_space()
    assert (space.low, space.high) == (theirs.action_space.low[0], theirs.action_space.high[0])
    assert ours.dt == pytest.approx(theirs.dt)
    wanted, _ = theirs.reset(seed=3)
    params = ours.default_params
    physics = states_of(theirs)
    _, state = jax.eval_shape(ours.reset_env, jax.random.key(0), params)
    start = {k: jnp.zeros(x.shape, x.dtype) for k, x in state.physics.items()}
    start |= {k: jnp.asarray(physics[k]) for k in state.physics.keys() & physics.keys()}
    state = EnvState(jnp.zeros((), jnp.int32), start)
    data = ours.data(state)
    np.testing.assert_allclose(
        ours.observe(ours.model, ours.seen(ours.model, data)), wanted, atol=1e-6
    )
    step = quick(ours.step_env)
    rng = np.random.default_rng(0)
    for _ in range(STEPS):
        action = rng.uniform(space.low, space.high, space.shape) * 0.5
        wanted, reward, ended, _, info = theirs.step(action)
        obs, state, found, done, more = step(jax.random.key(0), state, action, params)
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
    """A misspelt name lists all tasks, those of Gymnasium too."""
    with pytest.raises(ValueError, match="Ant-v5"):
        mjjax.envs.make("Ant-v4")
