"""Short-horizon actor-critic: the gradient of the return comes through the simulator.

PPO finds out how the return depends on the actions from the noise of the actions. Here the return
of a short window of steps, and the value that a critic gives to the states that are reached, is a
differentiable function of the policy's parameters, also through contacts. A short window keeps the
derivatives of a chaotic motion moderate; the critic sees what comes later.

This is SHAC (Xu et al., "Accelerated Policy Learning with Parallel Differentiable Simulation",
2022) with two changes for episodes that end when the robot falls, which has no derivative. The
actor maximizes TD(lambda) returns, so that the value of every state that is reached counts, and
the critic also learns that the states in which an episode was terminated are worth nothing. So the
derivative of the critic leads away from them.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from flax import struct
from flax.training.train_state import TrainState
from jax import Array
from rejax.algos.algorithm import Algorithm, register_init
from rejax.algos.mixins import (
    NormalizeObservationsMixin,
    NormalizeRewardsMixin,
    OnPolicyMixin,
)

from mjjax.training.networks import Actor, Critic
from mjjax.xla.namespace import where


class Window(NamedTuple):
    """A short time of all worlds, (num_steps, num_envs, ...).

    Attributes:
        obs: observation before a step.
        reward: reward of the step.
        reached: observation after the step, also if an episode ended there.
        done: whether an episode ended.
        terminated: whether it ended because of the state that was reached.
    """

    obs: Array
    reward: Array
    reached: Array
    done: Array
    terminated: Array


class SHAC(OnPolicyMixin, NormalizeObservationsMixin, NormalizeRewardsMixin, Algorithm):
    """The algorithm, with the interface of those of rejax.

    Attributes:
        actor: policy.
        critic: value of a state.
        critic_learning_rate: learning rate of the critic.
        num_epochs: how often the critic sees a window.
        gae_lambda: lambda of the TD(lambda) returns.
    """

    actor: Any = struct.field(pytree_node=False, default=None)
    critic: Any = struct.field(pytree_node=False, default=None)
    critic_learning_rate: float = struct.field(pytree_node=True, default=2e-3)
    num_epochs: int = struct.field(pytree_node=False, default=8)
    gae_lambda: float = struct.field(pytree_node=True, default=0.8)

    @classmethod
    def create_agent(cls, config: dict[str, Any], env: Any, env_params: Any) -> dict[str, Any]:
        """The networks."""
        sizes = tuple(config.pop("agent_kwargs")["hidden_layer_sizes"])
        count = env.action_space(env_params).shape[0]
        return {"actor": Actor(count, sizes), "critic": Critic(sizes)}

    def make_act(self, ts: Any) -> Any:
        """The policy, as a function of an observation and a key."""
        return lambda obs, key: self.actor.apply(ts.actor_ts.params, self._seen(ts, obs), key)

    @register_init
    def initialize_networks(self, key: Array) -> dict[str, Any]:
        """States of the networks and optimizers, and how many gradients were not finite."""
        acting, valuing = jax.random.split(key)
        obs = jnp.zeros(self.env.observation_space(self.env_params).shape)

        def trained(params: Any, rate: Any) -> TrainState:
            clip = optax.clip_by_global_norm(self.max_grad_norm)
            # A window's gradient is exact, so the momentum is short, as in the paper.
            change = optax.chain(clip, optax.adam(rate, b1=0.7, b2=0.95))
            return TrainState.create(apply_fn=(), params=params, tx=change)

        return {
            "actor_ts": trained(self.actor.init(acting, obs, acting), self.learning_rate),
            "critic_ts": trained(self.critic.init(valuing, obs), self.critic_learning_rate),
            "skipped": jnp.zeros((), jnp.int32),
        }

    def train_iteration(self, ts: Any) -> Any:
        """Runs a window, makes a step of the actor along its gradient, and fits the critic."""
        key, running, shuffling = jax.random.split(ts.rng, 3)
        derivative = jax.grad(self.loss, has_aux=True)
        gradient, (ran, window) = derivative(ts.actor_ts.params, ts, running)
        # One world with a derivative that is not finite would end the training of all.
        usable = jnp.isfinite(optax.global_norm(gradient))
        moved = ts.actor_ts.apply_gradients(grads=gradient)
        changes = {
            "rng": key,
            "actor_ts": jax.tree.map(lambda new, old: where(usable, new, old), moved, ts.actor_ts),
            "critic_ts": self._fitted(ts, window, shuffling),
            "skipped": ts.skipped + ~usable,
        }
        return self._measured(ran, window).replace(**changes)

    def loss(self, params: Any, ts: Any, key: Array) -> tuple[Array, tuple[Any, Window]]:
        """The negative mean return of a policy in a window, the state after it, and the window."""
        state, window = self._run(params, ts, key)
        returns = self._returns(ts, window, self._value(ts, window.reached))
        return -returns.mean(), (state, window)

    def _seen(self, ts: Any, obs: Array) -> Array:
        return self.normalize_obs(ts.obs_rms_state, obs) if self.normalize_observations else obs

    def _value(self, ts: Any, obs: Array) -> Array:
        return self.critic.apply(ts.critic_ts.params, self._seen(ts, obs))

    def _run(self, params: Any, ts: Any, key: Array) -> tuple[Any, Window]:
        """A window by a policy, on whose parameters all numbers in it depend."""

        def one(carry: tuple[Array, Any], key: Array) -> tuple[Any, Window]:
            acting, stepping = jax.random.split(key)
            action = self.actor.apply(params, self._seen(ts, carry[0]), acting)
            keys = jax.random.split(stepping, self.num_envs)
            obs, worlds, reward, done, info = self.vmap_step(
                keys, carry[1], action, self.env_params
            )
            reached = info["final_observation"]
            at = Window(carry[0], reward, reached, done, info["terminated"])
            return (obs, worlds), at

        keys = jax.random.split(key, self.num_steps)
        (obs, worlds), window = jax.lax.scan(one, (ts.last_obs, ts.env_state), keys)
        steps = ts.global_step + self.iteration_size
        done = window.done[-1]
        return ts.replace(env_state=worlds, last_obs=obs, last_done=done, global_step=steps), window

    def _returns(self, ts: Any, window: Window, values: Array) -> Array:
        """TD(lambda) returns from every step on, (num_steps, num_envs)."""
        rewards = window.reward
        if self.normalize_rewards:
            rewards = self.normalize_rew(ts.rew_rms_state, rewards)

        def before(later: Array, at: tuple[Array, ...]) -> tuple[Array, Array]:
            reward, value, done = at
            later = where(done, value, later)
            mixed = (1 - self.gae_lambda) * value + self.gae_lambda * later
            now = reward + self.gamma * mixed
            return now, now

        given = rewards, values, window.done
        return jax.lax.scan(before, values[-1], given, reverse=True)[1]

    def _fitted(self, ts: Any, window: Window, key: Array) -> TrainState:
        """The critic after it has learnt the returns of a window."""
        window = jax.lax.stop_gradient(window)
        values = where(window.terminated, 0, self._value(ts, window.reached))
        obs, reached = self._seen(ts, window.obs), self._seen(ts, window.reached)
        data = obs, self._returns(ts, window, values), reached, window.terminated

        def error(params: Any, batch: tuple[Array, ...]) -> Array:
            obs, returns, reached, terminated = batch
            wrong = jnp.square(self.critic.apply(params, obs) - returns)
            of_ends = jnp.square(self.critic.apply(params, reached))
            return (wrong + where(terminated, of_ends, 0)).mean()

        def update(critic: TrainState, batch: tuple[Array, ...]) -> tuple[TrainState, None]:
            return critic.apply_gradients(grads=jax.grad(error)(critic.params, batch)), None

        def epoch(critic: TrainState, key: Array) -> tuple[TrainState, None]:
            return jax.lax.scan(update, critic, self.shuffle_and_split(data, key))

        return jax.lax.scan(epoch, ts.critic_ts, jax.random.split(key, self.num_epochs))[0]

    def _measured(self, ts: Any, window: Window) -> Any:
        """The state with the statistics that normalize observations and rewards."""
        window = jax.lax.stop_gradient(window)
        if self.normalize_observations:
            flat = window.obs.reshape(-1, window.obs.shape[-1])
            ts = ts.replace(obs_rms_state=self.update_obs_rms(ts.obs_rms_state, flat))
        if self.normalize_rewards:
            rewards, _ = jax.lax.scan(
                lambda rms, at: (self.update_rew_rms(rms, *at), None),
                ts.rew_rms_state,
                (window.reward, window.done),
            )
            ts = ts.replace(rew_rms_state=rewards)
        return ts
