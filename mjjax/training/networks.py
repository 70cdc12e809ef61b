"""Networks whose derivatives by their input are smooth and of moderate size.

Where gradients go through policy, physics and critic, normalized layers matter: without them the
pendulum of `mjjax.envs` is not swung up.
"""

import jax
import jax.numpy as jnp
from flax import linen as nn
from jax import Array

LOG_STD = -0.5  # of the noise at the start, before the tanh


class Layers(nn.Module):
    """Layers of silu on normalized sums."""

    sizes: tuple[int, ...]

    @nn.compact
    def __call__(self, x: Array) -> Array:
        for size in self.sizes:
            x = nn.silu(nn.LayerNorm()(nn.Dense(size)(x)))
        return x


class Actor(nn.Module):
    """A policy: tanh of a mean and of noise whose size does not depend on the observation."""

    action_dim: int
    sizes: tuple[int, ...]

    def setup(self) -> None:
        self.features = Layers(self.sizes)
        self.action_mean = nn.Dense(self.action_dim, kernel_init=nn.initializers.normal(0.01))
        start = nn.initializers.constant(LOG_STD)
        self.action_log_std = self.param("action_log_std", start, (self.action_dim,))

    def __call__(self, obs: Array, key: Array) -> Array:
        """Actions, as a differentiable function of the parameters and the observations."""
        mean = self.action_mean(self.features(obs))
        noise = jax.random.normal(key, mean.shape, mean.dtype)
        return jnp.tanh(mean + jnp.exp(self.action_log_std) * noise)


class Critic(nn.Module):
    """The value of a state."""

    sizes: tuple[int, ...]

    @nn.compact
    def __call__(self, obs: Array) -> Array:
        value = nn.Dense(1, kernel_init=nn.initializers.normal(0.01))
        return value(Layers(self.sizes)(obs))[..., 0]
