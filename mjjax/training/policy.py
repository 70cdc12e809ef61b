"""A trained policy, as a function that needs nothing but JAX."""

import io
import os

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mjjax.core.files import write_atomic
from mjjax.core.struct import PyTree, static


class Policy(PyTree):
    """A network; `policy(obs)` is the mean action, between -1 and 1.

    Its layers are tanh of weighted sums, or silu of normalized sums if there are norms.

    Attributes:
        mean: (n,) mean of the observations.
        std: (n,) standard deviation of the observations.
        layers: weights (n, m) and biases (m,) of the layers.
        norms: scale (m,) and offset (m,) of the normalized sums of each layer but the last.
        squashed: whether a tanh ends the network; otherwise its results are clipped.
    """

    mean: Array
    std: Array
    layers: list[tuple[Array, Array]]
    norms: list[tuple[Array, Array]]
    squashed: bool = static(False)

    def __call__(self, obs: Array) -> Array:
        x = (obs - self.mean) / self.std
        for k, (weight, bias) in enumerate(self.layers[:-1]):
            x = x @ weight + bias
            x = _silu_of_normalized(x, *self.norms[k]) if self.norms else jnp.tanh(x)
        weight, bias = self.layers[-1]
        x = x @ weight + bias
        return jnp.tanh(x) if self.squashed else jnp.clip(x, -1, 1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes an `.npz` file."""
        arrays = {
            f"{kind}{i}": x
            for kinds, pairs in (("wb", self.layers), ("so", self.norms))
            for i, pair in enumerate(pairs)
            for kind, x in zip(kinds, pair, strict=True)
        }
        whole = {"mean": self.mean, "std": self.std, "squashed": self.squashed}
        content = io.BytesIO()
        np.savez(content, allow_pickle=False, **whole, **arrays)
        write_atomic(path, content.getvalue())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Policy":
        """Reads a file that `save` wrote."""
        with np.load(path) as found:

            def pairs(a: str, b: str) -> list[tuple[Array, Array]]:
                count = sum(name.startswith(a) and name[1:].isdigit() for name in found)
                x, y = ([jnp.asarray(found[f"{c}{i}"]) for i in range(count)] for c in (a, b))
                return list(zip(x, y, strict=True))

            mean, std = jnp.asarray(found["mean"]), jnp.asarray(found["std"])
            return cls(mean, std, pairs("w", "b"), pairs("s", "o"), bool(found["squashed"]))


def _silu_of_normalized(x: Array, scale: Array, offset: Array) -> Array:
    """silu of a layer normalization (flax's `LayerNorm`)."""
    normal = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-6)
    return jax.nn.silu(normal * scale + offset)
