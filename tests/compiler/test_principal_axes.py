"""Principal axes in numpy and in JAX, and their derivative."""

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.compiler.common.principal_axes import principal_axes
from mjjax.math import quat
from mjjax.math.tracked import Tracked, value_of
from mjjax.mjcf.orientation import matrix
from mjjax.xla.compiling import quick


def axes(matrices: jax.Array) -> tuple[jax.Array, jax.Array]:
    """`principal_axes` of traced matrices."""
    moments, quats = principal_axes(Tracked(np.zeros(matrices.shape), matrices))  # type: ignore
    return value_of(moments), value_of(quats)


def test_both_libraries_find_the_same_axes() -> None:
    """Order and signs of the axes are those of the compiler, in both libraries."""
    a = np.random.default_rng(0).normal(size=(50, 3, 3))
    a = a @ np.swapaxes(a, 1, 2)
    for mine, theirs in zip(quick(axes)(jnp.asarray(a)), principal_axes(a), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-10)


def test_derivative_is_that_of_the_product() -> None:
    """d(R diag(I) R') is dM; if two moments are equal, their coupling is left out."""
    turn = matrix(np.array([[0.8, 0.6, 0, 0]]))[0]
    moments = np.array([[3.0, 2.0, 1.0], [2.0, 2.0, 1.0], [1.0, 1.0, 1.0]])
    a = (turn * moments[:, None, :]) @ turn.T
    change = np.random.default_rng(0).normal(size=(3, 3, 3))
    change = change + np.swapaxes(change, 1, 2)

    def product(a: jax.Array) -> jax.Array:
        moments, quats = axes(a)
        frame = quat.to_mat(quats)
        return (frame * moments[:, None, :]) @ jnp.swapaxes(frame, 1, 2)

    @quick
    def program(a: jax.Array, v: jax.Array) -> tuple:
        return jax.jvp(product, (a,), (v,)), jax.vjp(product, a)[1](v)[0], axes(a)[1]

    (value, slope), pulled, quats = program(jnp.asarray(a), jnp.asarray(change))
    np.testing.assert_allclose(value, a, atol=1e-12)
    frame = matrix(np.asarray(quats))
    inside = np.swapaxes(frame, 1, 2) @ change @ frame
    found = np.asarray(moments)
    distance = np.abs(found[:, :, None] - found[:, None, :])
    lost = (distance == 0) & ~np.eye(3, dtype=bool)
    expected = frame @ np.where(lost, 0, inside) @ np.swapaxes(frame, 1, 2)
    np.testing.assert_allclose(slope, expected, atol=1e-10)
    np.testing.assert_allclose(np.sum(pulled * change), np.sum(slope * change), rtol=1e-10)
