"""Environments: starts, ends, repeatability, one compilation, one model per world."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from mjjax import envs
from mjjax.envs import Environment, EnvState, Params
from tests.oracle_tools import quick, world

WORLDS = 8


@functools.cache
def pendulum() -> tuple[Environment, Params]:
    """A task that is quick to compile, with episodes of ten steps."""
    env = envs.make("pendulum")
    return env, env.default_params.replace(max_steps_in_episode=jnp.asarray(10, jnp.int32))


def keys(seed: int, count: int = WORLDS) -> jax.Array:
    return jax.random.split(jax.random.key(seed), count)


@functools.cache
def started() -> tuple[jax.Array, EnvState]:
    env, params = pendulum()
    return jax.vmap(env.reset, in_axes=(0, None))(keys(0), params)


def stepped(state: EnvState, count: int) -> tuple:
    """The last of some steps of full torque."""
    env, params = pendulum()
    step = jax.vmap(env.step, in_axes=(0, 0, 0, None))
    for i in range(count):
        found = step(keys(i + 1), state, jnp.ones((WORLDS, 1)), params)
        state = found[1]
    return found


@pytest.mark.slow
def test_starts_are_random() -> None:
    """Protects against worlds that all start, or restart, in the same state."""
    obs, state = started()
    assert len(np.unique(np.asarray(obs[:, 0]))) == WORLDS
    first, second = (stepped(state, n)[1].physics["qpos"] for n in (10, 20))
    assert len(np.unique(np.concatenate([first, second]))) == 2 * WORLDS


@pytest.mark.slow
def test_end_keeps_the_last_observation() -> None:
    """Learners bootstrap from the true last observation and know why the episode ended."""
    env, params = pendulum()
    before = stepped(started()[1], 9)
    assert not before[3].any()
    obs, state, reward, done, info = stepped(started()[1], 10)
    assert done.all() and info["truncated"].all() and not info["terminated"].any()
    assert (state.time == 0).all()
    # one world by `step_env`, which does not start again
    first = world(before[1], 0)
    seen, after, r, *_ = jax.jit(env.step_env)(keys(0)[0], first, jnp.ones(1), params)
    np.testing.assert_allclose(info["final_observation"][0], seen, atol=1e-12)
    np.testing.assert_allclose(reward[0], r, atol=1e-12)
    assert jnp.abs(obs[0] - seen).max() > 1e-3
    assert after.time == 10


@pytest.mark.slow
def test_reward_is_the_weighted_sum() -> None:
    """Keeps the documented weights in effect, and changeable."""
    env, params = pendulum()
    *_, info = stepped(started()[1], 1)
    reward = stepped(started()[1], 1)[2]
    expected = sum(env.weights[name] * info["terms"][name] for name in env.weights)
    np.testing.assert_allclose(reward, expected, atol=1e-12)
    changed = params.replace(weights=params.weights | {"effort": jnp.asarray(-1.0)})
    state = world(started()[1], 0)
    a, b = (env.step(keys(1)[0], state, jnp.ones(1), p)[2] for p in (params, changed))
    np.testing.assert_allclose(b - a, -0.99, atol=1e-12)


@pytest.mark.slow
def test_observation_belongs_to_its_state() -> None:
    """Observations are those of the state that is returned, also after a restart."""
    env, params = pendulum()
    for count in (3, 10):
        obs, state, *_ = stepped(started()[1], count)
        data = env.data(world(state, 0), params)
        np.testing.assert_allclose(obs[0], data.sensordata, atol=1e-12)


@pytest.mark.slow
@pytest.mark.feature("D13")
def test_compiles_once() -> None:
    """New keys, states, weights and models reuse the program."""
    env, params = pendulum()
    counts = []

    def count(*args: Any) -> tuple:
        counts.append(1)
        return env.step(*args)

    step = jax.jit(count)
    _, state = env.reset(keys(0)[0], params)
    heavier = params.model.replace(body_mass=params.model.body_mass * 2)
    for i, p in enumerate((params, params.replace(model=heavier), env.default_params)):
        _, state, *_ = step(keys(i)[0], state, env.action_space(p).sample(keys(i)[1]), p)
    assert len(counts) == 1
    assert envs.make("pendulum") is env


@pytest.mark.slow
@pytest.mark.feature("D18")
def test_diverged_world_ends_its_episode() -> None:
    """A world that the simulator had to reset terminates, with finite numbers."""
    env, params = pendulum()
    state = world(started()[1], 0)
    bad = state.replace(physics=state.physics | {"qvel": jnp.array([jnp.nan])})
    obs, after, reward, done, info = env.step(keys(1)[0], bad, jnp.zeros(1), params)
    assert done and info["terminated"] and not info["truncated"]
    assert all(jnp.isfinite(x).all() for x in (obs, reward, after.physics["qvel"]))


@pytest.mark.slow
@pytest.mark.feature("D11")
def test_one_model_per_world() -> None:
    """`randomize` and `vectorize` find the axes; every world moves by its own model."""
    env, params = pendulum()

    def change(model: mjjax.Model, key: jax.Array) -> mjjax.Model:
        factor = jax.random.uniform(key, minval=0.5, maxval=2.0)
        return mjjax.set_const(
            model.replace(
                body_mass=model.body_mass * factor, body_inertia=model.body_inertia * factor
            )
        )

    models = envs.randomize(params.model, change, jax.random.key(1), WORLDS)
    assert models.body_mass.shape == (WORLDS, 2) and models.geom_size.ndim == 2
    axes = envs.world_axes(models)
    assert axes.body_mass == 0 and axes.dof_invweight0 == 0 and axes.opt.gravity is None
    many = params.replace(model=models)
    reset, step = envs.vectorize(env, many)
    actions = jnp.ones((WORLDS, 1))
    obs, state = reset(keys(0), many)
    obs, *_ = step(keys(1), state, actions, many)
    own = jax.vmap(lambda model, _: model, in_axes=(axes, 0))(models, keys(0))  # all in full
    for i in (0, WORLDS - 1):
        mine = params.replace(model=world(own, i))
        alone, *_ = env.step(keys(1)[i], world(state, i), actions[i], mine)
        np.testing.assert_allclose(alone, obs[i], atol=1e-12)
    with pytest.raises(ValueError, match="body_mass has shape"):
        envs.world_axes(models.replace(body_mass=models.body_mass[None]))


def test_unknown_task_is_named() -> None:
    """A misspelt task is answered with the tasks that exist."""
    with pytest.raises(ValueError, match="cartpole_swingup"):
        envs.make("cartpole_swing")
    with pytest.raises(KeyError, match="speed"):
        model = pendulum()[0].model
        envs.reading(model, mjjax.make_data(model), "spede")


@pytest.mark.slow
def test_derivatives_of_actions() -> None:
    """Derivatives are the physics' up to the bounds; zero beyond and for bad actions, never NaN."""
    env, params = pendulum()
    state = world(started()[1], 0)

    def speed(action: jax.Array) -> jax.Array:
        return env.step_env(keys(0)[0], state, action[None], params)[1].physics["qvel"][0]

    actions = jnp.array([0.5, 0.5 + 1e-6, 1.0, 1.5, jnp.inf, jnp.nan])
    value, slope = quick(jax.vmap(jax.value_and_grad(speed)))(actions)
    np.testing.assert_allclose(slope[0], (value[1] - value[0]) / 1e-6, rtol=1e-4)
    np.testing.assert_allclose(slope[2], slope[0], rtol=1e-2)
    np.testing.assert_array_equal(slope[3:], 0)
    np.testing.assert_array_equal(value[3:5], value[2])
