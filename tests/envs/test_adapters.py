"""Adapters fulfil the expectations of gymnax and Brax."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnax.wrappers.purerl import FlattenObservationWrapper, LogWrapper

from mjjax import envs
from mjjax.envs import Params
from mjjax.envs.brax import BraxEnv
from mjjax.envs.gymnasium import GymnasiumVectorEnv
from mjjax.envs.gymnax import GymnaxEnv

STEPS = 5


@functools.cache
def short() -> Params:
    """Episodes of five steps."""
    params = envs.make("pendulum").default_params
    return params.replace(max_steps_in_episode=jnp.asarray(STEPS, jnp.int32))


@pytest.mark.slow
def test_gymnax_wrappers_take_it() -> None:
    """gymnax's conventions: six results, spaces by params, wrappers that log whole episodes."""
    with jax.numpy_dtype_promotion("standard"):  # gymnax adds float32 to our float64
        env = LogWrapper(FlattenObservationWrapper(GymnaxEnv(envs.make("pendulum"))))
        obs, state = env.reset(jax.random.key(0), short())
        assert obs.shape == env.observation_space(short()).shape
        for i in range(STEPS):
            action = env.action_space(short()).sample(jax.random.key(i))
            _, state, _, terminated, truncated, info = env.step(
                jax.random.key(i), state, action, short()
            )
        assert truncated and not terminated
        assert info["returned_episode_lengths"] == STEPS
        assert jnp.isfinite(info["final_observation"]).all() and not info["bad_action"]
        bad = jnp.full_like(action, jnp.nan)
        _, _, reward, terminated, truncated, info = env.step(jax.random.key(9), state, bad, short())
    assert terminated and info["bad_action"] and not truncated and jnp.isfinite(reward)


@pytest.mark.slow
def test_brax_interface() -> None:
    """The names and types that Brax's wrappers rely on, in a scan; ends are left to wrappers."""
    env = BraxEnv(envs.make("pendulum"), short())
    keys = jax.random.split(jax.random.key(0), 3)
    state = jax.jit(jax.vmap(env.reset))(keys)
    state = state.replace(info={"steps": jnp.zeros(3)})  # as wrappers do

    def one(state, action):
        after = jax.vmap(env.step)(state, action)
        return after, after.done

    run = jax.jit(lambda s, a: jax.lax.scan(one, s, a))
    state, done = run(state, jnp.ones((7, 3, 1)))
    assert state.obs.shape == (3, env.observation_size) and env.action_size == 1
    assert done.dtype == state.reward.dtype and not done.any()
    assert set(state.metrics) == {"up", "still", "effort"} and "steps" in state.info
    # a bad action ends the episode of its own world, and all numbers stay finite
    state, done = run(state, jnp.ones((7, 3, 1)).at[2, 1].set(jnp.nan))
    np.testing.assert_array_equal(done, jnp.zeros((7, 3)).at[2, 1].set(1))
    assert all(jnp.isfinite(x).all() for x in (state.obs, state.reward, state.metrics["effort"]))


class Asymmetric(type(envs.make("pendulum"))):
    """A task whose policy sees less than its value function."""

    def observe(self, model, data):
        whole = super().observe(model, data)
        return {"state": whole[:2], "privileged_state": whole}


@pytest.mark.slow
def test_observations_of_several_parts() -> None:
    """Gymnasium and Brax get dictionaries of observations, also of episodes that have ended."""
    task = Asymmetric()
    params = task.default_params.replace(max_steps_in_episode=jnp.asarray(2, jnp.int32))
    worlds = GymnasiumVectorEnv(task, 3, params, autoreset_mode="SAME_STEP")
    obs, _ = worlds.reset(seed=0)
    for _ in range(2):
        assert worlds.observation_space.contains(obs)
        obs, _, _, truncated, info = worlds.step(np.zeros((3, 1)))
    assert truncated.all() and obs["privileged_state"].shape == (3, 4)
    last = info["final_obs"][1]
    assert last["state"].shape == (2,) and np.abs(last["state"] - obs["state"][1]).max() > 0
    assert BraxEnv(task).observation_size == {"state": (2,), "privileged_state": (4,)}
