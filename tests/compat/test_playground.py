"""MuJoCo Playground: its randomization of models, and environments in both directions."""

# ruff: noqa: E402 programs call install() before they import what uses MJX
import mjjax.mujoco

mjjax.mujoco.install()

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from mujoco_playground import registry, wrapper

import mjjax.envs
import mjjax.playground
from benchmarks.playground_assets import without_downloads

without_downloads()
WORLDS = 64
RANDOMIZED = [
    "Go1JoystickFlatTerrain",
    "G1JoystickFlatTerrain",
    "T1JoystickFlatTerrain",
    "BerkeleyHumanoidJoystickFlatTerrain",
]


@pytest.mark.parametrize("name", RANDOMIZED)
def test_domain_randomization_of_playground(name: str) -> None:
    """Its own functions make models of 64 worlds, which differ, for one traced step."""
    env: Any = registry.load(name)
    randomize: Any = registry.get_domain_randomizer(name)
    keys = jax.random.split(jax.random.PRNGKey(0), WORLDS)
    models, axes = randomize(env.mjx_model, keys)
    marked = [
        jax.tree_util.keystr(path)
        for path, axis in jax.tree_util.tree_leaves_with_path(axes, is_leaf=lambda x: x is None)
        if axis == 0
    ]
    assert len(marked) >= 5 and any("friction" in name for name in marked)
    mass = np.asarray(models.body_mass)
    assert mass.shape == (WORLDS, env.mjx_model.nbody) and np.ptp(mass, axis=0).max() > 0.1
    one = wrapper.BraxDomainRandomizationVmapWrapper(env, lambda _: (models, axes))
    state = jax.eval_shape(one.reset, keys)
    action = jax.ShapeDtypeStruct((WORLDS, env.action_size), float)
    after = jax.eval_shape(one.step, state, action)
    assert after.reward.shape == (WORLDS,)


def test_randomized_models_are_one_compilation() -> None:
    """64 different models of Go1 step in one program, which other models do not compile again."""
    env: Any = registry.load(RANDOMIZED[0])
    randomize: Any = registry.get_domain_randomizer(RANDOMIZED[0])
    keys = jax.random.split(jax.random.PRNGKey(1), WORLDS)
    models, axes = randomize(env.mjx_model, keys)
    data = jax.vmap(lambda k: env.reset(k).data)(keys)
    programs = []

    def step(model: Any, data: Any) -> Any:
        programs.append(1)
        after = mjjax.mjx.step(model, data)
        return after.qvel, after.qpos

    stepped = jax.jit(jax.vmap(step, (axes, 0)))
    again = jax.tree.map(lambda x, axis: x if axis is None else x[::-1], models, axes)
    qvel, _ = stepped(models, data)
    other, _ = stepped(again, data)
    assert len(programs) == 1 and np.isfinite(qvel).all()
    assert np.abs(qvel - other).max() > 1e-3


def test_our_tasks_are_in_its_registry() -> None:
    """A task loads from Playground's registry and does there what it does in `mjjax.envs`."""
    names = mjjax.playground.register()
    assert {"hopper", "Ant-v5"} <= {*names} <= {*registry.ALL_ENVS}
    env: Any = registry.load("hopper")
    own = mjjax.envs.make("hopper")
    assert (env.action_size, env.observation_size) == (3, 11) and env.dt == own.dt
    assert env.mj_model.nq == own.model.nq
    key, action = jax.random.PRNGKey(2), jnp.array([0.3, -0.2, 0.1])
    state, step = jax.jit(env.reset)(key), jax.jit(env.step)
    obs, there = own.reset(key)
    for _ in range(3):
        np.testing.assert_allclose(state.obs, obs, atol=1e-5)
        state = step(state, action)
        obs, there, reward, _, _ = own.step(key, there, action)
        np.testing.assert_allclose(state.reward, reward, atol=1e-5)
    assert set(state.metrics) == {*own.weights} and state.data.qpos.shape == (own.model.nq,)


def test_its_environments_are_ours() -> None:
    """An environment of Playground has our interface: ends, restarts, bad actions, parameters."""
    env = mjjax.playground.load("CartpoleBalance", config_overrides={"episode_length": 4})
    obs, state = env.reset(jax.random.key(0))
    first = obs
    for i in range(4):
        obs, state, reward, done, info = env.step(jax.random.key(i), state, jnp.array([0.5]))
        assert 0 <= reward <= 1 and done == info["truncated"] == (i == 3)
        assert not info["terminated"]
    assert int(state.time) == 0 and np.abs(obs - first).max() > 0
    assert np.isfinite(info["final_observation"]).all()
    assert env.data(state).qpos.shape == (2,)
    _, _, _, done, info = env.step(jax.random.key(9), state, jnp.array([jnp.nan]))
    assert done and info["bad_action"] and info["terminated"]
    with pytest.raises(ValueError, match="Playground has no 'Cartpole'"):
        mjjax.playground.load("Cartpole")
