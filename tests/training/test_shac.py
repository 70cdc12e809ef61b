"""SHAC: its returns, the derivative of its objective, what its critic learns, and its policy."""

import functools
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mjjax import envs
from mjjax.training.algorithms import made, policy_of

# Of packages that rejax imports, and with it the modules of SHAC.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

SMALL: dict[str, Any] = {"num_envs": 4, "num_steps": 3, "num_minibatches": 1, "num_epochs": 2}
SMALL |= {"hidden_layer_sizes": (8,), "normalize_rewards": False}


@functools.cache
def started() -> tuple[Any, Any]:
    env = envs.make("pendulum")
    algorithm = made("shac", env, env.default_params, 12, SMALL)
    return algorithm, algorithm.init_state(jax.random.key(0))


@pytest.fixture
def pendulum() -> Iterator[tuple[Any, Any]]:
    """SHAC on the pendulum, and its first state; rejax mixes types and ranks."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield started()


def is_single(x: Any) -> bool:
    return getattr(x, "dtype", None) == jnp.float32


def test_the_derivative_goes_through_policy_physics_and_critic(pendulum: tuple[Any, Any]) -> None:
    """The derivative of the objective is that of central differences, in float64."""
    algorithm, state = pendulum
    state = jax.tree.map(lambda x: jnp.asarray(x, float) if is_single(x) else x, state)
    loss = jax.jit(lambda params: algorithm.loss(params, state, jax.random.key(1))[0])
    params = state.actor_ts.params
    flat, tree = jax.tree.flatten(params)
    keys = jax.random.split(jax.random.key(2), len(flat))
    way = tree.unflatten([jax.random.normal(k, x.shape) for k, x in zip(keys, flat, strict=True)])
    ahead, behind = (
        loss(jax.tree.map(lambda x, dx, h=h: x + h * dx, params, way)) for h in (1e-5, -1e-5)
    )
    found = jax.tree.map(lambda g, dx: (g * dx).sum(), jax.grad(loss)(params), way)
    found = sum(jax.tree.leaves(found))
    assert abs(found) > 1e-3
    np.testing.assert_allclose(found, (ahead - behind) / 2e-5, rtol=1e-6)


def window(algorithm: Any, terminated: bool) -> Any:
    """Random steps; in the second, the first world's episode ends."""
    from mjjax.training.shac import Window

    shape = algorithm.num_steps, algorithm.num_envs
    obs, reached = jax.random.normal(jax.random.key(3), (2, *shape, 4))
    reward = jax.random.normal(jax.random.key(4), shape)
    done = jnp.zeros(shape, bool).at[1, 0].set(True)
    return Window(obs, reward, reached, done, jnp.full(shape, terminated))


def test_returns_are_td_lambda(pendulum: tuple[Any, Any]) -> None:
    """Returns are the sum of the definition, and see nothing of the next episode."""
    algorithm, state = pendulum
    at = window(algorithm, False)
    values = np.asarray(jax.random.normal(jax.random.key(5), at.reward.shape))
    found = algorithm._returns(state, at, values)
    factor, mix, steps = float(algorithm.gamma), float(algorithm.gae_lambda), len(values)
    for t, n in np.ndindex(values.shape):
        wanted, weight, rewards = 0.0, 1.0, 0.0
        for k in range(t, steps):
            rewards += factor ** (k - t) * float(at.reward[k, n])
            whole = rewards + factor ** (k - t + 1) * values[k, n]  # of k - t + 1 steps
            last = k == steps - 1 or bool(at.done[k, n])
            wanted += weight * (1 if last else 1 - mix) * whole
            weight *= mix
            if last:
                break
        np.testing.assert_allclose(found[t, n], wanted, rtol=1e-5)


def test_states_of_a_failure_are_worth_nothing(pendulum: tuple[Any, Any]) -> None:
    """The critic learns that terminated states have the value zero, others that of what follows."""
    algorithm, state = pendulum
    algorithm = algorithm.replace(num_epochs=300)
    sizes = {}
    for terminated in (False, True):
        at = window(algorithm, terminated)
        at = at._replace(obs=at.reached + 10, reward=at.reward + 5)
        critic = algorithm._fitted(state, at, jax.random.key(6))
        values = algorithm.critic.apply(critic.params, algorithm._seen(state, at.reached))
        sizes[terminated] = float(jnp.abs(values).mean())
    assert 20 * sizes[True] < sizes[False]


def test_a_gradient_that_is_not_finite_changes_no_policy(
    pendulum: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One bad window is left out and counted; the policy and its optimizer stay as they are."""
    algorithm, state = pendulum
    good = type(algorithm).loss

    def bad(self: Any, params: Any, *given: Any) -> Any:
        loss, rest = good(self, params, *given)
        bias = params["params"]["action_mean"]["bias"]
        return loss + jnp.sqrt(bias - jax.lax.stop_gradient(bias)).sum(), rest

    monkeypatch.setattr(type(algorithm), "loss", bad)
    after = jax.jit(algorithm.train_iteration)(state)
    assert after.skipped == 1 and state.skipped == 0
    same = jax.tree.map(lambda x, y: bool((x == y).all()), after.actor_ts, state.actor_ts)
    assert all(jax.tree.leaves(same))
    assert all(bool(jnp.isfinite(x).all()) for x in jax.tree.leaves(after.critic_ts.params))


def test_a_saved_policy_is_the_actor_without_noise(pendulum: tuple[Any, Any]) -> None:
    """`Policy` computes what the network computes, from the same numbers."""
    from mjjax.training.networks import Actor

    _, state = pendulum
    params = {"params": dict(state.actor_ts.params["params"])}
    params["params"]["action_log_std"] = jnp.full(1, -jnp.inf)
    obs = jnp.linspace(-1, 1, 4, dtype=jnp.float32)
    wanted: Any = Actor(1, SMALL["hidden_layer_sizes"]).apply(params, obs, jax.random.key(0))
    np.testing.assert_allclose(policy_of(state)(obs), wanted, atol=1e-6)
