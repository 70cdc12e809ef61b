"""Spatial vectors and inertias, and the linear algebra beneath them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mjjax.math import components
from mjjax.math.spatial import force_cross, inertia_about, inertia_mul, motion_cross
from mjjax.xla import linalg


def rand(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def parts(n: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Components of `n` random motion or force vectors."""
    return tuple(rand(6, n, seed=seed))


def test_cross_products_are_dual() -> None:
    """Power is independent of the frame: (v x m) . f = -m . (v x* f)."""
    v, m, f = (parts(50, seed) for seed in range(3))
    left = components.dot(motion_cross(v, m), f)
    np.testing.assert_allclose(left, -components.dot(m, force_cross(v, f)), atol=1e-12)
    np.testing.assert_allclose(motion_cross(v, v), 0, atol=1e-12)


def test_jacobi_identity() -> None:
    """The motion cross product is a Lie bracket."""
    a, b, c = (parts(20, seed) for seed in range(3))
    total = components.add(motion_cross(a, motion_cross(b, c)), motion_cross(b, motion_cross(c, a)))
    np.testing.assert_allclose(
        components.add(total, motion_cross(c, motion_cross(a, b))), 0, atol=1e-12
    )


def test_inertia_is_that_of_point_masses() -> None:
    """Ten numbers reproduce the momentum of a cloud of points that moves rigidly."""
    points, mass = rand(30, 3), np.abs(rand(30, seed=1)) + 0.1
    com = mass @ points / mass.sum()
    local = points - com
    square = np.einsum("n,ni,nj->ij", mass, local, local)
    moments, axes = np.linalg.eigh(np.trace(square) * np.eye(3) - square)
    if np.linalg.det(axes) < 0:
        axes[:, 0] *= -1
    inertia = inertia_about(mass.sum(), moments, axes, com)
    v = rand(6, seed=2)
    velocity = v[3:] + np.cross(v[:3], points)
    momentum = np.concatenate(
        [np.sum(np.cross(points, mass[:, None] * velocity), axis=0), mass @ velocity]
    )
    np.testing.assert_allclose(inertia_mul(tuple(inertia), tuple(v)), momentum, atol=1e-10)


@pytest.mark.parametrize("n", [1, 5, 40])
def test_cholesky_solves(n: int) -> None:
    """Solutions by the factor are solutions, for one and several right-hand sides."""
    a = rand(n, n)
    a = a @ a.T + np.eye(n)
    for b in (rand(n, seed=1), rand(n, 3, seed=2)):
        for x in (a, jnp.asarray(a)):
            solved = linalg.cho_solve(linalg.cholesky(x), b)
            np.testing.assert_allclose(a @ solved, b, atol=1e-9)


@pytest.mark.parametrize("n", [1, 3, 9])
def test_extremes(n: int) -> None:
    """Largest and smallest entries are numpy's; the derivative is that of the entry, fused or not.

    Compiled together with what computes the entries, `jnp.max` has none: 0 / 0.
    """
    rng = np.random.default_rng(n)
    x, v = rng.normal(size=(2, 50, n))

    def find(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        y = jnp.sin(3 * x) * x + 0.3 * x
        return linalg.largest(y), linalg.smallest(y, axis=0)

    (high, low), (high_dot, low_dot) = jax.jit(lambda x, v: jax.jvp(find, (x,), (v,)))(x, v)
    y, dy = np.sin(3 * x) * x + 0.3 * x, (3 * np.cos(3 * x) * x + np.sin(3 * x) + 0.3) * v
    np.testing.assert_allclose(high, y.max(axis=1))
    np.testing.assert_allclose(low, y.min(axis=0))
    np.testing.assert_allclose(high_dot, dy[np.arange(50), y.argmax(axis=1)])
    np.testing.assert_allclose(low_dot, dy[y.argmin(axis=0), np.arange(n)])
    np.testing.assert_allclose(linalg.largest(y, axis=0), y.max(axis=0))
