"""Adapters: what Gymnasium, gymnax, rejax and Brax expect of an environment."""

import functools
import warnings

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnax.wrappers.purerl import FlattenObservationWrapper, LogWrapper

import mjjax.envs.gymnasium  # noqa: F401  registers the tasks
from mjjax import envs
from mjjax.envs import Params
from mjjax.envs.brax import BraxEnv
from mjjax.envs.gymnasium import GymnasiumEnv, GymnasiumVectorEnv
from mjjax.envs.gymnax import GymnaxEnv

STEPS = 5


@functools.cache
def short() -> Params:
    """Episodes of five steps."""
    params = envs.make("pendulum").default_params
    return params.replace(max_steps_in_episode=jnp.asarray(STEPS, jnp.int32))


@pytest.mark.slow
def test_gymnasium_checks_one_world() -> None:
    """Gymnasium's own checker, with pictures, says nothing but that there are no bounds."""
    env = gymnasium.make("mjjax/pendulum-v0", render_mode="rgb_array", width=16, height=12)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(env.unwrapped)
    said = [str(w.message) for w in caught]
    assert all("infinity. This is probably" in text for text in said), said
    picture = env.unwrapped.render()
    assert isinstance(picture, np.ndarray) and picture.shape == (12, 16, 3)


def test_gymnasium_refuses_a_step_before_reset() -> None:
    """A forgotten reset is an error that says so."""
    for env in (GymnasiumEnv("pendulum"), GymnasiumVectorEnv("pendulum", 2)):
        with pytest.raises(gymnasium.error.ResetNeeded, match="call reset"):
            env.step(env.action_space.sample())


@pytest.mark.slow
def test_gymnasium_steps_many_worlds() -> None:
    """The vector environment: spaces, seeds, and the observation in which an episode ended."""
    env = gymnasium.make_vec(
        "mjjax/pendulum-v0", 3, vectorization_mode="vector_entry_point", params=short()
    )
    first, again = (env.reset(seed=1)[0] for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert env.observation_space.contains(first.astype(np.float32)) and first.shape == (3, 4)
    for _ in range(STEPS):
        obs, reward, terminated, truncated, info = env.step(np.ones((3, 1), np.float32))
    assert reward.shape == (3,) and truncated.all() and not terminated.any()
    assert info["_final_obs"].all() and np.abs(info["final_obs"][0] - obs[0]).max() > 1e-3
    assert "final_obs" not in env.step(np.ones((3, 1), np.float32))[-1]


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
    assert jnp.isfinite(info["final_observation"]).all()


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

    state, done = jax.jit(lambda s, a: jax.lax.scan(one, s, a))(state, jnp.ones((7, 3, 1)))
    assert state.obs.shape == (3, env.observation_size) and env.action_size == 1
    assert done.dtype == state.reward.dtype and not done.any()
    assert set(state.metrics) == {"up", "still", "effort"} and "steps" in state.info
