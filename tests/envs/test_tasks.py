"""All tasks: a thousand random steps of many worlds, in float32."""

import os
import subprocess
import sys

import pytest

from mjjax import envs
from mjjax.xla.compiling import as_flags, known_options

PROGRAM = """
import sys
import jax
import jax.numpy as jnp
from mjjax import envs

STEPS, PARTS = 100, 9
env, WORLDS = envs.make(sys.argv[1]), int(sys.argv[2])
reset, step = envs.vectorize(env)

@jax.jit
def run(state, key, params, more):
    def one(state, key):
        acting, stepping = jax.random.split(key)
        space = env.action_space(params)
        actions = more + jax.vmap(space.sample)(jax.random.split(acting, WORLDS))
        obs, state, reward, done, info = step(
            jax.random.split(stepping, WORLDS), state, actions, params
        )
        info = info["terms"], info["final_observation"], info["terminated"], info["bad_action"]
        return state, (obs, reward, done, jnp.sum(state.physics["warning"]), info)

    return jax.lax.scan(one, state, jax.random.split(key, STEPS))

def begin():
    return reset(jax.random.split(jax.random.key(0), WORLDS), env.default_params)[1]

good = jnp.zeros((WORLDS, env.action_space(env.default_params).shape[0]))
state, ended, parts = begin(), 0, []
for part in range(PARTS):
    state, seen = run(state, jax.random.key(part), env.default_params, good)
    obs, reward, done, warnings, _ = seen
    assert obs.dtype == reward.dtype == jnp.float32
    assert jnp.isfinite(obs).all() and jnp.isfinite(reward).all()
    assert not warnings.any() and jnp.ptp(reward) > 0
    ended += done.sum(0)
    parts.append((state, seen))
assert (ended > 0).all()
again = run(begin(), jax.random.key(0), env.default_params, good)
same = jax.tree.map(lambda a, b: bool((a == b).all()), parts[0], again)
assert all(jax.tree.leaves(same)), same

# one number of one world's action is none; others are infinite or huge
bad = good.at[0, -1].set(jnp.nan).at[1].set(jnp.inf).at[2].set(-jnp.inf).at[3, 0].set(-1e30)
after, seen = run(begin(), jax.random.key(0), env.default_params, bad)
obs, reward, done, warnings, info = seen
finite = jax.tree.map(lambda x: bool(jnp.isfinite(x).all()), (obs, reward, info, after))
assert all(jax.tree.leaves(finite)), finite
assert not warnings.any()  # they start anew
_, _, terminated, told = info
assert (told == (jnp.arange(WORLDS) == 0)).all() and terminated[:, 0].all()
others = [x[:, 4:] for x in (obs, reward, done)]
assert all((x == y[:, 4:]).all() for x, y in zip(others, again[1][:3], strict=True))
assert (done[:, 1:4].sum(0) < STEPS).all()
print("ran", env.name)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", envs.TASKS)
def test_a_thousand_random_steps(name: str) -> None:
    """Every task: no warning, finite numbers, episodes end, the same bits from the same key.

    A bad action ends its own episodes; huge ones are cut off; other worlds do not notice. One task
    runs as users run it, in a batch that is large enough for groups; cheaper code and fewer worlds
    save time in the others.
    """
    as_users = name == "ant"
    flags = {} if as_users else {"XLA_FLAGS": as_flags(known_options())}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, name, "64" if as_users else "8"],
        capture_output=True,
        text=True,
        env=os.environ | flags,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith("ran")


@pytest.mark.parametrize("name", envs.TASKS | envs.GYMNASIUM_TASKS)
def test_documents_its_reward(name: str) -> None:
    """Each task's docstring begins with the goal and has the equation of the reward."""
    doc = (envs.TASKS | envs.GYMNASIUM_TASKS)[name].__doc__ or ""
    assert "r = " in doc or "Reward of" in doc
