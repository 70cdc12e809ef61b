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

WORLDS, STEPS, PARTS = 64, 100, 10
env = envs.make(sys.argv[1])
reset, step = envs.vectorize(env)

@jax.jit
def run(state, key, params):
    def one(state, key):
        acting, stepping = jax.random.split(key)
        space = env.action_space(params)
        actions = jax.vmap(space.sample)(jax.random.split(acting, WORLDS))
        obs, state, reward, done, info = step(
            jax.random.split(stepping, WORLDS), state, actions, params
        )
        return state, (obs, reward, done, jnp.sum(state.physics["warning"]))

    return jax.lax.scan(one, state, jax.random.split(key, STEPS))

def begin():
    return reset(jax.random.split(jax.random.key(0), WORLDS), env.default_params)[1]

state, ended, parts = begin(), 0, []
for part in range(PARTS):
    state, seen = run(state, jax.random.key(part), env.default_params)
    obs, reward, done, warnings = seen
    assert obs.dtype == reward.dtype == jnp.float32
    assert jnp.isfinite(obs).all() and jnp.isfinite(reward).all()
    assert not warnings.any() and jnp.ptp(reward) > 0
    ended += done.sum(0)
    parts.append((state, seen))
assert (ended > 0).all()
again = run(begin(), jax.random.key(0), env.default_params)
same = jax.tree.map(lambda a, b: bool((a == b).all()), parts[0], again)
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
