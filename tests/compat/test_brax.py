"""Brax's training on environments of mjjax."""

# ruff: noqa: E402 programs call install() before they import what uses MJX
import mjjax.mujoco

mjjax.mujoco.install()

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from brax import envs as brax_envs
from brax.training.agents.apg import train as apg
from brax.training.agents.ppo import train as ppo
from brax.training.agents.sac import train as sac

import mjjax.envs
from mjjax.envs.brax import BraxEnv

AGENTS: dict[str, Any] = {
    "ppo": lambda env, **rest: ppo.train(
        env,
        num_timesteps=256,
        num_envs=8,
        unroll_length=4,
        batch_size=8,
        num_minibatches=2,
        num_updates_per_batch=1,
        **rest,
    ),
    "sac": lambda env, **rest: sac.train(
        env, num_timesteps=64, num_envs=8, batch_size=8, min_replay_size=16, **rest
    ),
    "apg": lambda env, **rest: apg.train(
        env, policy_updates=2, num_envs=4, horizon_length=4, **rest
    ),
}


@pytest.mark.parametrize("agent", AGENTS)
def test_agents_of_brax_train(agent: str) -> None:
    """PPO, SAC and analytic gradients run as Brax documents them, and give finite policies."""
    env = BraxEnv(mjjax.envs.make("pendulum"))
    make, params, metrics = AGENTS[agent](env, episode_length=12, num_eval_envs=4, num_evals=2)
    assert np.isfinite(metrics["eval/episode_reward"])
    state = jax.jit(env.reset)(jax.random.PRNGKey(0))
    action, _ = make(params, deterministic=True)(state.obs, jax.random.PRNGKey(1))
    assert action.shape == (1,) and np.isfinite(action).all()


def test_environments_are_found_by_name_and_drawn() -> None:
    """Brax's registry makes them with its wrappers; `render` gives a picture of each state."""
    brax_envs.register_environment("pendulum", lambda: BraxEnv(mjjax.envs.make("pendulum")))
    env: Any = brax_envs.create("pendulum", episode_length=3)
    states = [jax.jit(env.reset)(jax.random.PRNGKey(0))]
    states.append(jax.jit(env.step)(states[0], jnp.ones(1)))
    pictures = env.unwrapped.render([s.pipeline_state for s in states], height=24, width=32)
    assert len(pictures) == 2 and pictures[0].shape == (24, 32, 3)
    assert pictures[0].dtype == np.uint8 and np.ptp(pictures[0]) > 50
