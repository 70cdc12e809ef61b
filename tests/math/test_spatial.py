"""Spatial vectors and inertias, and the linear algebra beneath them."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mjjax.math import linalg
from mjjax.math.spatial import force_cross, inertia_about, inertia_mul, motion_cross


def rand(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def test_cross_products_are_dual() -> None:
    """Power is independent of the frame: (v x m) . f = -m . (v x* f)."""
    v, m, f = rand(50, 6), rand(50, 6, seed=1), rand(50, 6, seed=2)
    left = np.sum(motion_cross(v, m) * f, axis=-1)
    np.testing.assert_allclose(left, -np.sum(m * force_cross(v, f), axis=-1), atol=1e-12)
    np.testing.assert_allclose(motion_cross(v, v), 0, atol=1e-12)


def test_jacobi_identity() -> None:
    """The motion cross product is a Lie bracket."""
    a, b, c = rand(20, 6), rand(20, 6, seed=1), rand(20, 6, seed=2)
    total = motion_cross(a, motion_cross(b, c)) + motion_cross(b, motion_cross(c, a))
    np.testing.assert_allclose(total + motion_cross(c, motion_cross(a, b)), 0, atol=1e-12)


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
    np.testing.assert_allclose(inertia_mul(inertia, v), momentum, atol=1e-10)


@pytest.mark.parametrize("n", [1, 5, 40])
def test_cholesky_solves(n: int) -> None:
    """Solutions by the factor are solutions, for one and several right-hand sides."""
    a = rand(n, n)
    a = a @ a.T + np.eye(n)
    for b in (rand(n, seed=1), rand(n, 3, seed=2)):
        for x in (a, jnp.asarray(a)):
            solved = linalg.cho_solve(linalg.cholesky(x), b)
            np.testing.assert_allclose(a @ solved, b, atol=1e-9)


@pytest.mark.parametrize(
    "index",
    [
        [0],
        [2, 2, 2],
        [1, 2, 3],
        [0, 2, 4],
        [4, 2, 0],
        [3, 0, 3],
        [[0, 1], [4, 1]],
        [[0, 2], [1, 3]],
        [1, 1, 2, 2, 3, 3],
        [2, 2, 4, 4, 0],
        [3, 4, 0, 1, 1],
    ],
)
@pytest.mark.parametrize("width", [5, 200])
def test_rows_is_indexing(index: list, width: int) -> None:
    """The fast forms of static indexing give what indexing gives, with the same derivative."""
    x, at = jnp.asarray(rand(width, 2)), np.asarray(index)
    np.testing.assert_array_equal(linalg.gather(x, at), x[at])
    weight = jnp.asarray(rand(*x[at].shape, seed=1))
    mine = jax.grad(lambda x: jnp.sum(weight * linalg.gather(x, at)))(x)
    np.testing.assert_allclose(mine, jax.grad(lambda x: jnp.sum(weight * x[at]))(x), atol=1e-14)


@pytest.mark.parametrize("kind", [linalg.gather, linalg.gather_columns])
def test_any_static_index(kind: Callable) -> None:
    """Random lists of indices, sorted ones with their runs among them, are those of numpy."""
    rng, axis = np.random.default_rng(0), int(kind is linalg.gather_columns)
    for trial in range(300):
        n, m = rng.integers(1, 8, 2)
        at = rng.integers(0, n, m)
        at = np.repeat(np.sort(at), rng.integers(1, 4)) if trial % 2 else at
        x = rng.normal(size=(n, n))
        np.testing.assert_array_equal(kind(jnp.asarray(x), at), np.take(x, at, axis))


def test_batches_stay_in_front() -> None:
    """Under `vmap`, stacking and indexing by runs or small tables move no axis."""

    def work(x: jax.Array) -> jax.Array:
        pairs = linalg.gather(x, np.repeat([1, 2, 3], 2))
        mixed = linalg.gather(x, np.array([3, 0, 2, 1]))
        return linalg.stack([jnp.sum(pairs), jnp.sum(mixed)]) + linalg.stack([x[0, 0], x[1, 1]])

    text = str(jax.make_jaxpr(jax.vmap(work))(rand(7, 4, 2)))
    assert "transpose" not in text and " gather" not in text


@pytest.mark.parametrize(
    "index",
    [[], [0, 1, 2], [3, 3, 0], [1, 1, 3, 3], [4], [2, 2, 2], list(range(5)) * 60],
)
def test_sum_rows_is_the_transpose(index: list) -> None:
    """Sums into rows: dense small case, runs and long repeated lists."""
    x, expected = rand(len(index)), np.zeros(5)
    np.add.at(expected, np.asarray(index, int), x)
    mine = linalg.scatter_sum(jnp.asarray(x), np.asarray(index, int), 5)
    np.testing.assert_allclose(mine, expected, atol=1e-12)


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
