"""All tasks: a thousand random steps of many worlds, as users run them, in float32."""

import subprocess
import sys

import pytest

from mjjax import envs

PROGRAM = """
import sys
import jax
import jax.numpy as jnp
from mjjax import envs

WORLDS, STEPS = 64, 1000
env = envs.make(sys.argv[1])
reset, step = envs.vectorize(env)

@jax.jit
def run(key, params):
    def one(carry, key):
        state, warnings = carry
        acting, stepping = jax.random.split(key)
        space = env.action_space(params)
        actions = jax.vmap(space.sample)(jax.random.split(acting, WORLDS))
        obs, state, reward, done, info = step(
            jax.random.split(stepping, WORLDS), state, actions, params
        )
        finite = jnp.isfinite(obs).all() & jnp.isfinite(reward).all()
        warnings += jnp.sum(state.physics["warning"])
        return (state, warnings), (jnp.sum(obs, -1), reward, done, finite)

    obs, state = reset(jax.random.split(key, WORLDS), params)
    return jax.lax.scan(one, (state, 0), jax.random.split(key, STEPS))

first, again = (run(jax.random.key(0), env.default_params) for _ in range(2))
(state, warnings), (obs, reward, done, finite) = first
assert obs.dtype == reward.dtype == jnp.float32
assert finite.all() and warnings == 0, warnings
assert done.any(0).all() or int(env.episode) > STEPS
assert jnp.ptp(reward) > 0
same = jax.tree.map(lambda a, b: bool((a == b).all()), first, again)
assert all(jax.tree.leaves(same)), same
print("ran", env.name)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", envs.TASKS)
def test_a_thousand_random_steps(name: str) -> None:
    """Every task: no warning, finite numbers, episodes end, the same bits from the same key."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, name], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith("ran")


@pytest.mark.parametrize("name", envs.TASKS)
def test_documents_its_reward(name: str) -> None:
    """Each task's docstring begins with what is asked for and has the equation of its reward."""
    doc = envs.TASKS[name].__doc__ or ""
    assert "r = " in doc or "Reward of" in doc
