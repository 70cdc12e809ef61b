"""Quadratic programs in an ellipsoid, of all sizes that contacts have."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mjjax.solver.ellipsoid import ball, minimise
from mjjax.xla.namespace import Array
from tests.derivatives import derivative_errors, directions
from tests.oracle_tools import quick

COUNT = 40


def problems(size: int, used: int) -> dict[str, jax.Array]:
    """Random problems of `used` unknowns among `size`, with minimisers inside and outside."""
    rng = np.random.default_rng(size + 10 * used)
    root = rng.normal(size=(COUNT, size, size + 1))
    A = root @ root.transpose(0, 2, 1) + 0.3 * np.eye(size)
    axes = rng.uniform(0.2, 2, (COUNT, size)) * (np.arange(size) < used)
    b = rng.normal(size=(COUNT, size)) * rng.choice([0.3, 5], (COUNT, 1))
    x = {"A": A, "axes": axes, "b": b, "r": rng.uniform(0.5, 2, COUNT)}
    return jax.tree.map(jnp.asarray, x)


def solve(x: dict[str, jax.Array]) -> Array:
    return minimise(ball(x["A"], x["axes"]), x["b"], x["r"])


@quick
def solve_and_slope(x: dict[str, jax.Array]) -> tuple[Array, dict[str, jax.Array]]:
    return solve(x), jax.grad(lambda x: jnp.sum(solve(x)))(x)


@pytest.mark.feature("C36", "C46")
@pytest.mark.parametrize("size, used", [(2, 2), (3, 3), (3, 2), (5, 5), (5, 3)])
def test_minimiser(size: int, used: int) -> None:
    """Minimisers are feasible and stationary, inside and on the boundary."""
    x = problems(size, used)
    found = np.asarray(quick(jax.vmap(solve))(x))
    assert not np.any(found[:, used:])
    zones = set()
    for i in range(COUNT):
        A, b, d = (np.asarray(x[k][i]) for k in ("A", "b", "axes"))
        y, axes = found[i, :used] / d[:used], d[:used]
        radius, reached = float(x["r"][i]), np.linalg.norm(y)
        assert reached <= radius * (1 + 1e-9)
        slope = axes * (A[:used, :used] @ found[i, :used] + b[:used])
        inside = reached < radius * (1 - 1e-6)
        multiplier = 0 if inside else -(slope @ y) / (y @ y)
        assert multiplier >= 0
        np.testing.assert_allclose(slope + multiplier * y, 0, atol=1e-6 * np.abs(b).max())
        zones.add(inside)
    assert zones == {True, False}


@pytest.mark.feature("C36")
def test_what_is_singular_is_zero() -> None:
    """Singular matrices give zero where MuJoCo gives up: by determinant or by pivots."""
    rng = np.random.default_rng(0)
    for size, used, scale, solved in (
        (2, 2, 1e-6, False),
        (2, 2, 1e-4, True),
        (3, 3, 1e-4, False),
        (5, 3, 1e-4, False),
        (5, 5, 1e-4, True),
        (5, 5, 1e-11, False),
    ):
        axes = jnp.asarray((np.arange(size) < used).astype(float))
        A, b = scale * jnp.eye(size), jnp.asarray(rng.normal(size=size))
        x = {"A": A, "axes": axes, "b": b, "r": jnp.asarray(1.0)}
        value, slope = solve_and_slope(x)
        assert np.any(value) == solved, (size, used, scale)
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((value, slope)))


@pytest.mark.feature("D02")
@pytest.mark.parametrize("size, used", [(2, 2), (5, 3)])
def test_derivatives(size: int, used: int) -> None:
    """Derivatives are exact inside and on the boundary, in both modes."""
    x = problems(size, used)
    v = directions(x, 0)
    v["A"] = v["A"] + v["A"].mT
    v["axes"] = v["axes"] * (np.arange(size) < used).astype(float)[None]
    assert not derivative_errors(solve, x, v, 1e-4, steps=(1e-4, 1e-5, 1e-6))
