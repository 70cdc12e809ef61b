"""A trained policy, as a function that needs nothing but JAX."""

import io
import os

import jax.numpy as jnp
import numpy as np
from jax import Array

from mjjax.core.files import write_atomic
from mjjax.core.struct import PyTree, static


class Policy(PyTree):
    """A network of tanh layers; `policy(obs)` is the mean action, between -1 and 1.

    Attributes:
        mean: (n,) mean of the observations.
        std: (n,) standard deviation of the observations.
        layers: weights (n, m) and biases (m,) of the layers.
        squashed: whether a tanh ends the network; otherwise its results are clipped.
    """

    mean: Array
    std: Array
    layers: list[tuple[Array, Array]]
    squashed: bool = static(False)

    def __call__(self, obs: Array) -> Array:
        x = (obs - self.mean) / self.std
        for weight, bias in self.layers[:-1]:
            x = jnp.tanh(x @ weight + bias)
        weight, bias = self.layers[-1]
        x = x @ weight + bias
        return jnp.tanh(x) if self.squashed else jnp.clip(x, -1, 1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes an `.npz` file."""
        arrays = {
            f"{kind}{i}": x
            for i, layer in enumerate(self.layers)
            for kind, x in zip("wb", layer, strict=True)
        }
        whole = {"mean": self.mean, "std": self.std, "squashed": self.squashed}
        content = io.BytesIO()
        np.savez(content, allow_pickle=False, **whole, **arrays)
        write_atomic(path, content.getvalue())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Policy":
        """Reads a file that `save` wrote."""
        with np.load(path) as found:
            count = (len(found) - 3) // 2
            layers = [
                (jnp.asarray(found[f"w{i}"]), jnp.asarray(found[f"b{i}"])) for i in range(count)
            ]
            mean, std = jnp.asarray(found["mean"]), jnp.asarray(found["std"])
            return cls(mean, std, layers, bool(found["squashed"]))
