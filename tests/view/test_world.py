"""The worlds behind the browser: steps, pulling, and the shapes that are shown."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax import envs
from mjjax.view.running import Episodes
from mjjax.view.world import NO_PULL, Pull, advance
from tests.oracle_tools import load, stack

SCENE = """
<mujoco>
  <option gravity="0 0 -10"/>
  <worldbody>
    <geom type="plane" size="0 0 1"/>
    <site name="hook" pos="0 0 2"/>
    <body pos="0 0 .099"><freejoint/><geom size=".1" mass="2"/><site name="eye"/></body>
  </worldbody>
  <tendon><spatial><site site="hook"/><site site="eye"/></spatial></tendon>
</mujoco>
"""


@pytest.mark.slow
@pytest.mark.feature("A175")
def test_steps_pull_and_show() -> None:
    """Worlds step as in MuJoCo; the hand lifts the ball of one world only; contacts bear weight."""
    both = load(SCENE)
    start = mjjax.make_data(both.ours)
    batch = stack([start, start])
    ctrl = np.zeros((2, 0))
    after, seen = advance(both.ours, batch, ctrl, NO_PULL, np.array(1000, np.int32))
    d = mujoco.MjData(both.reference)
    mujoco.mj_step(both.reference, d, nstep=1000)
    np.testing.assert_allclose(after.qpos, [d.qpos] * 2, atol=1e-8)
    assert seen.touching.sum(axis=1).tolist() == [1, 1]
    np.testing.assert_allclose(seen.force[seen.touching], [[0, 0, 20]] * 2, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(seen.tendon[0, 0], [[0, 0, 2], seen.xpos[0, 1]], atol=1e-6)

    # at rest the spring bears the weight: k d = g with k = 100 per mass
    hand = Pull(np.array(1, np.int32), np.array(1, np.int32), np.zeros(3), np.array([0, 0, 1.0]))
    after, seen = advance(both.ours, after, ctrl, hand, np.array(2000, np.int32))
    np.testing.assert_allclose(after.qpos[0, 2], d.qpos[2], atol=1e-4)
    np.testing.assert_allclose(after.qpos[1, :3], [0, 0, 0.9], atol=1e-4)
    assert seen.touching.sum(axis=1).tolist() == [1, 0]
    assert advance._cache_size() == 1  # the hand and the number of steps run the same program
    assert bool(jnp.isfinite(jax.tree.leaves(after)[0]).all())


@pytest.mark.slow
@pytest.mark.feature("A175")
def test_a_policy_acts_is_pulled_and_starts_again() -> None:
    """What a policy is shown doing is what `env.step` does; a hand on one world moves only it."""
    env = envs.make("pendulum")
    worlds = Episodes(env, lambda obs: jnp.full(1, 0.3, obs.dtype), nworld=2)
    obs, state = worlds._worlds.obs, worlds._worlds.state
    for _ in range(3):
        worlds.advance(None, NO_PULL, 1)
        keys = jax.random.split(jax.random.key(0), 2)
        acts = jnp.full((2, 1), 0.3)
        obs, state, *_ = jax.vmap(env.step, in_axes=(0, 0, 0, None))(
            keys, state, acts, env.default_params
        )
    np.testing.assert_allclose(worlds._worlds.obs, obs, atol=1e-12)
    assert worlds.notes(0)[0].endswith("after 3 steps")

    hand = Pull(np.array(1, np.int32), np.array(1, np.int32), np.zeros(3), np.array([9.0, 0, 0]))
    free = jax.tree.map(lambda x: x, worlds._worlds)
    worlds.advance(None, NO_PULL, 1)
    alone, worlds._worlds = worlds._worlds.obs, free
    worlds.advance(None, hand, 1)
    pulled = worlds._worlds.obs
    np.testing.assert_array_equal(pulled[0], alone[0])
    assert jnp.abs(pulled[1] - alone[1]).max() > 1e-3

    left = env.episode - 4
    worlds.advance(None, NO_PULL, left)  # to the end of the episodes
    now, last = worlds.notes(1)
    assert now == "return 0.0 after 0 steps" and last.startswith("return of the last episode")
